//! The rules, each on the containers of one lock in the order of their starts.

use super::{Container, Violation};
use std::collections::BTreeSet;

/// Never more than `permits` at once. Those named in `beside` do not count.
pub(super) fn overlaps(
    containers: &[&Container],
    permits: usize,
    beside: &BTreeSet<String>,
) -> Vec<Violation> {
    let counted: Vec<_> = containers
        .iter()
        .filter(|one| !beside.contains(&one.holder))
        .collect();
    let at_start = |(index, last): (usize, &&&Container)| {
        let running = counted[..=index].iter();
        let running = running.filter(|one| one.task == last.task || runs_at(one, last.started));
        let tasks: Vec<_> = running.map(|one| one.task.clone()).collect();
        (tasks.len() > permits).then_some(Violation::Overlap {
            at: last.started,
            tasks,
        })
    };
    counted.iter().enumerate().filter_map(at_start).collect()
}

/// A token is that of one holder, and of one container at a time.
pub(super) fn shared_tokens(containers: &[&Container]) -> Vec<Violation> {
    pairs(containers)
        .filter(|(first, second)| {
            let two_holders = first.holder != second.holder;
            first.token == second.token && (two_holders || runs_at(first, second.started))
        })
        .map(|(first, second)| Violation::SharedToken {
            token: first.token,
            tasks: [first.task.clone(), second.task.clone()],
        })
        .collect()
}

/// A container that starts later has no smaller token. True of a lock with one permit alone: two
/// grants of the same moment may start in either order.
pub(super) fn fallen_tokens(containers: &[&Container]) -> Vec<Violation> {
    let next = containers.windows(2);
    next.filter(|pair| pair[1].token < pair[0].token)
        .map(|pair| Violation::TokenFell {
            tasks: [pair[0].task.clone(), pair[1].task.clone()],
        })
        .collect()
}

/// The work of one run key succeeds once.
pub(super) fn second_successes(run_key: &str, containers: &[&Container]) -> Option<Violation> {
    let done = containers.iter().filter(|one| one.succeeded());
    let tasks: Vec<_> = done.map(|one| one.task.clone()).collect();
    (tasks.len() > 1).then(|| Violation::SucceededTwice {
        run_key: run_key.to_owned(),
        tasks,
    })
}

/// The order that stopped this container, whose holder was not to be stopped.
pub(super) fn stop_of(container: &Container) -> Option<Violation> {
    let stop = container.stopped.as_ref()?;
    Some(Violation::LiveStopped {
        task: container.task.clone(),
        holder: container.holder.clone(),
        reason: stop.reason.clone(),
    })
}

/// Whether a container that started before `at` runs at that time.
fn runs_at(container: &Container, at: u64) -> bool {
    container.ended.is_none_or(|end| end > at)
}

fn pairs<'a>(
    containers: &'a [&'a Container],
) -> impl Iterator<Item = (&'a Container, &'a Container)> {
    containers.iter().enumerate().flat_map(|(index, first)| {
        let later = containers[index + 1..].iter();
        later.map(|second| (*first, *second))
    })
}
