//! The grant, as requests and responses carry it.

use super::options::LockOptions;
use super::parse::{self, InvalidRequest};
use lockstep_core::domain::{FencingToken, HolderId, Lease, LockKey, RunKey, Seconds};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What identifies a grant in later requests. Pass it back unchanged with every heartbeat and with the release.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Grant {
    /// The lock.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 128)))]
    pub lock: String,
    /// The holder.
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 512)))]
    pub holder: String,
    /// The fencing token: give it to every resource that the work writes to.
    #[cfg_attr(
        feature = "schema",
        schemars(range(min = 1, max = 9_007_199_254_740_991_i64))
    )]
    pub token: i64,
    /// The run key, if the run carries one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(length(min = 1, max = 512)))]
    pub run_key: Option<String>,
    /// `expectEverySeconds` of the request that got the grant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = LockOptions::EXPECT_EVERY.least, max = LockOptions::EXPECT_EVERY.most)))]
    pub expect_every_seconds: Option<i64>,
    /// `noProgressSeconds` of the request that got the grant.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[cfg_attr(feature = "schema", schemars(range(min = LockOptions::NO_PROGRESS.least, max = LockOptions::NO_PROGRESS.most)))]
    pub no_progress_seconds: Option<i64>,
}

/// A checked [`Grant`].
pub(crate) struct CheckedGrant {
    pub(crate) lock: LockKey,
    pub(crate) holder: HolderId,
    pub(crate) token: FencingToken,
    pub(crate) run_key: Option<RunKey>,
    pub(crate) expect_every: Option<Seconds>,
    pub(crate) no_progress: Option<Seconds>,
}

impl Grant {
    /// Returns the grant of `holder` with `lease`.
    #[must_use]
    pub fn of(lock: &LockKey, holder: &HolderId, lease: &Lease) -> Self {
        Self {
            lock: lock.as_str().into(),
            holder: holder.as_str().into(),
            token: i64::try_from(lease.token.number()).unwrap_or(i64::MAX),
            run_key: lease.run_key.as_ref().map(|key| key.as_str().into()),
            expect_every_seconds: lease.expect_every.map(|every| every.get().into()),
            no_progress_seconds: lease.no_progress.map(|most| most.get().into()),
        }
    }

    pub(crate) fn check(self) -> Result<CheckedGrant, InvalidRequest> {
        let token = u64::try_from(self.token).map(FencingToken::from_number);
        let in_range =
            |token: &FencingToken| *token > FencingToken::NONE && *token <= FencingToken::MAX;
        let rule = "the fencing token of the grant, a whole number from 1 to 9007199254740991";
        Ok(CheckedGrant {
            lock: parse::text("grant.lock", &self.lock, LockKey::new)?,
            holder: parse::text("grant.holder", &self.holder, HolderId::new)?,
            token: token
                .ok()
                .filter(in_range)
                .ok_or_else(|| InvalidRequest::new("grant.token", self.token, rule))?,
            run_key: self
                .run_key
                .map(|key| parse::text("grant.runKey", &key, RunKey::new))
                .transpose()?,
            expect_every: LockOptions::EXPECT_EVERY
                .seconds("grant.expectEverySeconds", self.expect_every_seconds)?,
            no_progress: LockOptions::NO_PROGRESS
                .seconds("grant.noProgressSeconds", self.no_progress_seconds)?,
        })
    }
}
