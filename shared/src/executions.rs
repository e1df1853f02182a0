//! Executions of a workflow, and which of them may go on.

use crate::domain::{Invalid, TaskToken, Timestamp};
use std::fmt;

#[cfg(feature = "test-util")]
pub mod memory;
#[cfg(feature = "aws")]
pub mod stepfunctions;

/// The ARN of an execution of a Standard workflow.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExecutionArn(String);

impl ExecutionArn {
    /// The rule an execution ARN keeps.
    pub const RULE: &'static str = "the ARN of a Standard execution, \
                                    arn:<partition>:states:<region>:<account>:execution:<machine>:<name>";

    /// Takes `arn` if it keeps [`Self::RULE`].
    ///
    /// # Errors
    /// [`Invalid`] with the rule.
    pub fn new(arn: String) -> Result<Self, Invalid> {
        let parts: Vec<_> = arn.split(':').collect();
        let is_arn = matches!(parts[..], ["arn", _, "states", _, _, "execution", _, _]);
        let is_full = parts.iter().all(|part| !part.is_empty());
        let is_plain = arn.len() <= 512 && arn.bytes().all(|b| b.is_ascii_graphic());
        if is_arn && is_full && is_plain {
            Ok(Self(arn))
        } else {
            Err(Invalid { rule: Self::RULE })
        }
    }

    /// The ARN as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The ARN of the state machine that this is an execution of.
    #[must_use]
    pub fn state_machine(&self) -> String {
        let parts: Vec<_> = self.0.split(':').collect();
        let mut machine = parts[..7].to_vec();
        machine[5] = "stateMachine";
        machine.join(":")
    }
}

impl fmt::Display for ExecutionArn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// An execution that runs.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Execution {
    /// Which.
    pub arn: ExecutionArn,
    /// When it started.
    pub started_at: Timestamp,
}

/// Where the caller stands among the executions that run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Whether fewer than the allowed number are ahead.
    pub proceed: bool,
    /// Who is ahead, oldest first.
    pub ahead: Vec<Execution>,
    /// How many run, the caller counted.
    pub running: usize,
}

/// Where `caller` stands among the `running` executions, when `max_running` may go on.
///
/// The order is total, by start and then by ARN. So of executions that see each other the oldest
/// always goes on: they can never all step back. The listed start of the caller counts, because
/// that is the one the others see; its own word counts only while the list does not show it.
#[must_use]
pub fn standing(caller: &Execution, mut running: Vec<Execution>, max_running: usize) -> Standing {
    if !running.iter().any(|execution| execution.arn == caller.arn) {
        running.push(caller.clone());
    }
    running.sort_by(|a, b| (a.started_at, &a.arn).cmp(&(b.started_at, &b.arn)));
    running.dedup_by(|a, b| a.arn == b.arn);
    let total = running.len();
    running.truncate(
        running
            .iter()
            .position(|e| e.arn == caller.arn)
            .unwrap_or(0),
    );
    Standing {
        proceed: running.len() < max_running,
        ahead: running,
        running: total,
    }
}

/// What Lockstep asks of Step Functions.
pub trait Executions: Send + Sync {
    /// The executions of `state_machine` that run, as far as the list shows them.
    ///
    /// ListExecutions is eventually consistent
    /// (<https://docs.aws.amazon.com/step-functions/latest/apireference/API_ListExecutions.html>).
    fn running(
        &self,
        state_machine: &str,
    ) -> impl Future<Output = Result<Vec<Execution>, ExecutionsError>> + Send;

    /// Ends the state that waits with `token`. `false` when nothing waits with it any more.
    fn end_state(
        &self,
        token: &TaskToken,
    ) -> impl Future<Output = Result<bool, ExecutionsError>> + Send;
}

/// What can go wrong with Step Functions.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ExecutionsError {
    /// Step Functions gave no clear answer.
    #[error("Step Functions gave no answer: {0}")]
    Unavailable(String),
    /// The function may not make the call, or its target is not there.
    #[error("Step Functions refuses the call: {0}")]
    Denied(String),
}

impl<E: Executions> Executions for &E {
    fn running(
        &self,
        state_machine: &str,
    ) -> impl Future<Output = Result<Vec<Execution>, ExecutionsError>> + Send {
        (**self).running(state_machine)
    }

    fn end_state(
        &self,
        token: &TaskToken,
    ) -> impl Future<Output = Result<bool, ExecutionsError>> + Send {
        (**self).end_state(token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn execution(name: &str, started_at: u64) -> Execution {
        let arn = format!("arn:aws:states:eu-west-1:1:execution:report:{name}");
        Execution {
            arn: ExecutionArn::new(arn).unwrap(),
            started_at: Timestamp::from_millis(started_at),
        }
    }

    #[test]
    fn an_execution_knows_its_state_machine() {
        let machine = execution("a", 0).arn.state_machine();

        assert_eq!(machine, "arn:aws:states:eu-west-1:1:stateMachine:report");
    }

    #[test]
    fn of_those_that_see_each_other_exactly_one_goes_on() {
        let all = [execution("b", 5), execution("a", 5), execution("c", 4)];

        let proceeds = |me: &Execution| standing(me, all.to_vec(), 1).proceed;

        assert_eq!(all.iter().filter(|me| proceeds(me)).count(), 1);
        assert!(proceeds(&all[2]), "the oldest goes on");
    }

    #[test]
    fn equal_starts_are_ordered_by_arn() {
        let (a, b) = (execution("a", 5), execution("b", 5));

        let first = standing(&a, vec![b.clone(), a.clone()], 1);
        let second = standing(&b, vec![b.clone(), a.clone()], 1);

        assert!(first.proceed);
        assert!(!second.proceed);
        assert_eq!(second.ahead, [a]);
    }

    #[test]
    fn a_caller_that_the_list_does_not_show_yet_is_placed_by_its_own_start() {
        let listed = vec![execution("old", 3)];

        let younger = standing(&execution("me", 9), listed.clone(), 1);
        let older = standing(&execution("me", 1), listed, 1);

        assert!(!younger.proceed);
        assert_eq!(younger.running, 2);
        assert!(older.proceed);
    }

    #[test]
    fn the_listed_start_of_the_caller_counts_because_the_others_see_that_one() {
        let listed = vec![execution("me", 9), execution("other", 5)];

        assert!(!standing(&execution("me", 1), listed, 1).proceed);
    }

    #[test]
    fn as_many_as_allowed_go_on() {
        let all: Vec<_> = (0..5).map(|n| execution(&format!("x{n}"), n)).collect();

        let on = all
            .iter()
            .filter(|me| standing(me, all.clone(), 2).proceed)
            .count();

        assert_eq!(on, 2);
    }

    #[test]
    fn an_execution_listed_twice_on_moving_pages_counts_once() {
        let listed = vec![execution("a", 1), execution("me", 2), execution("a", 1)];

        let standing = standing(&execution("me", 2), listed, 2);

        assert_eq!(
            (standing.running, standing.ahead.len(), standing.proceed),
            (2, 1, true)
        );
    }
}
