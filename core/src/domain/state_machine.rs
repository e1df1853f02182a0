//! The ARN of a state machine.

use super::execution_arn::is_states_arn;
use crate::domain::{ExecutionArn, Invalid};
use std::fmt;

/// The ARN of a state machine, of one of its versions or of an alias.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StateMachineArn(String);

impl StateMachineArn {
    /// The rule for state machine ARNs.
    pub const RULE: &'static str = "the ARN of a state machine, \
                                    arn:<partition>:states:<region>:<account>:stateMachine:<name>";
    /// Length of the longest ARN, in characters
    /// (<https://docs.aws.amazon.com/step-functions/latest/apireference/API_StartExecution.html>).
    pub const LENGTH_MAX: usize = 256;

    /// Creates an ARN that follows [`Self::RULE`].
    ///
    /// # Errors
    /// [`Invalid`] with the rule.
    pub fn new(arn: impl Into<String>) -> Result<Self, Invalid> {
        let arn = arn.into();
        let is_machine =
            |resource: &[&str]| matches!(resource, ["stateMachine", _] | ["stateMachine", _, _]);
        if is_states_arn(&arn, Self::LENGTH_MAX, is_machine) {
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

    /// Returns the ARN of the state machine's Standard execution with this `name`. The ARN of an
    /// execution contains no version and no alias
    /// (<https://docs.aws.amazon.com/step-functions/latest/dg/execution-alias-version-associate.html>).
    ///
    /// # Errors
    /// [`Invalid`] if `name` makes no valid ARN.
    pub fn execution(&self, name: &str) -> Result<ExecutionArn, Invalid> {
        let mut parts: Vec<_> = self.0.split(':').take(7).collect();
        parts[5] = "execution";
        parts.push(name);
        ExecutionArn::new(parts.join(":"))
    }
}

impl fmt::Display for StateMachineArn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ARN: &str = "arn:aws:states:eu-west-1:1:stateMachine:report";

    #[test]
    fn an_execution_of_a_version_or_an_alias_is_one_of_the_machine() {
        for machine in [ARN, &format!("{ARN}:7"), &format!("{ARN}:PROD")] {
            let execution = StateMachineArn::new(machine).unwrap().execution("a");

            let expected = "arn:aws:states:eu-west-1:1:execution:report:a";
            assert_eq!(execution.unwrap().as_str(), expected, "{machine}");
        }
    }

    #[test]
    fn the_text_of_an_arn_is_the_arn() {
        let machine = StateMachineArn::new(ARN).unwrap();

        assert_eq!((machine.as_str(), machine.to_string().as_str()), (ARN, ARN));
    }

    #[test]
    fn what_is_no_state_machine_is_refused() {
        for arn in [
            "",
            "report",
            "arn:aws:states:eu-west-1:1:execution:report:a",
            "arn:aws:states:eu-west-1:1:stateMachine:",
            "arn:aws:states:eu-west-1:1:stateMachine:report:PROD:x",
            "arn:aws:states:eu-west-1::stateMachine:report",
            "arn:aws:states:eu-west-1:1:stateMachine:re port",
        ] {
            assert!(StateMachineArn::new(arn).is_err(), "{arn}");
        }
    }

    #[test]
    fn an_arn_has_256_characters_at_most() {
        let of_length = |length: usize| format!("{ARN}{}", "x".repeat(length - ARN.len()));

        assert!(StateMachineArn::new(of_length(256)).is_ok());
        assert!(StateMachineArn::new(of_length(257)).is_err());
    }
}
