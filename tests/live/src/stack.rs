//! A client of the deployed stack: starts executions, and reads how they ended.
//!
//! The lines that a container wrote say what its batch did. What Lockstep says does not count.
//! Every method panics with one line if the stack gives no usable answer.

mod at_work;
mod deploys;
mod ends;
mod events;
mod evidence;
mod executions;
mod faults;
mod habits;
mod input;
pub mod json_api;
mod machines;
mod operator;
mod past;
mod records;

pub use crate::units::Item;
pub use at_work::{AtWork, at_work, at_work_of, in_queue};
pub use events::Feed;
pub use executions::{Ended, FunctionError};
pub use faults::{Failure, Fired};
pub use habits::{Habit, TableAnswer};
pub use input::BatchInput;
pub use json_api::Reply;
pub use machines::{Functions, Turn};
pub use operator::Operator;
pub use past::ending;
pub use records::{Event, Record, Run, overlaps, runs};

use lockstep::clock::{Clock, SystemClock};
use lockstep::config::variable;
use serde_json::Value;
use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// A deployed stack.
#[derive(Debug)]
pub struct Stack {
    /// The endpoint of the AWS APIs.
    pub endpoint: String,
    /// Outputs of both stacks: `{"lockstep": {…}, "fixture": {…}}`.
    pub outputs: Value,
    /// The variables that clients of the stack need in their environment.
    pub settings: HashMap<String, String>,
    /// Step Functions.
    pub sfn: aws_sdk_sfn::Client,
    /// The database of the lock table.
    pub dynamodb: aws_sdk_dynamodb::Client,
}

/// Returns the epoch milliseconds of this machine, whose clock the containers share.
pub fn now() -> u64 {
    SystemClock.now().millis()
}

/// Waits for `millis` between two checks.
pub async fn pause(millis: u64) {
    SystemClock.sleep(Duration::from_millis(millis)).await;
}

/// A wait ends after this many times the time that is enough on an idle machine. A machine with
/// other work to do is slow, and not wrong.
const PATIENCE: u64 = 3;

/// Returns when to give up waiting for what takes at most `seconds` on an idle machine, in epoch
/// milliseconds. A test measures the times that it asserts.
pub fn deadline(seconds: u64) -> u64 {
    now() + PATIENCE * seconds * 1000
}

/// Waits until `condition` holds, which takes at most `seconds` on an idle machine. Returns how
/// many milliseconds it took.
pub async fn until(what: &str, seconds: u64, condition: impl AsyncFn() -> bool) -> u64 {
    let (begin, deadline) = (now(), deadline(seconds));
    while !condition().await {
        assert!(now() < deadline, "no {what} in {seconds} s");
        pause(50).await;
    }
    now() - begin
}

/// Asks until there is an answer, which takes at most `seconds` on an idle machine.
///
/// # Panics
/// If there is no answer by then, with what was seen instead.
pub async fn eventually<T>(seconds: u64, ask: impl AsyncFn() -> Result<T, String>) -> T {
    let deadline = deadline(seconds);
    loop {
        match ask().await {
            Ok(answer) => return answer,
            Err(seen) => assert!(now() < deadline, "{seen} after {seconds} s"),
        }
        pause(100).await;
    }
}

/// Returns a name that no other test and no earlier run of this test uses.
pub fn unique(name: &str) -> String {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    format!("{name}-{}-{number}", now())
}

impl Stack {
    /// Connects to the stack whose folder is `LOCKSTEP_STATE` (default `target/stack`).
    ///
    /// # Errors
    /// If there is no deployed stack, in one line.
    pub async fn connect() -> Result<Self, String> {
        let folder = variable("LOCKSTEP_STATE").map_or_else(
            || crate::repository().join("target/stack"),
            |folder| crate::repository().join(folder),
        );
        let text = read(folder.join("env"))?;
        let lines = text.lines().filter_map(|line| line.split_once('='));
        let settings: HashMap<String, String> = lines
            .map(|(name, value)| (name.into(), value.into()))
            .collect();
        let place = |name: &str| {
            let found = settings.get(name).cloned();
            found.ok_or_else(|| format!("{}/env has no {name}", folder.display()))
        };
        let (endpoint, database) = (
            place("AWS_ENDPOINT_URL")?,
            place("AWS_ENDPOINT_URL_DYNAMODB")?,
        );
        let outputs = serde_json::from_str(&read(folder.join("outputs.json"))?)
            .map_err(|error| format!("{}/outputs.json: {error}", folder.display()))?;
        Ok(Self {
            sfn: aws_sdk_sfn::Client::new(&crate::sdk_config(&endpoint).await),
            dynamodb: crate::dynamodb_local::client(
                &database,
                crate::dynamodb_local::Retries::AsDeployed,
            )
            .await,
            endpoint,
            outputs,
            settings,
        })
    }

    /// Returns one of `settings`.
    pub fn setting(&self, name: &str) -> &str {
        let found = self.settings.get(name);
        found.unwrap_or_else(|| panic!("the stack's env file has no {name}"))
    }

    /// Returns an output of Lockstep's stack.
    pub fn output(&self, name: &str) -> &str {
        self.output_of("lockstep", name)
    }

    /// Returns an output of the fixture's stack, which has the user's side.
    pub fn fixture(&self, name: &str) -> &str {
        self.output_of("fixture", name)
    }

    fn output_of(&self, stack: &str, name: &str) -> &str {
        self.outputs[stack][name]
            .as_str()
            .unwrap_or_else(|| panic!("the {stack} stack has no output {name}: deploy it again"))
    }

    /// Returns the input of an exclusive run of the fixture's batch under `lock`.
    pub fn batch_input(&self, lock: &str) -> BatchInput {
        let (cluster, task) = (
            self.fixture("ClusterArn"),
            self.fixture("BatchTaskDefinitionArn"),
        );
        BatchInput::new(lock, cluster, task)
    }

    /// Calls an API that speaks JSON with a target, such as `Logs_20140328.FilterLogEvents`.
    pub async fn call(&self, service: &str, target: &str, body: Value) -> Value {
        json_api::call(&self.endpoint, service, target, &body).await
    }

    /// Calls an API that speaks REST with JSON bodies.
    pub async fn rest(&self, service: &str, method: &str, path: &str, body: Value) -> Reply {
        let headers = [("Content-Type", "application/json")];
        json_api::send(&self.endpoint, service, method, path, &headers, &body).await
    }
}

fn read(path: PathBuf) -> Result<String, String> {
    std::fs::read_to_string(&path).map_err(|error| {
        let path = path.display();
        format!("no deployed stack ({path}: {error}): run `lockstack up` and `lockstack deploy`")
    })
}
