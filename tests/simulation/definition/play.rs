//! One execution of the deployed definition on scripted services.

use crate::asl::{Answer, Call, Frame, Machine, Place, Run, Script};
use crate::engine::locked;
use crate::invoke::Failure;
use crate::world::{START, World};
use lockstep::domain::ExecutionArn;
use serde_json::{Value, json};
use std::cell::Cell;
use std::sync::{Arc, Mutex};

pub(super) const EXECUTION: &str = "arn:aws:states:eu-west-1:1:execution:exclusive-run:one";

/// Longer than any definition retries, in milliseconds.
const LONG: u64 = 1000 * 86_400_000;

/// More steps than any play here has: behind them, its states lead in a circle.
const STEPS: u32 = 60_000;

type End = Result<Value, Failure>;

/// An execution that has not begun, or has been interrupted.
pub(super) struct Play {
    world: Arc<World>,
    input: Value,
    place: Place,
    script: Arc<Script>,
    redrives: u64,
}

/// What came of an execution.
pub(super) struct Played {
    /// The states that it entered, in order, without those of the heartbeat.
    pub(super) path: Vec<String>,
    pub(super) calls: Vec<Call>,
    pub(super) end: End,
    /// How long it took.
    pub(super) seconds: u64,
}

/// A valid input: a run that does not wait.
pub(super) fn input() -> Value {
    json!({
        "lock": "nightly",
        "work": {
            "container": "job",
            "runTask": {
                "Cluster": "batch",
                "TaskDefinition": "arn:aws:ecs:eu-west-1:1:task-definition/report:3",
            },
        },
    })
}

/// The same with these fields in place of its own; `null` takes a field away.
pub(super) fn input_with(fields: Value) -> Value {
    let mut input = input();
    merge(&mut input, fields);
    input
}

/// What acquire-lock is asked for by [`input`] alone, with these fields in place of its own.
pub(super) fn ask(fields: Value) -> Value {
    let mut ask = json!({
        "lock": "nightly",
        "holder": EXECUTION,
        "waitForEnding": true,
        "work": { "container": "job", "cluster": "batch", "family": "report" },
        "redriveCount": 0,
    });
    merge(&mut ask, fields);
    ask
}

fn merge(into: &mut Value, fields: Value) {
    let Value::Object(fields) = fields else {
        *into = fields;
        return;
    };
    for (name, value) in fields {
        match value {
            Value::Null => drop(into.as_object_mut().expect("an object").remove(&name)),
            Value::Object(_) if into[&name].is_object() => merge(&mut into[&name], value),
            value => into[&name] = value,
        }
    }
}

/// What acquire-lock answers to a run that gets a permit.
pub(super) fn granted() -> Value {
    json!({
        "status": "granted",
        "grant": { "lock": "nightly", "holder": EXECUTION, "token": 7 },
        "heartbeatSeconds": 20,
        "taskGroup": "lockstep:group",
        "environment": [{ "Name": "LOCKSTEP_TOKEN", "Value": "7" }],
    })
}

pub(super) fn answer(status: &str) -> Value {
    json!({ "status": status, "message": "held by another" })
}

/// A task as `ecs:runTask.sync` describes it at its end.
pub(super) fn exited() -> Value {
    json!({ "StopCode": "EssentialContainerExited", "Containers": [{ "ExitCode": 0 }] })
}

pub(super) fn failure(error: &str) -> Failure {
    Failure::new(error, &format!("{error} happened"))
}

impl Play {
    pub(super) fn of(input: Value) -> Self {
        Self {
            world: Arc::new(World::of_seed(1, 0)),
            place: Frame::starting_at(&Machine::exclusive_run().start_at, input.clone()),
            input,
            script: Arc::default(),
            redrives: 0,
        }
    }

    /// An execution whose lock is free.
    pub(super) fn granted(input: Value) -> Self {
        Self::of(input).gives("Acquire Lock", granted())
    }

    /// The work succeeds, and the lock is released.
    pub(super) fn works(self) -> Self {
        self.gives("Run Batch", exited()).ends()
    }

