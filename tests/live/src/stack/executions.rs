//! Executions and functions: start, wait, stop, call.

use super::{BatchInput, Stack, deadline, json_api, now, pause, unique};
use aws_sdk_sfn::types::{ExecutionStatus, HistoryEvent};
use serde_json::Value;

/// How an execution ended.
#[derive(Clone, Debug)]
pub struct Ended {
    /// Its ARN.
    pub arn: String,
    /// `SUCCEEDED`, `FAILED`, `TIMED_OUT` or `ABORTED`.
    pub status: String,
    /// Its output; null when it has none.
    pub output: Value,
    /// The error's name; empty when it has none.
    pub error: String,
    /// The error's cause; empty when it has none.
    pub cause: String,
    /// When it started, in epoch milliseconds.
    pub started: u64,
    /// When it ended, in epoch milliseconds.
    pub stopped: u64,
}

/// The failure of a function, as Lambda reports it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FunctionError {
    /// The error's name.
    pub error_type: String,
    /// What happened.
    pub message: String,
}

impl Ended {
    /// Returns whether the batch ran and succeeded: its task is in the output.
    pub fn ran(&self) -> bool {
        self.status == "SUCCEEDED" && self.output["TaskArn"].is_string()
    }

    /// Returns whether the execution succeeded with an output that is no answer of exclusive-run:
    /// that of a workflow without a task.
    pub fn worked(&self) -> bool {
        self.status == "SUCCEEDED" && self.answer().is_empty()
    }

    /// Returns the answer of exclusive-run, such as `skipped` or `duplicate`, or an empty text.
    pub fn answer(&self) -> &str {
        self.output["status"].as_str().unwrap_or_default()
    }

    /// Returns how many milliseconds it took.
    pub fn millis(&self) -> u64 {
        self.stopped.saturating_sub(self.started)
    }
}

impl Stack {
    /// Starts an exclusive run, and returns its ARN.
    pub async fn start(&self, input: &BatchInput) -> String {
        let machine = self.output("ExclusiveRunStateMachineArn");
        self.start_machine(machine, input.json()).await
    }

    /// Starts an execution of any state machine.
    pub async fn start_machine(&self, machine: &str, input: &Value) -> String {
        // A start with a name of its own that is sent again begins no second execution.
        let name = unique("e2e");
        let start = self.sfn.start_execution().state_machine_arn(machine);
        let start = start.name(name).input(input.to_string()).send().await;
        start.expect("an execution starts").execution_arn
    }

    /// Starts `inputs` at once.
    pub async fn start_all(&self, inputs: &[BatchInput]) -> Vec<String> {
        let machine = self.output("ExclusiveRunStateMachineArn");
        let texts = inputs.iter().map(|input| input.json().to_string());
        self.start_each(machine, texts.collect()).await
    }

    /// Starts `count` executions of any state machine at once.
    pub async fn start_many(&self, machine: &str, input: &Value, count: usize) -> Vec<String> {
        self.start_each(machine, vec![input.to_string(); count])
            .await
    }

    async fn start_each(&self, machine: &str, inputs: Vec<String>) -> Vec<String> {
        let mut sent = Vec::new();
        for input in inputs {
            let start = self.sfn.start_execution().state_machine_arn(machine);
            let start = start.name(unique("e2e")).input(input);
            sent.push(tokio::spawn(start.send()));
        }
        let mut arns = Vec::new();
        for start in sent {
            let start = start.await.expect("a start that ends");
            arns.push(start.expect("an execution starts").execution_arn);
        }
        arns
    }

    /// Waits for an execution's end, for at most `seconds`.
    pub async fn wait(&self, arn: &str, seconds: u64) -> Ended {
        self.wait_until(arn, deadline(seconds)).await
    }

    async fn wait_until(&self, arn: &str, deadline: u64) -> Ended {
        loop {
            if let Some(ended) = self.ended(arn).await {
                return ended;
            }
            assert!(now() < deadline, "{arn} still runs");
            pause(100).await;
        }
    }

    /// Returns how an execution ended; `None` while it runs.
    pub async fn ended(&self, arn: &str) -> Option<Ended> {
        let describe = self.sfn.describe_execution().execution_arn(arn);
        let described = describe.send().await.expect("an execution's description");
        if described.status == ExecutionStatus::Running {
            return None;
        }
        let millis = |time: Option<aws_sdk_sfn::primitives::DateTime>| {
            time.map_or(0.0, |time| time.as_secs_f64() * 1000.0) as u64
        };
        let json = |text: &str| serde_json::from_str(text).expect("an output is JSON");
        Some(Ended {
            arn: arn.to_owned(),
            status: described.status.as_str().to_owned(),
            output: described.output.as_deref().map_or(Value::Null, json),
            error: described.error.unwrap_or_default(),
            cause: described.cause.unwrap_or_default(),
            started: millis(Some(described.start_date)),
            stopped: millis(described.stop_date),
        })
    }

    /// Starts an exclusive run and waits for its end, at most `seconds`.
    pub async fn run(&self, input: &BatchInput, seconds: u64) -> Ended {
        self.wait(&self.start(input).await, seconds).await
    }

    /// Waits for the end of all `arns`, at most `seconds`.
    pub async fn wait_all(&self, arns: &[String], seconds: u64) -> Vec<Ended> {
        let deadline = deadline(seconds);
        let mut all = Vec::new();
        for arn in arns {
            all.push(self.wait_until(arn, deadline).await);
        }
        all
    }

    /// Aborts an execution.
    pub async fn abort(&self, arn: &str) {
        let stop = self.sfn.stop_execution().execution_arn(arn);
        stop.send().await.expect("an execution stops");
    }

    /// Aborts an execution, unless it has ended by itself.
    pub async fn abort_if_running(&self, arn: &str) {
        let stop = self.sfn.stop_execution().execution_arn(arn);
        // An execution that has ended refuses the stop, which is as good.
        let _ended = stop.send().await;
    }

    /// Redrives an execution that failed, timed out or was aborted.
    pub async fn redrive(&self, arn: &str) {
        let redrive = self.sfn.redrive_execution().execution_arn(arn);
        redrive.send().await.expect("an execution is redriven");
    }

    /// Returns the events of an execution's history.
    pub async fn history(&self, arn: &str) -> Vec<HistoryEvent> {
        let ask = self.sfn.get_execution_history().execution_arn(arn);
        let pages = ask.into_paginator().items().send();
        let events: Result<Vec<_>, _> = pages.collect().await;
        events.expect("an execution's history")
    }

    /// Calls a function, by its ARN.
    ///
    /// # Errors
    /// The error that the function failed with.
    pub async fn invoke(&self, function: &str, event: &Value) -> Result<Value, FunctionError> {
        let path = format!("/2015-03-31/functions/{function}/invocations");
        let headers = [("Content-Type", "application/json")];
        let reply = json_api::send(&self.endpoint, "lambda", "POST", &path, &headers, event).await;
        assert_eq!(reply.status, 200, "{function}: {}", reply.body);
        if reply.header("x-amz-function-error").is_none() {
            return Ok(reply.body);
        }
        let text = |name: &str| reply.body[name].as_str().unwrap_or_default().to_owned();
        Err(FunctionError {
            error_type: text("errorType"),
            message: text("errorMessage"),
        })
    }
}
