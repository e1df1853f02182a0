//! What the looks of one call at the holders in its way have shown.

use lockstep_core::domain::{FencingToken, HolderId};
use std::collections::BTreeMap;
use std::time::Duration;

/// The age of a check, counted from the start of the call, from which an earlier attempt that it shows at work
/// counts as running. A younger check may show an attempt that has just ended: a caller may retry right after
/// StopExecution, and DescribeExecution is eventually consistent.
const RUNS_FROM: Duration = Duration::from_secs(2);

/// The results of the looks of one call.
///
/// Each check adds its result at once, so that it counts even if a later check of the same look times out.
#[derive(Default)]
pub(super) struct Looks {
    /// The holder whose permit was freed.
    pub(super) freed: Option<HolderId>,
    /// How often the call looked again without a change between two looks.
    pub(super) again: usize,
    /// How many looks have checked holders that are no earlier attempts of the caller.
    pub(super) at_others: usize,
    /// The age at which the last check of each earlier attempt began, if it showed that attempt at work.
    attempts: BTreeMap<FencingToken, Option<Duration>>,
}

impl Looks {
    /// Notes when a check of an earlier attempt began that has shown it at work; `None` if the check has not shown
    /// whether it has ended, or has shown it ending.
    pub(super) fn note(&mut self, attempt: FencingToken, at_work: Option<Duration>) {
        self.attempts.insert(attempt, at_work);
    }

    /// Returns whether an earlier attempt was at work when it was last checked, and long enough after the start of
    /// the call.
    pub(super) fn runs(&self, attempt: FencingToken) -> bool {
        let begin = self.attempts.get(&attempt).copied().flatten();
        begin.is_some_and(|begin| begin >= RUNS_FROM)
    }

    /// Returns whether a check of an earlier attempt was noted.
    pub(super) fn has_checked(&self, attempt: FencingToken) -> bool {
        self.attempts.contains_key(&attempt)
    }
}
