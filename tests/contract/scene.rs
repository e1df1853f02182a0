//! The surroundings of the functions: executions, tasks, events and operators.

use crate::functions::{Answer, Functions, RETENTION, key};
use lockstep::contract::EventKind;
use lockstep::domain::{
    AuditNote, Command, Container, Execution, ExecutionArn, ExecutionEnd, ExecutionState, HolderId,
    Opening, RunOutcome, Task, TaskSet, rfc3339, task_group,
};
use lockstep::events::{Event, EventDetail};
use lockstep::executions::ExecutionsError;
use lockstep::executions::memory::ExecutionsCall;
use lockstep::store::LockStore;
use lockstep::testing;
use serde_json::{Value, json};

/// The cluster in which the tasks of these tests run.
pub(crate) const CLUSTER: &str = "arn:aws:ecs:eu-west-1:123456789012:cluster/batch";

/// Seconds after the grant of a lease of one minute at which its first heartbeat is late and the lease has
/// not ended.
pub(crate) const LATE: u64 = 30;

/// Returns the ARN of the execution `name`.
pub(crate) fn execution(name: &str) -> String {
    format!("arn:aws:states:eu-west-1:123456789012:execution:report:{name}")
}

/// Returns the request of the execution `name` for the lock, without any option.
pub(crate) fn ask(name: &str) -> Value {
    json!({ "lock": "nightly", "holder": execution(name) })
}

/// Returns the request of the execution `name` for the lock, with the fields of `more`.
pub(crate) fn ask_with(name: &str, more: Value) -> Value {
    merged(ask(name), &more)
}

/// Returns `request` with the fields of `more`, which replace fields of the same name.
pub(crate) fn merged(mut request: Value, more: &Value) -> Value {
    let fields = more.as_object().expect("fields").clone();
    request.as_object_mut().expect("an object").extend(fields);
    request
}

/// Returns the terms of a run whose work is tasks, with a lease of one minute.
pub(crate) fn in_tasks() -> Value {
    json!({ "work": { "cluster": CLUSTER }, "leaseSeconds": 60 })
}

/// Returns the request of the execution `name`, whose work is tasks.
pub(crate) fn at_work(name: &str) -> Value {
    ask_with(name, in_tasks())
}

/// Returns the request of a waiting state of the execution `name`, with its task token.
pub(crate) fn waiting(name: &str, token: &str) -> Value {
    ask_with(name, json!({ "overlap": "queue", "taskToken": token }))
}

/// Returns the request of a waiting state at a queue that takes one waiter.
pub(crate) fn waiting_alone(name: &str, token: &str) -> Value {
    merged(waiting(name, token), &json!({ "maxQueue": 1 }))
}

/// Checks that `text` contains `part`.
#[track_caller]
pub(crate) fn assert_says(text: &str, part: &str) {
    assert!(text.contains(part), "{part:?} is not in: {text}");
}

/// Checks that `found` has the fields of `expected`, with their values.
#[track_caller]
pub(crate) fn assert_has(found: &Value, expected: Value) {
    let found = found.as_object().expect("an object");
    for (field, value) in expected.as_object().expect("fields") {
        assert_eq!(found.get(field), Some(value), "{field}: {found:?}");
    }
}

/// Checks that `answer` is the error called `name`, and that its message contains each of `parts`.
#[track_caller]
pub(crate) fn assert_fails(answer: Answer, name: &str, parts: &[&str]) {
    let error = answer.expect_err(name);
    assert_eq!(error.name().as_str(), name, "{error}");
    for part in parts {
        assert_says(error.message(), part);
    }
}

/// Returns the status of an answer, or the name of the error.
pub(crate) fn status_of(answer: &Answer) -> &str {
    match answer {
        Ok(answer) => answer["status"].as_str().expect("a status"),
        Err(error) => error.name().as_str(),
    }
}

/// Returns the tasks of these tests as the work of a run.
pub(crate) fn work() -> TaskSet {
    testing::work(CLUSTER)
}

/// Returns a task with one container, in the given version of its description. A stopped one was killed with
/// exit code 137.
pub(crate) fn task(name: &str, version: u64, stopped: bool) -> Task {
    let arn = format!("arn:aws:ecs:eu-west-1:123456789012:task/batch/{name}");
    Task {
        version,
        containers: vec![Container {
            name: "main".into(),
            runtime_id: Some(format!("{name}-4711")),
            exit_code: stopped.then_some(137),
            reason: stopped.then(|| "OutOfMemoryError: killed".into()),
        }],
        ..testing::task(&arn, stopped)
    }
}

/// Returns the event that EventBridge delivers when `task` of the run of `name` reaches `status`.
pub(crate) fn task_event(name: &str, task: &Task, grant: &Value, status: &str) -> Value {
    let holder = HolderId::new(execution(name)).unwrap();
    let token = grant["token"].to_string();
    let containers: Vec<_> = task
        .containers
        .iter()
        .map(|c| json!({ "name": c.name, "runtimeId": c.runtime_id, "exitCode": c.exit_code, "reason": c.reason }))
        .collect();
    let environment = json!([{ "name": "LOCKSTEP_FENCING_TOKEN", "value": token }]);
    json!({
        "source": "aws.ecs",
        "detail-type": "ECS Task State Change",
        "detail": {
            "taskArn": task.arn, "clusterArn": CLUSTER, "version": task.version,
            "lastStatus": status, "group": task_group(&key("nightly"), &holder),
            "containers": containers,
            "overrides": { "containerOverrides": [{ "name": "main", "environment": environment }] }
        }
    })
}

