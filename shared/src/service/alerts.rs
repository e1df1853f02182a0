//! The texts of events: what happened, why, and what an operator can do.
//!
//! The reason is one sentence, and the advice is another, for a reader who does not know the lock. The kind
//! of the event decides which alarm is raised. The advice ends with the section of the runbook on that kind.

use crate::contract::{EventKind, Skipped, held_by, paused_by};
use crate::error::Error;
use crate::events::{Event, FailedRun, WaitingState};
use lockstep_core::domain::{
    AuditNote, Expectation, FencingToken, HolderId, LockKey, Refusal, RunOutcome, Timestamp,
    rfc3339,
};

/// The subject of an event, and its time.
#[derive(Clone, Copy, Debug)]
pub struct About<'a> {
    /// The lock.
    pub lock: &'a LockKey,
    /// The holder or waiter.
    pub holder: &'a HolderId,
    /// The fencing token of its grant, if it has one.
    pub token: Option<FencingToken>,
    /// The time.
    pub at: Timestamp,
}

impl About<'_> {
    /// Returns the event that a run was granted a permit.
    #[must_use]
    pub fn started(&self) -> Event {
        self.event(EventKind::RunStarted, "a permit was granted", "nothing")
    }

    /// Returns the event that a run ended with `outcome`, or `None` for an outcome that is neither a success
    /// nor a failure.
    #[must_use]
    pub fn ended(&self, outcome: RunOutcome, evidence: &str) -> Option<Event> {
        let (kind, advice) = match outcome {
            RunOutcome::Succeeded => (EventKind::RunSucceeded, "nothing"),
            RunOutcome::Failed | RunOutcome::Recovered | RunOutcome::Lost => {
                (EventKind::RunFailed, "check why the run failed")
            }
            _ => return None,
        };
        Some(self.event(kind, evidence, advice))
    }

    /// Returns the event that a run reported its failure.
    #[must_use]
    pub fn failed(&self, failed: FailedRun) -> Event {
        let event = self.event(
            EventKind::RunFailed,
            failed.reason(),
            "check why the run failed",
        );
        Event {
            failed: Some(failed),
            ..event
        }
    }

    /// Returns the event that a run was skipped, or that it failed because the queue was full.
    ///
    /// Returns `None` for every other refusal: it fails the run, and the run's workflow reports that.
    #[must_use]
    pub fn skipped_or_queue_full(
        &self,
        refusal: &Refusal,
        skips_full_queue: bool,
    ) -> Option<Event> {
        let lock = self.lock;
        Some(match refusal {
            Refusal::Held { holders, .. } => self.event(
                EventKind::RunSkipped,
                format!("lock {lock} is {}", held_by(holders)),
                "nothing, if runs may be left out; else let them wait (overlap queue) or start \
                 them less often",
            ),
            Refusal::TooSoon { not_before } => self.event(
                EventKind::RunSkipped,
                Skipped::resting(lock, *not_before).message,
                "nothing, if the interval is intended",
            ),
            Refusal::Paused { note, until, .. } => self.event(
                EventKind::RunSkipped,
                format!("lock {lock} is {}", paused_by(note, *until)),
                "nothing, if runs may be left out during the pause; else let them wait (onPaused \
                 wait), or one of them (catchUp once)",
            ),
            Refusal::Duplicate { run_key, run } => self.event(
                EventKind::RunDuplicate,
                format!("run key {} is taken by {}", run_key.as_str(), run.holder),
                "nothing: the trigger fired more than once and the work is done once",
            ),
            Refusal::QueueFull { .. } if skips_full_queue => self.event(
                EventKind::RunSkipped,
                Error::of_refusal(lock, refusal.clone()).message(),
                "nothing, if runs may be left out at a full queue; else raise maxQueue",
            ),
            Refusal::QueueFull { .. } => self.event(
                EventKind::QueueFull,
                Error::of_refusal(lock, refusal.clone()).message(),
                "runs arrive faster than they end: start them less often, or raise maxQueue",
            ),
            _ => return None,
        })
    }

    /// Returns the event that a run waited until its `waitUntil` without a grant.
    #[must_use]
    pub fn wait_given_up(&self, message: &str) -> Event {
        let advice = "check the holder, or let runs wait longer (waitSeconds)";
        self.event(EventKind::WaitGivenUp, message, advice)
    }

    /// Returns the event that a run lost its lease while it was at work.
    #[must_use]
    pub fn lease_lost(&self, reason: &str) -> Event {
        let advice = "check the run: its workflow fails and stops the work";
        self.event(EventKind::LeaseLost, reason, advice)
    }

    /// Returns the event that a permit was taken from its holder.
    #[must_use]
    pub fn freed(&self, outcome: RunOutcome, evidence: &str) -> Event {
        let (kind, advice) = match outcome {
            RunOutcome::Replaced => (EventKind::RunReplaced, "nothing: another run replaced it"),
            RunOutcome::Evicted => (EventKind::RunEvicted, "nothing: an operator evicted it"),
            RunOutcome::Lost => (
                EventKind::LeaseLost,
                "check the run: it may still be at work, without its permit",
            ),
            _ => (
                EventKind::RunRecovered,
                "find out why the run died; its permit is free for the next run",
            ),
        };
        self.event(kind, evidence, advice)
    }

    /// Returns the event that a run is being stopped.
    #[must_use]
    pub fn stopped(&self, why: &str) -> Event {
        let advice = "check the run; the next one starts when its tasks have stopped";
        self.event(EventKind::RunStopped, why, advice)
    }

    /// Returns the event that the lock was frozen.
    #[must_use]
    pub fn frozen(&self, note: &str) -> Event {
        let advice = "check whether the run is at work, stop or evict it, then resume the lock";
        self.event(EventKind::LockFrozen, note, advice)
    }

    /// Returns the event that the evidence does not show whether a holder is dead. Its lease ended at `end`.
    #[must_use]
    pub fn evidence_missing(&self, end: Timestamp, why: &str) -> Event {
        let end = rfc3339(end);
        self.event(
            EventKind::EvidenceMissing,
            format!(
                "the lease ended at {end}, and whether the run is dead cannot be determined: {why}"
            ),
            "let the functions describe the run's execution and tasks (WorkflowArns, ClusterArns), or \
             evict the run",
        )
    }

    /// Returns the event that a run was not stopped, because no evidence shows that it belongs to the lock.
    #[must_use]
    pub fn not_stopped(&self, why: &str) -> Event {
        self.event(
            EventKind::EvidenceMissing,
            format!("the run is not stopped: {why}"),
            "name the lock in the input or the definition of the workflow, and stop or evict the run",
        )
    }

    /// Returns the event that a container handed a permit over. On this event the reaper ends the waiting
    /// state of the new holder.
    #[must_use]
    pub fn handed_over(&self) -> Event {
        let reason = "a container has handed a permit over to this waiter";
        self.event(EventKind::PermitHandedOver, reason, "nothing")
    }

    /// Returns the event that a container removed a waiter from the queue. On this event the reaper ends the
    /// waiting `state`.
    #[must_use]
    pub fn sent_away(&self, state: WaitingState) -> Event {
        let reason = "a container has removed this waiter from the queue, without a permit for it";
        Event {
            state: Some(state),
            ..self.event(EventKind::WaiterSentAway, reason, "nothing")
        }
    }

    fn event(&self, kind: EventKind, reason: impl Into<String>, advice: &str) -> Event {
        Event {
            kind,
            lock: self.lock.clone(),
            holder: Some(self.holder.clone()),
            token: self.token,
            reason: reason.into(),
            advice: with_section(kind, advice),
            at: self.at,
            state: None,
            failed: None,
        }
    }
}

