//! The answers that the files are made of, each with the rule that it is held to.

use super::template::Template;
use crate::args::parse;
use crate::audit::schedule::{check_expression, check_zone};
use regex_lite::Regex;

/// What an adopter was asked, and what ECS said about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Answers {
    /// Name of the stack of Lockstep.
    pub(super) stack: String,
    pub(super) lock: String,
    /// Base name of the files of the schedule. `<stack>-<name>` is the name of the schedule and of its stack.
    pub(super) name: String,
    pub(super) cluster: String,
    /// ARN of the task definition as a run names it, with a revision if the adopter named one.
    pub(super) task_definition: String,
    pub(super) container: String,
    pub(super) roles: Vec<String>,
    pub(super) launch: Launch,
    pub(super) subnets: String,
    pub(super) security_groups: String,
    pub(super) public_ip: bool,
    pub(super) schedule: String,
    pub(super) timezone: String,
    pub(super) max_run_seconds: u64,
    /// Empty for no mails.
    pub(super) email: String,
}

/// The rule of an address for mails: the pattern of `AlarmEmail`, and no character that SAM or TOML reads as its own.
const EMAIL: &str = "one address, such as oncall@example.com, without spaces, quotes, backslashes and control characters, \
                     or none";

/// Where ECS places a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Launch {
    Fargate,
    Ec2,
    /// Where the default capacity providers of the cluster place it.
    Cluster,
}

impl Launch {
    /// Returns the launch type that `--launch-type` names.
    pub(super) fn named(text: &str) -> Option<Self> {
        match text {
            "FARGATE" => Some(Self::Fargate),
            "EC2" => Some(Self::Ec2),
            "CLUSTER" => Some(Self::Cluster),
            _ => None,
        }
    }
}

/// A question: its flag, what it asks, and the rule of its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Question {
    Cluster,
    TaskDefinition,
    Container,
    TaskRole,
    LaunchType,
    Subnets,
    SecurityGroups,
    Timezone,
    Schedule,
    MaxRun,
    Email,
    Lock,
}

impl Question {
    /// Returns the flag and the text at the terminal.
    pub(super) fn texts(self) -> (&'static str, &'static str) {
        match self {
            Self::Cluster => ("--cluster", "ECS cluster (name or ARN)"),
            Self::TaskDefinition => (
                "--task-definition",
                "Task definition (FAMILY, FAMILY:REVISION or ARN)",
            ),
            Self::Container => ("--container", "Container that does the work"),
            Self::TaskRole => (
                "--task-role",
                "Task roles and execution roles (ARNs, separated by commas, or none)",
            ),
            Self::LaunchType => (
                "--launch-type",
                "Launch type (FARGATE, EC2, or CLUSTER for the capacity providers of the cluster)",
            ),
            Self::Subnets => ("--subnets", "Subnets (separated by commas)"),
            Self::SecurityGroups => ("--security-groups", "Security groups (separated by commas)"),
            Self::Schedule => (
                "--schedule",
                "When it starts, such as rate(1 hour) or cron(0 6 * * ? *)",
            ),
            Self::Timezone => ("--timezone", "Time zone"),
            Self::MaxRun => (
                "--max-run",
                "Time limit of a run, twice the longest good one, such as 2h",
            ),
            Self::Email => ("--email", "Address for alarms and messages, or none"),
            Self::Lock => ("--lock", "Name of the lock"),
        }
    }

