//! The rules for parameters in the templates that are deployed, so that a value is refused here and not by
//! CloudFormation minutes later.

use regex_lite::Regex;
use saphyr::{LoadableYamlNode, Yaml};

/// The template of Lockstep.
const LOCKSTEP: &str = include_str!("../../templates/template.yaml");
/// The template of a schedule, which is copied with the answers as defaults.
pub(super) const SCHEDULE: &str = include_str!("../../templates/schedule.yaml");

/// The parameters of a template.
pub(super) struct Template {
    parameters: Yaml<'static>,
}

impl Template {
    /// Returns the parameters of Lockstep.
    ///
    /// # Panics
    /// If the template that the binary contains is no YAML.
    pub(super) fn lockstep() -> Self {
        Self::of(LOCKSTEP)
    }

    /// Returns the parameters of a schedule.
    ///
    /// # Panics
    /// If the template that the binary contains is no YAML.
    pub(super) fn schedule() -> Self {
        Self::of(SCHEDULE)
    }

    /// Reads the section of the parameters only, which is a small part of a template.
    fn of(text: &'static str) -> Self {
        let (_, rest) = text.split_once("\nParameters:\n").unwrap_or_default();
        let is_inside = |line: &str| line.is_empty() || line.starts_with([' ', '#']);
        let lines = rest.split_inclusive('\n');
        let length: usize = lines
            .take_while(|line| is_inside(line.trim_end()))
            .map(str::len)
            .sum();
        let documents = Yaml::load_from_str(&rest[..length]).unwrap_or_default();
        let parameters = documents.into_iter().next();
        Self {
            parameters: parameters.unwrap_or(Yaml::BadValue),
        }
    }

    fn field(&self, parameter: &str, name: &str) -> Option<&Yaml<'static>> {
        let parameter = self.parameters.as_mapping_get(parameter)?;
        parameter.as_mapping_get(name)
    }

    /// Checks that `value` is one that CloudFormation takes for `parameter`.
    ///
    /// # Errors
    /// The rule that the value breaks, to follow "must be".
    pub(super) fn check(&self, parameter: &str, value: &str) -> Result<(), String> {
        let text = |name| self.field(parameter, name).and_then(Yaml::as_str);
        let most = self
            .field(parameter, "MaxLength")
            .and_then(Yaml::as_integer);
        if let Some(most) = most
            && value.chars().count() as u64 > most.unsigned_abs()
        {
            return Err(format!("at most {most} characters long"));
        }
        let Some(pattern) = text("AllowedPattern") else {
            return Ok(());
        };
        let matches = Regex::new(pattern).is_ok_and(|pattern| pattern.is_match(value));
        match (matches, text("ConstraintDescription")) {
            (true, _) => Ok(()),
            (false, Some(rule)) => Err(rule.to_owned()),
            (false, None) => Err(format!("a text that matches {pattern}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_of_the_templates_can_be_read() {
        for template in [Template::lockstep(), Template::schedule()] {
            let parameters = template.parameters.as_mapping().expect("parameters");
            assert!(parameters.len() > 5);
            for parameter in parameters.values() {
                if let Some(pattern) = parameter.as_mapping_get("AllowedPattern") {
                    let pattern = pattern.as_str().expect("a text");
                    assert!(Regex::new(pattern).is_ok(), "{pattern}");
                }
            }
        }
    }

    #[test]
    fn a_value_is_held_to_pattern_and_length_of_its_parameter() {
        let lockstep = Template::lockstep();
        let family = "arn:aws:ecs:eu-west-1:111122223333:task-definition/report";
        for (parameter, value, passes) in [
            ("TaskDefinitionArns", &*format!("{family}:*"), true),
            (
                "TaskDefinitionArns",
                &format!("{family}:*,{family}-b:3"),
                true,
            ),
            ("TaskDefinitionArns", family, false),
            (
                "TaskDefinitionArns",
                &format!("{family}{}:*", "x".repeat(3_100)),
                false,
            ),
            (
                "TaskRoleArns",
                "arn:aws:iam::111122223333:role/batches/a",
                true,
            ),
            ("TaskRoleArns", "arn:aws:iam::1111:role/a", false),
            ("AlarmEmail", "oncall@example.com", true),
            ("AlarmEmail", "oncall", false),
            ("SubnetIds", "subnet-1,subnet-2", true),
            ("SubnetIds", "subnet-1, subnet-2", false),
            ("LogLevel", "info", true),
        ] {
            let checked = lockstep.check(parameter, value);
            assert_eq!(checked.is_ok(), passes, "{parameter} {value}: {checked:?}");
        }
    }
}
