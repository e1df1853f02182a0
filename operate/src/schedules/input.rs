//! Computes the input that a tick passes to a target.

use super::{Schedule, Target, TargetInput};
use lockstep::executions::Start;
use lockstep_core::domain::{Timestamp, rfc3339};
use serde_json::{Value, json};

/// A tick of a schedule.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tick<'a> {
    /// The scheduled time, in whole seconds.
    pub(crate) at: Timestamp,
    /// The id of the tick, which is new for each tick.
    pub(crate) id: &'a str,
}

impl Schedule {
    /// Returns the starts that `tick` causes, one for each target.
    ///
    /// # Errors
    /// The rule that an input breaks, as a phrase that follows "must be".
    pub(crate) fn starts(&self, tick: Tick<'_>) -> Result<Vec<Start>, String> {
        let start = |target: &Target| {
            let input = self.input(&target.input, tick)?;
            let rule = || format!("a schedule whose input is JSON; its input is {input}");
            serde_json::from_str::<Value>(&input).map_err(|_| rule())?;
            Ok(Start {
                state_machine: target.state_machine.clone(),
                input: Some(input),
            })
        };
        self.targets.iter().map(start).collect()
    }

    fn input(&self, input: &TargetInput, tick: Tick<'_>) -> Result<String, String> {
        match input {
            TargetInput::Attributes(text) => Ok(self.with_attributes(text, tick)),
            TargetInput::Constant(text) => Ok(text.clone()),
            TargetInput::Event(path) => Ok(value_at(&self.event(tick), path)?.to_string()),
            TargetInput::Template { paths, template } => {
                let event = self.event(tick);
                let variable = |name: &str| match (name, paths.get(name)) {
                    ("aws.events.rule-arn", _) => Ok(json!(self.arn)),
                    ("aws.events.rule-name", _) => Ok(json!(self.arn.rsplit('/').next())),
                    ("aws.events.event.ingestion-time", _) => Ok(event["time"].clone()),
                    ("aws.events.event" | "aws.events.event.json", _) => Ok(event.clone()),
                    (_, Some(path)) => value_at(&event, path),
                    (_, None) => Err(format!(
                        "a rule whose template has only known variables; <{name}> is not one"
                    )),
                };
                filled(template, variable)
            }
        }
    }

    /// Replaces the context attributes in `text`. EventBridge Scheduler replaces them anywhere in the text.
    fn with_attributes(&self, text: &str, tick: Tick<'_>) -> String {
        let time = rfc3339(tick.at);
        let attributes = [
            ("schedule-arn", self.arn.as_str()),
            ("scheduled-time", &time),
            ("execution-id", tick.id),
            ("attempt-number", "1"),
        ];
        attributes
            .iter()
            .fold(text.to_owned(), |text, (name, value)| {
                text.replace(&format!("<aws.scheduler.{name}>"), value)
            })
    }

    /// Returns the event that a rule with a schedule passes to its targets
    /// (<https://docs.aws.amazon.com/eventbridge/latest/ref/events-ref-eventbridge.html>).
    fn event(&self, tick: Tick<'_>) -> Value {
        let mut parts = self.arn.split(':').skip(3);
        let (region, account) = (parts.next(), parts.next());
        json!({
            "version": "0",
            "id": tick.id,
            "detail-type": "Scheduled Event",
            "source": "aws.events",
            "account": account,
            "time": rfc3339(tick.at),
            "region": region,
            "resources": [self.arn],
            "detail": {},
        })
    }
}

/// Returns the part of `event` at a path of members and indices, such as `$.resources[0]`.
fn value_at(event: &Value, path: &str) -> Result<Value, String> {
    let rule =
        || format!("a rule whose paths name members and indices of its event; {path} does not");
    let pointer = path.strip_prefix('$').ok_or_else(rule)?;
    let pointer = pointer.replace(['.', '['], "/").replace(']', "");
    event.pointer(&pointer).cloned().ok_or_else(rule)
}

/// Replaces the variables in `template`. A variable between quotes is replaced by text, any other by JSON.
fn filled(
    template: &str,
    variable: impl Fn(&str) -> Result<Value, String>,
) -> Result<String, String> {
    let (mut rest, mut text) = (template, String::new());
    while let Some((before, name, after)) = next_variable(rest) {
        text.push_str(before);
        let value = variable(name)?;
        let json = value.to_string();
        match (is_quoted(&text), &value) {
            (true, Value::String(_)) => text.push_str(&json[1..json.len() - 1]),
            (true, _) => text.push_str(&json.replace('"', "\\\"")),
            (false, _) => text.push_str(&json),
        }
        rest = after;
    }
    Ok(text + rest)
}

/// Returns the text before the next `<name>`, the name, and the text after it; `None` without a further
/// variable.
fn next_variable(text: &str) -> Option<(&str, &str, &str)> {
    let (start, _) = text.match_indices('<').find(|(at, _)| {
        let name = text[at + 1..].split('>').next().unwrap_or_default();
        let allowed = |one: u8| one.is_ascii_alphanumeric() || b"-_.".contains(&one);
        !name.is_empty() && name.len() < text[at + 1..].len() && name.bytes().all(allowed)
    })?;
    let (name, after) = text[start + 1..].split_once('>')?;
    Some((&text[..start], name, after))
}

