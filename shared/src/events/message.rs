//! The message that people get about an event.
//!
//! The message is a custom notification of Amazon Q Developer in chat applications, which drops messages of
//! any other format (<https://docs.aws.amazon.com/chatbot/latest/adminguide/custom-notifs.html>). The event
//! contains the whole message, and the rule of the topic selects it by `InputPath`. An input transformer
//! could not build it, because it neither escapes values nor leaves out a field whose value is missing
//! (<https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-transform-target-input.html>).
//!
//! A mail shows the JSON itself, so the title and the description come first.

use super::cause::one_line;
use super::{Event, FailedRun, UsualLength, console};
use crate::contract::EventKind;
use lockstep_core::domain::{ExecutionArn, HolderId, TaskArn, length_text, rfc3339};
#[cfg(feature = "schema")]
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

/// Longest name of a holder that is not cut, in characters.
const NAME_MAX: usize = 100;

/// A custom notification of Amazon Q Developer in chat applications.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Message {
    /// What a person reads.
    pub content: Content,
    /// The thread, the resources and the facts of the message.
    pub metadata: Metadata,
    /// The source of the notification: `custom`.
    pub source: &'static str,
    /// The version of the schema of custom notifications.
    pub version: &'static str,
}

/// The text of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Content {
    /// The kind of the event, and the lock.
    pub title: String,
    /// What happened, the holder and the time, one fact in each line.
    pub description: String,
    /// What to do, and links to where to look.
    pub next_steps: Vec<String>,
    /// The format of the texts: `client-markdown`.
    pub text_type: &'static str,
}

/// The metadata of a message.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(feature = "schema", derive(JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct Metadata {
    /// The lock, so that a chat channel shows all messages about a lock as one thread.
    pub thread_id: String,
    /// The title again.
    pub summary: String,
    /// The detail type of the event.
    pub event_type: String,
    /// ARNs of the executions and the task.
    pub related_resources: Vec<String>,
    /// The facts of the message as fields.
    pub additional_context: BTreeMap<&'static str, String>,
}

impl Message {
    /// Returns the message about `event`, with the texts `reason` and `advice`. Returns `None` for a *Run
    /// Failed* that repeats another event.
    pub(super) fn of(event: &Event, reason: &str, advice: &str) -> Option<Self> {
        if event.repeats_another_event() {
            return None;
        }
        let failed = event.failed.as_ref();
        let title = format!("{}: {}", event.kind, event.lock);
        let at = rfc3339(event.at);
        let mut lines = vec![one_line(reason)];
        let holder = event.holder.as_ref();
        let label = holder_label(event.kind);
        lines.extend(holder.map(|holder| format!("{label}: {}", short_name(holder))));
        lines.extend(failed.into_iter().flat_map(lines_of));
        lines.push(format!("Time: {at}"));
        let links = Links::of(event);
        let mut next_steps = vec![one_line(advice)];
        next_steps.extend(links.steps());
        let mut context = BTreeMap::from([("at", at), ("lock", event.lock.to_string())]);
        let quotable = holder.filter(|holder| is_quotable(holder.as_str()));
        context.extend(quotable.map(|holder| ("holder", holder.to_string())));
        context.extend(event.token.map(|token| ("token", token.to_string())));
        context.extend(failed.into_iter().flat_map(context_of));
        Some(Self {
            metadata: Metadata {
                thread_id: event.lock.to_string(),
                summary: title.clone(),
                event_type: event.kind.to_string(),
                related_resources: links.arns(),
                additional_context: context,
            },
            content: Content {
                title,
                description: lines.join("\n"),
                next_steps,
                text_type: "client-markdown",
            },
            source: "custom",
            version: "1.0",
        })
    }

    /// Adds the name of the lock table to the facts, by which a chat channel recognizes the messages of its
    /// stack.
    pub fn name_table(&mut self, table: &str) {
        let context = &mut self.metadata.additional_context;
        context.insert("table", table.to_owned());
    }

    /// Adds the link to the runbook of the team to the next steps, after the advice.
    pub fn link_runbook(&mut self, page: &str) {
        self.content
            .next_steps
            .insert(1, format!("Runbook: {page}"));
    }
}

/// Returns whether a text may be put between quotes into a command, as the buttons of a chat channel do with
/// the facts of a message. The caller of acquire-lock chooses the name of the holder, so the name may contain
/// quotes.
fn is_quotable(text: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || ":/_.#@=+-".contains(c);
    text.chars().all(plain)
}

