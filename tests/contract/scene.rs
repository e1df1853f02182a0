//! What happens around the functions: executions, tasks, events, operators, and tables that fail.

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

/// The cluster that the runs of these tests name.
pub(crate) const CLUSTER: &str = "arn:aws:ecs:eu-west-1:123456789012:cluster/batch";

/// Seconds after which the first heartbeat of a lease of a minute is late, and the lease is not
/// over.
pub(crate) const LATE: u64 = 30;

/// The execution called `name`: the holder, where a run is one.
pub(crate) fn execution(name: &str) -> String {
    format!("arn:aws:states:eu-west-1:123456789012:execution:report:{name}")
}

/// What the execution called `name` asks for, by default.
pub(crate) fn ask(name: &str) -> Value {
    json!({ "lock": "nightly", "holder": execution(name) })
}

/// The same with more or other fields.
pub(crate) fn ask_with(name: &str, more: Value) -> Value {
    merged(ask(name), &more)
}

/// `request` with the fields of `more`.
pub(crate) fn merged(mut request: Value, more: &Value) -> Value {
    let fields = more.as_object().expect("fields").clone();
    request.as_object_mut().expect("an object").extend(fields);
    request
}

/// The terms of a run whose work are tasks, with a lease of a minute.
pub(crate) fn in_tasks() -> Value {
    json!({ "work": { "cluster": CLUSTER }, "leaseSeconds": 60 })
}

/// What an execution asks for whose work are tasks.
pub(crate) fn at_work(name: &str) -> Value {
    ask_with(name, in_tasks())
}

/// What its waiting state asks for.
pub(crate) fn waiting(name: &str, token: &str) -> Value {
    ask_with(name, json!({ "overlap": "queue", "taskToken": token }))
}

/// The same, where one may wait.
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

/// The status in an answer, or the name of the error.
pub(crate) fn status_of(answer: &Answer) -> &str {
    match answer {
        Ok(answer) => answer["status"].as_str().expect("a status"),
        Err(error) => error.name().as_str(),
    }
}

/// Where the tasks of these tests run.
pub(crate) fn work() -> TaskSet {
    testing::work(CLUSTER)
}

/// A task with one container, as ECS shows it the `version`th time.
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

/// The event that EventBridge delivers when a task of `name`'s run is `status`.
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

/// The event that EventBridge delivers when the execution called `name` is `status`.
pub(crate) fn execution_event(name: &str, status: &str, input: Value) -> Value {
    json!({
        "source": "aws.states",
        "detail-type": "Step Functions Execution Status Change",
        "detail": { "executionArn": execution(name), "status": status, "input": input }
    })
}

/// The same, of one whose input names the lock.
pub(crate) fn end_event(name: &str, status: &str) -> Value {
    execution_event(name, status, json!("{\"lock\":\"nightly\"}"))
}

/// One of Lockstep's own events, as EventBridge delivers it.
pub(crate) fn bus_event(event: &Event) -> Value {
    let detail = serde_json::to_value(EventDetail::from(event)).unwrap();
    json!({ "source": "lockstep", "detail-type": event.kind.detail_type(), "detail": detail })
}

/// An operator's order.
pub(crate) fn audit_note(note: &str) -> AuditNote {
    AuditNote {
        actor: HolderId::new("ops@example.com").unwrap(),
        note: note.into(),
        retention: RETENTION,
    }
}

impl Functions {
    /// All functions, while the executions called so run.
    pub(crate) fn running(names: &[&str]) -> Self {
        let functions = Self::new();
        functions.start(names);
        functions
    }

    /// All functions, while the executions called so run and the first of them holds the lock; its
    /// grant.
    pub(crate) async fn held(names: &[&str]) -> (Self, Value) {
        Self::held_with(names, json!({})).await
    }

    /// The same, on the terms of `more`.
    pub(crate) async fn held_with(names: &[&str], more: Value) -> (Self, Value) {
        let functions = Self::running(names);
        let grant = functions.granted_with(ask_with(names[0], more)).await;
        (functions, grant)
    }

    /// The same, while a task does the work of the holder.
    pub(crate) async fn at_work(names: &[&str]) -> (Self, Value) {
        let (functions, grant) = Self::held_with(names, in_tasks()).await;
        functions.put_task(names[0], task("t", 1, false));
        (functions, grant)
    }

    /// The executions called so enter the queue, in this order: `b` waits with the task token
    /// `token-b`.
    pub(crate) async fn queue(&self, names: &[&str]) {
        for name in names {
            let waiting = waiting(name, &format!("token-{name}"));
            assert_eq!(self.status(waiting).await, "queued", "{name}");
        }
    }

    /// The status of the answer of acquire-lock, or the name of its error.
    pub(crate) async fn status(&self, request: Value) -> String {
        status_of(&self.acquire(request).await).to_owned()
    }

    /// One run of `holder` under `lock` succeeds.
    pub(crate) async fn ran(&self, lock: &str, holder: &str) {
        let grant = self.granted(lock, holder).await;
        self.succeed(&grant).await;
    }

    /// So many locks are held from now on, `s/000` first.
    pub(crate) async fn hold_locks(&self, count: usize) {
        for number in 0..count {
            self.granted(&format!("s/{number:03}"), "a").await;
        }
    }

