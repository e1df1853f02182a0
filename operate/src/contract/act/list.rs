//! The requests to list locks and to show one lock.

use super::{InvalidRequest, limit, next_lock, prefix};
use crate::contract::LockState;
use lockstep::contract::word_or_null;
use lockstep_core::domain::LockKey;
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Lists locks in the order of their names, including idle, paused and frozen ones.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListRequest {
    /// Only locks whose name begins with this text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 128)))]
    pub prefix: Option<String>,
    /// Only locks in this state.
    #[serde(
        default,
        deserialize_with = "word_or_null",
        skip_serializing_if = "Option::is_none"
    )]
    pub state: Option<LockState>,
    /// Maximum number of locks in the response, 1 to 100. Default 50.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 100)))]
    pub limit: Option<i64>,
    /// The `next` of the previous response.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Shows one lock.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ShowRequest {
    /// The name of the lock.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 128)))]
    pub lock: String,
}

/// A checked [`ListRequest`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedList {
    /// The text that the names begin with; empty for all locks.
    pub prefix: String,
    /// The state of the locks; `None` for any state.
    pub state: Option<LockState>,
    /// Maximum number of locks in the response.
    pub limit: usize,
    /// The last lock of the previous response.
    pub after: Option<LockKey>,
}

impl ListRequest {
    /// Checks every field.
    ///
    /// # Errors
    /// The first field that breaks its rule.
    pub fn check(self) -> Result<CheckedList, InvalidRequest> {
        let prefix = prefix(self.prefix.as_ref())?;
        Ok(CheckedList {
            state: self.state,
            limit: limit(self.limit)?,
            after: next_lock(self.next.as_ref(), &prefix)?,
            prefix,
        })
    }
}
