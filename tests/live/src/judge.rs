//! A judge of runs that knows nothing of the lock table.
//!
//! Its evidence is what containers leave behind: the lines that a batch wrote, the container
//! engine's times and exit codes, the environment of each ECS task, and the orders to stop it. A
//! test adds what it did itself: whose work it ended, and whose work goes on beside its lock. What
//! Lockstep believes is no evidence.
//!
//! Each rule judges the containers of one lock in the order of their starts.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

/// One container that was started under a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container {
    /// The id of its ECS task.
    pub task: String,
    /// `LOCKSTEP_LOCK` in its environment.
    pub lock: String,
    /// `LOCKSTEP_HOLDER` in its environment.
    pub holder: String,
    /// `LOCKSTEP_FENCING_TOKEN` in its environment.
    pub token: u64,
    /// `LOCKSTEP_RUN_KEY` in its environment.
    pub run_key: Option<String>,
    /// When it began, in epoch milliseconds.
    pub started: u64,
    /// When its process ended; `None` while it may still run.
    pub ended: Option<u64>,
    /// Its exit code.
    pub exit_code: Option<i64>,
    /// The order to stop it, if one came before its end.
    pub stopped: Option<Stop>,
}

/// An order to stop a task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stop {
    /// When, in epoch milliseconds.
    pub at: u64,
    /// The reason that the order gave.
    pub reason: String,
}

/// What a test knows of its runs, because the test did it.
#[derive(Clone, Debug)]
pub struct Expected {
    permits: usize,
    stopped: BTreeSet<String>,
    beside: BTreeSet<String>,
}

/// A rule that was broken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Violation {
    /// More containers of a lock than permits were running at the start of the last of them.
    Overlap {
        /// When, in epoch milliseconds.
        at: u64,
        /// The tasks, by start.
        tasks: Vec<String>,
    },
    /// Two containers at once under one token, or one token of two holders.
    SharedToken {
        /// The token.
        token: u64,
        /// The tasks.
        tasks: [String; 2],
    },
    /// A later container has a smaller token.
    TokenFell {
        /// The tasks, by start.
        tasks: [String; 2],
    },
    /// A run key whose work succeeded more than once.
    SucceededTwice {
        /// The run key.
        run_key: String,
        /// The tasks.
        tasks: Vec<String>,
    },
    /// A container that nothing but Lockstep had a reason to stop.
    LiveStopped {
        /// The task.
        task: String,
        /// Its holder.
        holder: String,
        /// The reason that the order gave.
        reason: String,
    },
}

impl Expected {
    /// Expects at most `permits` containers at once, and no order to stop one.
    pub const fn permits(permits: usize) -> Self {
        Self {
            permits,
            stopped: BTreeSet::new(),
            beside: BTreeSet::new(),
        }
    }

    /// Allows the work of `holder` to be stopped: the test ended its execution, replaced it or let
    /// it become stale.
    #[must_use]
    pub fn stops(mut self, holder: &str) -> Self {
        self.stopped.insert(holder.to_owned());
        self
    }

    /// Allows the work of `holder` to go on without a permit: its stale policy is `yield`, or an
    /// operator evicted it.
    #[must_use]
    pub fn runs_beside(mut self, holder: &str) -> Self {
        self.beside.insert(holder.to_owned());
        self
    }

    /// Returns every rule that `containers` break, for any number of locks.
    pub fn violations(&self, containers: &[Container]) -> Vec<Violation> {
        let mut found = Vec::new();
        let all: Vec<_> = containers.iter().collect();
        for of_lock in by(&all, |one| Some(one.lock.clone())).values() {
            found.extend(overlaps(of_lock, self.permits, &self.beside));
            found.extend(shared_tokens(of_lock));
            if self.permits == 1 {
                found.extend(fallen_tokens(of_lock));
            }
            for (run_key, of_key) in by(of_lock, |one| one.run_key.clone()) {
                found.extend(second_successes(&run_key, &of_key));
            }
        }
        let live = containers
            .iter()
            .filter(|one| !self.stopped.contains(&one.holder));
        found.extend(live.filter_map(stop_of));
        found
    }
}

impl Container {
    /// Returns whether the work is done: exit code 0, and no order to stop it before its end.
    pub fn succeeded(&self) -> bool {
        self.exit_code == Some(0) && self.stopped.is_none()
    }
}

/// Returns the containers by a key, each group in the order of starts.
fn by<'a>(
    containers: &[&'a Container],
    key: impl Fn(&Container) -> Option<String>,
) -> BTreeMap<String, Vec<&'a Container>> {
    let mut groups: BTreeMap<String, Vec<&Container>> = BTreeMap::new();
    for container in containers {
        if let Some(key) = key(container) {
            groups.entry(key).or_default().push(container);
        }
    }
    for group in groups.values_mut() {
        group.sort_by_key(|one| one.started);
    }
    groups
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Overlap { at, tasks } => write!(f, "at {at} these run at once: {tasks:?}"),
            Self::SharedToken { token, tasks } => write!(f, "token {token} is in two: {tasks:?}"),
            Self::TokenFell { tasks } => write!(f, "the token falls from task to task: {tasks:?}"),
            Self::SucceededTwice { run_key, tasks } => {
                write!(f, "run key {run_key} succeeded in each of {tasks:?}")
            }
            Self::LiveStopped {
                task,
                holder,
                reason,
            } => write!(f, "task {task} of {holder} was stopped: {reason}"),
        }
    }
}

#[cfg(test)]
mod tests;

/// Finds where more than `permits` containers run at once. Those of the holders in `beside` do not
/// count.
fn overlaps(
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

/// Finds tokens of two holders, and tokens of two containers at once.
fn shared_tokens(containers: &[&Container]) -> Vec<Violation> {
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

/// Finds containers that start later and have a smaller token. The rule holds only for a lock with
/// one permit: two grants of the same moment may start in either order.
fn fallen_tokens(containers: &[&Container]) -> Vec<Violation> {
    let next = containers.windows(2);
    next.filter(|pair| pair[1].token < pair[0].token)
        .map(|pair| Violation::TokenFell {
            tasks: [pair[0].task.clone(), pair[1].task.clone()],
        })
        .collect()
}

/// Finds a run key whose work succeeded more than once.
fn second_successes(run_key: &str, containers: &[&Container]) -> Option<Violation> {
    let done = containers.iter().filter(|one| one.succeeded());
    let tasks: Vec<_> = done.map(|one| one.task.clone()).collect();
    (tasks.len() > 1).then(|| Violation::SucceededTwice {
        run_key: run_key.to_owned(),
        tasks,
    })
}

/// Returns the order that stopped this container, whose holder was not to be stopped.
fn stop_of(container: &Container) -> Option<Violation> {
    let stop = container.stopped.as_ref()?;
    Some(Violation::LiveStopped {
        task: container.task.clone(),
        holder: container.holder.clone(),
        reason: stop.reason.clone(),
    })
}

/// Returns whether a container that started before `at` runs at that time.
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
