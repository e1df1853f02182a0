//! The times of a lease that its holder has to keep.

use crate::platform::clock::Instant;
use lockstep::domain::DEAD_AFTER;
use std::time::Duration;

/// Time before the end of the lease at which the command is killed at the latest.
const KILL_BEFORE: Duration = Duration::from_millis(300);

/// Longest time between two renewals of a workflow's lease. The renewals write the progress of the work,
/// whose limit may be shorter than the lease, and notice when the permit was taken over under the stale
/// policy `yield`.
const ADOPTED_BEAT: Duration = Duration::from_secs(20);

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
/// All times count from when a renewal was sent, so a slow response makes them earlier than necessary, never
/// later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LeaseTiming {
    /// Length of the lease in the record.
    pub(crate) length: Duration,
    /// Time that the command has to stop when its lease runs out.
    stop_window: Duration,
    /// Time between renewals.
    beat: Duration,
}

impl LeaseTiming {
    /// Shortest `--lease`. A shorter one leaves no time to renew it and to stop.
    pub(crate) const SHORTEST: Duration = Duration::from_secs(5);
    /// Longest `--lease`: a day.
    pub(crate) const LONGEST: Duration = Duration::from_secs(86_400);

    /// Returns the times of a lease that others may take over after `silence`, for a command that may take
    /// `grace` to stop.
    pub(crate) fn after_silence(silence: Duration, grace: Duration) -> Self {
        let margin = Duration::from_millis(DEAD_AFTER.millis());
        Self::of_record(silence.saturating_sub(margin), grace)
    }

    /// Returns the times of a lease that is this `length` long in its record.
    pub(crate) fn of_record(length: Duration, grace: Duration) -> Self {
        Self {
            length,
            stop_window: grace.min(length / 3),
            beat: length / 3,
        }
    }

    /// Returns the times of a workflow's lease, which is this `length` long in its record.
    pub(crate) fn of_workflow(length: Duration, grace: Duration) -> Self {
        let times = Self::of_record(length, grace);
        Self {
            beat: times.beat.min(ADOPTED_BEAT),
            ..times
        }
    }

    /// Returns the length in whole seconds, for a request.
    pub(crate) fn seconds(&self) -> i64 {
        i64::try_from(self.length.as_secs()).unwrap_or(i64::MAX)
    }

    /// Returns the time between renewals.
    pub(crate) fn beat(&self) -> Duration {
        self.beat
    }

    /// Returns the time after which a renewal that got no response is sent again.
    pub(crate) fn retry_interval(&self) -> Duration {
        (self.length / 30).clamp(Duration::from_millis(100), Duration::from_secs(2))
    }

    /// Returns the timeout of one request of a renewal: the timeout of the client is too long for a short
    /// lease.
    pub(crate) fn request_timeout(&self) -> Duration {
        (self.length / 8).clamp(Duration::from_millis(250), Duration::from_secs(4))
    }

    /// Returns when the command is asked to stop, if no renewal that was sent after `sent` succeeds.
    pub(crate) fn stop_at(&self, sent: Instant) -> Instant {
        sent + self
            .length
            .saturating_sub(self.stop_window)
            .saturating_sub(KILL_BEFORE)
    }

    /// Returns when the command has to be dead, if no renewal that was sent after `sent` succeeds.
    pub(crate) fn kill_at(&self, sent: Instant) -> Instant {
        sent + self.length.saturating_sub(KILL_BEFORE)
    }

    /// Returns when a command that is asked to stop at `asked` has to be dead. It does not get the rest of
    /// the lease, because another run may hold the lock already.
    pub(crate) fn dead_by(&self, sent: Instant, asked: Instant) -> Instant {
        self.kill_at(sent).min(asked + self.stop_window)
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
                let [beat, ends] = [times.beat(), times.length].map(|after| at(0) + after);

                let (stop, kill) = (times.stop_at(at(0)), times.kill_at(at(0)));

                assert!(stop <= kill && kill < ends, "{silence:?} {grace:?}");
                assert!(beat < stop, "{silence:?} {grace:?}");
            }
        }
    }

    #[test]
    fn from_ten_seconds_on_an_outage_of_a_fifth_of_the_lease_costs_nothing() {
        for silence in [10, 15, 60, 300, 86_400].map(Duration::from_secs) {
            let times = LeaseTiming::after_silence(silence, Duration::from_secs(600));

            // It begins with a renewal, and ends just after a request that takes 80 ms.
            let outage = silence / 5 + Duration::from_millis(80);
            let renewed = at(0) + times.beat() + outage + times.retry_interval();

            assert!(renewed < times.stop_at(at(0)), "{silence:?}");
        }
    }

    #[test]
    fn a_lost_renewal_leaves_time_for_another_one() {
        for silence in [5, 6, 15, 60, 86_400].map(Duration::from_secs) {
            let times = LeaseTiming::after_silence(silence, Duration::from_secs(600));

            let next = times.beat() + times.request_timeout() + times.retry_interval();

            assert!(at(0) + next < times.stop_at(at(0)), "{silence:?}");
        }
    }

    #[test]
    fn others_may_take_over_after_the_requested_silence_and_not_before() {
        let times = LeaseTiming::after_silence(Duration::from_secs(60), Duration::from_secs(25));

        assert_eq!(times.seconds() + i64::from(DEAD_AFTER.get()), 60);
    }

    #[test]
    fn a_command_that_lost_its_lease_gets_its_grace_and_no_more() {
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

    #[test]
    fn a_workflows_lease_is_renewed_every_twenty_seconds() {
        for (length, beat) in [(900, 20), (60, 20), (30, 10)] {
            let times = LeaseTiming::of_workflow(Duration::from_secs(length), Duration::ZERO);

            assert_eq!(times.beat(), Duration::from_secs(beat), "{length}");
        }
    }
}
