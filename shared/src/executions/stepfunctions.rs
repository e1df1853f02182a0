//! Step Functions itself.

use super::{Execution, ExecutionArn, Executions, ExecutionsError};
use crate::domain::{TaskToken, Timestamp};
use aws_sdk_sfn::Client;
use aws_sdk_sfn::error::{DisplayErrorContext, ProvideErrorMetadata, SdkError};
use aws_sdk_sfn::types::{ExecutionListItem, ExecutionStatus};

/// Most pages of the list that one check reads; a page has up to 1000 executions.
const PAGES_MAX: usize = 20;

/// Step Functions itself.
#[derive(Clone, Debug)]
pub struct StepFunctions {
    client: Client,
}

impl StepFunctions {
    /// Step Functions as `sdk` reaches it. Its retry policy rides out throttling.
    #[must_use]
    pub fn from_sdk(sdk: &aws_config::SdkConfig) -> Self {
        Self {
            client: Client::new(sdk),
        }
    }
}

impl Executions for StepFunctions {
    async fn running(&self, state_machine: &str) -> Result<Vec<Execution>, ExecutionsError> {
        let list = self.client.list_executions();
        let list = list
            .state_machine_arn(state_machine)
            .status_filter(ExecutionStatus::Running);
        let mut pages = list.max_results(1000).into_paginator().send();
        let mut running = Vec::new();
        for _ in 0..PAGES_MAX {
            let Some(page) = pages.next().await else {
                return Ok(running);
            };
            let page = page.map_err(|error| translate(&error))?;
            running.extend(page.executions.iter().filter_map(execution));
        }
        let rule = format!("more than {} executions run", PAGES_MAX * 1000);
        Err(ExecutionsError::Unavailable(rule))
    }

    async fn end_state(&self, token: &TaskToken) -> Result<bool, ExecutionsError> {
        let call = self
            .client
            .send_task_success()
            .task_token(token.reveal())
            .output("{}");
        match call.send().await {
            Ok(_) => Ok(true),
            Err(error) => match error.code() {
                // The state has ended: timed out and retried, or its execution is over.
                Some("TaskTimedOut" | "TaskDoesNotExist" | "InvalidToken") => Ok(false),
                _ => Err(translate(&error)),
            },
        }
    }
}

fn execution(item: &ExecutionListItem) -> Option<Execution> {
    let millis = u64::try_from(item.start_date.to_millis().ok()?).ok()?;
    let arn = ExecutionArn::new(item.execution_arn.clone()).ok()?;
    Some(Execution {
        arn,
        started_at: Timestamp::from_millis(millis),
    })
}

fn translate<E>(error: &SdkError<E>) -> ExecutionsError
where
    E: std::error::Error + ProvideErrorMetadata + 'static,
{
    let text: String = DisplayErrorContext(error)
        .to_string()
        .chars()
        .take(300)
        .collect();
    match error.code() {
        Some(
            "AccessDeniedException"
            | "UnrecognizedClientException"
            | "ExpiredTokenException"
            | "InvalidSignatureException"
            | "StateMachineDoesNotExist"
            | "StateMachineTypeNotSupported"
            | "InvalidArn",
        ) => ExecutionsError::Denied(text),
        _ => ExecutionsError::Unavailable(text),
    }
}
