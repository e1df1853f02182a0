//! Client of the lock table. It runs the use cases of the Lambda functions in this process.
//!
//! No Lambda function is invoked: the container needs only the table and a policy for it. So workflows and
//! processes use one protocol for a lock, and each sees the holders, the queue and the history of the other.
//!
//! A process may not open a task token, and so cannot end a waiting state. The reaper does that for it, when
//! it gets an event that the process publishes.

#[cfg(test)]
pub(crate) mod twins;

use crate::lease::events::{BackgroundEvents, DedupEvents};
use crate::lease::timing::LeaseTiming;
use crate::log::StderrSink;
use crate::platform::clock::Instant;
use crate::platform::server_time::ServerTime;
use crate::platform::steady::ProcessClock;
use aws_config::SdkConfig;
use lockstep::clock::{Clock, SystemClock};
use lockstep::config::Config;
use lockstep::contract::{
    AcquireRequest, AcquireResponse, Grant, Granted, HeartbeatRequest, HeartbeatResponse,
    ReleaseOutcome, ReleaseRequest, ReleaseResponse, WorkFailure, parse_time,
};
use lockstep::domain::{CLOCK_SKEW, Timestamp, rfc3339};
use lockstep::error::Error;
use lockstep::events::eventbridge::EventBridge;
use lockstep::executions::stepfunctions::StepFunctions;
use lockstep::protocol::Protocol;
use lockstep::service::{Deps, Ports, acquire, heartbeat, release};
use lockstep::store::dynamodb::DynamoStore;
use lockstep::tasks::ecs::Ecs;
use lockstep::telemetry::Metrics;
use std::time::Duration;

/// The types of the ports of a process on AWS.
pub(crate) type OnAws = (
    DynamoStore,
    ProcessClock,
    StepFunctions,
    Ecs,
    DedupEvents<BackgroundEvents<EventBridge>>,
    StderrSink,
);

/// Client of the lock table. It does for a process what the Lambda functions do for a workflow, with the same
/// requests, responses and events.
pub(crate) struct LockClient<P: Ports = OnAws> {
    deps: Deps<P>,
    /// The same ports, without metrics: for repeated requests.
    quiet: Deps<P>,
    /// The same ports for renewals, with a clock that is never set back.
    renewing: Deps<P>,
}

impl LockClient {
    /// Creates a client of the table that `config` names, with the settings of `sdk`.
    pub(crate) fn open(sdk: &SdkConfig, config: &Config) -> Self {
        let bus = BackgroundEvents::new(lockstep::aws::bus(sdk, config));
        let time = ServerTime::default();
        let clock = ProcessClock::beside(time.clone());
        let table = DynamoStore::watched(sdk, config.table.clone(), time);
        let (executions, tasks) = (StepFunctions::without_tokens(sdk), Ecs::from_sdk(sdk));
        let deps = |metrics, clock: ProcessClock| Deps {
            protocol: Protocol::new(table.clone(), clock.clone(), clock.now().millis()),
            executions: executions.clone(),
            tasks: tasks.clone(),
            events: DedupEvents::new(bus.clone()),
            metrics,
            table: config.table.clone(),
            retention: config.retention,
            run_events: config.run_events,
        };
        let metrics = || {
            Metrics::new(
                StderrSink::open(),
                config.table_name(),
                config.metrics_per_lock,
            )
        };
        Self {
            deps: deps(metrics(), clock.clone()),
            quiet: deps(
                Metrics::new(StderrSink::closed(), config.table_name(), false),
                clock.clone(),
            ),
            renewing: deps(metrics(), clock.steady()),
        }
    }

    /// Waits until pending events are published or have failed, about two seconds at most.
    pub(crate) async fn settle(&self) {
        self.deps.events.settle().await;
    }
}

impl<P: Ports> LockClient<P> {
    /// Acquires a permit or a place in the queue, or returns the current holder. The lease of a permit counts
    /// from the returned time, at which the request was sent.
    ///
    /// # Errors
    /// The errors of acquire-lock, and `LeaseLost` for a permit that was lost before its first renewal.
    pub(crate) async fn acquire(
        &self,
        request: &AcquireRequest,
    ) -> Result<(AcquireResponse, Instant), Error> {
        self.send(&self.deps, request).await
    }

