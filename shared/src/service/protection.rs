//! Scale-in protection of the task of a holder. A heartbeat renews it, and the release ends it.
//!
//! Protection is best effort: the answer of ECS never fails a heartbeat or a release.
//!
//! The protection must not outlive the lease for long, because a task that stays protected after a crash
//! would keep its service from scaling in. So each heartbeat protects the task until the new end of the
//! lease, rounded up to whole minutes.

use super::{PROTECTION_END, Ports};
use crate::clock::CallTime;
use crate::contract::Protection;
use crate::tasks::{PROTECTION_MAX, ProtectionAnswer, Tasks, TasksError};
use lockstep_core::domain::{LockKey, TaskArn, Timestamp, rfc3339};

/// Milliseconds of a minute.
const MINUTE: u64 = 60_000;

/// Sets and ends the protection of tasks in one call on a lock.
pub(super) struct TaskProtection<'a, P: Ports> {
    pub(super) tasks: &'a P::Tasks,
    pub(super) time: &'a CallTime<'a, P::Clock>,
    pub(super) lock: &'a LockKey,
}

impl<P: Ports> TaskProtection<'_, P> {
    /// Protects `task` until `end`, rounded up to whole minutes. After a crash the task stays protected for
    /// at most a minute after its lease.
    pub(super) async fn renew(&self, task: &TaskArn, end: Timestamp, now: Timestamp) -> Protection {
        let minutes = protection_minutes(end, now);
        let answer = self.update(task, Some(minutes)).await;
        let expected = Timestamp::from_millis(now.millis() + u64::from(minutes) * MINUTE);
        report(self.lock, task, answer, expected)
    }

    /// Ends the protection of `task`.
    pub(super) async fn end(&self, task: &TaskArn) -> Protection {
        let answer = self.update(task, None).await;
        report(self.lock, task, answer, Timestamp::MAX)
    }

    /// Sends the request. It is the last part of a call, so it times out at [`PROTECTION_END`]. A timeout
    /// counts as no answer from ECS.
    async fn update(
        &self,
        task: &TaskArn,
        minutes: Option<u16>,
    ) -> Result<ProtectionAnswer, TasksError> {
        let answer = self.tasks.protect(task, minutes);
        let in_time = self.time.until(PROTECTION_END, answer).await;
        in_time.unwrap_or_else(|late| Err(TasksError::Unavailable(late.to_string())))
    }
}

/// Returns the minutes from `now` to `end`, rounded up, and at least one, because ECS takes whole minutes
/// only.
fn protection_minutes(end: Timestamp, now: Timestamp) -> u16 {
    let minutes = end.millis_since(now).div_ceil(MINUTE);
    let minutes = u16::try_from(minutes).unwrap_or(PROTECTION_MAX);
    minutes.clamp(1, PROTECTION_MAX)
}

/// Logs the answer of ECS, and converts it for the response.
fn report(
    lock: &LockKey,
    task: &TaskArn,
    answer: Result<ProtectionAnswer, TasksError>,
    expected: Timestamp,
) -> Protection {
    let (reason, detail) = match answer {
        Ok(ProtectionAnswer::On(until)) => {
            let until = rfc3339(until.unwrap_or(expected));
            tracing::info!(event = "protection_set", %lock, %task, until, "protected");
            return Protection::Protected { until };
        }
        Ok(ProtectionAnswer::Off) => {
            tracing::info!(event = "protection_cleared", %lock, %task, "protection ended");
            return Protection::Cleared;
        }
        Ok(ProtectionAnswer::Refused { reason, detail }) => (reason, detail),
        Err(error @ TasksError::Denied(_)) => ("Denied".to_owned(), error.to_string()),
        Err(error @ TasksError::Unavailable(_)) => ("Unavailable".to_owned(), error.to_string()),
    };
    tracing::warn!(event = "protection_refused", %lock, %task, reason, detail, "UpdateTaskProtection failed");
    Protection::Refused { reason, detail }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn protection_lasts_whole_minutes_within_the_range_of_ecs() {
        let now = Timestamp::from_millis(1_772_344_800_000);
        let most =
            [2880 * MINUTE, 2880 * MINUTE + 1, u64::from(u32::MAX) * 1000].map(|ms| (ms, 2880));
        let short = [(0, 1), (1, 1), (60_000, 1), (60_001, 2), (300_000, 5)];
        for (lease, minutes) in short.into_iter().chain(most) {
            let end = Timestamp::from_millis(now.millis() + lease);

            assert_eq!(protection_minutes(end, now), minutes, "{lease} ms");
        }
        let over = Timestamp::from_millis(now.millis() - 1);
        assert_eq!(protection_minutes(over, now), 1, "a lease that is over");
    }
}
