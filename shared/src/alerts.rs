//! What is worth telling, in words: from what happened to an event.

use crate::contract::{Skipped, held_by, rfc3339};
use crate::domain::{FencingToken, HolderId, Lease, LockKey, Refusal, RunOutcome, Timestamp};
use crate::error::Error;
use crate::events::{Event, EventKind};

struct About<'a> {
    lock: &'a LockKey,
    holder: &'a HolderId,
    token: Option<FencingToken>,
    at: Timestamp,
}

impl About<'_> {
    fn event(&self, kind: EventKind, reason: impl Into<String>, advice: &str) -> Event {
        Event {
            kind,
            lock: self.lock.clone(),
            holder: Some(self.holder.clone()),
            token: self.token,
            reason: reason.into(),
            advice: advice.into(),
            at: self.at,
        }
    }
}

/// A run gave way. Nothing for refusals that fail the run: the workflow tells of those.
#[must_use]
pub fn gave_way(
    lock: &LockKey,
    holder: &HolderId,
    refusal: &Refusal,
    at: Timestamp,
) -> Option<Event> {
    let about = About {
        lock,
        holder,
        token: None,
        at,
    };
    Some(match refusal {
        Refusal::Held { holders, .. } => about.event(
            EventKind::RunSkipped,
            format!("lock {lock} is {}", held_by(holders)),
            "nothing, if runs may be left out; else let them wait (overlap queue) or start them less often",
        ),
        Refusal::TooSoon { not_before } => {
            let reason = Skipped::resting(lock, *not_before).message;
            about.event(EventKind::RunSkipped, reason, "nothing, if the distance is meant")
        }
        Refusal::Duplicate { run_key, run } => about.event(
            EventKind::RunDuplicate,
            format!("run key {} is taken by {}", run_key.as_str(), run.holder),
            "nothing: the trigger fired more than once and the work is done once",
        ),
        Refusal::QueueFull { .. } => about.event(
            EventKind::QueueFull,
            Error::of_refusal(lock, refusal.clone()).message(),
            "runs arrive faster than they end: start them less often, or raise maxQueue",
        ),
        _ => return None,
    })
}

/// A run waited until its time was up.
#[must_use]
pub fn wait_given_up(lock: &LockKey, holder: &HolderId, message: &str, at: Timestamp) -> Event {
    let about = About {
        lock,
        holder,
        token: None,
        at,
    };
    let advice = "look at the holder, or let runs wait longer (waitSeconds)";
    about.event(EventKind::WaitGivenUp, message, advice)
}

/// A run lost its lease while it was at work.
#[must_use]
pub fn lease_lost(
    lock: &LockKey,
    holder: &HolderId,
    token: FencingToken,
    reason: &str,
    at: Timestamp,
) -> Event {
    let about = About {
        lock,
        holder,
        token: Some(token),
        at,
    };
    about.event(
        EventKind::LeaseLost,
        reason,
        "look at the run: its workflow fails and stops the work",
    )
}

/// A permit was taken from a holder.
#[must_use]
pub fn freed(
    lock: &LockKey,
    holder: &HolderId,
    lease: &Lease,
    outcome: RunOutcome,
    evidence: &str,
    at: Timestamp,
) -> Event {
    let about = About {
        lock,
        holder,
        token: Some(lease.token),
        at,
    };
    match outcome {
        RunOutcome::Replaced => about.event(
            EventKind::RunReplaced,
            evidence,
            "nothing: another run asked for it",
        ),
        RunOutcome::Evicted => about.event(
            EventKind::RunEvicted,
            evidence,
            "nothing: an operator asked for it",
        ),
        RunOutcome::Lost => about.event(
            EventKind::LeaseLost,
            evidence,
            "look at the run: it may still be at work, without its permit",
        ),
        _ => about.event(
            EventKind::RunRecovered,
            evidence,
            "look why the run died; the lock is free and the next run goes on",
        ),
    }
}

/// A run was told to stop.
#[must_use]
pub fn stopped(
    lock: &LockKey,
    holder: &HolderId,
    lease: &Lease,
    why: &str,
    at: Timestamp,
) -> Event {
    let about = About {
        lock,
        holder,
        token: Some(lease.token),
        at,
    };
    about.event(
        EventKind::RunStopped,
        why,
        "look at the run; the next one starts when its tasks have stopped",
    )
}

/// A lock was frozen.
#[must_use]
pub fn frozen(
    lock: &LockKey,
    holder: &HolderId,
    token: FencingToken,
    note: &str,
    at: Timestamp,
) -> Event {
    let about = About {
        lock,
        holder,
        token: Some(token),
        at,
    };
    about.event(
        EventKind::LockFrozen,
        note,
        "look whether the run is at work, stop or evict it, then resume the lock",
    )
}

/// Nothing could be learnt about a holder.
#[must_use]
pub fn evidence_missing(
    lock: &LockKey,
    holder: &HolderId,
    lease: &Lease,
    why: &str,
    at: Timestamp,
) -> Event {
    let about = About {
        lock,
        holder,
        token: Some(lease.token),
        at,
    };
    let reason = format!(
        "the lease ended {}, and whether the run is dead cannot be learnt: {why}",
        rfc3339(lease.expires_at)
    );
    about.event(
        EventKind::EvidenceMissing,
        reason,
        "let the functions describe its execution and tasks (WorkflowArns, ClusterArns), or evict the run",
    )
}
