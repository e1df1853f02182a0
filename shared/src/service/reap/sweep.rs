//! The sweep: checks every lock that is due, page by page, and in each shard the lock that is due longest
//! first.
//!
//! Before a lock is checked, its next check is written, and the lock is no longer due. So the next sweep
//! continues where a sweep that ran out of time has stopped, without a cursor that could be lost.
//!
//! ```text
//!  due ≤ now ──▶ Reschedule: next check, 30 s away at least ──▶ check its holders ──▶ hand over
//!                      (written first, so a sweep that dies here has not lost its place)
//! ```
//! One slow or damaged lock must not keep the sweep from the others. So each lock has a time limit, a failure
//! is counted and logged, and the sweep begins with another shard each minute.

use super::lock::LockReaper;
use super::{AT_ONCE, Pending, ReapReport};
use crate::clock::within;
use crate::error::Error;
use crate::service::{Deps, Ports};
use crate::telemetry::StackMetric;
use futures_util::stream::{self, StreamExt};
use lockstep_core::domain::{DEAD_AFTER, LockKey, Seconds, Timestamp};
use lockstep_core::store::{DueLock, LockStore, SHARDS};
use std::time::Duration;

/// Time after which a sweep begins no further check. The function times out after a minute.
const TIME_MAX: Seconds = Seconds::of(40);

/// Longest time for the check of one lock. A later sweep repeats a check that takes longer.
const LOCK_TIME: Duration = Duration::from_secs(15);

/// Checks every lock that is due. Begins no check after [`TIME_MAX`].
pub(super) async fn run<P: Ports>(deps: &Deps<P>) -> Result<ReapReport, Error> {
    let start = deps.now();
    let mut report = ReapReport::default();
    // Another shard comes first each minute, so that no shard always comes last.
    let first = u8::try_from(start.millis() / 60_000 % u64::from(SHARDS)).unwrap_or(0);
    for shard in (0..SHARDS).map(|number| (first + number) % SHARDS) {
        sweep_shard(deps, shard, start, &mut report).await?;
        if report.more {
            break;
        }
    }
    let finished = if report.more { 0.0 } else { 1.0 };
    let unchecked = u32::try_from(report.failed).map_or(f64::MAX, f64::from);
    let values = [
        (StackMetric::SweepFinished, finished),
        (StackMetric::LocksUnchecked, unchecked),
    ];
    deps.metrics.report_stack(deps.now(), &values);
    Ok(report)
}

async fn sweep_shard<P: Ports>(
    deps: &Deps<P>,
    shard: u8,
    start: Timestamp,
    report: &mut ReapReport,
) -> Result<(), Error> {
    let mut after: Option<DueLock> = None;
    loop {
        let until = deps.now();
        let page = deps.store().due(shard, until, after.as_ref()).await?;
        // Unreadable entries count as unchecked locks, which raises an alarm: a later sweep cannot read them
        // either.
        report.failed += page.unreadable;
        // A lease counts as dead only `DEAD_AFTER` after its end, so a lock is left alone until then.
        let dead = |due: &&DueLock| due.due.plus(DEAD_AFTER) <= until;
        let due: Vec<_> = page.locks.iter().filter(dead).collect();
        let mut locks: Vec<Pending<'_, ReapReport>> = Vec::new();
        for due in due {
            locks.push(Box::pin(check_in_time(deps, &due.lock, start)));
        }
        let mut checked = stream::iter(locks).buffer_unordered(AT_ONCE);
        while let Some(checked) = checked.next().await {
            *report += checked;
        }
        if report.more {
            return Ok(());
        }
        match page.next {
            Some(next) => after = Some(next),
            None => return Ok(()),
        }
    }
}

/// Checks one lock within [`LOCK_TIME`], unless the sweep has run out of time. A failure is counted in the
/// report, and a later sweep tries again.
async fn check_in_time<P: Ports>(deps: &Deps<P>, lock: &LockKey, start: Timestamp) -> ReapReport {
    if deps.now() >= start.plus(TIME_MAX) {
        return ReapReport {
            more: true,
            ..ReapReport::default()
        };
    }
    let lock = lock.clone();
    let reaper = LockReaper { deps, lock };
    let checked = within(deps.clock(), LOCK_TIME, reaper.check_all()).await;
    let lock = &reaper.lock;
    let mut report = match checked {
        Ok(Ok(report)) => report,
        Ok(Err(error)) => {
            tracing::error!(event = "lock_check_failed", %lock, error = %error.name(), reason = error.message(), "the lock was not checked; a later sweep tries again");
            failed()
        }
        Err(_) => {
            tracing::error!(event = "lock_check_timed_out", %lock, "the check of the lock timed out; a later sweep checks it again");
            failed()
        }
    };
    report.locks = 1;
    report
}

/// Returns the report of a lock that was not checked.
fn failed() -> ReapReport {
    ReapReport {
        failed: 1,
        ..ReapReport::default()
    }
}
