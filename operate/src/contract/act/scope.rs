//! The requests to pause and to resume: a lock, the locks of a prefix, or all.

use super::{InvalidRequest, audit, next_lock, prefix};
use lockstep::contract::{parse_time, quoted, text};
use lockstep_core::domain::{AuditNote, LockKey, Retention, Seconds, Timestamp};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Closes a lock to new grants, or opens it. Of several locks, in the order of their names; locks
/// that are frozen are left as they are.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModeRequest {
    /// The name of the lock. Give this, `prefix` or `all`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 128)))]
    pub lock: Option<String>,
    /// All locks whose name begins so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 128)))]
    pub prefix: Option<String>,
    /// `true`: all locks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub all: Option<bool>,
    /// Why, for the history, the event and the runs that are refused: 1 to 500 characters.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 500)))]
    pub note: String,
    /// Who: 1 to 512 visible ASCII characters without spaces, such as a user's ARN or mail address.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 512)))]
    pub actor: String,
    /// Of a pause: `true` waits for up to 20 s until nothing holds the locks, and says what does
    /// then. Default `false`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drain: Option<bool>,
    /// Of a pause: when it is over, in RFC 3339, at most a year from now. Default: until a `resume`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// The `next` of the response before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A checked [`ModeRequest`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedMode {
    /// The locks.
    pub scope: Scope,
    /// Who, and why.
    pub audit: AuditNote,
    /// Whether to wait until nothing holds the locks.
    pub drain: bool,
    /// When the pause is over, if that is known.
    pub until: Option<Timestamp>,
}

/// The locks of an act.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// One lock.
    Lock(LockKey),
    /// All locks whose name begins with the prefix, which may be empty, behind a lock.
    Prefix(String, Option<LockKey>),
}

impl ModeRequest {
    /// Checks every field of a pause at `now`. The history keeps the act for `retention`.
    ///
    /// # Errors
    /// The first field that breaks its rule.
    pub fn check_pause(
        self,
        retention: Retention,
        now: Timestamp,
    ) -> Result<CheckedMode, InvalidRequest> {
        let until = self.until.as_ref().map(|until| pause_end(until, now));
        Ok(CheckedMode {
            until: until.transpose()?,
            drain: self.drain.unwrap_or_default(),
            scope: self.scope()?,
            audit: audit(&self.actor, &self.note, retention)?,
        })
    }

    /// The same of a resumption, which has nothing to wait for.
    ///
    /// # Errors
    /// The first field that breaks its rule.
    pub fn check_resume(self, retention: Retention) -> Result<CheckedMode, InvalidRequest> {
        let rule = "left out, except in a pause";
        if let Some(drain) = self.drain {
            return Err(InvalidRequest::new("drain", drain, rule));
        }
        if let Some(until) = &self.until {
            return Err(InvalidRequest::new("until", quoted(until), rule));
        }
        self.check_pause(retention, Timestamp::default())
    }

    fn scope(&self) -> Result<Scope, InvalidRequest> {
        let several = "left out where another of `lock`, `prefix` and `all` is given";
        if self.all == Some(false) {
            return Err(InvalidRequest::new("all", false, "true, or left out"));
        }
        match (&self.lock, &self.prefix, self.all) {
            (Some(lock), None, None) => {
                if let Some(next) = &self.next {
                    let rule = "left out where `lock` is given";
                    return Err(InvalidRequest::new("next", quoted(next), rule));
                }
                text("lock", lock, LockKey::new).map(Scope::Lock)
            }
            (None, Some(_), None) | (None, None, Some(_)) => {
                let prefix = prefix(self.prefix.as_ref())?;
                let after = next_lock(self.next.as_ref(), &prefix)?;
                Ok(Scope::Prefix(prefix, after))
            }
            (None, None, None) => {
                let rule = "given, unless `prefix` or `all` is";
                Err(InvalidRequest::new("lock", "missing", rule))
            }
            (_, Some(prefix), _) => Err(InvalidRequest::new("prefix", quoted(prefix), several)),
            (_, None, _) => Err(InvalidRequest::new("all", true, several)),
        }
    }
}

/// Longest pause with an end.
const PAUSE_MAX: Seconds = Seconds::of(365 * 86_400);

fn pause_end(until: &str, now: Timestamp) -> Result<Timestamp, InvalidRequest> {
    let end: Timestamp = parse_time("until", until)?;
    if end <= now || end > now.plus(PAUSE_MAX) {
        let rule = "a time in the future, at most 365 days from now";
        return Err(InvalidRequest::new("until", quoted(until), rule));
    }
    Ok(end)
}
