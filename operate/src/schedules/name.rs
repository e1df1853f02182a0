//! The name by which a request gives a schedule or a rule.

use lockstep_core::domain::Invalid;
use std::fmt;

/// The group of a schedule whose name is given without a group.
const DEFAULT_GROUP: &str = "default";

/// Longest name of a schedule, a group or a rule, in characters
/// (<https://docs.aws.amazon.com/scheduler/latest/APIReference/API_GetSchedule.html>).
const LENGTH_MAX: usize = 64;

/// The ARN of a schedule or a rule, `GROUP/NAME` of a schedule, or the name of either.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScheduleName {
    text: String,
    in_scheduler: Option<(String, String)>,
    of_rule: Option<String>,
}

impl ScheduleName {
    /// The rule for these names.
    pub const RULE: &'static str = "the ARN of a schedule or of a rule of the default event bus, GROUP/NAME of a schedule, or a name";

    /// Reads a name that follows [`Self::RULE`].
    ///
    /// # Errors
    /// [`Invalid`] with the rule.
    pub fn new(text: impl Into<String>) -> Result<Self, Invalid> {
        let text = text.into();
        let (in_scheduler, of_rule) = parts(&text).ok_or(Invalid { rule: Self::RULE })?;
        Ok(Self {
            text,
            in_scheduler,
            of_rule,
        })
    }

    /// Returns the group and the name of the schedule that this may name; `None` if it can name only a rule.
    #[must_use]
    pub fn in_scheduler(&self) -> Option<(&str, &str)> {
        let (group, name) = self.in_scheduler.as_ref()?;
        Some((group, name))
    }

    /// Returns the name of the rule that this may name; `None` if it can name only a schedule.
    #[must_use]
    pub fn of_rule(&self) -> Option<&str> {
        self.of_rule.as_deref()
    }

    /// Returns whether this names the schedule or the rule with the ARN `arn`. If this is an ARN, both must
    /// be equal: the calls look up only the name, and could find it in another account or Region.
    #[must_use]
    pub fn is_of(&self, arn: &str) -> bool {
        !self.text.starts_with("arn:") || self.text == arn
    }
}

impl fmt::Display for ScheduleName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

type Parts = (Option<(String, String)>, Option<String>);

/// Returns the schedule and the rule that `text` may name; `None` if it can name neither.
fn parts(text: &str) -> Option<Parts> {
    let scheduled = |group: &str, name: &str| {
        let is_valid = is_name(group) && is_name(name);
        is_valid.then(|| (group.to_owned(), name.to_owned()))
    };
    let rule = |name: &str| is_name(name).then(|| name.to_owned());
    let resource = match text.split(':').collect::<Vec<_>>()[..] {
        ["arn", _, service @ ("scheduler" | "events"), _, _, resource] => Some((service, resource)),
        _ => None,
    };
    match (resource, text.split_once('/')) {
        (Some(("scheduler", resource)), _) => {
            let (group, name) = resource.strip_prefix("schedule/")?.split_once('/')?;
            Some((Some(scheduled(group, name)?), None))
        }
        (Some((_, resource)), _) => Some((None, Some(rule(resource.strip_prefix("rule/")?)?))),
        (None, Some((group, name))) => Some((Some(scheduled(group, name)?), None)),
        (None, None) => Some((Some(scheduled(DEFAULT_GROUP, text)?), Some(rule(text)?))),
    }
}

fn is_name(text: &str) -> bool {
    let allowed = |one: u8| one.is_ascii_alphanumeric() || b"-_.".contains(&one);
    let is_path = text == "." || text == "..";
    !is_path && (1..=LENGTH_MAX).contains(&text.len()) && text.bytes().all(allowed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_of_a_schedule_of_a_rule_or_of_either() {
        for (text, scheduled, rule) in [
            ("nightly", Some(("default", "nightly")), Some("nightly")),
            ("batch/nightly", Some(("batch", "nightly")), None),
            (
                "arn:aws:scheduler:eu-west-1:1:schedule/batch/nightly",
                Some(("batch", "nightly")),
                None,
            ),
            (
                "arn:aws-cn:events:cn-north-1:1:rule/nightly",
                None,
                Some("nightly"),
            ),
        ] {
            let name = ScheduleName::new(text).unwrap();
            assert_eq!((name.in_scheduler(), name.of_rule()), (scheduled, rule));
        }
    }

    #[test]
    fn a_text_that_can_name_no_schedule_and_no_rule_is_refused() {
        let long = "x".repeat(65);
        for text in [
            "",
            ".",
            "batch/..",
            "a b",
            "a/b/c",
            "/nightly",
            "batch/",
            &long,
            "arn:aws:events:eu-west-1:1:rule/bus/nightly",
            "arn:aws:scheduler:eu-west-1:1:schedule/nightly",
            "arn:aws:states:eu-west-1:1:stateMachine:nightly",
        ] {
            assert!(ScheduleName::new(text).is_err(), "{text}");
        }
    }

    #[test]
    fn an_arn_is_of_one_account_and_a_name_of_any() {
        let arn = "arn:aws:events:eu-west-1:1:rule/nightly";
        let other = "arn:aws:events:eu-west-1:2:rule/nightly";

        assert!(ScheduleName::new(arn).unwrap().is_of(arn));
        assert!(!ScheduleName::new(arn).unwrap().is_of(other));
        assert!(ScheduleName::new("nightly").unwrap().is_of(other));
    }
}
