//! The clock of a process that holds locks.

use super::clock::Instant;
use super::server_time::ServerTime;
use lockstep::clock::{Clock, SystemClock};
use lockstep::domain::{CLOCK_SKEW, Timestamp};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The clock of this machine, corrected where the clock of the table contradicts it.
///
/// A holder computes the end of its lease with its own clock, and a run that wants the lock compares this
/// end with its own clock. A process whose clock is ahead takes the lock over too early. A process whose
/// clock is behind writes leases that have already ended for others. The last response of the table sets an
/// earliest and a latest time that the table's clock can have now. A time outside of this range is replaced
/// by the nearest end of the range.
///
/// Before the first response there is no such range. Until then, the clock of [`Self::steady`] shows at
/// least the time of its creation plus the time since then, by the monotonic clock. So if the machine's
/// clock is set back, no renewal writes an end that has passed.
#[derive(Clone, Debug, Default)]
pub(crate) struct ProcessClock {
    table: ServerTime,
    /// The wall clock at the start, and when it was read. With it, the clock is never set back.
    start: Option<(Timestamp, Instant)>,
    is_reported: Arc<AtomicBool>,
}

impl ProcessClock {
    /// Returns the wall clock of this machine, corrected by the clock of `table`.
    pub(crate) fn beside(table: ServerTime) -> Self {
        Self {
            table,
            ..Self::default()
        }
    }

    /// Returns the same clock, which is never set back from now on.
    pub(crate) fn steady(&self) -> Self {
        Self {
            start: Some((SystemClock.now(), Instant::now())),
            ..self.clone()
        }
    }

    fn own(&self) -> Timestamp {
        let wall = SystemClock.now();
        self.start.map_or(wall, |(start, at)| {
            let since = Instant::now().millis().saturating_sub(at.millis());
            wall.max(Timestamp::from_millis(start.millis() + since))
        })
    }
}

impl Clock for ProcessClock {
    fn now(&self) -> Timestamp {
        let own = self.own();
        let time = self.table.nearest(own).unwrap_or(own);
        let (ahead, behind) = (own.millis_since(time), time.millis_since(own));
        let (apart, which) = if ahead > 0 {
            (ahead, "ahead of")
        } else {
            (behind, "behind")
        };
        if apart > CLOCK_SKEW.millis() && !self.is_reported.swap(true, Ordering::SeqCst) {
            tracing::warn!(
                event = "clock_off",
                millis = apart,
                "the clock of this machine is at least {apart} ms {which} that of the table: lockstep uses the time of the table; synchronize the clock of this machine"
            );
        }
        time
    }

    async fn sleep(&self, length: Duration) {
        SystemClock.sleep(length).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ahead(millis: u64) -> Timestamp {
        Timestamp::from_millis(SystemClock.now().millis() + millis)
    }

    #[test]
    fn a_wall_clock_that_is_set_back_does_not_set_a_steady_one_back() {
        let before = |millis| Instant::from_millis(Instant::now().millis() - millis);
        let started = |start| ProcessClock {
            start: Some(start),
            ..ProcessClock::default()
        };

        // Started a second ago, when the wall clock was 30 s ahead of the present one.
        let set_back = started((ahead(30_000), before(1_000)));
        let set_forward = started((ahead(0), before(0)));

        assert!(set_back.now() >= ahead(30_900));
        assert!(set_forward.now() < ahead(20_000));
        assert!(ProcessClock::default().now() < ahead(20_000));
    }

    #[test]
    fn the_clock_of_the_table_counts_where_another_is_off() {
        let shows = |date| ProcessClock::beside(ServerTime::showing(date));
        let later = ahead(30_000);
        let past = Timestamp::from_millis(later.millis() - 60_000);

        for clock in [shows(later), shows(later).steady()] {
            assert!(clock.now() >= later && clock.now() < ahead(32_000));
        }
        for clock in [shows(past), shows(past).steady()] {
            assert!(clock.now() >= past && clock.now() < ahead(0));
        }
    }
}
