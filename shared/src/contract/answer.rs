//! Converts results of the protocol to responses of acquire-lock.
//!
//! A waiting state ends with the same JSON that acquire-lock answers, so a workflow reads one format, whether
//! acquire-lock or a hand-over gave it the permit. A message is for people: it names the lock, its oldest
//! holder, the time of that grant, and how the permit becomes free.

use super::acquired::{
    AcquireResponse, Duplicate, EnvironmentVariable, Finished, GaveUp, Granted, Oldest, Queued,
    Skipped,
};
use super::grant::Grant;
use lockstep_core::domain::{
    HolderId, Lease, LockKey, Run, RunKey, TaskArn, Timestamp, Work, child_stem, rfc3339,
    task_group,
};

impl Granted {
    /// Returns the response to the holder of `lease`. `table` is the value of `LOCKSTEP_TABLE`.
    #[must_use]
    pub fn of(lock: &LockKey, holder: &HolderId, lease: &Lease, table: &str) -> Self {
        let key = lease.run_key.as_ref().map(|key| key.as_str().to_owned());
        let values = [
            ("LOCKSTEP_LOCK", Some(lock.to_string())),
            ("LOCKSTEP_HOLDER", Some(holder.to_string())),
            ("LOCKSTEP_FENCING_TOKEN", Some(lease.token.to_string())),
            ("LOCKSTEP_TABLE", Some(table.to_owned())),
            ("LOCKSTEP_RUN_KEY", key),
        ];
        let environment = values.into_iter().filter_map(|(name, value)| {
            let name = name.into();
            Some(EnvironmentVariable {
                name,
                value: value?,
            })
        });
        Self {
            grant: Grant::of(lock, holder, lease),
            expires_at: rfc3339(lease.expires_at),
            lease_seconds: lease.pace.length.get(),
            heartbeat_seconds: lease.pace.heartbeat.get(),
            task_group: task_group(lock, holder),
            execution_arn: lease.work.as_ref().and_then(|work| match work {
                Work::Workflow(machine) => {
                    let arn = machine.execution(&child_stem(lock, lease.token));
                    arn.ok().map(|arn| arn.to_string())
                }
                Work::Tasks(_) | Work::States => None,
            }),
            environment: environment.collect(),
            taken_from: None,
        }
    }
}

impl Queued {
    /// Returns the response to a caller that waits for `holders`.
    #[must_use]
    pub fn of(
        lock: &LockKey,
        position: usize,
        queue_length: usize,
        holders: &[(HolderId, Lease)],
    ) -> Self {
        Self {
            lock: lock.to_string(),
            position,
            queue_length,
            oldest: Oldest::of(holders),
            message: format!(
                "waits as number {position} of {queue_length} for lock {lock}: {}",
                held_by(holders)
            ),
        }
    }
}

impl GaveUp {
    /// Returns the response to a caller that no longer waits for `holders`.
    #[must_use]
    pub fn of(lock: &LockKey, queue_length: usize, holders: &[(HolderId, Lease)]) -> Self {
        Self {
            lock: lock.to_string(),
            queue_length,
            oldest: Oldest::of(holders),
            message: format!(
                "gave up waiting for lock {lock}: {}; waiters left: {queue_length}",
                held_by(holders)
            ),
        }
    }
}

impl GaveUp {
    /// Returns the response to a waiter that got no permit until its `waitUntil`.
    #[must_use]
    pub fn late(lock: &LockKey) -> Self {
        Self {
            message: format!("the wait for lock {lock} ended before a permit was handed over"),
            ..Self::of(lock, 0, &[])
        }
    }

    /// Returns the response to a waiter that an operator removed from the queue.
    #[must_use]
    pub fn evicted(lock: &LockKey) -> Self {
        Self {
            message: format!("an operator ended the wait for lock {lock}"),
            ..Self::of(lock, 0, &[])
        }
    }
}

impl Finished {
    /// Returns the response to a redriven execution whose work had succeeded.
    #[must_use]
    pub fn of(lock: &LockKey) -> Self {
        Self {
            lock: lock.to_string(),
            message: format!(
                "the work of this run under lock {lock} succeeded before its execution was \
                 redriven; nothing is left to do"
            ),
        }
    }
}

impl AcquireResponse {
    /// Returns the response as JSON, the output of a waiting state.
    ///
    /// # Panics
    /// Never: the response has only text, numbers and lists of them.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("an answer is plain JSON")
    }
}

impl Skipped {
    /// Returns the response to a caller that finds all permits held. `ending` is the field of the response.
    #[must_use]
    pub fn full(
        lock: &LockKey,
        queue_length: usize,
        holders: &[(HolderId, Lease)],
        ending: bool,
    ) -> Self {
        let clear = holders
            .first()
            .map_or_else(String::new, |(holder, _)| how_to_clear(holder));
        Self {
            lock: lock.to_string(),
            oldest: Oldest::of(holders),
            held: holders.len(),
            queue_length,
            ending,
            paused: false,
            not_before: None,
            message: format!("lock {lock} is {}{clear}", held_by(holders)),
        }
    }

