//! The request for the history of locks.

use super::{InvalidRequest, limit, prefix, wrong_next};
use crate::contract::HistoryEntry;
use lockstep::contract::{parse_time, quoted, text};
use lockstep::events::HistoryScope;
use lockstep_core::domain::{FencingToken, HolderId, Invalid, LockKey, RunOutcome, Timestamp};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Lists the runs of a lock that have ended, and the acts on it, newest first. Several locks follow each
/// other in the order of their names.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HistoryRequest {
    /// The name of the lock. Give this, `prefix` or `all`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 128)))]
    pub lock: Option<String>,
    /// All locks whose name begins with this text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 128)))]
    pub prefix: Option<String>,
    /// `true` selects all locks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all: Option<bool>,
    /// `true` returns only runs that have not succeeded.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failed: Option<bool>,
    /// Only runs that ended with this ECS task: its ARN, or its id.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 512)))]
    pub task: Option<String>,
    /// Only runs that were granted, and acts that were done, at or after this time (RFC 3339).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub from: Option<String>,
    /// Only runs that were granted, and acts that were done, at or before this time (RFC 3339).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<String>,
    /// Maximum number of runs that are read for the response, 1 to 100. Default 50. Acts between these runs
    /// do not count.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 100)))]
    pub limit: Option<i64>,
    /// The `next` of the previous response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A checked [`HistoryRequest`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedHistory {
    /// The locks.
    pub scope: HistoryScope,
    /// The filter of the entries.
    pub filter: HistoryFilter,
    /// Earliest time of a grant or an act.
    pub from: Timestamp,
    /// Latest time of a grant or an act.
    pub to: Timestamp,
    /// Maximum number of runs in the response.
    pub limit: usize,
    /// Where the previous response ended: in this lock, after the run with this token, or before its first
    /// run.
    pub after: Option<(LockKey, Option<FencingToken>)>,
}

/// A filter for the entries of a history. A filter selects runs; acts and starts without a permit pass only
/// an empty filter.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HistoryFilter {
    /// Only runs that have not succeeded.
    pub failed: bool,
    /// Only runs that ended with the task of this ARN or id.
    pub task: Option<String>,
}

impl HistoryFilter {
    /// Returns whether the filter is empty, so that all entries pass.
    #[must_use]
    pub fn is_open(&self) -> bool {
        !self.failed && self.task.is_none()
    }

    /// Returns whether `entry` passes the filter.
    #[must_use]
    pub fn has(&self, entry: &HistoryEntry) -> bool {
        let HistoryEntry::Run {
            outcome, task_arn, ..
        } = entry
        else {
            return self.is_open();
        };
        let is_of = |task: &str| {
            let arn = task_arn.as_deref().unwrap_or_default();
            arn == task || arn.rsplit('/').next() == Some(task)
        };
        let failed = *outcome != RunOutcome::Succeeded.as_str();
        (failed || !self.failed) && self.task.as_deref().is_none_or(is_of)
    }
}

impl HistoryRequest {
    /// Checks every field.
    ///
    /// # Errors
    /// The first field that breaks its rule.
    pub fn check(self) -> Result<CheckedHistory, InvalidRequest> {
        let scope = self.scope()?;
        let time = |field, value: Option<&String>, default| {
            value.map_or(Ok(default), |value| parse_time(field, value))
        };
        let from = time("from", self.from.as_ref(), Timestamp::default())?;
        let to = time("to", self.to.as_ref(), Timestamp::MAX)?;
        if from > to {
            let from = quoted(self.from.as_deref().unwrap_or_default());
            return Err(InvalidRequest::new(
                "from",
                from,
                "a time not later than `to`",
            ));
        }
        let after = self.next.as_ref().map(|next| {
            let after = CheckedHistory::read_next(next);
            let after = after.filter(|(lock, _)| scope.has(lock));
            after.ok_or_else(|| wrong_next(next))
        });
        Ok(CheckedHistory {
            after: after.transpose()?,
            scope,
            filter: HistoryFilter {
                failed: self.failed.unwrap_or_default(),
                task: self
                    .task
                    .map(|task| text("task", &task, task_text))
                    .transpose()?,
            },
            from,
            to,
            limit: limit(self.limit)?,
        })
    }

    fn scope(&self) -> Result<HistoryScope, InvalidRequest> {
        let all = self.all.unwrap_or_default();
        match (&self.lock, &self.prefix, all) {
            (Some(lock), None, false) => text("lock", lock, LockKey::new).map(HistoryScope::Lock),
            (None, Some(_), false) => prefix(self.prefix.as_ref()).map(HistoryScope::Prefix),
            (None, None, true) => Ok(HistoryScope::Prefix(String::new())),
            (None, None, false) => {
                let rule = "given, unless `prefix` or `all` is";
                Err(InvalidRequest::new("lock", "missing", rule))
            }
            (_, Some(prefix), _) => {
                let rule = "left out where `lock` or `all` is given";
                Err(InvalidRequest::new("prefix", quoted(prefix), rule))
            }
            (Some(_), None, true) => {
                let rule = "left out where `lock` is given";
                Err(InvalidRequest::new("all", "true", rule))
            }
        }
    }
}

/// Checks the characters of the ARN or the id of a task. The text is only compared with those of runs.
fn task_text(task: String) -> Result<String, Invalid> {
    HolderId::new(task).map(|task| task.as_str().to_owned())
}

impl CheckedHistory {
    /// Returns the `next` of a response that ended in `lock`, after the run with `token`, or before its first
    /// run.
    #[must_use]
    pub fn next(lock: &LockKey, token: Option<FencingToken>) -> String {
        token.map_or_else(|| format!("@{lock}"), |token| format!("{token}@{lock}"))
    }

    fn read_next(next: &str) -> Option<(LockKey, Option<FencingToken>)> {
        let (token, lock) = next.split_once('@')?;
        let token = match token {
            "" => None,
            number => Some(FencingToken::from_number(number.parse().ok()?)),
        };
        Some((LockKey::new(lock).ok()?, token))
    }
}
