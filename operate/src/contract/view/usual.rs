//! How long a run usually takes.

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
    /// The median, in seconds. Of an even number, the shorter of the two in the middle.
    pub median_seconds: f64,
    /// The longest, in seconds.
    pub longest_seconds: f64,
}

impl UsualView {
    /// What is usual, by the seconds that each success took; `None` for less than three.
    #[must_use]
    pub fn of(mut seconds: Vec<f64>) -> Option<Self> {
        seconds.sort_by(f64::total_cmp);
        let longest = seconds.last().copied()?;
        (seconds.len() >= SUCCESSES_MIN).then(|| Self {
            successes: seconds.len(),
            median_seconds: seconds[(seconds.len() - 1) / 2],
            longest_seconds: longest,
        })
    }

    /// Whether the holder of `lease` has held its permit at `now` for longer than any of the runs.
    #[must_use]
    pub fn is_exceeded(&self, lease: &Lease, now: Timestamp) -> bool {
        #[expect(clippy::cast_precision_loss, reason = "a run takes no thousand years")]
        let held = now.millis_since(lease.token.granted_at()) as f64 / 1000.0;
        held > self.longest_seconds
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_length_is_the_median_of_three_successes_or_more() {
        for (seconds, expected) in [
            (vec![], None),
            (vec![60.0, 70.0], None),
            (vec![70.0, 900.0, 60.0], Some((3, 70.0, 900.0))),
            (vec![4.0, 1.0, 3.0, 2.0], Some((4, 2.0, 4.0))),
        ] {
            let usual = UsualView::of(seconds);

            let found =
                usual.map(|usual| (usual.successes, usual.median_seconds, usual.longest_seconds));
            assert_eq!(found, expected);
        }
    }
}