/// Returns the event that EventBridge delivers when the execution `name` reaches `status`.
pub(crate) fn execution_event(name: &str, status: &str, input: Value) -> Value {
    json!({
        "source": "aws.states",
        "detail-type": "Step Functions Execution Status Change",
        "detail": { "executionArn": execution(name), "status": status, "input": input }
    })
}

/// Returns the event of the end of the execution `name`, whose input names the lock.
pub(crate) fn end_event(name: &str, status: &str) -> Value {
    execution_event(name, status, json!("{\"lock\":\"nightly\"}"))
}

/// Returns one of Lockstep's own events, as EventBridge delivers it.
pub(crate) fn bus_event(event: &Event) -> Value {
    let detail = serde_json::to_value(EventDetail::from(event)).unwrap();
    json!({ "source": "lockstep", "detail-type": event.kind.detail_type(), "detail": detail })
}

/// Returns the audit note of an operator.
pub(crate) fn audit_note(note: &str) -> AuditNote {
    AuditNote {
        actor: HolderId::new("ops@example.com").unwrap(),
        note: note.into(),
        retention: RETENTION,
    }
}

impl Functions {
    /// Returns the functions, and starts the executions `names`.
    pub(crate) fn running(names: &[&str]) -> Self {
        let functions = Self::new();
        functions.start(names);
        functions
    }

    /// Returns the functions with the executions `names` running, and the grant of the first one, which holds
    /// the lock.
    pub(crate) async fn held(names: &[&str]) -> (Self, Value) {
        Self::held_with(names, json!({})).await
    }

    /// Returns the functions with the executions `names` running, and the grant of the first one, which holds
    /// the lock on the terms of `more`.
    pub(crate) async fn held_with(names: &[&str], more: Value) -> (Self, Value) {
        let functions = Self::running(names);
        let grant = functions.granted_with(ask_with(names[0], more)).await;
        (functions, grant)
    }

    /// Returns the functions with the executions `names` running, and the grant of the first one, whose work
    /// is a running task.
    pub(crate) async fn at_work(names: &[&str]) -> (Self, Value) {
        let (functions, grant) = Self::held_with(names, in_tasks()).await;
        functions.put_task(names[0], task("t", 1, false));
        (functions, grant)
    }

    /// Puts the executions `names` into the queue in this order. `b` waits with the task token `token-b`.
    pub(crate) async fn queue(&self, names: &[&str]) {
        for name in names {
            let waiting = waiting(name, &format!("token-{name}"));
            assert_eq!(self.status(waiting).await, "queued", "{name}");
        }
    }

    /// Returns the status of the answer of acquire-lock, or the name of its error.
    pub(crate) async fn status(&self, request: Value) -> String {
        status_of(&self.acquire(request).await).to_owned()
    }

    /// Lets a run of `holder` under `lock` succeed.
    pub(crate) async fn ran(&self, lock: &str, holder: &str) {
        let grant = self.granted(lock, holder).await;
        self.succeed(&grant).await;
    }

    /// Acquires `count` locks, named `s/000`, `s/001` and so on.
    pub(crate) async fn hold_locks(&self, count: usize) {
        for number in 0..count {
            self.granted(&format!("s/{number:03}"), "a").await;
        }
    }

    /// Starts the executions `names`.
    pub(crate) fn start(&self, names: &[&str]) {
        for name in names {
            self.executions.start(Execution {
                arn: arn(name),
                started_at: self.now(),
            });
        }
    }

    /// Ends the execution `name`.
    pub(crate) fn end(&self, name: &str, end: ExecutionEnd) {
        self.executions.end(&arn(name), end, self.now());
    }

    /// Ends the execution `name`. DescribeExecution reports the end only after `calls` more calls.
    pub(crate) fn end_late(&self, name: &str, end: ExecutionEnd, calls: u32) {
        let ended = ExecutionState::Ended(end);
        self.executions.set_late(&arn(name), ended, calls);
    }

    /// Makes ECS show `task` as a task of the run of `name`.
    pub(crate) fn put_task(&self, name: &str, task: Task) {
        let holder = HolderId::new(execution(name)).unwrap();
        let group = task_group(&key("nightly"), &holder);
        self.tasks.put(&work(), &group, task);
    }

    /// Returns the report of the reaper on the end of the execution `name`, whose input names the lock.
    pub(crate) async fn reap_end(&self, name: &str, status: &str) -> Value {
        self.reap(end_event(name, status)).await.unwrap()
    }

    /// Returns the report of the reaper on the end of `task`, which the execution `name` started under
    /// `grant`.
    pub(crate) async fn reap_stop(&self, name: &str, task: &Task, grant: &Value) -> Value {
        let event = task_event(name, task, grant, "STOPPED");
        self.reap(event).await.unwrap()
    }

