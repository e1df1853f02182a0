//! What the tests share: the command, the table that it works on, and a resource that checks tokens.

mod fault_proxy;
mod fenced_resource;
mod process;
mod scene;

pub(crate) use fault_proxy::FaultProxy;
pub(crate) use fenced_resource::{FencedResource, WRITE_ON};
pub(crate) use process::{
    HOPPER, Started, assert_refused, children_of, lives, output, signal_to, terminate, until_dead,
};
pub(crate) use scene::Scene;

use lockstep::config::variable;
use lockstep::domain::{LockKey, LockRecord, Run, RunId, RunOutcome};
use lockstep::store::LockStore;
use lockstep::store::dynamodb::DynamoStore;
use lockstep_tests::stack::{Stack, deadline, now, pause, unique, until};
use serde_json::{Value, json};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use tokio::process::Command;

/// The deployed stack, and the command on it.
pub(crate) struct Inside {
    /// The stack.
    pub(crate) stack: Stack,
    /// The lock table.
    pub(crate) table: String,
    store: DynamoStore,
}

impl Inside {
    /// Connects to the stack.
    pub(crate) async fn open() -> Self {
        let stack = match Stack::connect().await {
            Ok(stack) => stack,
            Err(problem) => panic!("{problem}"),
        };
        let table = stack.output("LockTableName").to_owned();
        let store = DynamoStore::new(stack.dynamodb.clone(), table.clone());
        Self {
            stack,
            table,
            store,
        }
    }

    /// Connects to the stack, with a lock of the test's own.
    pub(crate) async fn with_lock(test: &str) -> (Self, String) {
        (Self::open().await, lock(test))
    }

    /// Opens a way to the lock table that can be closed.
    pub(crate) async fn table_proxy(&self) -> FaultProxy {
        FaultProxy::open(self.stack.setting("AWS_ENDPOINT_URL_DYNAMODB")).await
    }

    /// Returns `lockstep ARGS` on the lock table of the stack, without connected streams.
    pub(crate) fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(binary());
        command
            .args(args)
            .env_clear()
            .envs(self.environment())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    /// Returns the environment in which the command reaches the stack.
    pub(crate) fn environment(&self) -> Vec<(String, String)> {
        let mut environment: Vec<_> = [
            ("AWS_ENDPOINT_URL", self.stack.endpoint.as_str()),
            (
                "AWS_ENDPOINT_URL_DYNAMODB",
                self.stack.setting("AWS_ENDPOINT_URL_DYNAMODB"),
            ),
            ("AWS_ACCESS_KEY_ID", "test"),
            ("AWS_SECRET_ACCESS_KEY", "test"),
            ("AWS_REGION", "us-east-1"),
            ("LOCKSTEP_TABLE", self.table.as_str()),
            // A run that is killed leaves the pipe of its progress there.
            ("TMPDIR", env!("CARGO_TARGET_TMPDIR")),
        ]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .into();
        environment.extend(variable("PATH").map(|path| ("PATH".into(), path)));
        environment
    }

    /// Returns `lockstep run --lock LOCK FLAGS -- COMMAND`.
    pub(crate) fn run(&self, lock: &str, flags: &[&str], command: &[&str]) -> Command {
        let parts: [&[&str]; 4] = [&["run", "--lock", lock], flags, &["--"], command];
        self.command(&parts.concat())
    }

    /// Returns the record of a lock.
    pub(crate) async fn record(&self, lock: &str) -> Option<LockRecord> {
        let record = self.store.load(&key(lock)).await;
        record.unwrap_or_else(|error| panic!("{lock}: {error}"))
    }

    /// Returns how many runs hold the lock.
    pub(crate) async fn held(&self, lock: &str) -> usize {
        self.record(lock).await.map_or(0, |r| r.holders.len())
    }

    /// Returns the names of the lock's holders.
    pub(crate) async fn holders(&self, lock: &str) -> Vec<String> {
        let record = self.record(lock).await.expect("a record");
        record.holders.keys().map(ToString::to_string).collect()
    }

    /// Returns the end of the lease of the lock's only holder, in milliseconds. The holder must not
    /// be freed yet.
    pub(crate) async fn lease_end(&self, lock: &str) -> u64 {
        let record = self.record(lock).await.expect("a record");
        let lease = record.holders.values().next().expect("a holder");
        lease.expires_at.millis()
    }

    /// Returns how many runs wait for the lock.
    pub(crate) async fn waiting(&self, lock: &str) -> usize {
        self.record(lock).await.map_or(0, |r| r.queue.len())
    }

    /// Waits until `count` runs hold the lock.
    pub(crate) async fn until_held(&self, lock: &str, count: usize, seconds: u64) {
        let what = format!("{count} holders of {lock}");
        until(&what, seconds, async || self.held(lock).await == count).await;
    }

    /// Waits until `count` runs wait for the lock.
    pub(crate) async fn until_waiting(&self, lock: &str, count: usize, seconds: u64) {
        let what = format!("{count} in line for {lock}");
        until(&what, seconds, async || self.waiting(lock).await == count).await;
    }

