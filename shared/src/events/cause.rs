//! Shortens the cause of a failure for messages.
//!
//! The cause of an integration of Step Functions may be kilobytes of JSON, with the input and the environment
//! variables of the work. More people read a message than may read those. So of a JSON only the fields that
//! are known to describe the failure are shown, and nothing of a JSON without such a field.

use crate::contract::is_hidden;
use lockstep_core::domain::TaskArn;
use serde::Deserialize;

/// Longest short form, in characters.
pub(super) const SHORT_MAX: usize = 500;

/// What a cause says about a failure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ShortCause {
    /// The description, in one line. `None` for a JSON without one.
    pub(super) text: Option<String>,
    /// The ECS task that failed, if the cause describes one.
    pub(super) task: Option<TaskArn>,
}

/// The JSON of a cause: the task that `ecs:runTask.sync` waited for
/// (<https://docs.aws.amazon.com/step-functions/latest/dg/connect-ecs.html>), RunTask's answer without a
/// task, or the failure of another integration. The fields of a task are those of
/// <https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_Task.html>, in Pascal case.
#[derive(Deserialize, Default)]
#[serde(rename_all = "PascalCase", default)]
struct Described {
    task_arn: Option<String>,
    containers: Option<Vec<Container>>,
    stopped_reason: Option<String>,
    failures: Option<Vec<Refused>>,
    /// Field of an execution that `states:startExecution.sync` waited for, like `cause`.
    error: Option<String>,
    cause: Option<String>,
    /// Field of AWS Batch.
    status_reason: Option<String>,
    /// Field of AWS Glue.
    error_message: Option<String>,
    /// Field of Lambda: <https://docs.aws.amazon.com/lambda/latest/dg/nodejs-exceptions.html>.
    #[serde(rename = "errorMessage")]
    of_function: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "PascalCase", default)]
struct Container {
    name: Option<String>,
    exit_code: Option<i64>,
    reason: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "PascalCase", default)]
struct Refused {
    reason: Option<String>,
}

impl ShortCause {
    /// Returns the short form of `cause`.
    pub(super) fn of(cause: &str) -> Self {
        let cause = bare(cause);
        if !is_json(cause) {
            let text = Some(without_json(&one_line(cause))).filter(|text| !text.is_empty());
            return Self { text, task: None };
        }
        let described: Described = serde_json::from_str(cause).unwrap_or_default();
        let task = described.task_arn.as_deref();
        Self {
            task: task.and_then(|arn| TaskArn::new(arn).ok()),
            text: described.text(),
        }
    }
}

impl Described {
    fn text(&self) -> Option<String> {
        let containers = self.containers.iter().flatten();
        let mut parts: Vec<String> = containers.filter_map(Container::text).collect();
        let failures = self.failures.iter().flatten();
        parts.extend(failures.filter_map(|one| one.reason.clone()));
        let texts = [
            self.stopped_reason.as_deref(),
            self.error.as_deref(),
            self.cause.as_deref(),
            self.status_reason.as_deref(),
            self.error_message.as_deref(),
            self.of_function.as_deref(),
        ];
        parts.extend(texts.into_iter().flatten().map(str::to_owned));
        // A field may contain JSON itself, such as the cause of a nested execution. Such a field is not
        // shown.
        parts.retain(|part| !part.trim().is_empty() && !is_json(part));
        let parts: Vec<_> = parts.iter().map(|part| without_json(part)).collect();
        Some(one_line(&parts.join("; "))).filter(|text| !text.is_empty())
    }
}

impl Container {
    /// Describes how this container failed. Returns `None` for a container that exited with 0, or that has
    /// neither an exit code nor a reason.
    fn text(&self) -> Option<String> {
        let name = self.name.as_deref().unwrap_or("?");
        let reason = self.reason.as_ref().map(|reason| format!(" ({reason})"));
        let reason = reason.unwrap_or_default();
        match self.exit_code {
            Some(0) => None,
            Some(code) => Some(format!("container {name} exited with {code}{reason}")),
            None if reason.is_empty() => None,
            None => Some(format!("container {name} has no exit code{reason}")),
        }
    }
}

fn is_json(text: &str) -> bool {
    bare(text).starts_with(['{', '[', '"'])
}

/// Returns `text` without white space and byte order marks around it.
fn bare(text: &str) -> &str {
    text.trim_matches(|c: char| c.is_whitespace() || c == '\u{feff}')
}

