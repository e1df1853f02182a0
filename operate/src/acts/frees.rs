//! Describes the event that will free a permit of a lock, in a few sentences.
//!
//! They answer what an operator wants to know first: what the oldest holder does, what a check does about it and by
//! when, and what an operator can do. Of a semaphore, that is the permit that has been held the longest.

use super::holder::{latest, why, words};
use lockstep_core::domain::{HolderId, LockRecord, Mode, Timestamp, rfc3339};
use lockstep_core::recovery::{Action, Life, Next, Ownership, Verdict};

/// The sentences for `record` at `now`. `oldest` is its oldest holder.
///
/// What is in the way first counts: a closed lock grants nothing, whatever its holders do.
pub(super) fn frees(
    record: &LockRecord,
    oldest: Option<(&HolderId, &Verdict)>,
    now: Timestamp,
) -> String {
    // An expired pause counts as no pause.
    let closed = Some(&record.gate.mode).filter(|mode| !mode.is_open(now));
    match (closed, oldest) {
        (Some(Mode::Paused { until, .. }), held) => {
            let how = match until {
                Some(end) => format!("Wait until {}, or resume the lock", rfc3339(*end)),
                None => "Resume the lock".to_owned(),
            };
            match held {
                Some(_) => {
                    format!("{how}; its holders keep their permits until then or their end.")
                }
                None => format!("{how}."),
            }
        }
        (Some(_), None) => {
            "Resume the lock, once nothing of the run that it froze for is at work.".to_owned()
        }
        (Some(_), Some((holder, _))) => {
            format!("Check whether {holder} is at work, stop or evict it, then resume the lock.")
        }
        (None, Some((holder, verdict))) if !record.has_room() => {
            of_holder(holder, verdict, record.due, now)
        }
        (None, _) if record.gate.not_before > now => {
            let until = rfc3339(record.gate.not_before);
            format!("A permit is free, and the lock rests until {until}.")
        }
        (None, _) => "A permit is free.".to_owned(),
    }
}

/// What `holder` does, what a check does about it and by when, and what an operator can do.
fn of_holder(
    holder: &HolderId,
    verdict: &Verdict,
    due: Option<Timestamp>,
    now: Timestamp,
) -> String {
    let next = verdict.next(now);
    let now_due = verdict.action != Action::Leave;
    let is_stopped = verdict.lease.exit.is_committed();
    let life = verdict.life(now);
    let state = match &life {
        _ if is_stopped => format!("{holder} is being stopped."),
        Life::Alive(_) if verdict.lease.exit.ending.is_some() => format!("{holder} is ending."),
        Life::Alive(sign) => format!("{holder} holds the permit: {sign}."),
        Life::Ended => format!("{holder} has ended."),
        Life::Silent => format!("The lease of {holder} has ended."),
        Life::Hidden(why) => format!("Whether {holder} is running is not known: {why}."),
    };
    let keeps = matches!(life, Life::Alive(_)) && verdict.lease.exit.ending.is_none() && !now_due;
    let release = keeps.then(|| "Its release frees the permit.".to_owned());
    let checked = next.map(|next| {
        let by = rfc3339(latest(&verdict.lease, &next, due));
        match keeps {
            true => format!(
                "Without a further heartbeat, a check {} by {by}.",
                does(&next)
            ),
            false => format!("A check {} by {by}.", does(&next)),
        }
    });
    // Work that is not shown to belong to the lock is not stopped by force either.
    let is_left = matches!(
        verdict.evidence.ownership,
        Ownership::Unproven | Ownership::Hidden(_)
    );
    let operator = match life {
        Life::Alive(_) if is_stopped || is_left => None,
        Life::Alive(_) => Some("An eviction with force stops it sooner.".to_owned()),
        Life::Hidden(_) => Some("An eviction with force frees the permit at once.".to_owned()),
        Life::Silent => Some("An eviction frees the permit at once.".to_owned()),
        Life::Ended => None,
    };
    let sentences = [Some(state), release, checked, operator];
    sentences
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(" ")
}

/// What a check does, as a predicate.
fn does(next: &Next) -> String {
    let (_, what) = words(&next.action);
    match why(&next.action) {
        Some(why) => format!("{what} ({why})"),
        None => what.to_owned(),
    }
}
