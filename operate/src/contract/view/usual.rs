//! How long a run usually takes.

use lockstep::events::UsualLength;
use lockstep_core::domain::{Lease, Timestamp};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::Serialize;

/// Fewest successes that show what is usual.
const SUCCESSES_MIN: usize = 3;

/// How long the latest runs that succeeded held the lock.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct UsualView {
    /// How many runs these are.
    pub successes: usize,
    /// The median, in seconds. Of an even number, the mean of the two in the middle.
    pub median_seconds: f64,
    /// The longest, in seconds.
    pub longest_seconds: f64,
}

impl UsualView {
    /// Of lengths of successes; `None` for less than three.
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

    /// Whether the holder of `lease` has held its permit at `now` for longer than any of the runs.
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
