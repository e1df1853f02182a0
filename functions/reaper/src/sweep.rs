//! The sweep: every lock that is due, the longest due first, page by page.
//!
//! A lock that was looked at leaves the range of the index until it is due again. So a sweep that
//! stops at its bound is resumed by the next one, without a cursor that could be lost.

use crate::{Deps, Report};
use lockstep::clock::Clock;
use lockstep::domain::{DEAD_AFTER, Seconds, Timestamp};
use lockstep::error::Error;
use lockstep::events::Events;
use lockstep::executions::Executions;
use lockstep::store::{DueLock, LockStore, SHARDS};
use lockstep::tasks::Tasks;
use lockstep::telemetry::MetricSink;
use std::ops::AddAssign;

/// Most locks that one sweep looks at.
const LOCKS_MAX: usize = 400;

/// How long one sweep takes at most; the function has a minute.
const TIME_MAX: Seconds = Seconds::of(40);

impl<S: LockStore, C: Clock, E: Executions, T: Tasks, V: Events, K: MetricSink>
    Deps<S, C, E, T, V, K>
{
    pub(crate) async fn sweep(&self) -> Result<Report, Error> {
        let start = self.now();
        let mut report = Report::default();
        // Another shard first each minute: no shard is always the one that is left.
        let first = u8::try_from(start.millis() / 60_000 % u64::from(SHARDS)).unwrap_or(0);
        for shard in (0..SHARDS).map(|number| (first + number) % SHARDS) {
            self.sweep_shard(shard, start, &mut report).await?;
            if report.more {
                break;
            }
        }
        Ok(report)
    }

    async fn sweep_shard(
        &self,
        shard: u8,
        start: Timestamp,
        report: &mut Report,
    ) -> Result<(), Error> {
        let store = self.caretaker.follow.protocol.store();
        let mut after: Option<DueLock> = None;
        loop {
            let until = self.now();
            let page = store.due(shard, until, after.as_ref()).await?;
            for due in &page.locks {
                if report.locks >= LOCKS_MAX || self.now() >= start.plus(TIME_MAX) {
                    report.more = true;
                    return Ok(());
                }
                // A lease is dead only some time after its end.
                if due.due.plus(DEAD_AFTER) > until {
                    continue;
                }
                report.locks += 1;
                match self.tend(&due.lock).await {
                    Ok(tended) => *report += tended,
                    Err(error) => {
                        report.failed += 1;
                        let lock = &due.lock;
                        tracing::error!(%lock, error = %error.name(), message = error.message(), "not looked at");
                    }
                }
            }
            match page.next {
                Some(next) => after = Some(next),
                None => return Ok(()),
            }
        }
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.caretaker.follow.protocol.clock().now()
    }
}

impl AddAssign for Report {
    fn add_assign(&mut self, other: Self) {
        self.locks += other.locks;
        self.holders += other.holders;
        self.freed += other.freed;
        self.failed += other.failed;
        self.more |= other.more;
    }
}
