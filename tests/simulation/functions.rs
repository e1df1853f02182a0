//! The real handlers. Each invocation has a machine of its own, with a clock of its own.

use crate::bill;
use crate::cloud::{SimExecutions, SimTasks};
use crate::invoke::Failure;
use crate::pairs::Event;
use crate::resource;
use crate::store::SimStore;
use crate::witness::{self, missing};
use crate::world::{SimClock, World, short};
use lockstep::contract::EventKind;
use lockstep::domain::{ExecutionArn, FencingToken, HolderId, LockKey, Retention, Seconds};
use lockstep::events::{Event as Published, Events};
use lockstep::protocol::Protocol;
use lockstep::service::{Deps, acquire, heartbeat, reap, release};
use lockstep::telemetry::{MetricSink, Metrics};
use lockstep_operate::acts;
use lockstep_operate::contract::Surface;
use lockstep_tests::schedules::MemorySchedules;
use serde_json::{Value, to_value};
use std::sync::Arc;

/// How long ended runs and run keys are kept: longer than any simulation.
pub(crate) const RETENTION: Retention = Retention {
    history: Seconds::of(7 * 86_400),
    run_keys: Seconds::of(14 * 86_400),
};

/// The functions that a workflow here calls, the reaper and operate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Function {
    Acquire,
    Heartbeat,
    Release,
    Reaper,
    Operate,
    /// One step of the work of a user's own workflow.
    Work,
}

impl Function {
    pub(crate) const ALL: [Self; 6] = [
        Self::Acquire,
        Self::Heartbeat,
        Self::Release,
        Self::Reaper,
        Self::Operate,
        Self::Work,
    ];

    /// Returns the name of the function in the template of the stack.
    pub(crate) const fn logical_id(self) -> &'static str {
        match self {
            Self::Acquire => "AcquireLockFunction",
            Self::Heartbeat => "HeartbeatFunction",
            Self::Release => "ReleaseLockFunction",
            Self::Reaper => "ReaperFunction",
            Self::Operate => "OperateFunction",
            Self::Work => "WorkFunction",
        }
    }

    pub(crate) fn arn(self) -> String {
        let name = self.logical_id();
        format!("arn:aws:lambda:eu-west-1:1:function:{name}")
    }

    pub(crate) fn of_arn(arn: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|function| function.arn() == arn)
    }

    /// Returns after how many milliseconds Lambda ends the function, as in the template of the
    /// stack.
    pub(crate) const fn timeout(self) -> u64 {
        match self {
            Self::Acquire | Self::Heartbeat | Self::Release => 10_000,
            Self::Reaper | Self::Operate | Self::Work => 60_000,
        }
    }
}

type Simulated = (
    SimStore,
    SimClock,
    SimExecutions,
    SimTasks,
    SimEvents,
    NoMetrics,
);

/// Runs a function on `event`.
pub(crate) async fn call(
    world: &Arc<World>,
    function: Function,
    event: Value,
) -> Result<Value, Failure> {
    let deps = deps(world, is_inside(&event));
    let behind = deps.protocol.clock().behind;
    if behind.abs() >= 400 {
        let clock = if behind > 0 {
            Event::ClockBehind
        } else {
            Event::ClockAhead
        };
        world.happens(clock, lock_in(&event).as_ref());
    }
    let event = as_before(world, function, event);
    let answer = match function {
        Function::Acquire => acquire::handle(&deps, event).await.map(to_value),
        Function::Heartbeat => heartbeat::handle(&deps, event).await.map(to_value),
        Function::Release => release::handle(&deps, event).await.map(to_value),
        Function::Reaper => reap::handle(&deps, event).await.map(to_value),
        Function::Operate => {
            acts::handle(&deps, &MemorySchedules::default(), Surface::Operate, event)
                .await
                .map(to_value)
        }
        Function::Work => return work(world, &event),
    };
    let answer = answer
        .map_err(|error| Failure::of_function(&error.name().to_string(), &error.to_string()))?;
    Ok(answer.expect("an answer is JSON"))
}

/// The fields that a function from before an upgrade does not know, and ignores.
const NEW_FIELDS: [(Function, &[&str]); 2] = [
    (
        Function::Heartbeat,
        &[
            "redriveCount",
            "heartbeatSeconds",
            "leaseSeconds",
            "progress",
        ],
    ),
    (Function::Release, &["failure"]),
];

