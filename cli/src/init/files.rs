//! The files that an adopter gets: their texts, and how they are written.

use super::answers::{Answers, Launch, every_revision};
use super::template::SCHEDULE;
use crate::exit::Exit;
use crate::operate::ActError;
use crate::platform::file::write_whole;
use std::fmt::Write;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

/// The folder of the files, in the adopter's repository.
pub(super) const FOLDER: &str = "lockstep";
/// The saved answers of `sam deploy` for the stack of Lockstep.
pub(super) const LOCKSTEP_CONFIG: &str = "lockstep/samconfig.toml";

/// What the parameters of a template begin with.
const PARAMETERS: &str = "\n\nParameters:\n";

/// A file to be written.
#[derive(Debug)]
pub(super) struct File {
    /// Path from the adopter's repository.
    pub(super) path: String,
    text: String,
}

/// What happened to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Written,
    /// It had the same text before.
    Unchanged,
}

impl Answers {
    /// Returns the name of the files of the lock, and of the stack of its schedule: the name of the lock, with a
    /// hyphen for each character that the name of a stack may not have.
    pub(super) fn name(&self) -> String {
        let allowed = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
        let name: String = self.lock.chars().map(allowed).collect();
        match name.starts_with(|c: char| c.is_ascii_alphabetic()) {
            true => name,
            false => format!("lock-{name}"),
        }
    }

    /// Returns the path of the template of the schedule.
    pub(super) fn schedule_template(&self) -> String {
        format!("{FOLDER}/{}.yaml", self.name())
    }

    /// Returns the path of the saved answers of `sam deploy` for the schedule.
    pub(super) fn schedule_config(&self) -> String {
        format!("{FOLDER}/{}.samconfig.toml", self.name())
    }

    /// Returns the files.
    pub(super) fn files(&self) -> [File; 3] {
        let schedule = samconfig(
            &format!("the schedule of the lock {}", self.lock),
            &self.name(),
            self.region(),
            &[],
        );
        let lockstep = samconfig(
            "the stack of Lockstep",
            &self.stack,
            self.region(),
            &self.lockstep_parameters(),
        );
        [
            (LOCKSTEP_CONFIG.to_owned(), lockstep),
            (self.schedule_template(), self.schedule_text()),
            (self.schedule_config(), schedule),
        ]
        .map(|(path, text)| File { path, text })
    }

    /// Returns the parameters of the stack of Lockstep. Those that are left out have their defaults.
    pub(super) fn lockstep_parameters(&self) -> Vec<(&'static str, String)> {
        let all = [
            ("TaskDefinitionArns", every_revision(&self.task_definition)),
            ("TaskRoleArns", self.roles.join(",")),
            ("ClusterArns", self.cluster.clone()),
            ("AlarmEmail", self.email.clone()),
        ];
        let given = all.into_iter().filter(|(_, value)| !value.is_empty());
        given.collect()
    }

    /// Returns the Region of the cluster.
    pub(super) fn region(&self) -> &str {
        self.cluster.split(':').nth(3).unwrap_or_default()
    }

