//! Step Functions in memory, for tests of what stands above it.

use super::{Execution, Executions, ExecutionsError};
use crate::domain::TaskToken;
use std::sync::{Mutex, PoisonError};

/// Executions that a test has set.
#[derive(Debug, Default)]
pub struct MemoryExecutions {
    running: Vec<Execution>,
    ended: Mutex<Vec<TaskToken>>,
}

impl MemoryExecutions {
    /// These run, and no others.
    #[must_use]
    pub fn with_running(running: Vec<Execution>) -> Self {
        Self {
            running,
            ended: Mutex::default(),
        }
    }

    /// The tokens of the states that were ended, in order.
    pub fn ended(&self) -> Vec<TaskToken> {
        self.ended
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .clone()
    }
}

impl Executions for MemoryExecutions {
    async fn running(&self, state_machine: &str) -> Result<Vec<Execution>, ExecutionsError> {
        let of_machine = |execution: &&Execution| execution.arn.state_machine() == state_machine;
        Ok(self.running.iter().filter(of_machine).cloned().collect())
    }

    async fn end_state(&self, token: &TaskToken) -> Result<bool, ExecutionsError> {
        let mut ended = self.ended.lock().unwrap_or_else(PoisonError::into_inner);
        let first = !ended.contains(token);
        ended.push(token.clone());
        Ok(first)
    }
}
