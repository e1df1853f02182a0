//! The lease of a run that is well does not lapse while nothing goes wrong.

use super::ledger::{RunFacts, Witness};
use crate::cloud::Cloud;
use lockstep::domain::HolderId;

/// A run whose execution works under a grant, and whose lease is over by what it was answered.
pub(super) fn lapsed<'a>(
    cloud: &Cloud,
    witness: &'a Witness,
    now: u64,
) -> Option<(&'a HolderId, u64)> {
    let lapsed = |(holder, run): &(&HolderId, &RunFacts)| {
        let row = cloud.execution_of(holder);
        // A redriven execution has its lease again when its first heartbeat is answered.
        let works = row.is_some_and(|row| {
            row.ended.is_none() && row.redriven.is_none_or(|at| run.answered > at)
        });
        let has_grant = run.grant.is_some() && !run.gone && !waits_again(run);
        works && has_grant && !run.has_lease(now) && !run.is_over_time(now)
    };
    let (holder, run) = witness.runs.iter().find(lapsed)?;
    Some((holder, now - run.lease_until))
}

/// Whether it has a place in the queue that it asked for after its grant: it was evicted before it had
/// confirmed that.
fn waits_again(run: &RunFacts) -> bool {
    let since = run.grant.map(|(_, granted)| granted);
    run.queued.is_some() && run.asked_last > since
}
