//! Client of Step Functions.
//!
//! Its answers decide about permits, so an answer that is not understood counts as no answer: an unknown
//! status is an error, and not *ended*. The SDK may repeat every call.

mod error;
mod history;
mod vault;

use self::error::translate;
use self::vault::Vault;
use super::{Executions, ExecutionsError, HISTORY_PAGES, Start, StateEnd, names};
use crate::lazy::LazyClient;
use crate::store::dynamodb::DynamoStore;
use aws_sdk_sfn::Client;
use aws_sdk_sfn::error::ProvideErrorMetadata;
use aws_sdk_sfn::operation::describe_execution::DescribeExecutionOutput;
use aws_sdk_sfn::primitives::DateTime;
use aws_sdk_sfn::types::{
    ExecutionListItem, ExecutionStatus, IncludedData, StateMachineStatus, StateMachineType,
};
use lockstep_core::domain::{
    Execution, ExecutionArn, ExecutionDescription, ExecutionState, FailedStart, LockKey,
    StateMachineArn, TaskToken, Timestamp,
};
use std::time::Duration;
use tokio::time::timeout;

/// Largest number of pages of ListExecutions that one check reads. A page has up to 1000 executions.
const PAGES_MAX: usize = 20;

/// Longest error name of a stopped execution, in characters.
const ERROR_MAX: usize = 256;

/// Longest cause of a stopped execution, in characters.
const CAUSE_MAX: usize = 32_768;

/// Longest time that a function waits for the key of task tokens before its first event.
const PREPARE_MAX: Duration = Duration::from_secs(1);

/// A client of Step Functions.
#[derive(Clone, Debug)]
pub struct StepFunctions {
    client: LazyClient<Client>,
    /// The key that seals task tokens. A container has none.
    vault: Option<Vault>,
}

impl StepFunctions {
    /// Creates the client of a function. The retry policy of `sdk` handles throttling. Task tokens
    /// are sealed with the key in `table`.
    #[must_use]
    pub fn from_sdk(sdk: &aws_config::SdkConfig, table: DynamoStore) -> Self {
        Self {
            client: LazyClient::new(sdk, Client::new),
            vault: Some(Vault::new(table)),
        }
    }

