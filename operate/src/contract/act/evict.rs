//! The requests to evict a holder or a waiter, and to drop a waiter.

use super::{InvalidRequest, audit};
use crate::contract::Called;
use lockstep::contract::{quoted, text};
use lockstep_core::domain::{AuditNote, LockKey, Retention, WaiterId};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Frees the permit of a holder. If the holder is alive, its work is stopped first. `holder` may also name a
/// waiter, which is removed from the queue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct EvictRequest {
    /// The name of the lock.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 128)))]
    pub lock: String,
    /// The holder: its name, or a part of it that no other holder or waiter of the lock has. A part has 4
    /// characters or more, and `…` in it stands for any characters. Default: the only holder, once it has
    /// held its permit for a minute.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 512)))]
    pub holder: Option<String>,
    /// `true` evicts the holder even if it is alive, or if it cannot be read whether it is. Default `false`,
    /// which refuses the eviction of such a holder.
    #[serde(default)]
    pub force: bool,
    /// `true` frees the permit of a holder that an earlier eviction is stopping, although its work may still
    /// be running. Requires `force`, the full name in `holder`, and an earlier eviction that committed the
    /// stop. Default `false`.
    #[serde(default)]
    pub abandon: bool,
    /// Why, for the history and the event: 1 to 500 characters.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 500)))]
    pub note: String,
    /// Who: 1 to 512 visible ASCII characters without spaces, such as a user's ARN or mail address.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 512)))]
    pub actor: String,
}

/// Removes a waiter from the queue.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DropWaiterRequest {
    /// The name of the lock.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 128)))]
    pub lock: String,
    /// The waiter: its name or a part of it, as for `evict`. Give either this or `id`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 512)))]
    pub holder: Option<String>,
    /// The short name of the waiter, which `show` returns as `id`. A waiter whose item is missing or damaged
    /// has no other name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(min = 16, max = 16)))]
    pub id: Option<String>,
    /// Why, for the history and the event: 1 to 500 characters.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 500)))]
    pub note: String,
    /// Who: 1 to 512 visible ASCII characters without spaces, such as a user's ARN or mail address.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 512)))]
    pub actor: String,
}

/// A checked [`EvictRequest`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedEvict {
    /// The lock.
    pub lock: LockKey,
    /// The name of the holder or a part of it; `None` for the only holder.
    pub holder: Option<Called>,
    /// Whether to evict a holder even if it is alive.
    pub force: bool,
    /// Whether to free the permit although the work may still be running.
    pub abandon: bool,
    /// The actor and the note.
    pub audit: AuditNote,
}

/// A checked [`DropWaiterRequest`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CheckedDropWaiter {
    /// The lock.
    pub lock: LockKey,
    /// The waiter.
    pub waiter: CheckedWaiter,
    /// The actor and the note.
    pub audit: AuditNote,
}

/// How a request names a waiter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckedWaiter {
    /// By its name or a part of it.
    Called(Called),
    /// By its short name in the queue.
    Id(WaiterId),
}

impl EvictRequest {
    /// Checks every field. The history keeps the act for `retention`.
    ///
    /// # Errors
    /// The first field that breaks its rule.
    pub fn check(self, retention: Retention) -> Result<CheckedEvict, InvalidRequest> {
        let lock = text("lock", &self.lock, LockKey::new)?;
        let holder = self.holder.as_ref();
        let holder = holder.map(|holder| text("holder", holder, Called::new));
        let holder = holder.transpose()?;
        if self.abandon && !self.force {
            let rule = "left out without `force`";
            return Err(InvalidRequest::new("abandon", "true", rule));
        }
        if self.abandon && holder.is_none() {
            let rule = "given with `abandon`";
            return Err(InvalidRequest::new("holder", "missing", rule));
        }
        Ok(CheckedEvict {
            lock,
            holder,
            force: self.force,
            abandon: self.abandon,
            audit: audit(&self.actor, &self.note, retention)?,
        })
    }
}

impl DropWaiterRequest {
    /// Checks every field. The history keeps the act for `retention`.
    ///
    /// # Errors
    /// The first field that breaks its rule.
    pub fn check(self, retention: Retention) -> Result<CheckedDropWaiter, InvalidRequest> {
        let waiter = match (&self.holder, &self.id) {
            (Some(holder), None) => CheckedWaiter::Called(text("holder", holder, Called::new)?),
            (None, Some(id)) => CheckedWaiter::Id(text("id", id, WaiterId::new)?),
            (None, None) => {
                let rule = "given, unless `id` is given";
                return Err(InvalidRequest::new("holder", "missing", rule));
            }
            (Some(_), Some(id)) => {
                let rule = "left out where `holder` is given";
                return Err(InvalidRequest::new("id", quoted(id), rule));
            }
        };
        Ok(CheckedDropWaiter {
            lock: text("lock", &self.lock, LockKey::new)?,
            waiter,
            audit: audit(&self.actor, &self.note, retention)?,
        })
    }
}