    /// Returns the template of the schedule: the example, with the answers as the defaults of its parameters.
    fn schedule_text(&self) -> String {
        let defaults = [
            ("LockstepStackName", &self.stack),
            ("LockName", &self.lock),
            ("ScheduleExpression", &self.schedule),
            ("ScheduleTimezone", &self.timezone),
            ("MaxRunSeconds", &self.max_run_seconds.to_string()),
            ("ClusterArn", &self.cluster),
            ("TaskDefinitionArn", &self.task_definition),
            ("ContainerName", &self.container),
            ("SubnetIds", &self.subnets),
            ("SecurityGroupIds", &self.security_groups),
        ];
        let (_, body) = SCHEDULE.split_once(PARAMETERS).unwrap_or_default();
        let mut text = format!(
            "AWSTemplateFormatVersion: \"2010-09-09\"\n\
             Description: A schedule of an ECS task under the lock {}\n\n\
             # Written by `lockstep init`. {} has the answers of `sam deploy`.{PARAMETERS}",
            self.lock,
            self.schedule_config()
        );
        let mut default = None;
        for line in body.lines() {
            let name = line
                .strip_prefix("  ")
                .and_then(|line| line.strip_suffix(':'));
            if let Some(name) = name.filter(|name| !name.starts_with(' ')) {
                default = defaults.iter().find(|(known, _)| *known == name);
            }
            match default {
                Some(_) if line.starts_with("    Default:") => {}
                Some((_, value)) if line.starts_with("    Type:") => {
                    let _ = writeln!(text, "{line}\n    Default: {}", quoted(value));
                }
                _ => {
                    let _ = writeln!(text, "{line}");
                }
            }
        }
        // A name of its own, so that `lockstep start --schedule` can be typed before the stack is there.
        const SCHEDULE_HEAD: &str = "    Type: AWS::Scheduler::Schedule\n    Properties:\n";
        let named = format!("{SCHEDULE_HEAD}      Name: !Ref AWS::StackName\n");
        self.placed(text.replace(SCHEDULE_HEAD, &named))
    }