    /// Checks an answer. With `offline`, a cluster and a task definition are ARNs.
    ///
    /// # Errors
    /// The flag, the value and the rule that the value breaks, in one line.
    pub(super) fn check(self, value: &str, offline: bool) -> Result<(), String> {
        let checked = match self {
            Self::Cluster if offline || value.starts_with("arn:") => {
                let arns = Template::lockstep().check("ClusterArns", value);
                let rule = "the ARN of one cluster";
                arns.map_err(|_| rule.to_owned())
                    .and(one_of_a_list(value, rule))
            }
            Self::TaskDefinition if offline || value.starts_with("arn:") => {
                let arns = Template::lockstep().check("TaskDefinitionArns", &every_revision(value));
                let rule = "the ARN of one task definition, with or without a revision";
                let (_, revision) = value.split_at(family(value).len());
                arns.map_err(|_| rule.to_owned())
                    .and(one_of_a_list(value, rule))
                    .and(word(revision, "(:[1-9][0-9]*)?", rule))
            }
            Self::Cluster => word(
                value,
                "[A-Za-z0-9_-]{1,255}",
                "the name or the ARN of a cluster",
            ),
            Self::TaskDefinition => word(
                value,
                "[A-Za-z0-9_-]{1,255}(:[1-9][0-9]*)?",
                "FAMILY, FAMILY:REVISION or an ARN",
            ),
            Self::Container => word(value, "[A-Za-z0-9_-]{1,255}", "the name of a container"),
            Self::TaskRole if value == "none" => Ok(()),
            Self::TaskRole if value.contains('*') => Err("ARNs without *".into()),
            Self::TaskRole => not_empty(value, "TaskRoleArns"),
            Self::LaunchType => match Launch::named(value) {
                Some(_) => Ok(()),
                None => Err(
                    "FARGATE, EC2 or CLUSTER; docs/ways/schedule.md has the input for others"
                        .into(),
                ),
            },
            Self::Subnets => not_empty(value, "SubnetIds").and(at_most(value, 16)),
            Self::SecurityGroups => not_empty(value, "SecurityGroupIds").and(at_most(value, 5)),
            Self::Schedule => check_expression(value),
            Self::Timezone => check_zone(value),
            Self::MaxRun => parse::limit(value).map(drop),
            Self::Email if value == "none" => Ok(()),
            Self::Email => {
                let is_of_sam = |c: char| r#""'\"#.contains(c);
                let is_out = |c: char| c.is_whitespace() || c.is_control() || is_of_sam(c);
                let checked = Template::lockstep().check("AlarmEmail", value);
                match checked.is_err() || value.contains(is_out) {
                    true => Err(EMAIL.into()),
                    false => Ok(()),
                }
            }
            Self::Lock => parse::lock(value)
                .map(drop)
                .and(Template::schedule().check("LockName", value)),
        };
        let (flag, _) = self.texts();
        checked.map_err(|rule| {
            let rule = rule.strip_prefix("must be ").unwrap_or(&rule);
            format!("{flag} is {value:?}, but must be {rule}")
        })
    }
}

/// Returns the ARN of the family of a task definition.
pub(super) fn family(arn: &str) -> &str {
    let (family, revision) = arn.rsplit_once(':').unwrap_or((arn, ""));
    match revision.bytes().all(|byte| byte.is_ascii_digit()) && !revision.is_empty() {
        true => family,
        false => arn,
    }
}

/// Returns the entry of `TaskDefinitionArns` for every revision of a task definition.
pub(super) fn every_revision(arn: &str) -> String {
    format!("{}:*", family(arn))
}

/// Checks a list that has an entry and none that is empty. The pattern of the parameter takes a comma before the first.
fn not_empty(value: &str, parameter: &str) -> Result<(), String> {
    match value.is_empty() || value.starts_with(',') {
        true => Template::lockstep().check(parameter, "-"),
        false => Template::lockstep().check(parameter, value),
    }
}

/// Checks that a list is no longer than ECS takes it
/// (<https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_AwsVpcConfiguration.html>).
fn at_most(value: &str, most: usize) -> Result<(), String> {
    match value.split(',').count() <= most {
        true => Ok(()),
        false => Err(format!("at most {most} of them, which is the limit of ECS")),
    }
}

fn one_of_a_list(value: &str, rule: &str) -> Result<(), String> {
    match value.is_empty() || value.contains([',', '*']) {
        true => Err(rule.to_owned()),
        false => Ok(()),
    }
}