    /// The executions called so run from now on.
    pub(crate) fn start(&self, names: &[&str]) {
        for name in names {
            self.executions.start(Execution {
                arn: arn(name),
                started_at: self.now(),
            });
        }
    }

    /// The execution called so has ended.
    pub(crate) fn end(&self, name: &str, end: ExecutionEnd) {
        self.executions.end(&arn(name), end, self.now());
    }

    /// The same, but DescribeExecution reports it only after so many more calls.
    pub(crate) fn end_late(&self, name: &str, end: ExecutionEnd, calls: u32) {
        let ended = ExecutionState::Ended(end);
        self.executions.set_late(&arn(name), ended, calls);
    }

    /// A task of `name`'s run is as given from now on.
    pub(crate) fn put_task(&self, name: &str, task: Task) {
        let holder = HolderId::new(execution(name)).unwrap();
        let group = task_group(&key("nightly"), &holder);
        self.tasks.put(&work(), &group, task);
    }

    /// The report of the reaper on the end of the execution called `name`, whose input names the lock.
    pub(crate) async fn reap_end(&self, name: &str, status: &str) -> Value {
        self.reap(end_event(name, status)).await.unwrap()
    }

    /// The report of the reaper on the end of `task`, which `name` has started under `grant`.
    pub(crate) async fn reap_stop(&self, name: &str, task: &Task, grant: &Value) -> Value {
        let event = task_event(name, task, grant, "STOPPED");
        self.reap(event).await.unwrap()
    }

    pub(crate) async fn sweep(&self) -> Value {
        self.reap(json!({ "sweep": true })).await.unwrap()
    }

    /// A sweep over another table than the functions' own.
    pub(crate) async fn sweep_on<S: LockStore>(&self, store: S) -> Value {
        let sweep = json!({ "sweep": true });
        self.reap_on(store, sweep).await.unwrap()
    }

    /// The next `call` of Step Functions gets no answer.
    pub(crate) fn lose_next(&self, call: ExecutionsCall) {
        let lost = ExecutionsError::Unavailable("no answer".into());
        self.executions.fail_next(call, lost);
    }

    /// No `call` of Step Functions gets an answer from now on.
    pub(crate) fn lose_every(&self, call: ExecutionsCall) {
        let lost = ExecutionsError::Unavailable("no answer".into());
        self.executions.fail_every(call, lost);
    }

    /// Lets a lease of `seconds` end, and then the time in which its holder may clear the mark of
    /// a suspect that the sweep sets.
    pub(crate) async fn silent_for_long(&self, seconds: u64) {
        self.wait(seconds + 2);
        self.sweep().await;
        self.wait(22.max(seconds / 3 + 2));
    }

    /// A heartbeat of `grant` from the state of `token`.
    pub(crate) async fn beat(&self, grant: &Value, token: &str) -> Value {
        self.try_beat(grant, token).await.unwrap()
    }

    /// The same, which may fail.
    pub(crate) async fn try_beat(&self, grant: &Value, token: &str) -> Answer {
        let beat = json!({ "grant": grant, "taskToken": token });
        self.heartbeat(beat).await
    }

    /// An operator pauses the lock, without an end.
    pub(crate) async fn pause(&self, note: &str) {
        let pause = Command::Pause(audit_note(note), None);
        self.command("nightly", pause).await;
    }

    /// An operator resumes the lock.
    pub(crate) async fn resume(&self, note: &str) {
        let resume = Command::Open(Opening::Resume, audit_note(note));
        self.command("nightly", resume).await;
    }

    /// A heartbeat of `grant` from a program.
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

    /// How the run of `grant` ended.
    #[track_caller]
    pub(crate) fn outcome_of(&self, grant: &Value) -> RunOutcome {
        let run = self.run_of(grant).expect("a run in the history");
        run.outcome().expect("an end")
    }

    /// What view shows of the lock.
    pub(crate) async fn shown(&self) -> Value {
        let show = json!({ "act": "show", "lock": "nightly" });
        self.view(show).await.unwrap()
    }

    /// What view answers to `request`, page by page.
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

    /// What view answers about the history of the lock.
    pub(crate) async fn history_page(&self) -> Value {
        let history = json!({ "act": "history", "lock": "nightly" });
        self.view(history).await.unwrap()
    }

    /// The only event of this kind.
    #[track_caller]
    pub(crate) fn event(&self, kind: EventKind) -> Event {
        let mut events = self.events.published();
        events.retain(|event| event.kind == kind);
        assert_eq!(events.len(), 1, "{kind}: {:?}", self.events.kinds());
        events.remove(0)
    }

    /// Whether an event of this kind was published.
    pub(crate) fn has_published(&self, kind: EventKind) -> bool {
        self.events.kinds().contains(&kind)
    }

    /// Whether `metric` was counted.
    pub(crate) fn has_counted(&self, metric: &str) -> bool {
        self.metrics.all().iter().any(|line| line[metric] == 1.0)
    }

    /// The time now, as requests and answers spell it.
    pub(crate) fn time_in(&self, seconds: u32) -> String {
        rfc3339(self.now().plus(lockstep::domain::Seconds::of(seconds)))
    }
}

pub(crate) fn arn(name: &str) -> ExecutionArn {
    ExecutionArn::new(execution(name)).unwrap()
}