/// Returns the event that no run of `lock` has succeeded within `expectEverySeconds`.
#[must_use]
pub fn run_missing(
    lock: &LockKey,
    expected: &Expectation,
    last_success: Option<Timestamp>,
    at: Timestamp,
) -> Event {
    let last = last_success.map_or_else(
        || "no run has succeeded yet".to_owned(),
        |last| format!("the last success was at {}", rfc3339(last)),
    );
    let every = expected.every.get();
    let reason = format!("a success is expected every {every} s, and {last}");
    let advice = "check why no run was started, or why the runs fail";
    of_lock(lock, EventKind::RunMissing, reason, advice, at)
}

/// Returns the event that an operator paused or resumed a lock, ended its rest, or freed a run key.
#[must_use]
pub fn operated(lock: &LockKey, kind: EventKind, audit: &AuditNote, at: Timestamp) -> Event {
    let advice = match kind {
        EventKind::LockPaused => {
            "resume the lock when the reason is gone: no run is granted until then"
        }
        EventKind::RunForgotten => "nothing: a run may have the run key again",
        _ => "nothing: the lock grants permits again",
    };
    of_lock(lock, kind, audit.signed(), advice, at)
}

/// Returns an event about a lock and not about one of its holders.
fn of_lock(lock: &LockKey, kind: EventKind, reason: String, advice: &str, at: Timestamp) -> Event {
    Event {
        kind,
        lock: lock.clone(),
        holder: None,
        token: None,
        reason,
        advice: with_section(kind, advice),
        at,
        state: None,
        failed: None,
    }
}

/// Returns the advice with the section of the runbook on this kind, if the runbook has one.
fn with_section(kind: EventKind, advice: &str) -> String {
    let section = kind.section().map(|section| format!(": {section}"));
    format!("{advice}{}", section.unwrap_or_default())
}