    /// Repeats the request of a run that waits, without counting another run in the metrics.
    ///
    /// # Errors
    /// The errors of [`Self::acquire`].
    pub(crate) async fn acquire_again(
        &self,
        request: &AcquireRequest,
    ) -> Result<(AcquireResponse, Instant), Error> {
        self.send(&self.quiet, request).await
    }

    /// Sends the request, and renews the granted permit if the rest of its lease is not known or too short:
    /// - A permit that was held already may be older than this request, because it was handed over, or an
    ///   earlier response was lost.
    /// - The lease of a new permit may be shorter on the clock of the table, which the first response shows.
    async fn send(
        &self,
        deps: &Deps<P>,
        request: &AcquireRequest,
    ) -> Result<(AcquireResponse, Instant), Error> {
        loop {
            let sent = Instant::now();
            let mut answer = acquire::run(deps, request.clone().check(deps.retention)?).await?;
            let granted = match &mut answer {
                AcquireResponse::AlreadyHeld(granted) => granted,
                AcquireResponse::Granted(granted) if self.is_lease_too_short(granted, sent) => {
                    granted
                }
                _ => return Ok((answer, sent)),
            };
            let sent = Instant::now();
            let length = Duration::from_secs(granted.lease_seconds.into());
            let lease = LeaseTiming::of_record(length, Duration::ZERO);
            match self.renew(&granted.grant, Some(lease), None).await? {
                HeartbeatResponse::Renewed { expires_at, .. } => {
                    granted.expires_at = expires_at;
                    return Ok((answer, sent));
                }
                // The permit was released in between, so the request is sent again.
                HeartbeatResponse::Ended => {}
            }
        }
    }

    /// Returns the present time on the clock of the table.
    pub(crate) fn now(&self) -> Timestamp {
        self.deps.now()
    }

    /// Converts `time` from the clock of the table to the clock of this machine, because other processes on
    /// this machine compare it with their clock. Clocks that differ by at most a second count as equal.
    pub(crate) fn on_this_machines_clock(&self, time: String) -> String {
        let (table, own) = (self.now(), SystemClock.now());
        let (ahead, behind) = (own.millis_since(table), table.millis_since(own));
        match parse_time("expiresAt", &time) {
            Ok(at) if ahead.max(behind) > CLOCK_SKEW.millis() => {
                let millis = (at.millis() + ahead).saturating_sub(behind);
                rfc3339(Timestamp::from_millis(millis))
            }
            _ => time,
        }
    }

    /// Returns whether the lease of a permit that was requested at `sent` ends more than a second before it
    /// should.
    fn is_lease_too_short(&self, granted: &Granted, sent: Instant) -> bool {
        let length = 1_000 * u64::from(granted.lease_seconds);
        let since = Instant::now().millis().saturating_sub(sent.millis());
        let least = (self.now().millis() + length).saturating_sub(since + CLOCK_SKEW.millis());
        parse_time("expiresAt", &granted.expires_at).is_ok_and(|ends| ends.millis() < least)
    }

    /// Renews a lease for the length of `lease`, and records the progress of the work. Without `lease`, the
    /// lease keeps the length in its record, which is read first.
    ///
    /// # Errors
    /// The errors of heartbeat.
    pub(crate) async fn renew(
        &self,
        grant: &Grant,
        lease: Option<LeaseTiming>,
        progress: Option<String>,
    ) -> Result<HeartbeatResponse, Error> {
        let request = HeartbeatRequest {
            redrive_count: None,
            grant: grant.clone(),
            task_token: None,
            lease_seconds: lease.map(|lease| lease.seconds()),
            heartbeat_seconds: lease.map(|lease| lease.seconds() / 3),
            progress,
            // Protection is not set here: `crate::protect` calls the ECS container agent instead of the API.
            protect: None,
        };
        heartbeat::run(&self.renewing, request.check(self.deps.retention)?).await
    }

    /// Releases a permit. `failure` says why the work failed; if it is set, people get a message.
    ///
    /// # Errors
    /// The errors of release-lock.
    pub(crate) async fn release(
        &self,
        grant: &Grant,
        outcome: ReleaseOutcome,
        failure: Option<&str>,
    ) -> Result<ReleaseResponse, Error> {
        let request = ReleaseRequest {
            grant: grant.clone(),
            outcome,
            protect: None,
            failure: failure.map(WorkFailure::of_process),
        };
        release::run(&self.deps, request.check(self.deps.retention)?).await
    }
}
