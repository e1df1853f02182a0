//! The sweep: every lock that is due, the longest due first, page by page.
//!
//! A lock leaves the range of the index before it is checked, until it is due again. So a sweep that
//! stops at its bound is resumed by the next one, without a cursor that could be lost.

use crate::{Deps, Report};
use futures_util::stream::{self, StreamExt};
use lockstep::clock::{Clock, within};
use lockstep::domain::{DEAD_AFTER, LockKey, Seconds, Timestamp};
use lockstep::error::Error;
use lockstep::events::Events;
use lockstep::executions::Executions;
use lockstep::store::{DueLock, LockStore, SHARDS};
use lockstep::tasks::Tasks;
use lockstep::telemetry::MetricSink;
use std::ops::AddAssign;
use std::pin::Pin;
use std::time::Duration;

/// How long one sweep begins with locks; the function has a minute.
const TIME_MAX: Seconds = Seconds::of(40);

/// How long one lock may take. What is left of it is done by a later sweep.
const LOCK_TIME: Duration = Duration::from_secs(15);

/// How many locks, and how many holders of a lock, are checked at once: one that answers slowly
/// does not hold the others up.
pub(crate) const AT_ONCE: usize = 8;

/// Work that has not begun yet.
pub(crate) type Pending<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

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
            // A lease is dead only some time after its end.
            let dead = |due: &&DueLock| due.due.plus(DEAD_AFTER) <= until;
            let due: Vec<_> = page.locks.iter().filter(dead).collect();
            let mut locks: Vec<Pending<'_, Report>> = Vec::new();
            for due in due {
                locks.push(Box::pin(self.tend_in_time(&due.lock, start)));
            }
            let mut tended = stream::iter(locks).buffer_unordered(AT_ONCE);
            while let Some(tended) = tended.next().await {
                *report += tended;
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

    async fn tend_in_time(&self, lock: &LockKey, start: Timestamp) -> Report {
        if self.now() >= start.plus(TIME_MAX) {
            return Report {
                more: true,
                ..Report::default()
            };
        }
        let clock = self.caretaker.follow.protocol.clock();
        let mut report = match within(clock, LOCK_TIME, self.tend(lock)).await {
            Some(Ok(report)) => report,
            Some(Err(error)) => {
                tracing::error!(%lock, error = %error.name(), message = error.message(), "not checked");
                failed()
            }
            None => {
                tracing::error!(%lock, "not checked in time; the next sweep goes on");
                failed()
            }
        };
        report.locks = 1;
        report
    }

    pub(crate) fn now(&self) -> Timestamp {
        self.caretaker.follow.protocol.clock().now()
    }
}

fn failed() -> Report {
    Report {
        failed: 1,
        ..Report::default()
    }
}

impl AddAssign for Report {
    fn add_assign(&mut self, other: Self) {
        self.locks += other.locks;
        self.holders += other.holders;
        self.freed += other.freed;
        self.failed += other.failed;
        self.more |= other.more;
        self.settles_in = self.settles_in.max(other.settles_in);
    }
}