    /// Returns the response to a caller that would wait, at a queue that has `most` waiters or more.
    #[must_use]
    pub fn queue_full(
        lock: &LockKey,
        most: usize,
        queue_length: usize,
        holders: &[(HolderId, Lease)],
    ) -> Self {
        let why = full_queue(most, queue_length, holders);
        Self {
            message: format!("lock {lock}: {why}"),
            ..Self::full(lock, queue_length, holders, false)
        }
    }

    /// Returns the response to a caller while the lock is paused. `until` is the end of the pause, if it has
    /// one.
    #[must_use]
    pub fn paused(
        lock: &LockKey,
        queue_length: usize,
        holders: &[(HolderId, Lease)],
        note: &str,
        until: Option<Timestamp>,
    ) -> Self {
        Self {
            lock: lock.to_string(),
            oldest: Oldest::of(holders),
            held: holders.len(),
            queue_length,
            ending: false,
            paused: true,
            not_before: None,
            message: format!("lock {lock} is {}", paused_by(note, until)),
        }
    }

    /// Returns the response to a caller while the lock rests after its last grant.
    #[must_use]
    pub fn resting(lock: &LockKey, not_before: Timestamp) -> Self {
        let at = rfc3339(not_before);
        Self {
            lock: lock.to_string(),
            oldest: Oldest::default(),
            held: 0,
            queue_length: 0,
            ending: false,
            paused: false,
            message: format!(
                "lock {lock} is free, but rests until {at}: its last grant set \
                 minIntervalSeconds"
            ),
            not_before: Some(at),
        }
    }
}

impl Duplicate {
    /// Returns the response to a caller whose run key `run` has taken.
    #[must_use]
    pub fn of(lock: &LockKey, run_key: &RunKey, run: &Run) -> Self {
        let since = rfc3339(run.token.granted_at());
        let ended_at = run.end.as_ref().map(|end| rfc3339(end.at));
        let state = ended_at.as_ref().map_or_else(
            || "is still running".to_owned(),
            |at| format!("succeeded at {at}"),
        );
        Self {
            lock: lock.to_string(),
            run_key: run_key.as_str().to_owned(),
            holder: run.holder.to_string(),
            token: i64::try_from(run.token.number()).unwrap_or(i64::MAX),
            message: format!(
                "{} {state} with the same run key; this trigger has nothing left to do",
                run.holder
            ),
            since,
            ended_at,
        }
    }
}

/// Describes when the permit of `holder` becomes free, with the command that stops its task or execution.
fn how_to_clear(holder: &HolderId) -> String {
    let part_of = holder.as_str().split('#').next().unwrap_or_default();
    let by_hand = match TaskArn::of_holder(holder) {
        Some(task) => format!(
            "; to stop the run now: aws ecs stop-task --cluster {} --task {task}",
            task.cluster()
        ),
        None if part_of.contains(":execution:") => {
            format!(
                "; to stop the run now: aws stepfunctions stop-execution --execution-arn {part_of}"
            )
        }
        None => String::new(),
    };
    format!("; the permit becomes free when the run ends or loses its lease{by_hand}")
}

/// Describes the holders of a lock: the oldest one with its times, and the number of the others.
#[must_use]
pub fn held_by(holders: &[(HolderId, Lease)]) -> String {
    let Some((holder, lease)) = holders.first() else {
        return "held by no run".into();
    };
    let since = rfc3339(lease.token.granted_at());
    let until = rfc3339(lease.expires_at);
    let others = match holders.len() - 1 {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    format!("held by {holder}{others} since {since}, lease until {until}")
}

/// Describes a full queue: the number of waiters, `maxQueue`, and the holders of the lock.
#[must_use]
pub fn full_queue(most: usize, waiting: usize, holders: &[(HolderId, Lease)]) -> String {
    let held = held_by(holders);
    format!("the queue is full: {waiting} waiting, maxQueue {most}; {held}")
}

/// Describes a pause: its end, its reason, and who can end it.
#[must_use]
pub fn paused_by(note: &str, until: Option<Timestamp>) -> String {
    let until = until.map_or_else(String::new, |end| format!(" until {}", rfc3339(end)));
    format!("paused{until}: {note}; an operator can resume the lock")
}

impl Oldest {
    fn of(holders: &[(HolderId, Lease)]) -> Self {
        let Some((holder, lease)) = holders.first() else {
            return Self::default();
        };
        Self {
            holder: Some(holder.to_string()),
            since: Some(rfc3339(lease.token.granted_at())),
            expires_at: Some(rfc3339(lease.expires_at)),
        }
    }
}