/// Returns `text` up to the first JSON object in it, because an error of Step Functions may quote the input
/// of a state.
fn without_json(text: &str) -> String {
    let begins = |at: &usize| text[at + 1..].trim_start().starts_with(['"', '\\', '}']);
    let mut opened = text.match_indices('{').map(|(at, _)| at);
    match opened.find(begins) {
        Some(at) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

/// Returns `text` as one line of at most [`SHORT_MAX`] characters, without hidden characters.
pub(super) fn one_line(text: &str) -> String {
    let words: Vec<_> = text
        .split(|c: char| c.is_whitespace() || is_hidden(c))
        .filter(|word| !word.is_empty())
        .collect();
    let line = words.join(" ");
    if line.chars().count() <= SHORT_MAX {
        return line;
    }
    let mut cut: String = line.chars().take(SHORT_MAX - 1).collect();
    cut.push('…');
    cut
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const TASK: &str = "arn:aws:ecs:eu-west-1:1:task/batch/4f0c";

    fn short(cause: &str) -> Option<String> {
        ShortCause::of(cause).text
    }

    #[test]
    fn the_cause_of_a_task_is_its_exit_codes_and_stopped_reason() {
        let secret = json!([{ "Name": "PASSWORD", "Value": "hunter2" }]);
        let task = json!({
            "TaskArn": TASK,
            "Containers": [
                { "Name": "app", "ExitCode": 1, "Reason": "OutOfMemoryError" },
                { "Name": "logs", "ExitCode": 0 },
                { "Name": "init", "Reason": "CannotPullContainerError: no" },
                { "Name": "late" },
            ],
            "Overrides": { "ContainerOverrides": [{ "Name": "app", "Environment": secret }] },
            "StopCode": "EssentialContainerExited",
            "StoppedReason": "Essential container in task exited",
        });

        let short = ShortCause::of(&task.to_string());

        let text = "container app exited with 1 (OutOfMemoryError); container init has no exit code \
                    (CannotPullContainerError: no); Essential container in task exited";
        assert_eq!(short.text.as_deref(), Some(text));
        assert_eq!(short.task, TaskArn::new(TASK).ok());
    }

    #[test]
    fn a_cause_shows_only_the_description_of_each_integration() {
        let data = json!({ "Input": "{\"password\":\"hunter2\"}", "Environment": ["hunter2"] });
        for (field, expected) in [
            (
                json!({ "errorMessage": "no", "trace": ["hunter2"] }),
                Some("no"),
            ),
            (json!({ "Error": "E", "Cause": "why" }), Some("E; why")),
            (
                json!({ "Error": "E", "Cause": "{\"a\":\"hunter2\"}" }),
                Some("E"),
            ),
            (json!({ "StatusReason": "no host" }), Some("no host")),
            (json!({ "ErrorMessage": "no file" }), Some("no file")),
            (
                json!({ "Failures": [{ "Reason": "RESOURCE:CPU" }] }),
                Some("RESOURCE:CPU"),
            ),
            (json!({}), None),
        ] {
            let mut cause = data.clone();
            let fields = cause.as_object_mut().unwrap();
            fields.extend(field.as_object().unwrap().clone());

            assert_eq!(short(&cause.to_string()).as_deref(), expected, "{cause}");
        }
    }

    #[test]
    fn a_json_that_cannot_be_read_is_not_shown() {
        for cause in [
            "{\"Environment\":[\"hunter2\"",
            "[\"hunter2\"]",
            "\"hunter2\"",
            "\u{feff}{\"PASSWORD\":\"hunter2\"}",
            r#"{"errorMessage":"{\"PASSWORD\":\"hunter2\"}"}"#,
            r#"{"StoppedReason":"[{\"PASSWORD\":\"hunter2\"}]"}"#,
            "",
        ] {
            assert_eq!(short(cause), None, "{cause}");
        }
    }

    #[test]
    fn a_text_ends_before_the_json_that_it_quotes() {
        for (cause, expected) in [
            (
                "'$.a' could not be found in the input '{\"PASSWORD\":\"hunter2\"}'",
                "'$.a' could not be found in the input '…",
            ),
            ("usage: {a|b} or { c }", "usage: {a|b} or { c }"),
        ] {
            assert_eq!(short(cause).as_deref(), Some(expected));
        }
    }

    #[test]
    fn a_null_field_does_not_hide_other_fields() {
        let cause = r#"{"Containers":null,"Failures":null,"StoppedReason":"no host"}"#;
        assert_eq!(short(cause).as_deref(), Some("no host"));
    }

    #[test]
    fn a_text_is_one_line_of_bounded_length() {
        let lines = "no such file:\n\t\"a\\b\"\u{1b}[0m\n";
        assert_eq!(short(lines).as_deref(), Some("no such file: \"a\\b\" [0m"));
        let long = short(&"é ".repeat(SHORT_MAX)).unwrap();
        assert_eq!(long.chars().count(), SHORT_MAX);
        assert!(long.ends_with('…'), "{long}");
    }
}