    pub(crate) async fn sweep(&self) -> Value {
        self.reap(json!({ "sweep": true })).await.unwrap()
    }

    /// Sweeps `store` in place of the functions' own table, and returns the report.
    pub(crate) async fn sweep_on<S: LockStore>(&self, store: S) -> Value {
        let sweep = json!({ "sweep": true });
        self.reap_on(store, sweep).await.unwrap()
    }

    /// Makes the next `call` of Step Functions fail without an answer.
    pub(crate) fn lose_next(&self, call: ExecutionsCall) {
        let lost = ExecutionsError::Unavailable("no answer".into());
        self.executions.fail_next(call, lost);
    }

    /// Makes every later `call` of Step Functions fail without an answer.
    pub(crate) fn lose_every(&self, call: ExecutionsCall) {
        let lost = ExecutionsError::Unavailable("no answer".into());
        self.executions.fail_every(call, lost);
    }

    /// Waits until a lease of `seconds` has ended, sweeps, which marks the holder as a suspect, and waits
    /// until the holder can no longer clear the mark.
    pub(crate) async fn silent_for_long(&self, seconds: u64) {
        self.wait(seconds + 2);
        self.sweep().await;
        self.wait(22.max(seconds / 3 + 2));
    }

    /// Sends a heartbeat of `grant` from the state with the task token `token`, and returns its answer.
    pub(crate) async fn beat(&self, grant: &Value, token: &str) -> Value {
        self.try_beat(grant, token).await.unwrap()
    }

    /// Sends a heartbeat of `grant` from the state with the task token `token`, and returns its answer or its
    /// error.
    pub(crate) async fn try_beat(&self, grant: &Value, token: &str) -> Answer {
        let beat = json!({ "grant": grant, "taskToken": token });
        self.heartbeat(beat).await
    }

    /// Pauses the lock as an operator, without an end.
    pub(crate) async fn pause(&self, note: &str) {
        let pause = Command::Pause(audit_note(note), None);
        self.command("nightly", pause).await;
    }

    /// Resumes the lock as an operator.
    pub(crate) async fn resume(&self, note: &str) {
        let resume = Command::Open(Opening::Resume, audit_note(note));
        self.command("nightly", resume).await;
    }

    /// Sends a heartbeat of `grant` without a task token, as a program does, and returns its answer.
    pub(crate) async fn renew(&self, grant: &Value) -> Value {
        self.heartbeat(json!({ "grant": grant })).await.unwrap()
    }

    pub(crate) async fn succeed(&self, grant: &Value) -> Value {
        self.finish(grant, "succeeded").await
    }

    pub(crate) async fn finish(&self, grant: &Value, outcome: &str) -> Value {
        let release = json!({ "grant": grant, "outcome": outcome });
        self.release(release).await.unwrap()
    }

    /// Returns how the run of `grant` ended.
    #[track_caller]
    pub(crate) fn outcome_of(&self, grant: &Value) -> RunOutcome {
        let run = self.run_of(grant).expect("a run in the history");
        run.outcome().expect("an end")
    }

    /// Returns what view shows of the lock.
    pub(crate) async fn shown(&self) -> Value {
        let show = json!({ "act": "show", "lock": "nightly" });
        self.view(show).await.unwrap()
    }

    /// Returns all pages with which view answers `request`.
    pub(crate) async fn pages(&self, mut request: Value) -> Vec<Value> {
        let mut pages = Vec::new();
        loop {
            let page = self.view(request.clone()).await.unwrap();
            let next = page.get("next").cloned();
            pages.push(page);
            assert!(pages.len() < 100, "the pages have no end");
            match next {
                Some(next) => request["next"] = next,
                None => return pages,
            }
        }
    }

    /// Returns the first page of the history of the lock.
    pub(crate) async fn history_page(&self) -> Value {
        let history = json!({ "act": "history", "lock": "nightly" });
        self.view(history).await.unwrap()
    }

    /// Returns the event of this kind. Panics unless there is exactly one.
    #[track_caller]
    pub(crate) fn event(&self, kind: EventKind) -> Event {
        let mut events = self.events.published();
        events.retain(|event| event.kind == kind);
        assert_eq!(events.len(), 1, "{kind}: {:?}", self.events.kinds());
        events.remove(0)
    }

    /// Returns whether an event of this kind was published.
    pub(crate) fn has_published(&self, kind: EventKind) -> bool {
        self.events.kinds().contains(&kind)
    }

    /// Returns whether `metric` was counted.
    pub(crate) fn has_counted(&self, metric: &str) -> bool {
        self.metrics.all().iter().any(|line| line[metric] == 1.0)
    }

    /// Returns the time `seconds` from now, as requests and answers spell it.
    pub(crate) fn time_in(&self, seconds: u32) -> String {
        rfc3339(self.now().plus(lockstep::domain::Seconds::of(seconds)))
    }
}

pub(crate) fn arn(name: &str) -> ExecutionArn {
    ExecutionArn::new(execution(name)).unwrap()
}
