//! The services that the use cases call, as one type parameter.

use crate::clock::Clock;
use crate::events::Events;
use crate::executions::Executions;
use crate::tasks::Tasks;
use crate::telemetry::MetricSink;
use lockstep_core::store::LockStore;

/// Names an implementation of each port. It is a type-level list and has no values.
pub trait Ports {
    /// The lock table.
    type Store: LockStore;
    /// Time.
    type Clock: Clock;
    /// Step Functions.
    type Executions: Executions;
    /// ECS.
    type Tasks: Tasks;
    /// The event bus.
    type Events: Events;
    /// Where metric lines go.
    type Metrics: MetricSink;
}

impl<S, C, E, T, V, K> Ports for (S, C, E, T, V, K)
where
    S: LockStore,
    C: Clock,
    E: Executions,
    T: Tasks,
    V: Events,
    K: MetricSink,
{
    type Store = S;
    type Clock = C;
    type Executions = E;
    type Tasks = T;
    type Events = V;
    type Metrics = K;
}
