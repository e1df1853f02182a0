//! The history of locks in responses.

use lockstep_core::domain::{Act, LockKey, Run, RunOutcome, TaskArn, rfc3339};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::Serialize;

/// One page of history.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct HistoryResponse {
    /// The entries, lock by lock in the order of the names. The entries of each lock are newest first.
    pub entries: Vec<HistoryEntry>,
    /// Why runs, or starts without a permit, may be missing from the page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub problem: Option<String>,
    /// Send the same request with this value as `next` for the rest. Even a short or empty page may have it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// An entry of the history.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(tag = "kind", rename_all = "camelCase")]
pub enum HistoryEntry {
    /// A run that has ended.
    #[serde(rename_all = "camelCase")]
    Run {
        /// The lock.
        lock: String,
        /// The holder.
        holder: String,
        /// The fencing token of its grant.
        token: u64,
        /// When the grant was made.
        since: String,
        /// When the run ended.
        at: String,
        /// How the run ended: `succeeded`, `failed`, `lost`, `recovered`, `evicted` or `replaced`.
        outcome: &'static str,
        /// How long the run held its permit, in seconds.
        held_seconds: f64,
        /// The evidence for the outcome, if the run did not report it itself. For a run that did: why it was
        /// evicted, and what was known of it before its report.
        #[serde(skip_serializing_if = "Option::is_none")]
        evidence: Option<String>,
        /// The run key of the run.
        #[serde(skip_serializing_if = "Option::is_none")]
        run_key: Option<String>,
        /// ARN of the task that the run ended with.
        #[serde(skip_serializing_if = "Option::is_none")]
        task_arn: Option<String>,
        /// Exit code of the container.
        #[serde(skip_serializing_if = "Option::is_none")]
        exit_code: Option<i64>,
        /// Why the container or the task stopped, as ECS reports it.
        #[serde(skip_serializing_if = "Option::is_none")]
        reason: Option<String>,
    },
    /// An act of an operator, or a freeze.
    #[serde(rename_all = "camelCase")]
    Act {
        /// The lock.
        lock: String,
        /// The operator, or the holder that the lock froze for.
        actor: String,
        /// When the act was done, or the lock froze.
        at: String,
        /// What the act did: `paused`, `resumed`, `frozen`, `evicted` (a waiter), `restCleared`, `forgotten`
        /// or `started`.
        outcome: &'static str,
        /// The reason, and the actor.
        #[serde(skip_serializing_if = "Option::is_none")]
        note: Option<String>,
    },
    /// Consecutive starts without a permit that had the same outcome. They come from the log of events, and
    /// are left out if the function reads no log.
    #[serde(rename_all = "camelCase")]
    NotStarted {
        /// The lock.
        lock: String,
        /// The holder of the latest start.
        #[serde(skip_serializing_if = "Option::is_none")]
        holder: Option<String>,
        /// Time of the first start.
        since: String,
        /// Time of the latest start.
        at: String,
        /// The outcome of the starts: `skipped`, `duplicate`, `queueFull` or `gaveUp`.
        outcome: &'static str,
        /// Number of starts.
        starts: u32,
        /// Why the latest start got no permit.
        reason: String,
    },
}

impl HistoryEntry {
    /// Returns the entry for `act`.
    #[must_use]
    pub fn act(lock: &LockKey, act: &Act) -> Self {
        Self::Act {
            lock: lock.to_string(),
            actor: act.actor.to_string(),
            at: rfc3339(act.at),
            outcome: act.kind.as_str(),
            note: act.note.clone(),
        }
    }

    /// Returns the entry for `run`; `None` for a run that has not ended.
    #[must_use]
    pub fn run(lock: &LockKey, run: &Run) -> Option<Self> {
        let end = run.end.as_ref()?;
        let task = run.task.as_ref();
        let own = || TaskArn::of_holder(&run.holder).map(|arn| arn.to_string());
        let granted = run.token.granted_at();
        Some(Self::Run {
            lock: lock.to_string(),
            holder: run.holder.to_string(),
            token: run.token.number(),
            since: rfc3339(granted),
            at: rfc3339(end.at),
            outcome: end.outcome.as_str(),
            #[expect(clippy::cast_precision_loss, reason = "a run takes no thousand years")]
            held_seconds: end.at.millis_since(granted) as f64 / 1000.0,
            evidence: end.evidence.clone(),
            run_key: run.run_key.as_ref().map(|key| key.as_str().to_owned()),
            task_arn: task.map(|task| task.arn.clone()).or_else(own),
            exit_code: task.and_then(|task| task.exit_code),
            reason: task.and_then(|task| task.reason.clone()),
        })
    }

    /// Returns how long a run that succeeded held its permit, in milliseconds; `None` for any other entry.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "seconds with three decimals, of a run that has begun before its end"
    )]
    pub fn success(&self) -> Option<u64> {
        match self {
            Self::Run {
                outcome,
                held_seconds,
                ..
            } if *outcome == RunOutcome::Succeeded.as_str() => {
                Some((*held_seconds * 1000.0).round() as u64)
            }
            _ => None,
        }
    }

    /// Merges `earlier` into this entry if both are starts with the same outcome. Returns whether it did.
    pub fn absorb(&mut self, earlier: &Self) -> bool {
        match (self, earlier) {
            (
                Self::NotStarted {
                    since,
                    outcome,
                    starts,
                    ..
                },
                Self::NotStarted {
                    since: first,
                    outcome: same,
                    starts: more,
                    ..
                },
            ) if outcome == same => {
                since.clone_from(first);
                *starts += more;
                true
            }
            _ => false,
        }
    }
}
