//! From what the protocol says to what the caller reads.

use super::acquired::{
    AcquireResponse, Duplicate, EnvironmentVariable, Finished, GaveUp, Granted, Oldest, Queued,
    Skipped,
};
use super::grant::Grant;
use crate::domain::{
    HolderId, Lease, LockKey, Run, RunKey, TaskArn, Timestamp, rfc3339, task_group,
};

impl Granted {
    /// The answer to the holder of `lease`. `table` is for the container that wants to look at it.
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
            grant: Grant::of(lock, holder, lease.token, lease.run_key.as_ref()),
            expires_at: rfc3339(lease.expires_at),
            heartbeat_seconds: lease.heartbeat.get(),
            task_group: task_group(lock, holder),
            environment: environment.collect(),
            taken_from: None,
        }
    }
}

impl Queued {
    /// The answer to a caller that waits for `holders`.
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
    /// The answer to a caller that waits for `holders` no longer.
    #[must_use]
    pub fn of(lock: &LockKey, queue_length: usize, holders: &[(HolderId, Lease)]) -> Self {
        Self {
            lock: lock.to_string(),
            queue_length,
            oldest: Oldest::of(holders),
            message: format!(
                "gave up waiting for lock {lock}: {}; {queue_length} wait still",
                held_by(holders)
            ),
        }
    }
}

impl GaveUp {
    /// The answer to a waiter whose turn came after its time to wait.
    #[must_use]
    pub fn late(lock: &LockKey) -> Self {
        Self {
            message: format!(
                "the turn for lock {lock} came after the time to wait for it was over"
            ),
            ..Self::of(lock, 0, &[])
        }
    }

    /// The answer to a waiter that an operator sent away.
    #[must_use]
    pub fn evicted(lock: &LockKey) -> Self {
        Self {
            message: format!("an operator ended the wait for lock {lock}"),
            ..Self::of(lock, 0, &[])
        }
    }
}

impl Finished {
    /// The answer to a redriven execution whose work had succeeded.
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
    /// The answer as JSON, for the state that waits for it.
    ///
    /// # Panics
    /// Never: the answer has only text, numbers and lists of them.
    #[must_use]
    pub fn to_json(&self) -> String {
        serde_json::to_string(self).expect("an answer is plain JSON")
    }
}

impl Skipped {
    /// The answer to a caller that found all permits held.
    #[must_use]
    pub fn full(lock: &LockKey, queue_length: usize, holders: &[(HolderId, Lease)]) -> Self {
        let ending = holders.iter().filter(|(_, lease)| lease.ending.is_some());
        let ending = ending.count();
        let clear = holders
            .first()
            .map_or_else(String::new, |(holder, _)| how_to_clear(holder));
        Self {
            lock: lock.to_string(),
            oldest: Oldest::of(holders),
            held: holders.len(),
            queue_length,
            ending: ending > queue_length,
            not_before: None,
            message: format!("lock {lock} is {}{clear}", held_by(holders)),
        }
    }

    /// The answer to a caller that came too soon after the last grant.
    #[must_use]
    pub fn resting(lock: &LockKey, not_before: Timestamp) -> Self {
        let at = rfc3339(not_before);
        Self {
            lock: lock.to_string(),
            oldest: Oldest::default(),
            held: 0,
            queue_length: 0,
            ending: false,
            message: format!(
                "lock {lock} is free, but rests until {at}: its last grant asked for that \
                 distance (minIntervalSeconds)"
            ),
            not_before: Some(at),
        }
    }
}

impl Duplicate {
    /// The answer to a caller whose run key `run` has.
    #[must_use]
    pub fn of(lock: &LockKey, run_key: &RunKey, run: &Run) -> Self {
        let since = rfc3339(run.token.granted_at());
        let ended_at = run.end.as_ref().map(|end| rfc3339(end.at));
        let state = ended_at.as_ref().map_or_else(
            || "runs it right now".to_owned(),
            |at| format!("ran it and succeeded at {at}"),
        );
        Self {
            lock: lock.to_string(),
            run_key: run_key.as_str().to_owned(),
            holder: run.holder.to_string(),
            token: i64::try_from(run.token.number()).unwrap_or(i64::MAX),
            message: format!(
                "{} {state}; this trigger has nothing left to do",
                run.holder
            ),
            since,
            ended_at,
        }
    }
}

/// How to free what `holder` holds: by itself, or by ending what it is part of.
fn how_to_clear(holder: &HolderId) -> String {
    let part_of = holder.as_str().split('#').next().unwrap_or_default();
    let by_hand = match TaskArn::of_holder(holder) {
        Some(task) => format!(
            "; to end it now: aws ecs stop-task --cluster {} --task {task}",
            task.cluster()
        ),
        None if part_of.contains(":execution:") => {
            format!("; to end it now: aws stepfunctions stop-execution --execution-arn {part_of}")
        }
        None => String::new(),
    };
    format!("; it frees itself when the run ends, or when its lease runs out{by_hand}")
}

/// Who holds a lock, in words.
#[must_use]
pub fn held_by(holders: &[(HolderId, Lease)]) -> String {
    let Some((holder, lease)) = holders.first() else {
        return "nobody holds it now".into();
    };
    let since = rfc3339(lease.token.granted_at());
    let until = rfc3339(lease.expires_at);
    let others = match holders.len() - 1 {
        0 => String::new(),
        n => format!(" and {n} more"),
    };
    format!("held by {holder}{others} since {since}, lease until {until}")
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
