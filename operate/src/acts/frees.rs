//! Describes the event that will free a permit of a lock, in a few sentences.
//!
//! The sentences answer what an operator wants to know first:
//! - what the oldest holder of the lock does;
//! - what the next check of that holder does, and by when;
//! - what the operator can type.

use super::holder::{latest, next_action, why, words};
use lockstep_core::domain::{HolderId, LockRecord, Mode, StopReason, Terms, Timestamp, rfc3339};
use lockstep_core::recovery::{Action, Commitment, Life, Next, Ownership, Verdict};

/// Returns the sentences for `record` at `now`. `oldest` is the oldest holder of the lock, and `first`
/// contains the terms of the first waiter.
///
/// A lock that is paused or frozen is described as such first, because it grants nothing, whatever its
/// holders do.
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
                "The lock is paused {}until you type `lockstep resume LOCK --note TEXT`. It grants no permit before then.",
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
                    "First check whether that run is still at work. If it must end, type \
                     `lockstep evict LOCK HOLDER --force --note TEXT` before you resume the lock."
                }
                None => "First make sure that no work of that run is still running.",
            };
            format!(
                "The lock is frozen: {note}. It grants no permit until you type \
                 `lockstep resume LOCK --note TEXT`. {check}"
            )
        }
    }
}

/// Returns the sentences for an open lock with a free permit.
fn with_room(record: &LockRecord, first: Option<&Terms>, now: Timestamp) -> String {
    if record.gate.not_before > now {
        let until = rfc3339(record.gate.not_before);
        return format!(
            "A permit is free, but the lock rests until {until} (minIntervalSeconds) and grants no permit before then. \
             `lockstep clear-rest LOCK --note TEXT` ends the rest at once."
        );
    }
    if let Some((holder, why)) = record.why_frozen(now).filter(|_| !record.can_grant(now)) {
        return format!(
            "A permit is free, but {holder} is stale under the policy hold: the run {why}. The lock grants no permit \
             until a check sees the end of that run, or freezes the lock for it."
        );
    }
    let Some(first) = first else {
        return "A permit is free.".to_owned();
    };
    let (asked, permits) = (first.permits, record.permits);
    if asked != permits && !record.holders.is_empty() {
        return format!(
            "A permit is free, but the first waiter asks for `permits: {}` and the lock has `permits: {}`. The waiter is \
             granted a permit once no run holds the lock.",
            asked.get(),
            permits.get()
        );
    }
    match record.holder_to_wait_for(first) {
        Some(holder) => format!(
            "A permit is free, but the first waiter waits for the end of {holder}, an earlier attempt at the same run. \
             The other waiters wait behind it."
        ),
        None => {
            "A permit is free. The next sweep grants it to the first waiter, within two minutes."
                .to_owned()
        }
    }
}

/// Returns the sentences for a lock whose permits are all held: what `holder` does, what the next check of
/// `holder` does and by when, and what an operator can type.
fn of_holder(holder: &HolderId, verdict: &Verdict, record: &LockRecord, now: Timestamp) -> String {
    let next = next_action(record, verdict);
    let now_due = next.as_ref().is_some_and(|next| next.from <= now);
    let is_stopped = verdict.lease.exit.is_committed();
    let life = verdict.life(now);
    let state = match &life {
        _ if is_stopped => {
            format!("{holder} is being stopped. Its permit is free once its work has stopped.")
        }
        Life::Alive(_) if verdict.lease.exit.ending.is_some() => format!(
            "{holder} is ending: its run is over, and its permit is free once its work has stopped."
        ),
        Life::Alive(sign) => format!("{holder} holds the permit: {sign}."),
        // A check marks this holder as ending first. Only a later check frees the permit.
        Life::Ended => match next.as_ref().map(|next| &next.action) {
            Some(Action::Stop { why, .. }) => format!("{holder} has just ended: {why}."),
            _ => format!("{holder} has ended."),
        },
        Life::Silent => {
            format!("The lease of {holder} has ended, and nothing else shows whether it is alive.")
        }
        Life::Hidden(why) => format!(
            "The lease of {holder} has ended, and Lockstep cannot tell whether it is still running: {why}."
        ),
    };
    let keeps = matches!(life, Life::Alive(_)) && verdict.lease.exit.ending.is_none() && !now_due;
    let release = keeps.then(|| "Its release frees the permit.".to_owned());
    let checked = next.map(|next| {
        let by = rfc3339(latest(record, &verdict.lease, &next));
        match keeps && depends_on_heartbeats(&next.action) {
            true => format!(
                "If no further heartbeat arrives, then by {by} Lockstep {}.",
                does(&next)
            ),
            false => format!("By {by}, Lockstep {}.", does(&next)),
        }
    });
    // Without proof that an execution belongs to the lock, not even a forced eviction stops it.
    let is_left = matches!(
        verdict.evidence.ownership,
        Ownership::Unproven | Ownership::Hidden(_)
    );
    let operator = match life {
        Life::Alive(_) if is_stopped || is_left => None,
        Life::Alive(_) => Some(
            "`lockstep evict LOCK HOLDER --force --note TEXT` stops it now, and frees the permit once its work has \
             stopped."
                .to_owned(),
        ),
        Life::Hidden(_) => Some(
            "`lockstep evict LOCK HOLDER --force --note TEXT` frees the permit at once, but stops no work: first make \
             sure that the run has ended."
                .to_owned(),
        ),
        Life::Silent => Some(
            "`lockstep evict LOCK HOLDER --note TEXT` frees the permit at once.".to_owned(),
        ),
        Life::Ended => None,
    };
    let sentences = [Some(state), release, checked, operator];
    sentences
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()
        .join(" ")
}

/// Returns whether a check takes the action only if the holder stays silent. A replacer, too, that has ended leaves
/// the queue, and a holder is stopped for its replacer, whatever the holder sends.
fn depends_on_heartbeats(action: &Action) -> bool {
    let replaces = Commitment::Stop(StopReason::Replaced);
    !matches!(action, Action::DropReplacer { .. })
        && !matches!(action, Action::Stop { commit, .. } if *commit == replaces)
}

/// Returns what a check does as a predicate, with the reason in brackets where there is one.
fn does(next: &Next) -> String {
    let (_, what) = words(&next.action);
    match why(&next.action) {
        Some(why) => format!("{what} ({why})"),
        None => what.to_owned(),
    }
}