/// Returns the event as a function from before an upgrade reads it.
fn as_before(world: &World, function: Function, mut event: Value) -> Value {
    // A process brings its own version of the handlers.
    let number = world.weather.drops(function, world.now());
    let Some(number) = number.filter(|_| !is_inside(&event)) else {
        return event;
    };
    let fields = NEW_FIELDS.iter().find(|(of, _)| *of == function);
    let fields = fields.map(|(_, fields)| *fields).unwrap_or_default();
    if let Some(event) = event.as_object_mut().filter(|_| !fields.is_empty()) {
        // `leaseSeconds` without `heartbeatSeconds` is refused: one version brought both.
        let dropped = match fields[number % fields.len()] {
            "heartbeatSeconds" | "leaseSeconds" => &["heartbeatSeconds", "leaseSeconds"][..],
            _ => &fields[number % fields.len()..=number % fields.len()],
        };
        dropped.iter().for_each(|field| drop(event.remove(*field)));
        world.count("requests to a function before its upgrade");
        world.happens(
            Event::Upgrade,
            lock_in(&Value::Object(event.clone())).as_ref(),
        );
    }
    event
}

/// Returns the lock that a request names.
pub(crate) fn lock_in(event: &Value) -> Option<LockKey> {
    let named = [&event["lock"], &event["grant"]["lock"]];
    let named = named.into_iter().find_map(Value::as_str)?;
    LockKey::new(named).ok()
}

/// Does one step of the work of a user's own workflow: a write to the guarded resource.
fn work(world: &World, event: &Value) -> Result<Value, Failure> {
    let lock = event["grant"]["lock"].as_str().unwrap_or_default();
    let lock = LockKey::new(lock)
        .map_err(|error| Failure::of_function("Work.NoLock", &error.to_string()))?;
    let token = event["grant"]["token"].as_u64().unwrap_or_default();
    let who = short(event["grant"]["holder"].as_str().unwrap_or_default());
    if resource::write(world, &lock, FencingToken::from_number(token), who) {
        Ok(Value::Null)
    } else {
        Err(Failure::of_function("Work.Refused", "the token is too old"))
    }
}

/// Returns whether a request comes from a process, which runs the handlers itself.
fn is_inside(event: &Value) -> bool {
    let holders = [&event["holder"], &event["grant"]["holder"]];
    let holder = holders.into_iter().find_map(Value::as_str);
    let holder = holder.and_then(|text| HolderId::new(text).ok());
    holder.is_some_and(|holder| ExecutionArn::of_holder(&holder).is_none())
}

/// Returns the dependencies of a function, or of a process inside a container.
pub(crate) fn deps(world: &Arc<World>, inside: bool) -> Deps<Simulated> {
    let seed = world.number(0..=u64::MAX);
    Deps {
        protocol: Protocol::new(SimStore(Arc::clone(world)), SimClock::any(world), seed),
        executions: SimExecutions {
            world: Arc::clone(world),
            inside,
        },
        tasks: SimTasks(Arc::clone(world)),
        events: SimEvents(Arc::clone(world)),
        metrics: Metrics::new(NoMetrics, "locks", false),
        table: "locks".into(),
        retention: RETENTION,
        run_events: !world.as_deployed,
    }
}

/// An event bus that writes its events into the trace.
pub(crate) struct SimEvents(Arc<World>);

impl Events for SimEvents {
    async fn publish(&self, events: Vec<Published>) {
        self.0.count(bill::PUTS);
        for event in events {
            let of = event.holder.as_ref();
            let of = short(of.map_or("no holder", |holder| holder.as_str()));
            let what = format_args!("{} of {of}: {}", event.kind, event.reason);
            self.0.note("event", what);
            let count = match event.kind {
                EventKind::PermitHandedOver => "hand-overs by a process",
                EventKind::WaiterSentAway => "sent away by a process",
                EventKind::EvidenceMissing => {
                    self.0.count("alerts of missing evidence");
                    // A failed stop is reported at each try.
                    let is_stop = event.reason.starts_with("the run is not stopped");
                    if let Some(holder) = event.holder.as_ref().filter(|_| !is_stop) {
                        witness::alerts(&self.0, holder, &event.reason);
                    }
                    continue;
                }
                EventKind::RunMissing => {
                    missing::reported(&self.0, &event.lock);
                    continue;
                }
                _ => continue,
            };
            self.0.count(count);
            crate::reaper::left_by_a_process(&self.0, &event);
        }
        self.0.linger(5..=30).await;
    }
}

/// Drops metrics.
pub(crate) struct NoMetrics;

impl MetricSink for NoMetrics {
    fn write(&self, _: &str) {}
}
