//! The requests to pause and to resume one lock, the locks of a prefix, or all locks.

use super::{InvalidRequest, audit, next_lock, prefix};
use lockstep::contract::{parse_time, quoted, text};
use lockstep_core::domain::{AuditNote, LockKey, Retention, Seconds, Timestamp};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Closes locks to new grants, or opens them. Several locks are changed in the order of their names. A frozen
/// lock is changed only if `lock` names it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ModeRequest {
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
    /// Why, for the history, the event and the errors of the runs that are refused: 1 to 500 characters.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 500)))]
    pub note: String,
    /// Who: 1 to 512 visible ASCII characters without spaces, such as a user's ARN or mail address.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 512)))]
    pub actor: String,
    /// Only for a pause: `true` waits up to 20 s until no run holds the locks, and returns the locks that are
    /// still held then. Default `false`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub drain: Option<bool>,
    /// Only for a pause: the time at which it ends by itself (RFC 3339), at most 365 days from now. Default:
    /// the pause lasts until a `resume`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<String>,
    /// The `next` of the previous response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// A checked [`ModeRequest`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedMode {
    /// The locks.
    pub scope: Scope,
    /// The actor and the note.
    pub audit: AuditNote,
    /// Whether to wait until no run holds the locks.
    pub drain: bool,
    /// The time at which the pause ends by itself; `None` if it lasts until a resume.
    pub until: Option<Timestamp>,
}

/// The locks of an act.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Scope {
    /// One lock.
    Lock(LockKey),
    /// All locks whose name begins with a prefix, which may be empty, and comes after the name of a lock.
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

    /// Checks every field of a resume, which has neither `drain` nor `until`. The history keeps the act for
    /// `retention`.
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

/// Longest time from now to the end of a pause.
const PAUSE_MAX: Seconds = Seconds::of(365 * 86_400);

fn pause_end(until: &str, now: Timestamp) -> Result<Timestamp, InvalidRequest> {
    let end: Timestamp = parse_time("until", until)?;
    if end <= now || end > now.plus(PAUSE_MAX) {
        let rule = "a time in the future, at most 365 days from now";
        return Err(InvalidRequest::new("until", quoted(until), rule));
    }
    Ok(end)
}
