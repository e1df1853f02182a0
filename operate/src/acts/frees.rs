//! Describes the event that will free a permit of a lock, in a few sentences.
//!
//! They answer what an operator wants to know first: what the oldest holder does, what a check does about it and by
//! when, and what an operator can do. Of a semaphore, that is the permit that has been held the longest.

use super::holder::{latest, through, why, words};
use lockstep_core::domain::{HolderId, LockRecord, Mode, Terms, Timestamp, rfc3339};
use lockstep_core::recovery::{Action, Life, Next, Ownership, Verdict};

/// The sentences for `record` at `now`. `oldest` is its oldest holder, and `first` has the terms of the first waiter.
///
/// What is in the way first counts: a closed lock grants nothing, whatever its holders do.
pub(super) fn frees(
    record: &LockRecord,
    oldest: Option<(&HolderId, &Verdict)>,
    first: Option<&Terms>,
    now: Timestamp,
) -> String {
    let held = oldest.filter(|_| !record.has_room());
    let held = held.map(|(holder, verdict)| of_holder(holder, verdict, record, now));
    // An expired pause counts as no pause.
    match &record.gate.mode {
        mode if mode.is_open(now) => held.unwrap_or_else(|| with_room(record, first, now)),
        Mode::Open => held.unwrap_or_else(|| with_room(record, first, now)),
        Mode::Paused { until, .. } => {
            let until = until.map(|end| format!("until {}, or ", rfc3339(end)));
            let paused = format!(
                "The lock is paused {}until you resume it: it grants no permit before.",
                until.unwrap_or_default()
            );
            [Some(paused), held]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>()
                .join(" ")
        }
        Mode::Frozen { note } => {
            let check = match oldest {
                Some(_) => {
                    "Check whether that run is at work. If it may not go on, stop or evict it first."
                }
                None => "Make sure first that nothing of that run is at work.",
            };
            format!("The lock is frozen until you resume it: {note}. {check}")
        }
    }
}

/// The sentences for a lock with a free permit.
fn with_room(record: &LockRecord, first: Option<&Terms>, now: Timestamp) -> String {
    if record.gate.not_before > now {
        let until = rfc3339(record.gate.not_before);
        return format!("A permit is free, and the lock rests until {until}.");
    }
    let Some(first) = first else {
        return "A permit is free.".to_owned();
    };
    let (asked, permits) = (first.permits, record.permits);
    if asked != permits && !record.holders.is_empty() {
        return format!(
            "A permit is free, but the first waiter asks for permits {} at a lock of permits {}: it gets its turn once no \
             run holds the lock.",
            asked.get(),
            permits.get()
        );
    }
    match record.awaited_by(first) {
        Some(holder) => format!(
            "A permit is free, but the first waiter waits for the end of {holder}, and those behind it wait too."
        ),
        None => "A permit is free, and the next check of the lock gives it to the first waiter, in a minute or two."
            .to_owned(),
    }
}

/// What `holder` does, what a check does about it and by when, and what an operator can do.
fn of_holder(holder: &HolderId, verdict: &Verdict, record: &LockRecord, now: Timestamp) -> String {
    let next = verdict.next(now).and_then(|next| through(record, next));
    let now_due = verdict.action != Action::Leave;
    let is_stopped = verdict.lease.exit.is_committed();
    let life = verdict.life(now);
    let state = match &life {
        _ if is_stopped => format!("{holder} is being stopped."),
        Life::Alive(_) if verdict.lease.exit.ending.is_some() => format!("{holder} is ending."),
        Life::Alive(sign) => format!("{holder} holds the permit: {sign}."),
        // A check marks it first, and frees the permit only later.
        Life::Ended => match next.as_ref().map(|next| &next.action) {
            Some(Action::Stop { why, .. }) => format!("{holder} has just ended: {why}."),
            _ => format!("{holder} has ended."),
        },
        Life::Silent => format!("The lease of {holder} has ended."),
        Life::Hidden(why) => format!("Whether {holder} is running is not known: {why}."),
    };
    let keeps = matches!(life, Life::Alive(_)) && verdict.lease.exit.ending.is_none() && !now_due;
    let release = keeps.then(|| "Its release frees the permit.".to_owned());
    let checked = next.map(|next| {
        let by = rfc3339(latest(&verdict.lease, &next, record.due));
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
