//! One execution of the deployed definition on scripted services.

use crate::asl::{Answer, Call, Frame, Machine, Place, Run, Script};
use crate::engine::locked;
use crate::invoke::Failure;
use crate::world::{START, World};
use lockstep::domain::ExecutionArn;
use serde_json::{Value, json};
use std::cell::Cell;
use std::sync::{Arc, Mutex};

pub(super) const MACHINE: &str = "arn:aws:states:eu-west-1:1:stateMachine:etl";

pub(super) const EXECUTION: &str = "arn:aws:states:eu-west-1:1:execution:exclusive-run:one";

/// Longer than any definition retries, in milliseconds.
const LONG: u64 = 1000 * 86_400_000;

/// The states that report how the work has ended, and the outcome that each reports.
const REPORTS: [(&str, &str); 3] = [
    ("Release Lock", "succeeded"),
    ("Release After Failure", "failed"),
    ("Report Stopping", "stopping"),
];

/// More steps than any play here takes. If a play takes more, its states lead in a circle.
const STEPS: u32 = 60_000;

type End = Result<Value, Failure>;

/// An execution that has not begun, or has been interrupted.
pub(super) struct Play {
    world: Arc<World>,
    machine: &'static Machine,
    input: Value,
    place: Place,
    script: Arc<Script>,
    redrives: u64,
}

/// The result of an execution.
pub(super) struct Played {
    pub(super) input: Value,
    /// The states that the execution entered, in order, without those of the heartbeat.
    pub(super) path: Vec<String>,
    pub(super) calls: Vec<Call>,
    pub(super) end: End,
    /// How many seconds the execution took.
    pub(super) seconds: u64,
}

/// Returns a valid input of a run that does not wait, with `fields` merged into it; `null` removes
/// a field.
fn input(fields: Value) -> Value {
    let task = json!({
        "Cluster": "batch",
        "TaskDefinition": "arn:aws:ecs:eu-west-1:1:task-definition/report:3",
    });
    let work = json!({ "container": "job", "runTask": task });
    merged(json!({ "lock": "nightly", "work": work }), fields)
}

/// Returns fields for `input` that make a workflow the work, in place of a task, with `fields` merged into them.
pub(super) fn of_workflow(fields: Value) -> Value {
    let start = json!({ "StateMachineArn": MACHINE, "Input": { "day": 7 } });
    let work = json!({ "container": null, "runTask": null, "startExecution": start });
    merged(json!({ "work": work }), fields)
}

/// Returns the request that acquire-lock gets for that input, with `fields` merged into it.
pub(super) fn ask(fields: Value) -> Value {
    let ask = json!({
        "lock": "nightly",
        "holder": EXECUTION,
        "waitForEnding": true,
        "work": { "container": "job", "cluster": "batch", "family": "report" },
        "redriveCount": 0,
    });
    merged(ask, fields)
}

/// Merges `fields` into `value`, at every depth; `null` removes a field.
pub(crate) fn merged(mut value: Value, fields: Value) -> Value {
    let Value::Object(fields) = fields else {
        return fields;
    };
    for (name, field) in fields {
        match field {
            Value::Null => drop(value.as_object_mut().expect("an object").remove(&name)),
            Value::Object(_) if value[&name].is_object() => {
                value[&name] = merged(value[&name].take(), field);
            }
            field => value[&name] = field,
        }
    }
    value
}

/// Returns the answer of acquire-lock to a run that gets a permit.
pub(super) fn granted() -> Value {
    json!({
        "status": "granted",
        "grant": { "lock": "nightly", "holder": EXECUTION, "token": START },
        "leaseSeconds": 60,
        "heartbeatSeconds": 20,
        "taskGroup": "lockstep:group",
        "executionArn": "arn:aws:states:eu-west-1:1:execution:etl:lockstep-nightly-7",
        "environment": [{ "Name": "LOCKSTEP_TOKEN", "Value": "7" }],
    })
}

fn answer(status: &str) -> Value {
    json!({ "status": status, "message": "held by another" })
}

/// Returns the answer that a word of a script stands for:
/// - a status of acquire-lock;
/// - `ending`, for a held lock whose holder is ending;
/// - `notEnding`, for a held lock whose holder is not ending;
/// - `paused`, for a paused lock;
/// - `done` for a task that succeeded;
/// - `ok` for an empty answer.
pub(super) fn said(word: &str) -> Value {
    match word {
        "granted" | "alreadyHeld" => merged(granted(), json!({ "status": word })),
        "ending" => merged(answer("skipped"), json!({ "ending": true })),
        "paused" => merged(answer("skipped"), json!({ "paused": true })),
        "notEnding" => merged(answer("skipped"), json!({ "ending": false })),
        "done" => exited(),
        "ok" => json!({}),
        status => answer(status),
    }
}

/// Returns a task as `ecs:runTask.sync` describes it at its end.
pub(super) fn exited() -> Value {
    json!({ "StopCode": "EssentialContainerExited", "Containers": [{ "ExitCode": 0 }] })
}

pub(super) fn failure(error: &str) -> Failure {
    Failure::new(error, &format!("{error} happened"))
}

impl Play {
    pub(super) fn of(fields: Value) -> Self {
        Self::on(Machine::exclusive_run(), fields)
    }

    /// Makes each Wait state that has a `Timestamp` end `millis` milliseconds before that time.
    pub(super) fn waits_end_early(self, millis: u64) -> Self {
        self.script.end_waits_early(millis);
        self
    }

    /// Sets `field` to null.
    pub(super) fn with_null(mut self, field: &str) -> Self {
        self.input[field] = Value::Null;
        self.place = Frame::starting_at(&self.machine.start_at, self.input.clone());
        self
    }

