//! Services that answer as a script says, so that a definition can be tested state by state.

use super::definition::Resource;
use super::scope::Facts;
use crate::engine::locked;
use crate::invoke::Failure;
use serde_json::Value;
use std::collections::{BTreeMap, VecDeque};
use std::future::pending;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

/// How a service answers one call.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    Gives(Value),
    Fails(Failure),
    /// No answer comes: the state times out, or the execution is stopped.
    Hangs,
}

/// One call of a service.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Call {
    pub(crate) state: String,
    pub(crate) resource: Resource,
    pub(crate) arguments: Value,
    pub(crate) timeout_seconds: Option<u64>,
}

/// The answers of each state in their order, and the calls so far.
#[derive(Debug, Default)]
pub(crate) struct Script {
    answers: Mutex<BTreeMap<String, VecDeque<Answer>>>,
    calls: Mutex<Vec<Call>>,
    /// How many milliseconds before its time a Wait until a time ends.
    early: AtomicU64,
}

impl Script {
    /// Adds an answer for `state`. The last answer of a state is given to every later call.
    pub(crate) fn add(&self, state: &str, answer: Answer) {
        let mut answers = locked(&self.answers);
        answers.entry(state.into()).or_default().push_back(answer);
    }

    /// Ends each Wait state with a timestamp `millis` before that timestamp.
    pub(crate) fn end_waits_early(&self, millis: u64) {
        self.early.store(millis, Ordering::Relaxed);
    }

    pub(super) fn early(&self) -> u64 {
        self.early.load(Ordering::Relaxed)
    }

    /// Returns every call so far, in order.
    pub(crate) fn calls(&self) -> Vec<Call> {
        locked(&self.calls).clone()
    }

    /// Records a call, and gives the next answer of its state.
    ///
    /// # Panics
    /// If the script expects no call of the state.
    pub(super) async fn call(
        &self,
        facts: Facts<'_>,
        resource: Resource,
        arguments: Value,
        timeout: Option<u64>,
    ) -> Result<Value, Failure> {
        let state = facts.state.to_owned();
        locked(&self.calls).push(Call {
            state: state.clone(),
            resource,
            arguments,
            timeout_seconds: timeout.map(|millis| millis / 1000),
        });
        match self.next(&state) {
            Answer::Gives(value) => Ok(value),
            Answer::Fails(failure) => Err(failure),
            Answer::Hangs => pending().await,
        }
    }

    fn next(&self, state: &str) -> Answer {
        let mut answers = locked(&self.answers);
        let left = answers.get_mut(state);
        let left = left.unwrap_or_else(|| panic!("{state} calls a service, which is not expected"));
        match left.len() {
            1 => left.front().cloned(),
            _ => left.pop_front(),
        }
        .unwrap_or(Answer::Hangs)
    }
}