/// Returns the label of the run that an event is about: `Run` for a run that got no permit, and `Holder` for
/// any other.
fn holder_label(kind: EventKind) -> &'static str {
    match kind {
        EventKind::RunSkipped
        | EventKind::RunDuplicate
        | EventKind::QueueFull
        | EventKind::WaitGivenUp => "Run",
        _ => "Holder",
    }
}

/// Returns the lines of the description that only a failed run has.
fn lines_of(failed: &FailedRun) -> impl Iterator<Item = String> {
    let run_key = failed.run_key.as_ref();
    let run_key = run_key.map(|key| format!("Run key: {}", key.as_str()));
    let attempt = failed.attempt.map(|attempt| {
        format!(
            "Attempt: {attempt}; failed attempts of the same caller before it: {}",
            attempt - 1
        )
    });
    let redrives = (failed.redrives > 0).then(|| format!("Redrives: {}", failed.redrives));
    let took = failed.took_ms.map(|took| length_line(took, failed.usual));
    [run_key, attempt, redrives, took].into_iter().flatten()
}

/// Returns the line with the length of a run, and with the usual length if it is known.
fn length_line(took_ms: u64, usual: Option<UsualLength>) -> String {
    let usual = usual.map(|usual| {
        let median = length_text(usual.median_ms);
        match usual.successes {
            1 => format!("; the last success took {median}"),
            successes => format!("; usually {median}, the median of {successes} successes"),
        }
    });
    format!(
        "Took: {}{}",
        length_text(took_ms),
        usual.unwrap_or_default()
    )
}

fn context_of(failed: &FailedRun) -> impl Iterator<Item = (&'static str, String)> {
    let run_key = failed.run_key.as_ref();
    let run_key = run_key.map(|key| ("runKey", key.as_str().to_owned()));
    let attempt = failed
        .attempt
        .map(|attempt| ("attempt", attempt.to_string()));
    let redrives = (failed.redrives > 0).then(|| ("redrives", failed.redrives.to_string()));
    let error = failed.error.clone().map(|error| ("error", error));
    let seconds = |millis: u64| (millis / 1000).to_string();
    let took = failed.took_ms.map(|took| ("tookSeconds", seconds(took)));
    let usual = failed.usual;
    let usual = usual.map(|usual| ("usualSeconds", seconds(usual.median_ms)));
    let facts = [run_key, attempt, redrives, error, took, usual];
    facts.into_iter().flatten()
}

/// The executions and the task that a message links to.
struct Links {
    execution: Option<ExecutionArn>,
    work: Option<ExecutionArn>,
    task: Option<TaskArn>,
}

impl Links {
    fn of(event: &Event) -> Self {
        let holder = event.holder.as_ref();
        let failed = event.failed.as_ref();
        Self {
            execution: holder.and_then(ExecutionArn::of_holder),
            work: failed.and_then(|failed| failed.work.clone()),
            task: failed
                .and_then(|failed| failed.task.clone())
                .or_else(|| holder.and_then(TaskArn::of_holder)),
        }
    }

    fn steps(&self) -> impl Iterator<Item = String> {
        let execution = self.execution.as_ref().and_then(console::execution);
        let work = self.work.as_ref().and_then(console::execution);
        let task = self.task.as_ref().and_then(console::task_logs);
        let links = [("Execution", execution), ("Workflow", work), ("Logs", task)].into_iter();
        links.filter_map(|(name, link)| Some(format!("{name}: {}", link?)))
    }

    fn arns(&self) -> Vec<String> {
        let executions = [&self.execution, &self.work].into_iter().flatten();
        let executions = executions.map(ToString::to_string);
        executions
            .chain(self.task.iter().map(ToString::to_string))
            .collect()
    }
}

/// Returns the holder in the words of a person: the names in its ARN, or its own name, cut to [`NAME_MAX`]
/// characters.
fn short_name(holder: &HolderId) -> String {
    let suffix = holder.as_str().split_once('#').map(|(_, suffix)| suffix);
    if let Some(execution) = ExecutionArn::of_holder(holder) {
        let parts: Vec<_> = execution.as_str().split(':').skip(6).collect();
        let suffix = suffix
            .map(|suffix| format!("#{suffix}"))
            .unwrap_or_default();
        return match parts[..] {
            [machine, name] => format!("execution {name}{suffix} of {machine}"),
            _ => holder.to_string(),
        };
    }
    if let Some(task) = TaskArn::of_holder(holder) {
        let id = task.as_str().rsplit('/').next().unwrap_or_default();
        return format!("task {id} of cluster {}", task.cluster());
    }
    let name: String = holder.as_str().chars().take(NAME_MAX).collect();
    match name.len() < holder.as_str().len() {
        true => format!("{name}…"),
        false => name,
    }
}

#[cfg(test)]
mod tests;
