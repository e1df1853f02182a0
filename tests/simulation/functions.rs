//! The real handlers, each invocation on a machine of its own with a clock of its own.

use crate::clock::SimClock;
use crate::cloud::{SimExecutions, SimTasks};
use crate::invoke::Function;
use crate::store::SimStore;
use crate::world::World;
use lockstep::domain::Seconds;
use lockstep::error::Error;
use lockstep::events::{Event, Events};
use lockstep::followup::FollowUp;
use lockstep::protocol::Protocol;
use lockstep::recovery::Caretaker;
use lockstep::telemetry::{MetricSink, Metrics};
use serde_json::{Value, to_value};
use std::sync::Arc;

/// How long an ended run is remembered: longer than any simulation.
pub(crate) const RETENTION: Seconds = Seconds::of(14 * 86_400);

type Follow = FollowUp<SimStore, SimClock, SimExecutions, SimEvents>;
type Care = Caretaker<SimStore, SimClock, SimExecutions, SimTasks, SimEvents>;

/// Runs a function on `event`.
pub(crate) async fn call(
    world: &Arc<World>,
    function: Function,
    event: Value,
) -> Result<Value, Error> {
    let answer = match function {
        Function::Acquire => {
            let caretaker = caretaker(world);
            let deps = acquire_lock::Deps {
                caretaker,
                metrics: metrics(),
            };
            acquire_lock::handle(&deps, event).await.map(to_value)
        }
        Function::Heartbeat => {
            let deps = heartbeat::Deps {
                follow: follow(world),
                tasks: SimTasks(Arc::clone(world)),
                metrics: metrics(),
            };
            heartbeat::handle(&deps, event).await.map(to_value)
        }
        Function::Release => {
            let deps = release_lock::Deps {
                follow: follow(world),
                tasks: SimTasks(Arc::clone(world)),
                metrics: metrics(),
            };
            release_lock::handle(&deps, event).await.map(to_value)
        }
        Function::Reaper => {
            let caretaker = caretaker(world);
            let deps = reaper::Deps {
                caretaker,
                metrics: metrics(),
            };
            reaper::handle(&deps, event).await.map(to_value)
        }
    };
    Ok(answer?.expect("an answer is JSON"))
}

/// What a function does after a commit.
pub(crate) fn follow(world: &Arc<World>) -> Follow {
    let seed = world.number(0..=u64::MAX);
    FollowUp {
        protocol: Protocol::new(SimStore(Arc::clone(world)), SimClock::any(world), seed),
        executions: SimExecutions(Arc::clone(world)),
        events: SimEvents(Arc::clone(world)),
        table: "locks".into(),
        retention: RETENTION,
    }
}

fn caretaker(world: &Arc<World>) -> Care {
    Caretaker {
        follow: follow(world),
        tasks: SimTasks(Arc::clone(world)),
    }
}

/// The event bus: what happened goes into the trace.
pub(crate) struct SimEvents(Arc<World>);

impl Events for SimEvents {
    async fn publish(&self, events: Vec<Event>) {
        for event in events {
            let of = event
                .holder
                .as_ref()
                .map_or("nobody", |holder| holder.as_str());
            let of = of.rsplit(':').next().unwrap_or_default();
            self.0.note(
                "event",
                format_args!("{} of {of}: {}", event.kind, event.reason),
            );
        }
        self.0.linger(5..=30).await;
    }
}

/// Metrics are not looked at here.
struct NoMetrics;

impl MetricSink for NoMetrics {
    fn write(&self, _: &str) {}
}

fn metrics() -> Metrics<NoMetrics> {
    Metrics::new(NoMetrics, false)
}
