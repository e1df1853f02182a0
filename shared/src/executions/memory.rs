//! Step Functions in memory, for tests.

#[cfg(test)]
mod tests;

use super::{Executions, ExecutionsError, Start, StateEnd};
use crate::faults::{Faults, lock};
use lockstep_core::domain::{
    Execution, ExecutionArn, ExecutionDescription, ExecutionEnd, ExecutionState, FailedStart,
    LockKey, StateMachineArn, TaskToken, Timestamp,
};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Mutex;

/// Step Functions in memory. It has the executions that a test adds, and records the calls.
#[derive(Debug, Default)]
pub struct MemoryExecutions {
    inner: Mutex<Inner>,
    faults: Faults<ExecutionsCall, ExecutionsError>,
}

#[derive(Debug, Default)]
struct Inner {
    known: BTreeMap<ExecutionArn, (Timestamp, ExecutionState)>,
    ended_at: BTreeMap<ExecutionArn, Timestamp>,
    /// States that [`Executions::describe`] reports only after this number of calls.
    late: BTreeMap<ExecutionArn, (u32, ExecutionState)>,
    stops: Vec<StopOfExecution>,
    gone: BTreeSet<TaskToken>,
    ended: Vec<(TaskToken, String)>,
    inside: bool,
    seals: bool,
    strangers: BTreeSet<ExecutionArn>,
    starts: Vec<Start>,
    inputs: BTreeMap<ExecutionArn, String>,
    failed_starts: BTreeMap<ExecutionArn, Vec<FailedStart>>,
    /// Answers of [`Executions::describe`] that a test has fixed.
    described: BTreeMap<ExecutionArn, Result<ExecutionDescription, ExecutionsError>>,
}

/// A call of [`Executions`] that can be made to fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ExecutionsCall {
    /// [`Executions::running`].
    Running,
    /// [`Executions::describe`].
    Describe,
    /// [`Executions::names_lock`].
    NamesLock,
    /// [`Executions::failed_starts`].
    FailedStarts,
    /// [`Executions::stop`].
    Stop,
    /// [`Executions::check_start`].
    CheckStart,
    /// [`Executions::start`].
    Start,
    /// [`Executions::end_state`].
    EndState,
}

/// The arguments of a call of [`Executions::stop`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StopOfExecution {
    /// The execution.
    pub execution: ExecutionArn,
    /// The error name.
    pub error: String,
    /// The cause.
    pub cause: String,
}

impl MemoryExecutions {
    /// Creates an instance with the executions `running` and no others.
    #[must_use]
    pub fn with_running(running: Vec<Execution>) -> Self {
        let executions = Self::default();
        for execution in running {
            executions.start(execution);
        }
        executions
    }

    /// Adds `execution`, which runs.
    pub fn start(&self, execution: Execution) {
        let Execution { arn, started_at } = execution;
        let known = (started_at, ExecutionState::Running);
        lock(&self.inner).known.insert(arn, known);
    }

    /// Sets the state of `execution`. An execution that was never started gets the start of 1970 as its start
    /// time.
    pub fn set(&self, execution: &ExecutionArn, state: ExecutionState) {
        let mut inner = lock(&self.inner);
        let unstarted = (Timestamp::from_millis(0), state);
        let known = inner.known.entry(execution.clone()).or_insert(unstarted);
        known.1 = state;
    }

    /// Ends `execution` with `end`, at the time `at`.
    pub fn end(&self, execution: &ExecutionArn, end: ExecutionEnd, at: Timestamp) {
        self.set(execution, ExecutionState::Ended(end));
        lock(&self.inner).ended_at.insert(execution.clone(), at);
    }

    /// Sets the answer of [`Executions::describe`] for `execution`. It does not change with the state of the
    /// execution.
    pub fn describe_as(
        &self,
        execution: &ExecutionArn,
        answer: Result<ExecutionDescription, ExecutionsError>,
    ) {
        self.set(execution, ExecutionState::Running);
        lock(&self.inner)
            .described
            .insert(execution.clone(), answer);
    }

    /// Sets the state of `execution`, and lets [`Executions::describe`] report it only after `calls` more
    /// calls, because DescribeExecution is eventually consistent.
    pub fn set_late(&self, execution: &ExecutionArn, state: ExecutionState, calls: u32) {
        let late = (calls, state);
        lock(&self.inner).late.insert(execution.clone(), late);
    }

