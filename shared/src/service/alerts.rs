//! The text of events: what happened, why, and what an operator can do.

use crate::contract::{EventKind, Skipped, held_by};
use crate::domain::{FencingToken, HolderId, LockKey, Refusal, RunOutcome, Timestamp, rfc3339};
use crate::error::Error;
use crate::events::{Event, WaitingState};

/// The subject of an event, and its time.
#[derive(Clone, Copy, Debug)]
pub struct About<'a> {
    /// The lock.
    pub lock: &'a LockKey,
    /// The holder or waiter.
    pub holder: &'a HolderId,
    /// Its grant, if it has one.
    pub token: Option<FencingToken>,
    /// When.
    pub at: Timestamp,
}

impl About<'_> {
    /// A run gave way. `None` for refusals that fail the run: its workflow reports them.
    #[must_use]
    pub fn gave_way(&self, refusal: &Refusal) -> Option<Event> {
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
                "nothing, if the distance is meant",
            ),
            Refusal::Duplicate { run_key, run } => self.event(
                EventKind::RunDuplicate,
                format!("run key {} is taken by {}", run_key.as_str(), run.holder),
                "nothing: the trigger fired more than once and the work is done once",
            ),
            Refusal::QueueFull { .. } => self.event(
                EventKind::QueueFull,
                Error::of_refusal(lock, refusal.clone()).message(),
                "runs arrive faster than they end: start them less often, or raise maxQueue",
            ),
            _ => return None,
        })
    }

    /// A run waited until its time was up.
    #[must_use]
    pub fn wait_given_up(&self, message: &str) -> Event {
        let advice = "check the holder, or let runs wait longer (waitSeconds)";
        self.event(EventKind::WaitGivenUp, message, advice)
    }

    /// A run lost its lease while it was at work.
    #[must_use]
    pub fn lease_lost(&self, reason: &str) -> Event {
        let advice = "check the run: its workflow fails and stops the work";
        self.event(EventKind::LeaseLost, reason, advice)
    }

    /// A permit was taken from its holder.
    #[must_use]
    pub fn freed(&self, outcome: RunOutcome, evidence: &str) -> Event {
        let (kind, advice) = match outcome {
            RunOutcome::Replaced => (EventKind::RunReplaced, "nothing: another run asked for it"),
            RunOutcome::Evicted => (EventKind::RunEvicted, "nothing: an operator asked for it"),
            RunOutcome::Lost => (
                EventKind::LeaseLost,
                "check the run: it may still be at work, without its permit",
            ),
            _ => (
                EventKind::RunRecovered,
                "find out why the run died; the lock is free and the next run goes on",
            ),
        };
        self.event(kind, evidence, advice)
    }

    /// A run is being stopped.
    #[must_use]
    pub fn stopped(&self, why: &str) -> Event {
        let advice = "check the run; the next one starts when its tasks have stopped";
        self.event(EventKind::RunStopped, why, advice)
    }

    /// The lock was frozen.
    #[must_use]
    pub fn frozen(&self, note: &str) -> Event {
        let advice = "check whether the run is at work, stop or evict it, then resume the lock";
        self.event(EventKind::LockFrozen, note, advice)
    }

    /// Nothing could be learnt about a holder whose lease ended at `end`.
    #[must_use]
    pub fn evidence_missing(&self, end: Timestamp, why: &str) -> Event {
        let end = rfc3339(end);
        self.event(
            EventKind::EvidenceMissing,
            format!("the lease ended {end}, and whether the run is dead cannot be learnt: {why}"),
            "let the functions describe its execution and tasks (WorkflowArns, ClusterArns), or \
             evict the run",
        )
    }

    /// A run is not stopped, though its policy asks for it.
    #[must_use]
    pub fn not_stopped(&self, why: &str) -> Event {
        self.event(
            EventKind::EvidenceMissing,
            format!("the run is not stopped: {why}"),
            "name the lock in the input or the definition of the workflow, and stop or evict the run",
        )
    }

    /// A permit was passed on by a container. The reaper wakes its new holder.
    #[must_use]
    pub fn handed_over(&self) -> Event {
        let reason = "its turn has come, and a container has passed the permit on";
        self.event(EventKind::PermitHandedOver, reason, "nothing")
    }

    /// A waiter was taken out of the queue by a container. The reaper ends its `state`.
    #[must_use]
    pub fn sent_away(&self, state: WaitingState) -> Event {
        let reason = "it waits in vain, and a container has taken it out of the queue";
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
            advice: advice.into(),
            at: self.at,
            state: None,
        }
    }
}