    /// Returns an execution of a team's exclusive-run, whose locks begin with a prefix.
    pub(super) fn of_a_team(fields: Value) -> Self {
        Self::on(Machine::exclusive_run_of_a_team(), fields)
    }

    /// Returns an execution of a woven workflow of one state.
    pub(super) fn woven(input: Value) -> Self {
        Self::on(Machine::woven(), input)
    }

    fn on(machine: &'static Machine, fields: Value) -> Self {
        let input = input(fields);
        Self {
            world: Arc::new(World::of_seed(1, 0)),
            place: Frame::starting_at(&machine.start_at, input.clone()),
            machine,
            input,
            script: Arc::default(),
            redrives: 0,
        }
    }

    /// Returns an execution whose lock is free.
    pub(super) fn granted(fields: Value) -> Self {
        Self::of(fields).gives("Acquire Lock", granted())
    }

    /// Makes the work succeed, and the release too.
    pub(super) fn works(self) -> Self {
        self.gives("Run Batch", exited()).ends()
    }

    /// Lets every state succeed that reports the end of the work. Also lets the heartbeat state succeed at
    /// once, so that only the branch of the work continues.
    pub(super) fn ends(self) -> Self {
        let reports = REPORTS.into_iter().map(|(state, _)| state);
        let all = reports.chain(["Keep Lease"]);
        all.fold(self, |play, state| play.gives(state, json!({})))
    }

    pub(super) fn gives(self, state: &str, value: Value) -> Self {
        self.script.add(state, Answer::Gives(value));
        self
    }

    pub(super) fn fails(self, state: &str, failure: Failure) -> Self {
        self.script.add(state, Answer::Fails(failure));
        self
    }

    /// Answers calls of `state` by the words of `script`, in their order: the name of an error
    /// fails, `hangs` gives no answer, and other words are those of [`said`].
    pub(super) fn answers(self, state: &str, script: &str) -> Self {
        for word in script.split_whitespace() {
            let answer = match word {
                "hangs" => Answer::Hangs,
                error if error.contains(['.', ':']) => Answer::Fails(failure(error)),
                word => Answer::Gives(said(word)),
            };
            self.script.add(state, answer);
        }
        self
    }

    /// Plays to the end.
    pub(super) fn play(self) -> Played {
        self.play_for(LONG).expect("the execution ends")
    }

    /// Plays for `millis` milliseconds. Returns `None` if the execution goes on after them.
    pub(super) fn play_for(self, millis: u64) -> Option<Played> {
        let from = self.world.now();
        let (end, _) = self.carry_out(from + millis, || false);
        end.map(|(end, at)| Played {
            path: self.path(),
            calls: self.script.calls(),
            input: self.input.clone(),
            end,
            seconds: (at - from) / 1000,
        })
    }

    /// Returns how often `state` calls its service in `seconds` seconds.
    pub(super) fn calls_in(self, seconds: u64, state: &str) -> usize {
        self.all_calls_in(seconds, state).len()
    }

    /// Returns the calls of `state` in `seconds` seconds.
    pub(super) fn all_calls_in(self, seconds: u64, state: &str) -> Vec<Call> {
        let until = self.world.now() + seconds * 1000;
        self.carry_out(until, || false);
        let calls = self.script.calls().into_iter();
        calls.filter(|call| call.state == state).collect()
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
            machine: self.machine,
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
    /// Returns the payload of the only call of `state`.
    pub(super) fn payload_of(&self, state: &str) -> &Value {
        &self.call_of(state).arguments["Payload"]
    }

    pub(super) fn call_of(&self, state: &str) -> &Call {
        let calls = self.calls_of(state);
        assert_eq!(calls.len(), 1, "calls of {state} for {}", self.input);
        calls[0]
    }

    pub(super) fn calls_of(&self, state: &str) -> Vec<&Call> {
        let calls = self.calls.iter();
        calls.filter(|call| call.state == state).collect()
    }

    /// Returns the value at `pointer` in the arguments of each call of `state`.
    pub(super) fn values_of(&self, state: &str, pointer: &str) -> Vec<Value> {
        let calls = self.calls_of(state).into_iter();
        let values = calls.map(|call| call.arguments.pointer(pointer).cloned());
        values.map(Option::unwrap_or_default).collect()
    }

    /// Asserts the states after Check Input, their reports of the work, and the end. A word in
    /// capitals stands for states that follow each other.
    #[track_caller]
    pub(super) fn takes(&self, path: &str, end: &End) {
        let paths = [
            ("ASKS", "Acquire Lock > Lock Is Ours"),
            ("TURN", "Wait For Turn > Is Woken"),
            ("CONFIRMS", "Confirm Grant > Is Confirmed"),
            ("BEGINS", "Run Exclusively > Begin Work > Run Batch"),
            ("RELEASES", "Was Work Stopped > Release Lock"),
            ("FAILS", "Fail Work > Rethrow"),
        ];
        let spelt = |path: String, (word, states): (&str, &str)| path.replace(word, states);
        let path = paths.into_iter().fold(path.to_owned(), spelt);
        assert_eq!(self.path[1..].join(" > "), path, "{}", self.input);
        assert_eq!(&self.end, end, "{}: {path}", self.input);
        for (state, outcome) in REPORTS {
            let mut report = json!({ "grant": granted()["grant"], "outcome": outcome });
            // The report of a failure has the error and the cause that the execution fails with.
            if let ("failed", Err(Failure { error, cause })) = (outcome, end) {
                report["failure"] = json!({ "error": error, "cause": cause });
            }
            for call in self.calls_of(state) {
                assert_eq!(call.arguments["Payload"], report, "{state}: {path}");
            }
        }
    }
}
