//! The part of a request with which a redriven execution resumes its grant.

use super::grant::Grant;
use super::parse::{InvalidRequest, object, quoted, redrives};
use lockstep_core::domain::{LockKey, Renew, Terms};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The grant that a redriven execution resumes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Redrive {
    /// The `grant` of acquire-lock's response, unchanged.
    #[serde(deserialize_with = "object")]
    #[cfg_attr(feature = "schema", schemars(with = "Grant"))]
    pub grant: Grant,
    /// How often the execution has been redriven: `Execution.RedriveCount` of the Context object.
    #[cfg_attr(feature = "schema", schemars(range(min = 1, max = 1000)))]
    pub count: i64,
}

impl Redrive {
    /// Checks that the grant is for the lock and the holder of the request.
    pub(super) fn check(self, lock: &LockKey, terms: &Terms) -> Result<Renew, InvalidRequest> {
        let grant = self.grant.check()?;
        let count = redrives("redrive.count", self.count, 1)?;
        for (field, given, expected) in [
            ("redrive.grant.lock", grant.lock.as_str(), lock.as_str()),
            (
                "redrive.grant.holder",
                grant.holder.as_str(),
                terms.holder.as_str(),
            ),
        ] {
            if given != expected {
                let rule = format!("that of the request, {expected}");
                return Err(InvalidRequest::new(field, quoted(given), rule));
            }
        }
        Ok(Renew {
            holder: grant.holder,
            token: grant.token,
            beat: None,
            pace: None,
            progress: None,
            no_progress: None,
            redrives: Some(count),
            resumes: true,
            retention: terms.retention,
        })
    }
}
