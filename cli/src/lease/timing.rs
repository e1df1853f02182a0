//! The times of a lease, as whoever works under it has to see them.

use crate::platform::clock::Instant;
use lockstep::domain::DEAD_AFTER;
use std::time::Duration;

/// How long before the end of the lease the command is dead, renewed or not.
const KILL_BEFORE: Duration = Duration::from_millis(300);

/// The times of a lease.
///
/// ```text
///  renewal sent                                                    lease ends    others may take over
///   |----- beat -----|----- beat -----|----- beat -----|              |---- 2 s ----|
///   |                                 stop ···········kill            |             |
///   |---------------------------- record's lease ---------------------|             |
///   |------------------------------------- --lease ---------------------------------|
/// ```
///
/// All are counted from the moment that a renewal was sent, so a slow answer makes them earlier than
/// they have to be, never later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LeaseTiming {
    /// Length of the lease in the record.
    pub(crate) length: Duration,
    /// How long the command gets to stop when its lease runs out.
    stop_window: Duration,
}

impl LeaseTiming {
    /// Shortest `--lease`: less leaves no time to renew and to stop.
    pub(crate) const SHORTEST: Duration = Duration::from_secs(5);
    /// Longest `--lease`: a day.
    pub(crate) const LONGEST: Duration = Duration::from_secs(86_400);

    /// The times of a lease that others may take over after `silence`, for a command that gets
    /// `grace` to stop.
    pub(crate) fn after_silence(silence: Duration, grace: Duration) -> Self {
        let margin = Duration::from_millis(DEAD_AFTER.millis());
        Self::of_record(silence.saturating_sub(margin), grace)
    }

    /// The times of a lease that is `length` long in its record.
    pub(crate) fn of_record(length: Duration, grace: Duration) -> Self {
        Self {
            length,
            stop_window: grace.min(length / 3),
        }
    }

    /// The length in whole seconds, as a request has it.
    pub(crate) fn seconds(&self) -> i64 {
        i64::try_from(self.length.as_secs()).unwrap_or(i64::MAX)
    }

    /// Time between renewals.
    pub(crate) fn beat(&self) -> Duration {
        self.length / 3
    }

    /// Time between two requests of a renewal, of which the first has no answer yet.
    pub(crate) fn again(&self) -> Duration {
        (self.length / 30).clamp(Duration::from_millis(100), Duration::from_secs(2))
    }

    /// Longest time for the answer to one request of a renewal. Of a short lease there is no time for
    /// what a client waits by itself.
    pub(crate) fn answer_within(&self) -> Duration {
        (self.length / 8).clamp(Duration::from_millis(250), Duration::from_secs(2))
    }

    /// When the command is told to stop, if nothing was renewed after `sent`.
    pub(crate) fn stop_at(&self, sent: Instant) -> Instant {
        sent + self
            .length
            .saturating_sub(self.stop_window)
            .saturating_sub(KILL_BEFORE)
    }

    /// When the command is dead, if nothing was renewed after `sent`.
    pub(crate) fn kill_at(&self, sent: Instant) -> Instant {
        sent + self.length.saturating_sub(KILL_BEFORE)
    }

    /// When the command is dead that is told to stop at `told`: somebody else may have the lock by
    /// then, so the rest of the lease is not used up.
    pub(crate) fn dead_by(&self, sent: Instant, told: Instant) -> Instant {
        self.kill_at(sent).min(told + self.stop_window)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(millis: u64) -> Instant {
        Instant::from_millis(millis)
    }

    #[test]
    fn the_command_is_dead_before_its_lease_ends_whatever_the_grace() {
        for silence in [5, 6, 15, 60, 86_400].map(Duration::from_secs) {
            for grace in [0, 1, 25, 600].map(Duration::from_secs) {
                let times = LeaseTiming::after_silence(silence, grace);
                let ends = Instant::default() + times.length;

                let (stop, kill) = (times.stop_at(at(0)), times.kill_at(at(0)));

                assert!(stop <= kill && kill < ends, "{silence:?} {grace:?}");
                assert!(
                    Instant::default() + times.beat() < stop,
                    "{silence:?} {grace:?}"
                );
            }
        }
    }

    #[test]
    fn from_ten_seconds_on_an_outage_of_a_fifth_of_the_lease_costs_nothing() {
        let answer = Duration::from_millis(80);
        for silence in [10, 15, 60, 300, 86_400].map(Duration::from_secs) {
            let times = LeaseTiming::after_silence(silence, Duration::from_secs(600));

            // It begins with a renewal, and ends just after a request.
            let renewed = times.beat() + silence / 5 + times.again() + answer;

            assert!(
                Instant::default() + renewed < times.stop_at(at(0)),
                "{silence:?}"
            );
        }
    }

    #[test]
    fn a_renewal_that_vanishes_leaves_time_for_another_one() {
        for silence in [5, 6, 15, 60, 86_400].map(Duration::from_secs) {
            let times = LeaseTiming::after_silence(silence, Duration::from_secs(600));

            let next = times.beat() + times.answer_within() + times.again();

            assert!(
                Instant::default() + next < times.stop_at(at(0)),
                "{silence:?}"
            );
        }
    }

    #[test]
    fn others_may_take_over_after_the_silence_that_was_asked_for_and_not_before() {
        let times = LeaseTiming::after_silence(Duration::from_secs(60), Duration::from_secs(25));

        assert_eq!(times.seconds() + i64::from(DEAD_AFTER.get()), 60);
    }

    #[test]
    fn a_command_whose_lease_is_taken_away_gets_its_grace_and_not_the_rest_of_the_lease() {
        let times = LeaseTiming::of_record(Duration::from_secs(90), Duration::from_secs(10));

        assert_eq!(times.dead_by(at(0), at(30_000)).millis(), 40_000);
        assert_eq!(times.dead_by(at(0), at(85_000)), times.kill_at(at(0)));
    }

    #[test]
    fn a_command_gets_its_grace_if_the_lease_is_three_times_as_long() {
        let times = LeaseTiming::of_record(Duration::from_secs(90), Duration::from_secs(25));

        assert_eq!(times.stop_at(at(0)).millis(), 90_000 - 25_000 - 300);
        assert_eq!(times.kill_at(at(0)).millis(), 90_000 - 300);
    }
}