    /// However the work ends, that is reported. The heartbeat ends at once, so that the work has
    /// the execution to itself.
    pub(super) fn ends(self) -> Self {
        let reports = ["Release Lock", "Release After Failure", "Report Stopping"];
        let all = reports.into_iter().chain(["Keep Lease"]);
        all.fold(self, |play, state| play.gives(state, json!({})))
    }

    pub(super) fn gives(self, state: &str, value: Value) -> Self {
        self.script.add(state, Answer::Gives(value));
        self
    }

    pub(super) fn fails(self, state: &str, error: &str) -> Self {
        self.script.add(state, Answer::Fails(failure(error)));
        self
    }

    pub(super) fn hangs(self, state: &str) -> Self {
        self.script.add(state, Answer::Hangs);
        self
    }

    /// Plays to the end.
    pub(super) fn play(self) -> Played {
        self.play_for(LONG).expect("the execution ends")
    }

    /// Plays for so many milliseconds; `None` when the execution goes on behind them.
    pub(super) fn play_for(self, millis: u64) -> Option<Played> {
        let from = self.world.now();
        let (end, _) = self.carry_out(from + millis, || false);
        end.map(|(end, at)| Played {
            path: self.path(),
            calls: self.script.calls(),
            end,
            seconds: (at - from) / 1000,
        })
    }

    /// How often `state` calls its service in so many seconds.
    pub(super) fn calls_in(self, seconds: u64, state: &str) -> usize {
        let until = self.world.now() + seconds * 1000;
        self.carry_out(until, || false);
        let calls = self.script.calls();
        calls.iter().filter(|call| call.state == state).count()
    }

    /// Stops the execution as soon as it has entered `state`, and redrives it.
    pub(super) fn redriven_in(mut self, state: &str) -> Self {
        let entered = format!("enters {state}\n");
        let (end, job) = self.carry_out(START + LONG, || self.world.trace().ends_with(&entered));
        assert!(end.is_none(), "the execution ends before {state}");
        self.world.engine.kill(job);
        self.redrives += 1;
        self
    }

    fn carry_out(&self, until: u64, stop: impl Fn() -> bool) -> (Option<(End, u64)>, u64) {
        let run = Run {
            world: Arc::clone(&self.world),
            arn: ExecutionArn::new(EXECUTION.into()).expect("a valid ARN"),
            machine: Machine::exclusive_run(),
            input: self.input.clone(),
            started: START,
            redrives: self.redrives,
            root: Arc::clone(&self.place),
            script: Some(Arc::clone(&self.script)),
        };
        let end = Arc::new(Mutex::new(None));
        let inner = Arc::clone(&end);
        let job = self.world.spawn(async move {
            let result = run.carry_out().await;
            *locked(&inner) = Some((result, run.world.now()));
        });
        let steps = Cell::new(0);
        let stop = || {
            steps.set(steps.get() + 1);
            steps.get() > STEPS || stop()
        };
        self.world.engine.run(until, |_| 0, stop);
        assert!(steps.get() <= STEPS, "the states lead in a circle");
        let end = locked(&end).take();
        (end, job)
    }

    fn path(&self) -> Vec<String> {
        let trace = self.world.trace();
        let entered = trace.lines().filter_map(|line| line.split_once("enters "));
        let names = entered.map(|(_, name)| name.to_owned());
        names.filter(|name| name != "Keep Lease").collect()
    }
}

impl Played {
    /// The arguments of the only call of `state`.
    pub(super) fn arguments_of(&self, state: &str) -> &Value {
        &self.call_of(state).arguments
    }

    pub(super) fn call_of(&self, state: &str) -> &Call {
        let mut calls = self.calls.iter().filter(|call| call.state == state);
        let call = calls.next();
        assert!(calls.next().is_none(), "{state} calls more than once");
        call.unwrap_or_else(|| panic!("{state} calls nothing"))
    }

    pub(super) fn count_of(&self, state: &str) -> usize {
        let calls = self.calls.iter();
        calls.filter(|call| call.state == state).count()
    }

    /// Asserts the states behind Check Input, and the end.
    #[track_caller]
    pub(super) fn takes(&self, path: &str, end: &End) {
        let passed = self.path[1..].join(" > ");
        assert_eq!(passed, path);
        assert_eq!(&self.end, end, "{path}");
    }
}