    /// Reads the key of task tokens before the first event, which also opens a connection to the table.
    /// Before the first event a function has a whole core; afterwards its share of CPU depends on its memory
    /// (<https://docs.aws.amazon.com/lambda/latest/dg/lambda-runtime-environment.html>).
    ///
    /// If the table does not answer within one second, the first use of the key reads it.
    pub async fn prepare(&self) {
        let Some(vault) = &self.vault else { return };
        match timeout(PREPARE_MAX, vault.read(None)).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => {
                tracing::warn!(event = "token_key_unread", %error, "the key of task tokens was not read; its first use reads it");
            }
            Err(_) => tracing::warn!(
                event = "token_key_unread",
                "the key of task tokens was not read within a second; its first use reads it"
            ),
        }
    }

    /// Builds the client now. A function whose every event needs the client calls this before the first
    /// event.
    pub fn build(&self) {
        let _: &Client = &self.client;
    }

    /// Creates the client of a container, which cannot seal task tokens or end states.
    #[must_use]
    pub fn without_tokens(sdk: &aws_config::SdkConfig) -> Self {
        Self {
            client: LazyClient::new(sdk, Client::new),
            vault: None,
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
            if page.next_token.is_none() {
                return Ok(running);
            }
        }
        // A part of the list may lack the execution that is ahead, so it is not an answer.
        let rule = format!("more than {} executions are running", PAGES_MAX * 1000);
        Err(ExecutionsError::Unavailable(rule))
    }

    async fn describe(
        &self,
        execution: &ExecutionArn,
    ) -> Result<Option<ExecutionDescription>, ExecutionsError> {
        let call = self.client.describe_execution();
        // Metadata alone needs no permission for the KMS key that may encrypt the input and the output.
        let call = call
            .execution_arn(execution.as_str())
            .included_data(IncludedData::MetadataOnly);
        match call.send().await {
            Ok(seen) => description(&seen).map(Some),
            Err(error) if error.code() == Some("ExecutionDoesNotExist") => Ok(None),
            Err(error) => Err(translate(&error)),
        }
    }

    async fn names_lock(
        &self,
        execution: &ExecutionArn,
        lock: &LockKey,
    ) -> Result<bool, ExecutionsError> {
        // The input may be encrypted with a key that this role may not use. Then the call fails, nothing is
        // proven, and nothing is stopped.
        let call = self.client.describe_execution();
        match call.execution_arn(execution.as_str()).send().await {
            // The input comes first, because most workflows name the lock there, and then one call is enough.
            Ok(seen) if is_named(seen.input(), lock) => return Ok(true),
            Ok(_) => {}
            Err(error) if error.code() == Some("ExecutionDoesNotExist") => return Ok(false),
            Err(error) => return Err(translate(&error)),
        }
        let call = self.client.describe_state_machine_for_execution();
        match call.execution_arn(execution.as_str()).send().await {
            Ok(machine) => Ok(is_named(Some(machine.definition()), lock)),
            Err(error) if error.code() == Some("ExecutionDoesNotExist") => Ok(false),
            Err(error) => Err(translate(&error)),
        }
    }

    async fn failed_starts(
        &self,
        execution: &ExecutionArn,
    ) -> Result<Vec<FailedStart>, ExecutionsError> {
        if self.vault.is_none() {
            let rule = "only a function reads the history of an execution";
            return Err(ExecutionsError::Unavailable(rule.into()));
        }
        let call = self.client.get_execution_history();
        let call = call
            .execution_arn(execution.as_str())
            .reverse_order(true)
            .max_results(1000);
        let mut pages = call.into_paginator().send();
        let (mut events, mut latest) = (Vec::new(), None);
        for _ in 0..HISTORY_PAGES {
            let Some(page) = pages.next().await else {
                break;
            };
            let page = page.map_err(|error| translate(&error))?;
            // The newest event comes first.
            latest = latest.or_else(|| time(page.events.first()?.timestamp()));
            events.extend(page.events.into_iter().filter_map(history::trim_task_event));
        }
        Ok(history::failed_starts(&events, latest.unwrap_or_default()))
    }

    async fn stop(
        &self,
        execution: &ExecutionArn,
        error: &str,
        cause: &str,
    ) -> Result<(), ExecutionsError> {
        let call = self.client.stop_execution();
        let call = call
            .execution_arn(execution.as_str())
            .error(cut(error, ERROR_MAX))
            .cause(cut(cause, CAUSE_MAX));
        let Err(failure) = call.send().await else {
            return Ok(());
        };
        match failure.code() {
            Some("ExecutionDoesNotExist") => Ok(()),
            // The response of StopExecution for an ended execution is not documented, so DescribeExecution
            // decides.
            Some("ValidationException") => match self.describe(execution).await? {
                Some(seen) if seen.state == ExecutionState::Running => Err(translate(&failure)),
                Some(_) | None => Ok(()),
            },
            _ => Err(translate(&failure)),
        }
    }

    async fn start_of(&self, execution: &ExecutionArn) -> Result<Option<Start>, ExecutionsError> {
        let call = self.client.describe_execution();
        let seen = match call.execution_arn(execution.as_str()).send().await {
            Ok(seen) => seen,
            Err(error) if error.code() == Some("ExecutionDoesNotExist") => return Ok(None),
            Err(error) => return Err(translate(&error)),
        };
        let state_machine = StateMachineArn::new(execution.state_machine())
            .map_err(|invalid| ExecutionsError::Denied(invalid.to_string()))?;
        let input = seen.input;
        Ok(Some(Start {
            state_machine,
            input,
        }))
    }

    async fn check_start(&self, start: &Start, lock: &LockKey) -> Result<bool, ExecutionsError> {
        let machine = start.state_machine.as_str();
        let is_named_by_input = start.names(lock);
        // Metadata alone needs no permission for the KMS key that may encrypt the definition.
        let included = match is_named_by_input {
            true => IncludedData::MetadataOnly,
            false => IncludedData::AllData,
        };
        let call = self.client.describe_state_machine();
        let call = call.state_machine_arn(machine).included_data(included);
        match call.send().await {
            Ok(seen) if seen.status == Some(StateMachineStatus::Deleting) => Err(
                ExecutionsError::Denied(format!("{machine} is being deleted")),
            ),
            Ok(seen) if *seen.r#type() == StateMachineType::Express => {
                Err(ExecutionsError::Denied(format!(
                    "{machine} is an Express workflow: only a Standard workflow can hold a lock"
                )))
            }
            Ok(seen) => Ok(is_named_by_input || is_named(Some(seen.definition()), lock)),
            Err(error) => Err(translate(&error)),
        }
    }

    async fn start(&self, start: &Start, name: &str) -> Result<ExecutionArn, ExecutionsError> {
        let call = self.client.start_execution();
        let call = call
            .state_machine_arn(start.state_machine.as_str())
            .name(name)
            .set_input(start.input.clone());
        match call.send().await {
            Err(error) if error.code() != Some("ExecutionAlreadyExists") => Err(translate(&error)),
            Ok(_) | Err(_) => start.execution(name),
        }
    }

    async fn seal(&self, lock: &LockKey, token: &TaskToken) -> Result<TaskToken, ExecutionsError> {
        match &self.vault {
            Some(vault) => vault.seal(lock, token).await,
            None => Err(ExecutionsError::Denied(
                "only a function can seal task tokens".into(),
            )),
        }
    }

    async fn end_state(
        &self,
        lock: &LockKey,
        token: &TaskToken,
        output: &str,
    ) -> Result<StateEnd, ExecutionsError> {
        let opened = match (&self.vault, token.as_sealed()) {
            // A container has no key, and no right to SendTaskSuccess.
            (None, _) => return Ok(StateEnd::Sealed),
            // A token written by an earlier version, which did not seal tokens.
            (Some(_), None) => Some(token.clone()),
            (Some(vault), Some(_)) => vault.open(lock, token).await?,
        };
        let Some(token) = opened else {
            tracing::warn!(event = "token_rejected", %lock, "the task token was not sealed for this lock with the key of this table; no state is ended");
            return Ok(StateEnd::NotWaiting);
        };
        let call = self.client.send_task_success();
        let call = call.task_token(token.reveal()).output(output);
        match call.send().await {
            Ok(_) => Ok(StateEnd::Ended),
            Err(error) => match error.code() {
                // The state has ended: it timed out, or its execution has ended.
                Some("TaskTimedOut" | "TaskDoesNotExist" | "InvalidToken") => {
                    Ok(StateEnd::NotWaiting)
                }
                _ => Err(translate(&error)),
            },
        }
    }
}

