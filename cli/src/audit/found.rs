//! The data that an audit reads from an account, before any figures are computed.

use super::run::Run;
use super::schedule::Schedule;
use serde::{Deserialize, Serialize};

/// A state machine, as ListStateMachines returns it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Machine {
    pub(super) arn: String,
    pub(super) name: String,
    /// Whether its type is EXPRESS. Step Functions keeps no list of the executions of such a state machine.
    pub(super) is_express: bool,
}

/// The Region and the window of the report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Window {
    pub(super) region: String,
    /// Milliseconds since 1970.
    pub(super) since: u64,
    /// When the audit began, in milliseconds since 1970.
    pub(super) until: u64,
}

/// All that was read.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) window: Window,
    /// Standard state machines whose executions were listed.
    pub(super) machines: Vec<(Machine, Vec<Run>)>,
    pub(super) not_seen: Vec<NotSeen>,
    pub(super) schedules: Vec<Schedule>,
    /// Calls that were denied. The report lacks what these calls return.
    pub(super) denied: Vec<Denied>,
    /// Requests that this process sent.
    pub(super) requests: u64,
}

/// A state machine whose executions were not listed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct NotSeen {
    pub(super) name: String,
    pub(super) arn: String,
    pub(super) reason: String,
}

/// A call that was denied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Denied {
    /// The IAM action.
    pub(super) action: &'static str,
    /// What the report lacks without it.
    pub(super) lacks: &'static str,
    pub(super) error: String,
}

/// Returns the ARN of a state machine without the version or alias that a schedule may start
/// (<https://docs.aws.amazon.com/step-functions/latest/dg/concepts-state-machine-alias.html>); `None` if
/// `arn` is not the ARN of a state machine.
pub(super) fn machine_of(arn: &str) -> Option<String> {
    let parts: Vec<&str> = arn.split(':').collect();
    match parts[..] {
        ["arn", _, "states", _, _, "stateMachine", _, ..] => Some(parts[..7].join(":")),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_and_aliases_belong_to_their_state_machine() {
        let cn = "arn:aws-cn:states:cn-north-1:111122223333:stateMachine:etl";
        for (arn, expected) in [
            (cn.to_owned(), Some(cn)),
            (format!("{cn}:3"), Some(cn)),
            (format!("{cn}:PROD"), Some(cn)),
            ("arn:aws:lambda:eu-west-1:1:function:f".into(), None),
            ("arn:aws:states:eu-west-1:1:activity:a".into(), None),
            (String::new(), None),
        ] {
            assert_eq!(machine_of(&arn).as_deref(), expected, "{arn}");
        }
    }
}