    /// Returns the template with the launch type of the task. Only a task on Fargate may have a public address
    /// (<https://docs.aws.amazon.com/AmazonECS/latest/APIReference/API_AwsVpcConfiguration.html>).
    fn placed(&self, text: String) -> String {
        const ADDRESS: &str = r#""AssignPublicIp": "DISABLED""#;
        match self.launch {
            Launch::Fargate if self.public_ip => {
                text.replace(ADDRESS, r#""AssignPublicIp": "ENABLED""#)
            }
            Launch::Fargate => text,
            Launch::Ec2 => {
                let lines = text.lines().filter(|line| line.trim() != ADDRESS);
                let text: String = lines.map(|line| format!("{line}\n")).collect();
                let groups = r#""SecurityGroups": ["${SecurityGroups}"]"#;
                text.replace(&format!("{groups},"), groups)
                    .replace(r#""LaunchType": "FARGATE""#, r#""LaunchType": "EC2""#)
            }
        }
    }
}

/// Returns the saved answers of `sam deploy` for a stack, with which it asks nothing.
fn samconfig(what: &str, stack: &str, region: &str, parameters: &[(&str, String)]) -> String {
    let assignments = parameters.iter().map(|(name, value)| {
        let assignment = quoted(&format!("{name}={value}"));
        format!("    {assignment},\n")
    });
    let overrides = match parameters.is_empty() {
        true => String::new(),
        false => format!(
            "parameter_overrides = [\n{}]\n",
            assignments.collect::<String>()
        ),
    };
    format!(
        "# Written by `lockstep init`: the answers of `sam deploy` for {what}.
version = 0.1

[default.deploy.parameters]
stack_name = {stack}
region = {region}
capabilities = \"CAPABILITY_IAM\"
resolve_s3 = true
s3_prefix = {stack}
confirm_changeset = false
fail_on_empty_changeset = false
{overrides}",
        stack = quoted(stack),
        region = quoted(region),
    )
}

/// Returns a text in quotes, as JSON, TOML and YAML read it.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Writes the files below `directory`, or none of them.
///
/// # Errors
/// [`ActError`] if a file exists with another text and `force` is not set, or if a file cannot be written.
pub(super) fn write(
    directory: &Path,
    files: &[File],
    force: bool,
) -> Result<Vec<Change>, ActError> {
    let mut changes = Vec::new();
    for file in files {
        let path = directory.join(&file.path);
        let refused =
            |why: String| ActError::new(Exit::CANNOT_WRITE, format!("{}: {why}", path.display()));
        changes.push(match fs::read_to_string(&path) {
            Ok(before) if before == file.text => Change::Unchanged,
            Err(error) if error.kind() == ErrorKind::NotFound => Change::Written,
            Ok(_) if force => Change::Written,
            Ok(_) => {
                let why =
                    "it exists with other content, and nothing was written: --force replaces it";
                return Err(refused(why.into()));
            }
            Err(error) => return Err(refused(format!("it cannot be read: {error}"))),
        });
    }
    for (file, change) in files.iter().zip(&changes) {
        if *change == Change::Written {
            let path: PathBuf = directory.join(&file.path);
            let folder = path.parent().unwrap_or(directory);
            let written = fs::create_dir_all(folder).and_then(|()| write_whole(&path, &file.text));
            written.map_err(|error| {
                let text = format!("{} cannot be written: {error}", path.display());
                ActError::new(Exit::CANNOT_WRITE, text)
            })?;
        }
    }
    Ok(changes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers() -> Answers {
        let place = "eu-west-1:111122223333";
        Answers {
            stack: "lockstep".into(),
            lock: "reports/hourly".into(),
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

    /// Returns the template of the schedule, and the lines in which it differs from the example.
    fn changed(answers: &Answers) -> (String, Vec<String>) {
        let text = answers.schedule_text();
        let added = text
            .lines()
            .filter(|line| !SCHEDULE.lines().any(|of| of == *line));
        let added = added.map(|line| line.trim().to_owned()).collect();
        (text, added)
    }

    #[test]
    fn the_template_is_the_example_with_the_answers_as_defaults() {
        let (text, added) = changed(&answers());

        let expected = [
            "Description: A schedule of an ECS task under the lock reports/hourly",
            "# Written by `lockstep init`. lockstep/reports-hourly.samconfig.toml has the answers of `sam deploy`.",
            r#"Default: "lockstep""#,
            r#"Default: "reports/hourly""#,
            r#"Default: "cron(0 6 * * ? *)""#,
            r#"Default: "Europe/Berlin""#,
            r#"Default: "7200""#,
            r#"Default: "arn:aws:ecs:eu-west-1:111122223333:cluster/batch""#,
            r#"Default: "arn:aws:ecs:eu-west-1:111122223333:task-definition/report:4""#,
            r#"Default: "app""#,
            r#"Default: "subnet-1,subnet-2""#,
            r#"Default: "sg-1""#,
            "Name: !Ref AWS::StackName",
        ];
        assert_eq!(added, expected);
        let parameters =
            SCHEDULE.matches("    Type: ").count() - SCHEDULE.matches("    Type: AWS::").count();
        assert_eq!(text.matches("    Default: ").count(), parameters);
        assert!(!text.contains("infra/examples"), "{text}");
    }

    #[test]
    fn a_task_has_its_launch_type_and_only_on_fargate_a_public_address() {
        let on_instances = Answers {
            launch: Launch::Ec2,
            ..answers()
        };
        let public = Answers {
            public_ip: true,
            ..answers()
        };

        let ((ec2, _), (public, _)) = (changed(&on_instances), changed(&public));

        assert!(ec2.contains(r#""LaunchType": "EC2""#), "{ec2}");
        assert!(!ec2.contains("AssignPublicIp"), "{ec2}");
        assert!(ec2.contains("[\"${SecurityGroups}\"]\n"), "{ec2}");
        assert!(
            public.contains(r#""AssignPublicIp": "ENABLED""#),
            "{public}"
        );
    }

    #[test]
    fn an_empty_answer_is_no_parameter() {
        let quiet = Answers {
            email: String::new(),
            roles: Vec::new(),
            ..answers()
        };

        let names = quiet
            .lockstep_parameters()
            .into_iter()
            .map(|(name, _)| name);

        assert_eq!(
            names.collect::<Vec<_>>(),
            ["TaskDefinitionArns", "ClusterArns"]
        );
    }

    #[test]
    fn a_stack_has_a_name_that_cloudformation_takes() {
        for (lock, name) in [("reports/hourly", "reports-hourly"), ("1.a", "lock-1-a")] {
            let answers = Answers {
                lock: lock.into(),
                ..answers()
            };
            assert_eq!(answers.name(), name);
        }
    }
}
