//! Which of the running executions may proceed.

use super::execution_arn::ExecutionArn;
use super::time::Timestamp;

/// A running execution.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Execution {
    /// Its ARN.
    pub arn: ExecutionArn,
    /// When it started.
    pub started_at: Timestamp,
}

/// The rank of the caller among the running executions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Whether fewer executions are ahead than may run.
    pub proceed: bool,
    /// The executions ahead of the caller, oldest first.
    pub ahead: Vec<Execution>,
    /// Number of running executions, the caller included.
    pub running: usize,
}

/// The rank of `caller` among the `running` executions, of which `max_running` may proceed.
///
/// The order is total, by start and then by ARN. Of executions that list each other, the oldest
/// therefore always proceeds, and they never all refrain. The caller's start is taken from the
/// list, as it is for the others; `caller.started_at` counts only while the list lacks the caller.
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
