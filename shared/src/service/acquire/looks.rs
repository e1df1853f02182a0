//! What the looks of one call at the holders in its way have shown.

use lockstep_core::domain::{FencingToken, HolderId};
use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

/// The age of a look, counted from the start of the call, from which an earlier attempt that it shows at work
/// counts as running. A younger look may show an attempt that has just ended: a caller may retry right after
/// StopExecution, and DescribeExecution is eventually consistent.
const RUNS_FROM: Duration = Duration::from_secs(2);

/// The results of the looks of one call.
///
/// Each check adds its result at once, so that it counts even if a later check of the same look times out.
#[derive(Default)]
pub(super) struct Looks {
    /// The holder whose permit was freed.
    pub(super) freed: Option<HolderId>,
    /// How often the call paused before another look.
    pub(super) pauses: usize,
    /// How many looks have checked holders that are no earlier attempts of the caller.
    pub(super) at_others: usize,
    /// The age at which the last look began that showed each earlier attempt at work; `None` if the last look
    /// at the attempt did not show whether it has ended.
    attempts: BTreeMap<FencingToken, Option<Duration>>,
    /// The holders that are known to be ending.
    ending: BTreeSet<FencingToken>,
}

impl Looks {
    /// Notes what a look that began at the age `begin` shows of an earlier attempt: it is at work, or nothing.
    pub(super) fn note(&mut self, attempt: FencingToken, at_work: bool, begin: Duration) {
        self.attempts.insert(attempt, at_work.then_some(begin));
    }

    /// Notes that a holder is ending. Returns whether that is new.
    pub(super) fn note_ending(&mut self, holder: FencingToken) -> bool {
        self.ending.insert(holder)
    }

    /// Returns whether an earlier attempt was at work when it was last looked at, and long enough after the
    /// start of the call.
    pub(super) fn runs(&self, attempt: FencingToken) -> bool {
        let seen = self.attempts.get(&attempt);
        seen.is_some_and(|begin| begin.is_some_and(|begin| begin >= RUNS_FROM))
    }

    /// Returns whether an earlier attempt in the way may have ended. `most` is the number of attempts at which a
    /// call looks: if so many run, the others are not in doubt for want of a look.
    pub(super) fn doubts(&self, attempt: FencingToken, most: usize) -> bool {
        let running = self.attempts.keys().filter(|token| self.runs(**token));
        let is_unanswered = self.attempts.get(&attempt) == Some(&None);
        is_unanswered || !self.runs(attempt) && running.count() < most
    }
}
