//! The requests to end the rest of a lock, and to forget a run key.

use super::{InvalidRequest, audit};
use lockstep::contract::text;
use lockstep_core::domain::{AuditNote, Forget, LockKey, Retention, RunKey};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Ends the rest after the last grant, for example one that a wrong `minIntervalSeconds` caused.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ClearRestRequest {
    /// The name of the lock.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 128)))]
    pub lock: String,
    /// Why, for the history: 1 to 500 characters.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 500)))]
    pub note: String,
    /// Who: 1 to 512 visible ASCII characters without spaces, such as a user's ARN or mail address.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 512)))]
    pub actor: String,
}

/// Frees the run key of a run that succeeded, so that another run can use the key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ForgetRequest {
    /// The name of the lock.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 128)))]
    pub lock: String,
    /// The run key.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 512)))]
    pub run_key: String,
    /// Why, for the history: 1 to 500 characters.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 500)))]
    pub note: String,
    /// Who: 1 to 512 visible ASCII characters without spaces, such as a user's ARN or mail address.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 512)))]
    pub actor: String,
}

/// A checked [`ClearRestRequest`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedClearRest {
    /// The lock.
    pub lock: LockKey,
    /// The actor and the note.
    pub audit: AuditNote,
}

/// A checked [`ForgetRequest`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedForget {
    /// The lock.
    pub lock: LockKey,
    /// The run key, the actor and the note.
    pub forget: Forget,
}

impl ClearRestRequest {
    /// Checks every field. The history keeps the act for `retention`.
    ///
    /// # Errors
    /// The first field that breaks its rule.
    pub fn check(self, retention: Retention) -> Result<CheckedClearRest, InvalidRequest> {
        Ok(CheckedClearRest {
            lock: text("lock", &self.lock, LockKey::new)?,
            audit: audit(&self.actor, &self.note, retention)?,
        })
    }
}

impl ForgetRequest {
    /// Checks every field. The history keeps the act for `retention`.
    ///
    /// # Errors
    /// The first field that breaks its rule.
    pub fn check(self, retention: Retention) -> Result<CheckedForget, InvalidRequest> {
        Ok(CheckedForget {
            lock: text("lock", &self.lock, LockKey::new)?,
            forget: Forget {
                run_key: text("runKey", &self.run_key, RunKey::new)?,
                audit: audit(&self.actor, &self.note, retention)?,
            },
        })
    }
}