    /// Waits until a holder of the lock has reported `progress`.
    pub(crate) async fn until_progress(&self, lock: &str, progress: &str) {
        let what = format!("{progress:?} of {lock}");
        let is_reported = async || {
            let record = self.record(lock).await;
            let mut leases = record.iter().flat_map(|record| record.holders.values());
            leases.any(|lease| lease.progress.as_deref() == Some(progress))
        };
        until(&what, 20, is_reported).await;
    }

    /// Returns the history entry of the lock's latest grant.
    pub(crate) async fn latest_run(&self, lock: &str) -> Option<Run> {
        let token = self.record(lock).await?.last_token;
        let run = self.store.load_run(&key(lock), &RunId::Token(token)).await;
        run.unwrap_or_else(|error| panic!("{lock}: {error}"))
    }

    /// Returns the outcome of the lock's latest run, or `None` until that run has ended.
    pub(crate) async fn outcome(&self, lock: &str) -> Option<RunOutcome> {
        self.latest_run(lock).await?.outcome()
    }

    /// Takes the permits of all holders away, as an operator does.
    pub(crate) async fn evict_all(&self, lock: &str) {
        for holder in self.holders(lock).await {
            self.stack.evict(lock, &holder, "by a test").await;
        }
    }

    /// Sends an order to the emulator at `/_lockstack/PATH`. Returns its answer.
    pub(crate) async fn order(&self, path: &str, order: Value) -> Value {
        let path = format!("/_lockstack/{path}");
        let response = self.stack.rest("ecs", "POST", &path, order).await;
        assert_eq!(response.status, 200, "{path}: {response:?}");
        response.body
    }

    /// Calls ECS.
    pub(crate) async fn call_ecs(&self, action: &str, body: Value) -> Value {
        let target = format!("AmazonEC2ContainerServiceV20141113.{action}");
        self.stack.call("ecs", &target, body).await
    }

    /// Returns whether ECS protects a task of `cluster`.
    pub(crate) async fn is_protected(&self, cluster: &str, task: &str) -> bool {
        let ask = json!({ "cluster": cluster, "tasks": [task] });
        let response = self.call_ecs("GetTaskProtection", ask).await;
        response["protectedTasks"][0]["protectionEnabled"] == true
    }

    /// Sets how many seconds a minute of protection lasts for a task.
    pub(crate) async fn set_minute(&self, task: &str, seconds: u32) {
        let order = json!({ "minuteSeconds": seconds, "task": task });
        self.order("agent", order).await;
    }

    /// Fails the next calls of a task to its agent endpoint that set something.
    pub(crate) async fn fail_agent(&self, task: &str, reason: &str, times: u32) {
        let order = json!({ "agent": reason, "task": task, "method": "PUT", "times": times });
        self.order("faults", order).await;
    }

    /// Returns the calls of a task to its agent endpoint that set something, in the order of time.
    pub(crate) async fn agent_calls(&self, task: &str) -> Vec<Value> {
        let path = format!("/_lockstack/agent?task={task}");
        let response = self.stack.rest("ecs", "GET", &path, Value::Null).await;
        let calls = response.body["calls"].as_array().expect("a list").iter();
        let set = calls.filter(|call| call["method"] == "PUT");
        set.cloned().collect()
    }

    /// Invokes the function whose ARN is an output of the stack.
    pub(crate) async fn invoke(&self, output: &str, request: Value) -> Value {
        let answer = self.stack.invoke(self.stack.output(output), &request).await;
        answer.unwrap_or_else(|error| panic!("{output}: {error:?}"))
    }
}

/// Waits until `find` finds something, which takes at most `seconds` on an idle machine. Returns
/// it.
pub(crate) async fn found<T>(what: &str, seconds: u64, find: impl AsyncFn() -> Option<T>) -> T {
    let deadline = deadline(seconds);
    loop {
        if let Some(found) = find().await {
            return found;
        }
        assert!(now() < deadline, "no {what} in {seconds} s");
        pause(50).await;
    }
}

/// Returns a path that no other test uses, in a folder that is removed with the build.
pub(crate) fn scratch(test: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(unique(test))
}

/// Returns a lock that no other test uses.
pub(crate) fn lock(test: &str) -> String {
    unique(test)
}

fn key(lock: &str) -> LockKey {
    LockKey::new(lock).unwrap_or_else(|error| panic!("{lock}: {error:?}"))
}

/// Returns the path of the static binary.
pub(crate) fn binary() -> PathBuf {
    let built = || {
        let target = format!("{}-unknown-linux-gnu", std::env::consts::ARCH);
        let folder = lockstep_tests::repository().join("target");
        folder.join(target).join("debug/lockstep")
    };
    let binary = variable("LOCKSTEP_BINARY").map_or_else(built, PathBuf::from);
    assert!(
        binary.is_file(),
        "{} is not there: run `make deployable`",
        binary.display()
    );
    binary
}
