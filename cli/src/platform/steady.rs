//! The clock of a process that holds locks.

use super::clock::Instant;
use lockstep::clock::{Clock, SystemClock};
use lockstep::domain::Timestamp;
use std::time::Duration;

/// The wall clock, or for renewals one that is never set back.
///
/// A wall clock that is set back by more than a lease would make a renewal write an end that has passed for all others,
/// while this process counts from the renewal. So renewals read at least the time of the start plus the time since then. A
/// clock that was ahead at the start and is corrected makes leases longer by the correction, which only a
/// successor notices. Requests for a permit read the wall clock: there, a clock that is ahead takes over too soon.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ProcessClock {
    /// The wall clock.
    Wall,
    /// The later one of the wall clock, and this time plus the time since this moment.
    Steady(Timestamp, Instant),
}

impl ProcessClock {
    /// A clock that is never set back from now on.
    pub(crate) fn steady() -> Self {
        Self::Steady(SystemClock.now(), Instant::now())
    }
}

impl Clock for ProcessClock {
    fn now(&self) -> Timestamp {
        match self {
            Self::Wall => SystemClock.now(),
            Self::Steady(start, at) => {
                let since = Instant::now().millis().saturating_sub(at.millis());
                SystemClock
                    .now()
                    .max(Timestamp::from_millis(start.millis() + since))
            }
        }
    }

    async fn sleep(&self, length: Duration) {
        SystemClock.sleep(length).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wall_clock_that_is_set_back_does_not_set_a_steady_one_back() {
        let wall = SystemClock.now().millis();
        let ahead = |millis| Timestamp::from_millis(wall + millis);
        let before = |millis| Instant::from_millis(Instant::now().millis() - millis);

        // Started a second ago, when the wall clock was 30 s ahead of the present one.
        let set_back = ProcessClock::Steady(ahead(30_000), before(1_000));
        let set_forward = ProcessClock::Steady(ahead(0), before(0));

        assert!(set_back.now() >= ahead(31_000));
        assert!(set_forward.now() >= ahead(0) && set_forward.now() < ahead(20_000));
        assert!(ProcessClock::Wall.now() < ahead(20_000));
    }
}