    /// Returns the executions that are known.
    pub fn known(&self) -> Vec<ExecutionArn> {
        lock(&self.inner).known.keys().cloned().collect()
    }

    /// Sets the input of `execution`. Without a call it is the ARN of the execution, as a JSON string.
    pub fn set_input(&self, execution: &ExecutionArn, input: &str) {
        let inputs = &mut lock(&self.inner).inputs;
        inputs.insert(execution.clone(), input.to_owned());
    }

    /// Returns what was started, in the order of the calls.
    pub fn starts(&self) -> Vec<Start> {
        lock(&self.inner).starts.clone()
    }

    /// Removes `execution`.
    pub fn forget(&self, execution: &ExecutionArn) {
        lock(&self.inner).known.remove(execution);
    }

    /// Ends the state that waits with `token`, as a timeout does.
    pub fn close(&self, token: &TaskToken) {
        lock(&self.inner).gone.insert(token.clone());
    }

    /// Makes [`Executions::names_lock`] and [`Executions::check_start`] return `false` for `execution`.
    pub fn disown(&self, execution: &ExecutionArn) {
        lock(&self.inner).strangers.insert(execution.clone());
    }

    /// Adds a failed call of RunTask to the history of `execution`.
    pub fn fail_start(&self, execution: &ExecutionArn, start: FailedStart) {
        let mut inner = lock(&self.inner);
        let starts = inner.failed_starts.entry(execution.clone());
        starts.or_default().push(start);
    }

    /// Seals task tokens from now on, without encryption.
    pub fn seal_tokens(&self) {
        lock(&self.inner).seals = true;
    }

    /// Sets whether the calls come from a container, which cannot end a state.
    pub fn set_inside(&self, inside: bool) {
        lock(&self.inner).inside = inside;
    }

    /// Makes the next `call` fail with `error`.
    pub fn fail_next(&self, call: ExecutionsCall, error: ExecutionsError) {
        self.faults.next(call, error);
    }

    /// Makes every `call` fail with `error` until [`Self::heal`].
    pub fn fail_every(&self, call: ExecutionsCall, error: ExecutionsError) {
        self.faults.every(call, error);
    }

    /// Leaves every call from now on without a response.
    pub fn silence(&self) {
        self.faults.silence();
    }

    /// Makes all calls succeed again.
    pub fn heal(&self) {
        self.faults.heal();
    }

    /// Returns the calls of [`Executions::stop`], in order, including those for ended executions.
    pub fn stops(&self) -> Vec<StopOfExecution> {
        lock(&self.inner).stops.clone()
    }

    /// Returns the tokens of the states that were ended, in order.
    pub fn ended(&self) -> Vec<TaskToken> {
        let inner = lock(&self.inner);
        inner.ended.iter().map(|(token, _)| token.clone()).collect()
    }

    /// Returns the output with which the state of `token` was ended.
    pub fn output(&self, token: &TaskToken) -> Option<String> {
        let inner = lock(&self.inner);
        let ended = inner.ended.iter().find(|(ended, _)| ended == token);
        ended.map(|(_, output)| output.clone())
    }
}

impl Executions for MemoryExecutions {
    async fn running(&self, state_machine: &str) -> Result<Vec<Execution>, ExecutionsError> {
        self.faults.strike(&ExecutionsCall::Running).await?;
        let inner = lock(&self.inner);
        let running = inner.known.iter().filter(|(arn, (_, state))| {
            *state == ExecutionState::Running && arn.state_machine() == state_machine
        });
        let execution = |(arn, (started_at, _)): (&ExecutionArn, &(Timestamp, _))| Execution {
            arn: arn.clone(),
            started_at: *started_at,
        };
        Ok(running.map(execution).collect())
    }

    async fn describe(
        &self,
        execution: &ExecutionArn,
    ) -> Result<Option<ExecutionDescription>, ExecutionsError> {
        self.faults.strike(&ExecutionsCall::Describe).await?;
        let mut inner = lock(&self.inner);
        if let Some(answer) = inner.described.get(execution) {
            return answer.clone().map(Some);
        }
        let seen = inner.known.get(execution).map(|(_, state)| *state);
        let state = match inner.late.remove(execution) {
            Some((0, state)) => {
                inner
                    .known
                    .entry(execution.clone())
                    .and_modify(|known| known.1 = state);
                Some(state)
            }
            Some((calls, state)) => {
                inner.late.insert(execution.clone(), (calls - 1, state));
                seen
            }
            None => seen,
        };
        let ended = |state: &ExecutionState| *state != ExecutionState::Running;
        let stopped_at = inner.ended_at.get(execution).copied();
        Ok(state.map(|state| ExecutionDescription {
            stopped_at: stopped_at.filter(|_| ended(&state)),
            ..state.into()
        }))
    }

