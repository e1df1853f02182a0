//! Ranks running executions by their start. The use case `check_running` reports the rank.

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

/// Rank of the caller among the running executions.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Whether fewer executions are ahead of the caller than may run at once.
    pub proceed: bool,
    /// The executions ahead of the caller, oldest first.
    pub ahead: Vec<Execution>,
    /// Number of running executions, the caller included.
    pub running: usize,
}

/// Returns the rank of `caller` among the `running` executions, of which `max_running` may proceed.
///
/// The order is total: by start time, then by ARN. So if executions list each other, the oldest always
/// proceeds, and it never happens that all of them refrain.
///
/// The caller's start time is taken from the list, as that of the others is. `caller.started_at` counts
/// only if the list does not contain the caller yet.
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
    fn of_executions_that_list_each_other_exactly_one_proceeds() {
        let all = [execution("b", 5), execution("a", 5), execution("c", 4)];

        let proceeds = |me: &Execution| standing(me, all.to_vec(), 1).proceed;

        assert_eq!(all.iter().filter(|me| proceeds(me)).count(), 1);
        assert!(proceeds(&all[2]), "the oldest goes on");
    }

    #[test]
    fn a_caller_has_its_place_by_start_and_arn_among_those_that_are_listed() {
        let executions = |list: &[(&str, u64)]| -> Vec<_> {
            let list = list.iter();
            list.map(|(name, start)| execution(name, *start)).collect()
        };
        let moving_pages = [("a", 1), ("me", 2), ("a", 1)];
        for ((name, start), listed, most, ahead, proceed) in [
            (("a", 5), &[("b", 5), ("a", 5)][..], 1, &[][..], true),
            (("b", 5), &[("b", 5), ("a", 5)], 1, &[("a", 5)], false),
            // The list does not contain the caller yet.
            (("me", 9), &[("old", 3)], 1, &[("old", 3)], false),
            (("me", 1), &[("old", 3)], 1, &[], true),
            // The listed start of the caller counts, because the others see it.
            (("me", 1), &[("me", 9), ("b", 5)], 1, &[("b", 5)], false),
            // An execution that is listed twice counts once.
            (("me", 2), &moving_pages, 2, &[("a", 1)], true),
        ] {
            let standing = standing(&execution(name, start), executions(listed), most);

            let expected = Standing {
                proceed,
                ahead: executions(ahead),
                running: 2,
            };
            assert_eq!(standing, expected, "{listed:?}");
        }
    }

    #[test]
    fn as_many_executions_proceed_as_may_run() {
        let all: Vec<_> = (0..5).map(|n| execution(&format!("x{n}"), n)).collect();

        let on = all.iter().filter(|me| standing(me, all.clone(), 2).proceed);

        assert_eq!(on.count(), 2);
    }
}
