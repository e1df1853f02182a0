//! A run whose container works, and one that waits for it.

use super::{BatchInput, Event, Stack, runs};

/// A run whose container works.
#[derive(Clone, Debug)]
pub struct AtWork {
    /// Its execution.
    pub arn: String,
    /// The id of its task.
    pub task: String,
    /// Its fencing token.
    pub token: u64,
}

/// Starts the first run of a lock and waits until its container works.
pub async fn at_work(stack: &Stack, input: &BatchInput) -> AtWork {
    at_work_of(stack, stack.output("ExclusiveRunStateMachineArn"), input).await
}

/// Starts the first run of a lock by another state machine than the deployed one.
pub async fn at_work_of(stack: &Stack, machine: &str, input: &BatchInput) -> AtWork {
    let arn = stack.start_machine(machine, input.json()).await;
    let records = stack.wait_for(input.lock(), Event::Start, 1, 60).await;
    let run = runs(&records).remove(0);
    assert_eq!(run.holder(), arn, "who works");
    AtWork {
        arn,
        token: run.token(),
        task: run.task,
    }
}

/// Starts a run that waits, and waits until `count` runs are in the queue. Returns its ARN.
pub async fn in_queue(stack: &Stack, input: &BatchInput, count: usize) -> String {
    let arn = stack.start(&input.clone().queued()).await;
    stack.wait_waiting(input.lock(), count, 20).await;
    arn
}

impl Stack {
    /// Returns when the container of the execution `arn` began to work under `lock`.
    ///
    /// # Panics
    /// If the execution has no container.
    pub async fn container_start(&self, lock: &str, arn: &str) -> u64 {
        let records = self.records(lock).await;
        let runs = runs(&records);
        let own = runs.iter().find(|run| run.holder() == arn);
        own.unwrap_or_else(|| panic!("{arn} has no container"))
            .start
    }
}