/// Returns whether the end of `text` is inside a JSON string.
fn is_quoted(text: &str) -> bool {
    let mut quoted = false;
    let mut bytes = text.bytes();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' => drop(bytes.next()),
            b'"' => quoted = !quoted,
            _ => {}
        }
    }
    quoted
}

#[cfg(test)]
mod tests {
    use super::*;
    use lockstep_core::domain::StateMachineArn;
    use std::collections::BTreeMap;

    const RULE: &str = "arn:aws:events:eu-west-1:123456789012:rule/nightly";

    fn input(arn: &str, input: TargetInput) -> Result<String, String> {
        let machine = "arn:aws:states:eu-west-1:123456789012:stateMachine:etl:PROD";
        let schedule = Schedule {
            arn: arn.into(),
            targets: vec![Target {
                state_machine: StateMachineArn::new(machine).unwrap(),
                input,
            }],
        };
        let tick = Tick {
            at: Timestamp::from_millis(1_767_225_600_000),
            id: "started-x",
        };
        let mut starts = schedule.starts(tick)?;
        assert_eq!(starts[0].state_machine.as_str(), machine);
        Ok(starts.remove(0).input.unwrap())
    }

    fn template(paths: &[(&str, &str)], template: &str) -> TargetInput {
        let path = |(name, path): &(&str, &str)| ((*name).to_owned(), (*path).to_owned());
        TargetInput::Template {
            paths: paths.iter().map(path).collect::<BTreeMap<_, _>>(),
            template: template.into(),
        }
    }

    #[test]
    fn the_attributes_of_the_scheduler_are_filled_in() {
        let arn = "arn:aws:scheduler:eu-west-1:123456789012:schedule/default/nightly";
        let text = r#"{"key": "<aws.scheduler.schedule-arn>#<aws.scheduler.scheduled-time>",
            "try": <aws.scheduler.attempt-number>, "of": "<aws.scheduler.execution-id>", "as": "<it.is>"}"#;

        let filled = input(arn, TargetInput::Attributes(text.into())).unwrap();

        let filled: Value = serde_json::from_str(&filled).unwrap();
        let expected = json!({
            "key": format!("{arn}#2026-01-01T00:00:00Z"), "try": 1, "of": "started-x", "as": "<it.is>",
        });
        assert_eq!(filled, expected);
    }

    #[test]
    fn a_rule_passes_its_event_a_part_of_it_or_a_text() {
        let event = input(RULE, TargetInput::Event("$".into())).unwrap();
        let event: Value = serde_json::from_str(&event).unwrap();

        assert_eq!(event["time"], "2026-01-01T00:00:00Z");
        assert_eq!(event["account"], "123456789012");
        assert_eq!(event["region"], "eu-west-1");
        for (part, expected) in [
            (
                TargetInput::Event("$.resources[0]".into()),
                format!("\"{RULE}\""),
            ),
            (TargetInput::Event("$.detail".into()), "{}".into()),
            (
                TargetInput::Constant("[\"<time>\"]".into()),
                "[\"<time>\"]".into(),
            ),
        ] {
            assert_eq!(input(RULE, part), Ok(expected));
        }
    }

    #[test]
    fn a_template_variable_is_text_in_quotes_and_json_elsewhere() {
        let paths = [
            ("time", "$.time"),
            ("all", "$.resources"),
            ("none", "$.detail"),
        ];
        for (text, expected) in [
            (
                r#"{"at": "<time>"}"#,
                json!({ "at": "2026-01-01T00:00:00Z" }),
            ),
            (r#"{"at": <time>}"#, json!({ "at": "2026-01-01T00:00:00Z" })),
            (
                r#"{"of": <all>, "x": <none>}"#,
                json!({ "of": [RULE], "x": {} }),
            ),
            (
                r#"{"of": "<all>"}"#,
                json!({ "of": format!("[\"{RULE}\"]") }),
            ),
            (
                r#"{"a\"": <time>}"#,
                json!({ "a\"": "2026-01-01T00:00:00Z" }),
            ),
            (
                r#""<aws.events.rule-name> < 1 <aws.events.rule-arn>#<aws.events.event.ingestion-time>""#,
                json!(format!("nightly < 1 {RULE}#2026-01-01T00:00:00Z")),
            ),
        ] {
            let filled = input(RULE, template(&paths, text)).unwrap();
            assert_eq!(serde_json::from_str::<Value>(&filled).unwrap(), expected);
        }
    }

    #[test]
    fn an_input_that_is_no_json_or_has_an_unknown_path_is_refused() {
        for (wrong, word) in [
            (TargetInput::Constant("{".into()), "JSON"),
            (TargetInput::Attributes("tick".into()), "JSON"),
            (TargetInput::Event("$.detail.file".into()), "$.detail.file"),
            (TargetInput::Event("detail".into()), "detail"),
            (template(&[("all", "$..x")], "[<all>]"), "$..x"),
            (template(&[], "[<time>]"), "<time>"),
        ] {
            let refused = input(RULE, wrong).unwrap_err();
            assert!(refused.contains(word), "{refused}");
        }
    }
}
