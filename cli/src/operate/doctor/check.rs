//! The result of one check, and its text.

use super::super::act_error::ActError;
use super::super::call_error::error_text;
use super::super::screen::{Screen, Tone};
use aws_sdk_cloudformation::error::{ProvideErrorMetadata, SdkError};
use serde::Serialize;
use std::borrow::Cow;

/// What to do about a resource of the stack that is not there
/// (<https://docs.aws.amazon.com/AWSCloudFormation/latest/UserGuide/drift-aware-change-sets.html>).
const GONE: &str = "it was deleted outside of CloudFormation, and sam deploy makes only what the template has changed: deploy \
                    by a change set with --deployment-mode REVERT_DRIFT";

/// The errors by which a service says that there is no such resource: Lambda, EventBridge, CloudWatch Logs and
/// DynamoDB have the first one, Step Functions, SNS and SQS one each.
const NOT_THERE: [&str; 5] = [
    "ResourceNotFoundException",
    "StateMachineDoesNotExist",
    "NotFound",
    "QueueDoesNotExist",
    "AWS.SimpleQueueService.NonExistentQueue",
];

/// The result of one check.
#[derive(Debug, Serialize)]
pub(super) struct Check {
    /// What was checked.
    name: Cow<'static, str>,
    pub(super) status: Status,
    /// What was found.
    pub(super) found: String,
    /// What to do, unless the check passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    advice: Option<Cow<'static, str>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) enum Status {
    Ok,
    /// The check itself could not be made.
    Unknown,
    Failed,
}

impl Check {
    /// Returns a check that passed.
    pub(super) fn passed(name: impl Into<Cow<'static, str>>, found: impl Into<String>) -> Self {
        Self::new(name, true, found, "")
    }

    /// Returns a check that failed, with what to do about it.
    pub(super) fn failed(
        name: impl Into<Cow<'static, str>>,
        found: impl Into<String>,
        advice: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self::new(name, false, found, advice)
    }

    pub(super) fn new(
        name: impl Into<Cow<'static, str>>,
        passed: bool,
        found: impl Into<String>,
        advice: impl Into<Cow<'static, str>>,
    ) -> Self {
        let status = if passed { Status::Ok } else { Status::Failed };
        Self {
            name: name.into(),
            status,
            found: found.into(),
            advice: (!passed).then(|| advice.into()),
        }
    }

    /// Returns a check that could not be made because of `error`.
    pub(super) fn unknown(name: impl Into<Cow<'static, str>>, error: impl Into<String>) -> Self {
        let advice = "check the permissions of your role, and the connection to AWS";
        Self::unmade(name, error, advice)
    }

    /// Returns a check that could not be made, with what to do about it.
    pub(super) fn unmade(
        name: impl Into<Cow<'static, str>>,
        found: impl Into<String>,
        advice: &'static str,
    ) -> Self {
        Self {
            name: name.into(),
            status: Status::Unknown,
            found: found.into(),
            advice: Some(advice.into()),
        }
    }

    /// Returns a check that could not be made because the template of the stack is older than the check.
    pub(super) fn without_output(name: impl Into<Cow<'static, str>>, output: &str) -> Self {
        Self::unmade(
            name,
            format!("the stack has no output {output}"),
            "deploy the stack again, with the template of the version of this command",
        )
    }

    /// Returns the check of a resource that `call` could not read. It failed if there is no such resource.
    pub(super) fn unread<E>(
        name: impl Into<Cow<'static, str>>,
        call: &str,
        failure: &SdkError<E>,
    ) -> Self
    where
        E: std::error::Error + ProvideErrorMetadata + 'static,
    {
        let found = format!("{call}: {}", error_text(failure));
        match failure.code() {
            Some(code) if NOT_THERE.contains(&code) => Self::failed(name, found, GONE),
            _ => Self::unknown(name, found),
        }
    }

    /// Returns the check for which view gave no answer.
    pub(super) fn unanswered(name: impl Into<Cow<'static, str>>, error: ActError) -> Self {
        // The functions write into their error what DynamoDB said.
        let is_gone = error.text.contains(NOT_THERE[0]);
        match error.code.as_deref() {
            _ if is_gone => Self::failed(name, error.text, GONE),
            Some("Runtime.InvalidEntrypoint") => Self::failed(
                name,
                error.text,
                "the function does not start: build it for the processor that the parameter Architecture names, and \
                 deploy again",
            ),
            Some(code) if code.starts_with("Runtime.") => Self::failed(
                name,
                error.text,
                "the function crashes: see its log, and deploy again",
            ),
            _ => Self::unknown(name, error.text),
        }
    }

    /// Returns the lines for people: the status, what was found, and what to do.
    pub(super) fn text(&self, screen: &Screen) -> String {
        let (status, tone) = match self.status {
            Status::Ok => ("ok", Tone::Good),
            Status::Unknown => ("UNKNOWN", Tone::Warning),
            Status::Failed => ("FAILED", Tone::Bad),
        };
        let line = format!("{status:7} {}: {}", self.name, self.found);
        let text = screen.lines(&line, "        ");
        // The colour is added after the lines are wrapped, because its escape sequence has no width.
        let text = text.replacen(status, &screen.painted(tone, status), 1);
        let advice = self.advice.as_ref().map(|advice| {
            let advice = screen.lines(&format!("        -> {advice}"), "           ");
            format!("\n{advice}")
        });
        format!("{text}{}\n", advice.unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_gone_or_crashes_is_no_matter_of_permissions() {
        for (code, text, status) in [
            (
                Some("ResourceNotFoundException"),
                "ResourceNotFoundException: Function not found",
                Status::Failed,
            ),
            (
                Some("Lockstep.Unavailable"),
                "Lockstep.Unavailable: GetItem: ResourceNotFoundException",
                Status::Failed,
            ),
            (Some("Runtime.InvalidEntrypoint"), "", Status::Failed),
            (Some("Runtime.ExitError"), "", Status::Failed),
            (Some("AccessDeniedException"), "", Status::Unknown),
            (None, "request has timed out", Status::Unknown),
        ] {
            let error = ActError {
                code: code.map(str::to_owned),
                ..ActError::new(crate::exit::Exit::UNAVAILABLE, text)
            };
            let check = Check::unanswered("versions", error);
            assert_eq!(check.status, status, "{code:?}");
            assert_eq!(check.found, text);
        }
    }

    #[test]
    fn a_check_that_failed_says_what_to_do() {
        let check = Check::failed("stack", "ROLLBACK_COMPLETE", "deploy again");

        let expected = "FAILED  stack: ROLLBACK_COMPLETE\n        -> deploy again\n";
        let screen = Screen::plain(Some(120), "2026-03-01T06:00:00Z");
        assert_eq!(check.text(&screen), expected);
    }
}