/// Checks that all of `value` matches `pattern`, else returns `rule`.
pub(super) fn word(value: &str, pattern: &str, rule: &str) -> Result<(), String> {
    let pattern = Regex::new(&format!("^(?:{pattern})$"));
    match pattern.is_ok_and(|pattern| pattern.is_match(value)) {
        true => Ok(()),
        false => Err(rule.to_owned()),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in super::super) fn answers() -> Answers {
        let place = "eu-west-1:111122223333";
        Answers {
            stack: "lockstep".into(),
            lock: "reports/hourly".into(),
            name: "reports-hourly".into(),
            cluster: format!("arn:aws:ecs:{place}:cluster/batch"),
            task_definition: format!("arn:aws:ecs:{place}:task-definition/report:4"),
            container: "app".into(),
            roles: vec!["arn:aws:iam::111122223333:role/a".into()],
            launch: Launch::Fargate,
            subnets: "subnet-1,subnet-2".into(),
            security_groups: "sg-1".into(),
            public_ip: false,
            schedule: "cron(0 6 * * ? *)".into(),
            timezone: "Europe/Berlin".into(),
            max_run_seconds: 7_200,
            email: "oncall@example.com".into(),
        }
    }

    /// Checks that a question takes the answers of `good` and none of `bad`.
    fn assert_takes(question: Question, good: &[&str], bad: &[&str]) {
        for value in good {
            assert_eq!(question.check(value, false), Ok(()), "{question:?}");
        }
        for value in bad {
            let refused = question.check(value, false).unwrap_err();
            let (flag, _) = question.texts();
            let begin = format!("{flag} is {value:?}, but must be ");
            assert!(refused.starts_with(&begin), "{refused}");
            assert!(refused.len() > begin.len(), "{refused}");
        }
    }

    #[test]
    fn an_answer_about_the_task_that_is_refused_names_flag_value_and_rule() {
        use Question as Q;
        let arn = "arn:aws:ecs:eu-west-1:111122223333:";
        let cluster = format!("{arn}cluster/batch");
        let task = format!("{arn}task-definition/report");
        for (question, good, bad) in [
            (
                Q::Cluster,
                vec!["batch", &cluster],
                vec!["", "a b", "batch*", &task],
            ),
            (
                Q::TaskDefinition,
                vec!["report", "report:4", &task, &format!("{task}:4")],
                vec![
                    "",
                    "report:0",
                    "report:*",
                    &cluster,
                    &format!("{task}:*"),
                    &format!("{task}:0"),
                    &format!("{task}:007"),
                    &format!("{task},{task}"),
                ],
            ),
            (Q::Container, vec!["app"], vec!["", "a b"]),
            (
                Q::LaunchType,
                vec!["FARGATE", "EC2", "CLUSTER"],
                vec!["", "fargate", "EXTERNAL", "MANAGED_INSTANCES"],
            ),
            (
                Q::TaskRole,
                vec!["none", "arn:aws:iam::111122223333:role/a"],
                vec![
                    "",
                    "role/a",
                    ",arn:aws:iam::111122223333:role/a",
                    "arn:aws:iam::111122223333:role/a, none",
                    "arn:aws:iam::111122223333:role/a*",
                ],
            ),
        ] {
            assert_takes(question, &good, &bad);
        }
    }

    #[test]
    fn an_answer_about_the_run_that_is_refused_names_flag_value_and_rule() {
        use Question as Q;
        for (question, good, bad) in [
            (
                Q::Subnets,
                vec!["subnet-1", "subnet-1,subnet-2"],
                vec!["", "sg-1", "subnet-1 ", ",subnet-1", "subnet-1,"],
            ),
            (
                Q::SecurityGroups,
                vec!["sg-1", "sg-1,sg-2,sg-3,sg-4,sg-5"],
                vec!["", "subnet-1", ",sg-1", "sg-1,sg-2,sg-3,sg-4,sg-5,sg-6"],
            ),
            (
                Q::Schedule,
                vec!["rate(1 hour)", "cron(0 6 * * ? *)"],
                vec!["hourly", "cron(0 6 * * * *)"],
            ),
            (
                Q::Timezone,
                vec!["UTC", "Europe/Berlin"],
                vec!["", "Mars/Olympus"],
            ),
            (Q::MaxRun, vec!["2h", "1s"], vec!["", "0s", "366d", "2"]),
            (
                Q::Email,
                vec!["", "none", "a@example.com", "a+b@example.com"],
                vec![
                    "a",
                    "a@b@example.com",
                    "a@example.com,b@example.com",
                    "@example.com",
                    "a@",
                    "a\tb@example.com",
                    "a\u{a0}b@example.com",
                    r"a\b@example.com",
                    "a'b@example.com",
                    r#""a"@example.com"#,
                    "a b@example.com",
                    "a\u{7}@example.com",
                ],
            ),
            (
                Q::Lock,
                vec!["hourly-report", "a/b"],
                vec!["", "a b", "-a", "a:b"],
            ),
        ] {
            assert_takes(question, &good, &bad);
        }
    }

    #[test]
    fn the_rule_of_an_address_says_what_is_checked() {
        for address in ["oncall", "a b@example.com", "\"a\"@example.com"] {
            let refused = Question::Email.check(address, false).unwrap_err();
            let expected = format!(
                "--email is {address:?}, but must be one address, such as oncall@example.com, without spaces, quotes, \
                 backslashes and control characters, or none"
            );
            assert_eq!(refused, expected);
        }
    }

    #[test]
    fn without_aws_a_cluster_and_a_task_definition_are_arns() {
        for (question, name) in [
            (Question::Cluster, "batch"),
            (Question::TaskDefinition, "report"),
        ] {
            assert_eq!(question.check(name, false), Ok(()));
            let refused = question.check(name, true).unwrap_err();
            assert!(refused.contains("the ARN of one"), "{refused}");
        }
    }

    #[test]
    fn the_entry_of_a_task_definition_has_every_revision() {
        let arn = "arn:aws:ecs:eu-west-1:111122223333:task-definition/report";
        for given in [arn.to_owned(), format!("{arn}:4")] {
            assert_eq!(every_revision(&given), format!("{arn}:*"));
        }
    }
}