fn execution(item: &ExecutionListItem) -> Option<Execution> {
    let arn = ExecutionArn::new(item.execution_arn.clone()).ok()?;
    Some(Execution {
        arn,
        started_at: time(&item.start_date)?,
    })
}

fn description(seen: &DescribeExecutionOutput) -> Result<ExecutionDescription, ExecutionsError> {
    let redrives = seen.redrive_count().unwrap_or(0);
    Ok(ExecutionDescription {
        state: state(seen.status())?,
        redrives: u32::try_from(redrives).unwrap_or(0),
        stopped_at: seen.stop_date().and_then(time),
    })
}

fn time(time: &DateTime) -> Option<Timestamp> {
    let millis = u64::try_from(time.to_millis().ok()?).ok()?;
    Some(Timestamp::from_millis(millis))
}

fn state(status: &ExecutionStatus) -> Result<ExecutionState, ExecutionsError> {
    let status = status.as_str();
    let unknown =
        || ExecutionsError::Unavailable(format!("an execution has the unknown status {status}"));
    ExecutionState::of_status(status).ok_or_else(unknown)
}

fn cut(text: &str, max: usize) -> String {
    text.chars().take(max).collect()
}

/// Returns whether `json`, which may be missing, names `lock`.
fn is_named(json: Option<&str>, lock: &LockKey) -> bool {
    let json = json.and_then(|text| serde_json::from_str(text).ok());
    json.is_some_and(|json| names(&json, lock))
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockstep_core::domain::ExecutionEnd;

    #[test]
    fn an_unknown_execution_status_is_an_error() {
        let ended = state(&ExecutionStatus::from("TIMED_OUT")).unwrap();
        let unknown = state(&ExecutionStatus::from("HIBERNATED")).unwrap_err();

        assert_eq!(ended, ExecutionState::Ended(ExecutionEnd::TimedOut));
        assert!(unknown.to_string().contains("HIBERNATED"), "{unknown}");
    }

    #[test]
    fn a_text_is_cut_between_characters() {
        assert_eq!(cut("äöü", 2), "äö");
        assert_eq!(cut("short", 256), "short");
    }
}
