//! What Task states call.

use super::definition::{Resource, TaskState};
use super::scope::{Facts, Scope};
use crate::cloud::{OpenState, RunTask, StartExecution, describe_child};
use crate::functions::Function;
use crate::invoke::{Failure, invoke};
use crate::slot::{First, race};
use serde_json::{Value, json};
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

impl Scope<'_> {
    /// One attempt of a Task state, with a task token of its own and Arguments of this moment.
    ///
    /// AWS does not document whether TimeoutSeconds is evaluated anew with each attempt: some
    /// worlds do, some do not.
    pub(super) async fn call(
        &self,
        state: &TaskState,
        mut facts: Facts<'_>,
        timeout: &mut Option<u64>,
    ) -> Result<Value, Failure> {
        let run = self.run;
        let waits = state.resource == Resource::InvokeAndWait;
        // Step Functions may schedule a state late: a holder is silent then, and lives.
        if waits && run.world.fault(8) {
            run.world.count("states scheduled late");
            run.world.linger(20_000..=240_000).await;
        }
        let open = waits.then(|| OpenState::of(&run.world, &run.arn));
        let token = open.as_ref().map(|open| open.token.reveal().to_owned());
        facts.token = token.as_deref();
        if timeout.is_none() || run.world.timeouts_anew {
            *timeout = self.timeout(state, facts)?;
        }
        let arguments = self.fill(&state.arguments, facts)?;
        let timed_out = Arc::new(AtomicBool::new(false));
        let answer = async {
            if let Some(script) = &run.script {
                let answer = script.call(facts, state.resource, arguments, *timeout);
                return answer.await.map(|value| match state.resource {
                    Resource::Invoke => as_result(value),
                    _ => value,
                });
            }
            let (world, arn) = (&run.world, &run.arn);
            match (state.resource, open) {
                (Resource::RunTask, _) => {
                    let task = RunTask::start(world, arn, &arguments, &timed_out).await?;
                    task.finish().await
                }
                (Resource::StartExecution, _) => {
                    let child = StartExecution::start(world, arn, &arguments, &timed_out).await?;
                    child.finish().await
                }
                (Resource::DescribeExecution, _) => describe_child(world, &arguments).await,
                (Resource::DescribeTaskDefinition, _) => {
                    let containers = json!([{ "Name": "job" }]);
                    Ok(json!({ "TaskDefinition": { "ContainerDefinitions": containers } }))
                }
                (_, None) => self.invoke(&arguments).await.map(as_result),
                (_, Some(open)) => self.invoke_and_wait(&arguments, &open).await,
            }
        };
        let bound = async {
            match *timeout {
                Some(millis) => {
                    run.world.sleep(millis).await;
                    timed_out.store(true, Ordering::Relaxed);
                }
                None => pending().await,
            }
        };
        match race(answer, bound).await {
            First::Left(answer) => answer,
            First::Right(()) => Err(Failure::new("States.Timeout", "")),
        }
    }

    fn timeout(&self, state: &TaskState, facts: Facts<'_>) -> Result<Option<u64>, Failure> {
        let Some(template) = &state.timeout_seconds else {
            return Ok(None);
        };
        let value = self.fill(template, facts)?;
        let seconds = value.as_u64().filter(|seconds| *seconds > 0);
        let seconds = seconds.ok_or_else(|| {
            let cause = format!("TimeoutSeconds is {value}, which is no positive whole number");
            Failure::new("States.QueryEvaluationError", &cause)
        })?;
        Ok(Some(seconds * 1000))
    }

    async fn invoke(&self, arguments: &Value) -> Result<Value, Failure> {
        let name = arguments["FunctionName"].as_str().unwrap_or_default();
        let function = Function::of_arn(name)
            .unwrap_or_else(|| panic!("the definition calls {name}, which is no function"));
        invoke(&self.run.world, function, arguments["Payload"].clone()).await
    }

    /// Waits for SendTaskSuccess or SendTaskFailure. The function's answer changes nothing; its
    /// failure fails the state.
    async fn invoke_and_wait(&self, arguments: &Value, open: &OpenState) -> Result<Value, Failure> {
        let fails = async {
            match self.invoke(arguments).await {
                Ok(_) => pending().await,
                Err(failure) => failure,
            }
        };
        match race(open.answer.wait(), fails).await {
            First::Left(answer) => answer,
            First::Right(failure) => Err(failure),
        }
    }
}

fn as_result(payload: Value) -> Value {
    json!({ "ExecutedVersion": "$LATEST", "Payload": payload, "StatusCode": 200 })
}
