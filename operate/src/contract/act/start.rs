//! The request to start a run of a lock again.

use super::{InvalidRequest, audit};
use lockstep::contract::text;
use lockstep_core::domain::{AuditNote, Invalid, LockKey, Retention, RunKey};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Starts the workflow of a lock's latest run again, with the same input. The new execution acquires the lock as any
/// other does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StartRequest {
    /// The name of the lock.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 128)))]
    pub lock: String,
    /// The run key of the run to start again, in place of the latest run. A success of the key is forgotten first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 512)))]
    pub again: Option<String>,
    /// `true` checks everything and starts nothing. Default `false`.
    #[serde(default)]
    pub dry_run: bool,
    /// An id that is new for each start: 1 to 40 characters out of A-Z a-z 0-9 - _. A repetition of the request with the
    /// same id starts nothing more. Default: the time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 40)))]
    pub id: Option<String>,
    /// Why, for the history: 1 to 500 characters.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 500)))]
    pub note: String,
    /// Who: 1 to 512 visible ASCII characters without spaces, such as a user's ARN or mail address.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 512)))]
    pub actor: String,
}

/// A checked [`StartRequest`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedStart {
    /// The lock.
    pub lock: LockKey,
    /// The run key of the run to start again.
    pub again: Option<RunKey>,
    /// Whether nothing is started.
    pub dry_run: bool,
    /// What makes the name of the execution unique.
    pub id: Option<String>,
    /// Who, and why.
    pub audit: AuditNote,
}

impl StartRequest {
    /// Checks every field. The history keeps the act for `retention`.
    ///
    /// # Errors
    /// The first field that breaks its rule.
    pub fn check(self, retention: Retention) -> Result<CheckedStart, InvalidRequest> {
        let again = self
            .again
            .as_ref()
            .map(|key| text("again", key, RunKey::new));
        let id = self.id.as_ref().map(|id| text("id", id, id_text));
        Ok(CheckedStart {
            lock: text("lock", &self.lock, LockKey::new)?,
            again: again.transpose()?,
            dry_run: self.dry_run,
            id: id.transpose()?,
            audit: audit(&self.actor, &self.note, retention)?,
        })
    }
}

/// The characters that the name of an execution may have everywhere
/// (<https://docs.aws.amazon.com/step-functions/latest/apireference/API_StartExecution.html>).
fn id_text(id: String) -> Result<String, Invalid> {
    let rule = "1 to 40 characters out of A-Z a-z 0-9 - _";
    let allowed = |one: u8| one.is_ascii_alphanumeric() || b"-_".contains(&one);
    match (1..=40).contains(&id.len()) && id.bytes().all(allowed) {
        true => Ok(id),
        false => Err(Invalid { rule }),
    }
}
