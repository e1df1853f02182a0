//! What the functions answer, as a workflow reads it.

use lockstep::domain::{FencingToken, HolderId};
use serde_json::{Value, json};

/// The answer of acquire-lock.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    Held(Grant),
    Queued,
    /// Skipped, duplicate or gave up: nothing to do.
    Refused(String),
}

/// A permit.
#[derive(Clone, Debug)]
pub(crate) struct Grant {
    pub(crate) holder: HolderId,
    pub(crate) token: FencingToken,
    /// Time between heartbeats, in milliseconds.
    pub(crate) beat: u64,
    /// The receipt, as it came.
    pub(crate) receipt: Value,
}

impl Answer {
    /// Reads an answer; `None` when it is not one.
    pub(crate) fn read(answer: &Value) -> Option<Self> {
        let status = answer["status"].as_str()?;
        Some(match status {
            "granted" | "alreadyHeld" => {
                let receipt = answer["grant"].clone();
                Self::Held(Grant {
                    holder: HolderId::new(receipt["holder"].as_str()?).ok()?,
                    token: FencingToken::from_number(receipt["token"].as_u64()?),
                    beat: answer["heartbeatSeconds"].as_u64()? * 1000,
                    receipt,
                })
            }
            "queued" => Self::Queued,
            _ => Self::Refused(status.to_owned()),
        })
    }
}

impl Grant {
    pub(crate) fn release(&self, outcome: &str) -> Value {
        json!({ "grant": self.receipt, "outcome": outcome })
    }

    pub(crate) fn beat(&self, task_token: Option<&str>, progress: Option<&str>) -> Value {
        let mut event = json!({ "grant": self.receipt });
        if let Some(token) = task_token {
            event["taskToken"] = token.into();
        }
        if let Some(progress) = progress {
            event["progress"] = progress.into();
        }
        event
    }
}
