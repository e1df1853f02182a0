//! Client of the lock table. It runs the handlers of the Lambda functions in this process.

use crate::lease::events::{BackgroundEvents, DedupEvents};
use crate::log::StderrSink;
use crate::platform::clock::Instant;
use aws_config::SdkConfig;
use lockstep::aws::follow_up;
use lockstep::clock::SystemClock;
use lockstep::config::Config;
use lockstep::contract::{
    AcquireRequest, AcquireResponse, Grant, HeartbeatRequest, HeartbeatResponse, ReleaseOutcome,
    ReleaseRequest, ReleaseResponse,
};
use lockstep::error::Error;
use lockstep::events::eventbridge::EventBridge;
use lockstep::executions::stepfunctions::StepFunctions;
use lockstep::followup::FollowUp;
use lockstep::recovery::Caretaker;
use lockstep::store::dynamodb::DynamoStore;
use lockstep::tasks::ecs::Ecs;
use lockstep::telemetry::Metrics;
use serde::Serialize;
use serde_json::Value;

type Bus = BackgroundEvents<EventBridge>;
type Acquire =
    acquire_lock::Deps<DynamoStore, SystemClock, StepFunctions, Ecs, DedupEvents<Bus>, StderrSink>;
type Heartbeat = heartbeat::Deps<DynamoStore, SystemClock, StepFunctions, Ecs, Bus, StderrSink>;
type Release = release_lock::Deps<DynamoStore, SystemClock, StepFunctions, Ecs, Bus, StderrSink>;

/// Client of the lock table. It does for a process what the functions do for a workflow, with the
/// same requests, responses and events.
#[derive(Debug)]
pub(crate) struct LockClient {
    acquire: Acquire,
    /// The same without metrics.
    acquire_again: Acquire,
    heartbeat: Heartbeat,
    release: Release,
    bus: Bus,
}

impl LockClient {
    /// The table that `config` names, with the settings of `sdk`.
    pub(crate) fn open(sdk: &SdkConfig, config: &Config) -> Self {
        let metrics = Metrics::new(StderrSink::open(), config.metrics_per_lock);
        let bus = BackgroundEvents::new(EventBridge::from_sdk(sdk, config.event_bus.clone()));
        let base = || FollowUp {
            executions: StepFunctions::without_tokens(sdk),
            ..follow_up(sdk, config)
        };
        let follow = || with_events(base(), bus.clone());
        let caretaker = || Caretaker {
            follow: with_events(base(), DedupEvents::new(bus.clone())),
            tasks: Ecs::from_sdk(sdk),
        };
        Self {
            acquire: Acquire {
                caretaker: caretaker(),
                metrics: metrics.clone(),
            },
            acquire_again: Acquire {
                caretaker: caretaker(),
                metrics: Metrics::new(StderrSink::closed(), false),
            },
            heartbeat: Heartbeat {
                follow: follow(),
                tasks: Ecs::from_sdk(sdk),
                metrics: metrics.clone(),
            },
            release: Release {
                follow: follow(),
                tasks: Ecs::from_sdk(sdk),
                metrics,
            },
            bus,
        }
    }

    /// Waits until pending events are published, about two seconds at most.
    pub(crate) async fn settle(&self) {
        self.bus.settle().await;
    }

    /// Acquires a permit or a place in the queue, or returns the current holder. The lease of a
    /// permit counts from the returned time.
    ///
    /// # Errors
    /// As acquire-lock; `LeaseLost` for a permit that was lost before its first renewal.
    pub(crate) async fn acquire(
        &self,
        request: &AcquireRequest,
    ) -> Result<(AcquireResponse, Instant), Error> {
        self.send(&self.acquire, request).await
    }

    /// Repeats the request while waiting, without counting another run in the metrics.
    ///
    /// # Errors
    /// As [`Self::acquire`].
    pub(crate) async fn acquire_again(
        &self,
        request: &AcquireRequest,
    ) -> Result<(AcquireResponse, Instant), Error> {
        self.send(&self.acquire_again, request).await
    }

    /// A permit may be older than the request that finds it: it was handed over, or an earlier
    /// answer was lost. The rest of its lease is not known here, so it is renewed.
    async fn send(
        &self,
        deps: &Acquire,
        request: &AcquireRequest,
    ) -> Result<(AcquireResponse, Instant), Error> {
        loop {
            let sent = Instant::now();
            let mut answer = acquire_lock::handle(deps, event(request)).await?;
            let AcquireResponse::AlreadyHeld(granted) = &mut answer else {
                return Ok((answer, sent));
            };
            let sent = Instant::now();
            match self.renew(&granted.grant, None).await? {
                HeartbeatResponse::Renewed { expires_at, .. } => {
                    granted.expires_at = expires_at;
                    return Ok((answer, sent));
                }
                // Released in between.
                HeartbeatResponse::Ended => {}
            }
        }
    }

    /// Extends a lease, and records the progress of the work.
    ///
    /// # Errors
    /// As heartbeat.
    pub(crate) async fn renew(
        &self,
        grant: &Grant,
        progress: Option<String>,
    ) -> Result<HeartbeatResponse, Error> {
        let request = HeartbeatRequest {
            redrive_count: None,
            grant: grant.clone(),
            task_token: None,
            progress,
            // `crate::protect` calls the ECS container agent instead of the API.
            protect: None,
        };
        heartbeat::handle(&self.heartbeat, event(&request)).await
    }

    /// Releases a permit.
    ///
    /// # Errors
    /// As release-lock.
    pub(crate) async fn release(
        &self,
        grant: &Grant,
        outcome: ReleaseOutcome,
    ) -> Result<ReleaseResponse, Error> {
        let request = ReleaseRequest {
            grant: grant.clone(),
            outcome,
            protect: None,
        };
        release_lock::handle(&self.release, event(&request)).await
    }
}

/// `follow`, with `events` as its publisher.
fn with_events<S, C, E, V, W>(follow: FollowUp<S, C, E, V>, events: W) -> FollowUp<S, C, E, W> {
    FollowUp {
        protocol: follow.protocol,
        executions: follow.executions,
        events,
        table: follow.table,
        retention: follow.retention,
    }
}

/// A request in the form that the handlers accept.
fn event(request: &impl Serialize) -> Value {
    serde_json::to_value(request).unwrap_or_default()
}
