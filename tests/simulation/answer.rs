//! What the functions answer, as a workflow reads it.

use lockstep::domain::FencingToken;
use serde_json::{Value, json};

/// The answer of acquire-lock.
#[derive(Clone, Debug)]
pub(crate) enum Answer {
    Held(Grant),
    Queued,
    /// Skipped, duplicate or gave up: nothing to do.
    Refused,
}

/// A permit.
#[derive(Clone, Debug)]
pub(crate) struct Grant {
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
                    token: FencingToken::from_number(receipt["token"].as_u64()?),
                    beat: answer["heartbeatSeconds"].as_u64()? * 1000,
                    receipt,
                })
            }
            "queued" => Self::Queued,
            _ => Self::Refused,
        })
    }
}

impl Grant {
    pub(crate) fn release(&self, outcome: &str) -> Value {
        json!({ "grant": self.receipt, "outcome": outcome })
    }

    pub(crate) fn beat(&self, progress: &str) -> Value {
        json!({ "grant": self.receipt, "progress": progress })
    }
}
