//! The failure of a run's work, as its state machine or its process reports it.

#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

/// Longest name of an error, and longest cause, in characters
/// (<https://docs.aws.amazon.com/step-functions/latest/apireference/API_ExecutionFailedEventDetails.html>).
const ERROR_MAX: usize = 256;
const CAUSE_MAX: usize = 32_768;

/// Why the work of a run failed, for people to read. No decision depends on it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct WorkFailure {
    /// The name of the error, such as `States.TaskFailed`. It is cut to 256 characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The cause, as a text or as the JSON that an integration of Step Functions writes. It is cut to 32,768
    /// characters.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<String>,
}

impl WorkFailure {
    /// Returns the failure of a process, which has a cause and no error name.
    #[must_use]
    pub fn of_process(cause: impl Into<String>) -> Self {
        Self {
            error: None,
            cause: Some(cause.into()),
        }
    }

    /// Returns the failure cut to the longest texts that Step Functions allows. A failure that Step Functions
    /// reports is never longer.
    #[must_use]
    pub(super) fn bounded(self) -> Self {
        let cut = |text: Option<String>, most| text.map(|text| text.chars().take(most).collect());
        Self {
            error: cut(self.error, ERROR_MAX),
            cause: cut(self.cause, CAUSE_MAX),
        }
    }
}

/// Reads a failure, or `None` from a value of another shape. A release that was refused because of this field
/// would leave its permit held.
pub(super) fn lenient<'de, D: Deserializer<'de>>(
    value: D,
) -> Result<Option<WorkFailure>, D::Error> {
    Ok(serde_json::from_value(Value::deserialize(value)?).ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_cut_to_what_step_functions_allows() {
        let long = WorkFailure {
            error: Some("é".repeat(300)),
            cause: Some("é".repeat(40_000)),
        };

        let cut = long.bounded();

        let length = |text: &Option<String>| text.as_ref().map(|text| text.chars().count());
        assert_eq!(
            (length(&cut.error), length(&cut.cause)),
            (Some(256), Some(32_768))
        );
    }
}
