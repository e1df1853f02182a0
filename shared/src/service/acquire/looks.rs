//! What the looks of one call at the holders in its way have shown.

use lockstep_core::domain::{FencingToken, HolderId};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The age of a check, counted from the start of the call, from which an earlier attempt that it shows at work
/// counts as running. A younger check may show an attempt that has just ended: a caller may retry right after
/// StopExecution, and DescribeExecution is eventually consistent.
const RUNS_FROM: Duration = Duration::from_secs(2);

/// What the last check of an earlier attempt has shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Shown {
    /// It is at work. Contains the age at which the check began.
    AtWork(Duration),
    /// It is ending.
    Ending,
    /// Not whether it has ended.
    Nothing,
}

/// The results of the looks of one call.
///
/// Each check adds its result at once, so that it counts even if a later check of the same look times out.
#[derive(Default)]
pub(super) struct Looks {
    /// The holder whose permit was freed.
    pub(super) freed: Option<HolderId>,
    /// How many looks there were after the first one, without a change between them.
    pub(super) again: usize,
    /// How many looks have checked holders that are no earlier attempts of the caller.
    pub(super) at_others: usize,
    attempts: BTreeMap<FencingToken, Shown>,
    leaving: BTreeSet<FencingToken>,
}

impl Looks {
    /// Notes what a check has shown of an earlier attempt.
    pub(super) fn note(&mut self, attempt: FencingToken, shown: Shown) {
        self.attempts.insert(attempt, shown);
    }

    /// Notes that a holder is ending or has left. Returns whether that is new. If the record says otherwise again
    /// and again, the call does not decide again each time.
    pub(super) fn note_leaving(&mut self, holder: FencingToken) -> bool {
        self.leaving.insert(holder)
    }

    /// Notes that an earlier attempt was freed.
    pub(super) fn note_freed(&mut self, attempt: FencingToken) {
        self.attempts.remove(&attempt);
    }

    /// Returns whether an earlier attempt was at work when it was last checked, and long enough after the start of
    /// the call.
    pub(super) fn runs(&self, attempt: FencingToken) -> bool {
        let shown = self.attempts.get(&attempt);
        matches!(shown, Some(Shown::AtWork(age)) if *age >= RUNS_FROM)
    }

    /// Returns whether an earlier attempt in the way may have ended. `most` is the number of attempts at which a
    /// look looks: if so many run or are ending, the others are not in doubt for want of a look.
    pub(super) fn doubts(&self, attempt: FencingToken, most: usize) -> bool {
        let known = self
            .attempts
            .iter()
            .filter(|(token, shown)| **shown == Shown::Ending || self.runs(**token));
        match self.attempts.get(&attempt) {
            Some(Shown::Ending | Shown::Nothing) => true,
            Some(Shown::AtWork(_)) | None => !self.runs(attempt) && known.count() < most,
        }
    }
}
