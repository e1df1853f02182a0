//! The result of one check, and its text.

use super::super::screen::{Screen, Tone};
use serde::Serialize;
use std::borrow::Cow;

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
        Self {
            name: name.into(),
            status: Status::Unknown,
            found: error.into(),
            advice: Some("check the permissions of your role, and the connection to AWS".into()),
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
    fn a_check_that_failed_says_what_to_do() {
        let check = Check::failed("stack", "ROLLBACK_COMPLETE", "deploy again");

        let expected = "FAILED  stack: ROLLBACK_COMPLETE\n        -> deploy again\n";
        let screen = Screen::plain(Some(120), "2026-03-01T06:00:00Z");
        assert_eq!(check.text(&screen), expected);
    }
}
