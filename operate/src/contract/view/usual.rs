//! How long a run of a lock usually takes, in responses.

use lockstep::events::UsualLength;
use lockstep_core::domain::{Lease, Timestamp};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::Serialize;

/// Least number of successes from which the usual length is computed.
const SUCCESSES_MIN: usize = 3;

/// How long the latest runs that succeeded held their permits.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct UsualView {
    /// Number of these runs.
    pub successes: usize,
    /// The median, in seconds. For an even number of runs, the mean of the two in the middle.
    pub median_seconds: f64,
    /// The longest of these runs, in seconds.
    pub longest_seconds: f64,
}

impl UsualView {
    /// Returns the view of `usual`; `None` for fewer than three successes.
    #[must_use]
    pub fn of(usual: UsualLength) -> Option<Self> {
        let UsualLength {
            median_ms,
            longest_ms,
            successes,
        } = usual;
        (successes >= SUCCESSES_MIN).then(|| Self {
            successes,
            median_seconds: seconds(median_ms),
            longest_seconds: seconds(longest_ms),
        })
    }

    /// Returns whether, at `now`, the holder of `lease` has held its permit for longer than the longest of
    /// these runs.
    #[must_use]
    pub fn is_exceeded(&self, lease: &Lease, now: Timestamp) -> bool {
        seconds(now.millis_since(lease.token.granted_at())) > self.longest_seconds
    }
}

#[expect(clippy::cast_precision_loss, reason = "a run takes no thousand years")]
fn seconds(millis: u64) -> f64 {
    millis as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_length_is_known_from_three_successes_on() {
        for (lengths, expected) in [
            (vec![60_000, 70_000], None),
            (vec![70_000, 900_000, 60_000], Some((3, 70.0, 900.0))),
            (vec![4_000, 1_000, 3_000, 2_000], Some((4, 2.5, 4.0))),
        ] {
            let usual = UsualLength::of_lengths(lengths).and_then(UsualView::of);

            let found =
                usual.map(|usual| (usual.successes, usual.median_seconds, usual.longest_seconds));
            assert_eq!(found, expected);
        }
    }
}
