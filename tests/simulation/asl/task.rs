//! The calls of Task states, the errors that a retrier or a catcher names, and the delays of
//! retries.

use super::definition::{Catcher, Jitter, Resource, Retrier, TaskState};
use super::scope::{Facts, Scope};
use crate::bill;
use crate::cloud::{Caller, OpenState, describe_child, run_task, start_execution};
use crate::engine::{First, race};
use crate::functions::Function;
use crate::invoke::{Failure, invoke};
use crate::world::World;
use serde_json::{Value, json};
use std::future::pending;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

impl Scope<'_> {
    /// Makes one attempt of a Task state, with a task token of its own and with Arguments of this
    /// moment.
    ///
    /// AWS does not document whether TimeoutSeconds is evaluated anew with each attempt: in some
    /// worlds it is, in some it is not.
    pub(super) async fn call(
        &self,
        state: &TaskState,
        mut facts: Facts<'_>,
        timeout: &mut Option<u64>,
    ) -> Result<Value, Failure> {
        let run = self.run;
        let waits = state.resource == Resource::InvokeAndWait;
        // Step Functions may schedule a state late: then a holder is silent, and alive.
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
            let caller = Caller {
                world: Arc::clone(&run.world),
                execution: run.arn.clone(),
                timed_out: Arc::clone(&timed_out),
            };
            match (state.resource, open) {
                (Resource::RunTask, _) => run_task(caller, &arguments).await,
                (Resource::StartExecution, _) => start_execution(caller, &arguments).await,
                (Resource::DescribeExecution, _) => describe_child(&run.world, &arguments).await,
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
                Ok(_) => {
                    bill::event(&self.run.world);
                    pending().await
                }
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

/// Returns whether a list of names covers `error`
/// (<https://docs.aws.amazon.com/step-functions/latest/dg/concepts-error-handling.html>). No name
/// covers `States.Runtime`, and `States.ALL` covers `States.DataLimitExceeded`, as
/// tests/aws/assumptions.toml says.
pub(super) fn covers(names: &[String], error: &str) -> bool {
    error != "States.Runtime"
        && names.iter().any(|name| match name.as_str() {
            "States.ALL" => true,
            "States.TaskFailed" => error != "States.Timeout",
            name => name == error,
        })
}

/// Returns the first catcher for `error`.
pub(super) fn catcher<'a>(catchers: &'a [Catcher], error: &str) -> Option<&'a Catcher> {
    catchers
        .iter()
        .find(|catcher| covers(&catcher.error_equals, error))
}

/// How often each retrier of a state was used since the state was entered.
pub(super) struct Retries<'a> {
    retriers: &'a [Retrier],
    used: Vec<u32>,
}

impl<'a> Retries<'a> {
    pub(super) fn new(retriers: &'a [Retrier]) -> Self {
        Self {
            retriers,
            used: vec![0; retriers.len()],
        }
    }

    /// Returns the number of all retries since the state was entered.
    pub(super) fn count(&self) -> u32 {
        self.used.iter().sum()
    }

    /// Returns how long to wait before the next attempt, in milliseconds; `None` if there is none.
    /// Only the first retrier that covers the error counts.
    pub(super) fn delay(&mut self, world: &World, error: &str) -> Option<u64> {
        let covers = |retrier: &Retrier| covers(&retrier.error_equals, error);
        let index = self.retriers.iter().position(covers)?;
        let (retrier, used) = (&self.retriers[index], &mut self.used[index]);
        if *used >= retrier.max_attempts {
            return None;
        }
        let delay = millis(retrier, *used);
        *used += 1;
        Some(match retrier.jitter_strategy {
            Jitter::Full => world.number(0..=delay),
            Jitter::None => delay,
        })
    }
}

fn millis(retrier: &Retrier, used: u32) -> u64 {
    let growth = retrier
        .backoff_rate
        .powi(i32::try_from(used).unwrap_or(i32::MAX));
    let seconds = f64::from(retrier.interval_seconds) * growth;
    let most = retrier.max_delay_seconds.unwrap_or(31_622_400);
    let delay = Duration::from_secs_f64(seconds.min(f64::from(most)));
    u64::try_from(delay.as_millis()).unwrap_or(u64::MAX)
}