    async fn names_lock(
        &self,
        execution: &ExecutionArn,
        _: &LockKey,
    ) -> Result<bool, ExecutionsError> {
        self.faults.strike(&ExecutionsCall::NamesLock).await?;
        let inner = lock(&self.inner);
        Ok(inner.known.contains_key(execution) && !inner.strangers.contains(execution))
    }

    async fn failed_starts(
        &self,
        execution: &ExecutionArn,
    ) -> Result<Vec<FailedStart>, ExecutionsError> {
        self.faults.strike(&ExecutionsCall::FailedStarts).await?;
        let starts = lock(&self.inner).failed_starts.get(execution).cloned();
        Ok(starts.unwrap_or_default())
    }

    async fn stop(
        &self,
        execution: &ExecutionArn,
        error: &str,
        cause: &str,
    ) -> Result<(), ExecutionsError> {
        self.faults.strike(&ExecutionsCall::Stop).await?;
        let mut inner = lock(&self.inner);
        inner.stops.push(StopOfExecution {
            execution: execution.clone(),
            error: error.to_owned(),
            cause: cause.to_owned(),
        });
        if let Some((_, state @ ExecutionState::Running)) = inner.known.get_mut(execution) {
            *state = ExecutionState::Ended(ExecutionEnd::Aborted);
        }
        Ok(())
    }

    /// Returns a start whose input is the ARN of the execution, by which [`Self::check_start`] recognizes it.
    async fn start_of(&self, execution: &ExecutionArn) -> Result<Option<Start>, ExecutionsError> {
        let inner = lock(&self.inner);
        let input = inner.inputs.get(execution).cloned();
        let arn = || serde_json::Value::from(execution.as_str()).to_string();
        Ok(inner.known.contains_key(execution).then(|| Start {
            state_machine: StateMachineArn::new(execution.state_machine()).expect("its ARN"),
            input: Some(input.unwrap_or_else(arn)),
        }))
    }

    async fn check_start(&self, start: &Start, key: &LockKey) -> Result<bool, ExecutionsError> {
        self.faults.strike(&ExecutionsCall::CheckStart).await?;
        let input = start.input.as_deref().unwrap_or_default();
        let execution = serde_json::from_str::<String>(input).map(ExecutionArn::new);
        Ok(match execution {
            Ok(Ok(execution)) => !lock(&self.inner).strangers.contains(&execution),
            Ok(Err(_)) | Err(_) => start.names(key),
        })
    }

    async fn start(&self, start: &Start, name: &str) -> Result<ExecutionArn, ExecutionsError> {
        self.faults.strike(&ExecutionsCall::Start).await?;
        let started = start.execution(name)?;
        let mut inner = lock(&self.inner);
        if !inner.known.contains_key(&started) {
            let begun = inner.known.values().map(|(at, _)| *at).max();
            let running = (begun.unwrap_or_default(), ExecutionState::Running);
            inner.known.insert(started.clone(), running);
            inner.starts.push(start.clone());
        }
        Ok(started)
    }

    async fn seal(&self, _: &LockKey, token: &TaskToken) -> Result<TaskToken, ExecutionsError> {
        match lock(&self.inner).seals {
            true => Ok(TaskToken::sealed(token.reveal())),
            false => Ok(token.clone()),
        }
    }

    async fn end_state(
        &self,
        _: &LockKey,
        token: &TaskToken,
        output: &str,
    ) -> Result<StateEnd, ExecutionsError> {
        self.faults.strike(&ExecutionsCall::EndState).await?;
        let mut inner = lock(&self.inner);
        if inner.inside {
            return Ok(StateEnd::Sealed);
        }
        let token = match token.as_sealed() {
            Some(sealed) => TaskToken::of_record(sealed).expect("a token was sealed"),
            None => token.clone(),
        };
        let waits = inner.gone.insert(token.clone());
        if waits {
            inner.ended.push((token, output.to_owned()));
            return Ok(StateEnd::Ended);
        }
        Ok(StateEnd::NotWaiting)
    }
}
