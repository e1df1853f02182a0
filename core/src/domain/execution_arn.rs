//! The ARN of an execution.

use crate::domain::{HolderId, Invalid};
use std::fmt;

/// The ARN of an execution of a Standard workflow.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ExecutionArn(String);

impl ExecutionArn {
    /// The rule for execution ARNs.
    pub const RULE: &'static str = "the ARN of a Standard execution, \
                                    arn:<partition>:states:<region>:<account>:execution:<machine>:<name>";

    /// Creates an ARN that follows [`Self::RULE`].
    ///
    /// # Errors
    /// [`Invalid`] with the rule.
    pub fn new(arn: String) -> Result<Self, Invalid> {
        let is_execution = |resource: &[&str]| matches!(resource, ["execution", _, _]);
        if is_states_arn(&arn, 512, is_execution) {
            Ok(Self(arn))
        } else {
            Err(Invalid { rule: Self::RULE })
        }
    }

    /// Returns the ARN as text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the execution in the name of `holder`, without a `#suffix`; `None` if the holder is not
    /// an execution.
    ///
    /// The name of an execution contains no `#`
    /// (<https://docs.aws.amazon.com/step-functions/latest/apireference/API_StartExecution.html>).
    #[must_use]
    pub fn of_holder(holder: &HolderId) -> Option<Self> {
        let arn = holder.as_str().split('#').next()?;
        Self::new(arn.to_owned()).ok()
    }

    /// Returns whether `holder` is an execution of an Express workflow, with or without a `#suffix`. Its
    /// ARN has `express` in the place of `execution`
    /// (<https://docs.aws.amazon.com/service-authorization/latest/reference/list_awsstepfunctions.html>).
    /// DescribeExecution does not support such an execution.
    #[must_use]
    pub fn is_express(holder: &HolderId) -> bool {
        let mut parts = holder.as_str().split(':');
        let is_arn = parts.next() == Some("arn") && parts.nth(1) == Some("states");
        is_arn && parts.nth(2) == Some("express")
    }

    /// Returns the ARN of the execution's state machine.
    #[must_use]
    pub fn state_machine(&self) -> String {
        let parts: Vec<_> = self.0.split(':').collect();
        let mut machine = parts[..7].to_vec();
        machine[5] = "stateMachine";
        machine.join(":")
    }
}

/// Returns whether `arn` is the ARN of a resource of Step Functions:
///
/// - all its parts are visible ASCII characters, and none is empty,
/// - it has at most `max` bytes, and
/// - `is_resource` accepts the parts after the account.
pub(super) fn is_states_arn(arn: &str, max: usize, is_resource: fn(&[&str]) -> bool) -> bool {
    let parts: Vec<_> = arn.split(':').collect();
    let is_arn =
        matches!(&parts[..], ["arn", _, "states", _, _, resource @ ..] if is_resource(resource));
    let is_full = parts.iter().all(|part| !part.is_empty());
    is_arn && is_full && arn.len() <= max && arn.bytes().all(|b| b.is_ascii_graphic())
}

impl fmt::Display for ExecutionArn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARN: &str = "arn:aws:states:eu-west-1:1:execution:report:a";

    fn of_holder(holder: &str) -> Option<String> {
        let holder = HolderId::new(holder).unwrap();
        ExecutionArn::of_holder(&holder).map(|arn| arn.to_string())
    }

    #[test]
    fn an_arn_has_up_to_512_characters() {
        for (length, fits) in [(512, true), (513, false)] {
            let arn = format!("{ARN}{}", "x".repeat(length - ARN.len()));

            assert_eq!(ExecutionArn::new(arn).is_ok(), fits, "{length}");
        }
    }

    #[test]
    fn an_execution_knows_its_state_machine() {
        let machine = ExecutionArn::new(ARN.into()).unwrap().state_machine();

        assert_eq!(machine, "arn:aws:states:eu-west-1:1:stateMachine:report");
    }

    #[test]
    fn all_holders_of_one_execution_lead_to_it() {
        for holder in [ARN, &format!("{ARN}#2"), &format!("{ARN}#a#b")] {
            assert_eq!(of_holder(holder).as_deref(), Some(ARN), "{holder}");
        }
    }

    #[test]
    fn a_holder_that_is_no_execution_leads_to_none() {
        let express = "arn:aws:states:eu-west-1:1:express:report:a:b";
        let machine = "arn:aws:states:eu-west-1:1:stateMachine:report";

        for holder in ["operator", "#2", "a#arn", express, machine] {
            assert_eq!(of_holder(holder), None, "{holder}");
            let id = HolderId::new(holder).unwrap();
            assert_eq!(ExecutionArn::is_express(&id), holder == express, "{holder}");
        }
    }
}
