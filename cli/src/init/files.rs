//! The files that an adopter gets.

use super::answers::{Answers, Launch};
use super::earlier::Earlier;
use super::saved::{FOLDER, LOCKSTEP_CONFIG, samconfig};
use super::template::SCHEDULE;
use std::fmt::Write;

/// What the parameters of a template begin with.
const PARAMETERS: &str = "\n\nParameters:\n";

/// A file to be written.
#[derive(Debug)]
pub(super) struct File {
    /// Path from the adopter's repository.
    pub(super) path: String,
    pub(super) text: String,
    /// The text that the file had when it was read, if this text has all of that.
    pub(super) added_to: Option<String>,
}

impl Answers {
    /// Returns the name of the schedule and of its stack. It begins with the name of the stack of Lockstep, because a
    /// stack that is named after a batch is often the adopter's own.
    pub(super) fn schedule_name(&self) -> String {
        format!("{}-{}", self.stack, self.name)
    }

    /// Returns the path of the template of the schedule.
    pub(super) fn schedule_template(&self) -> String {
        format!("{FOLDER}/{}.yaml", self.name)
    }

    /// Returns the path of the saved answers of `sam deploy` for the schedule.
    pub(super) fn schedule_config(&self) -> String {
        format!("{FOLDER}/{}.samconfig.toml", self.name)
    }

    /// Returns the files. That of the stack of Lockstep comes last: the others are of no use without it, and it is of
    /// use without them.
    pub(super) fn files(&self, earlier: &Earlier) -> [File; 3] {
        // `sam deploy` asks before it changes this stack. A stack of the same name may belong to somebody else.
        let schedule = samconfig(
            &format!("the schedule of the lock {}", self.lock),
            &self.schedule_name(),
            self.region(),
            true,
            &self.schedule_parameters(),
        );
        let file = |path, text, added_to| File {
            path,
            text,
            added_to,
        };
        [
            file(self.schedule_template(), self.schedule_text(), None),
            file(self.schedule_config(), schedule, None),
            file(
                LOCKSTEP_CONFIG.to_owned(),
                earlier.config(self),
                earlier.kept_text(self),
            ),
        ]
    }

    /// Returns the Region of the cluster.
    pub(super) fn region(&self) -> &str {
        self.cluster.split(':').nth(3).unwrap_or_default()
    }

    /// Returns the parameters of the schedule.
    fn schedule_parameters(&self) -> Vec<(&'static str, String)> {
        let all = [
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
        all.map(|(name, value)| (name, value.clone())).into()
    }

    /// Returns the template of the schedule: the example without defaults of parameters. CloudFormation keeps the
    /// value that a parameter has, so a default that is corrected later would change nothing.
    fn schedule_text(&self) -> String {
        let (_, body) = SCHEDULE.split_once(PARAMETERS).unwrap_or_default();
        let mut text = format!(
            "AWSTemplateFormatVersion: \"2010-09-09\"\n\
             Description: A schedule of an ECS task under the lock {}\n\n\
             # Written by `lockstep init`. {} has the values of the parameters.{PARAMETERS}",
            self.lock,
            self.schedule_config()
        );
        for line in body
            .lines()
            .filter(|line| !line.starts_with("    Default:"))
        {
            let _ = writeln!(text, "{line}");
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
        const TYPE: &str = r#""LaunchType": "FARGATE""#;
        const GROUPS: &str = r#""SecurityGroups": ["${SecurityGroups}"]"#;
        let without = |text: &str, part: &str| {
            let lines = text.lines().filter(|line| line.trim() != part);
            lines.map(|line| format!("{line}\n")).collect::<String>()
        };
        let text = match self.launch {
            Launch::Fargate => text,
            Launch::Ec2 => text.replace(TYPE, r#""LaunchType": "EC2""#),
            Launch::Cluster => without(&text, &format!("{TYPE},")),
        };
        match self.launch {
            _ if self.public_ip => text.replace(ADDRESS, r#""AssignPublicIp": "ENABLED""#),
            Launch::Fargate => text,
            Launch::Ec2 | Launch::Cluster => {
                without(&text, ADDRESS).replace(&format!("{GROUPS},"), GROUPS)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::answers::tests::answers;
    use super::*;

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
    fn the_template_is_the_example_with_a_name_and_without_defaults() {
        let (text, added) = changed(&answers());

        let expected = [
            "Description: A schedule of an ECS task under the lock reports/hourly",
            "# Written by `lockstep init`. lockstep/reports-hourly.samconfig.toml has the values of the parameters.",
            "Name: !Ref AWS::StackName",
        ];
        assert_eq!(added, expected);
        assert!(!text.contains("    Default:"), "{text}");
        assert!(!text.contains("infra/examples"), "{text}");
    }

    #[test]
    fn the_saved_answers_have_every_parameter_of_the_template() {
        let parameters =
            SCHEDULE.matches("    Type: ").count() - SCHEDULE.matches("    Type: AWS::").count();
        let given = answers().schedule_parameters();

        assert_eq!(given.len(), parameters);
        for (name, _) in given {
            assert!(
                SCHEDULE.contains(&format!("\n  {name}:\n    Type: ")),
                "{name}"
            );
        }
    }

    #[test]
    fn a_task_has_its_launch_type_and_only_on_fargate_a_public_address() {
        let on_instances = Answers {
            launch: Launch::Ec2,
            ..answers()
        };
        let in_cluster = Answers {
            launch: Launch::Cluster,
            ..answers()
        };
        let public = Answers {
            public_ip: true,
            ..answers()
        };

        let (ec2, _) = changed(&on_instances);
        let (cluster, _) = changed(&in_cluster);
        let (public, _) = changed(&public);

        assert!(ec2.contains(r#""LaunchType": "EC2""#), "{ec2}");
        assert!(!cluster.contains("LaunchType"), "{cluster}");
        for text in [&ec2, &cluster] {
            assert!(!text.contains("AssignPublicIp"), "{text}");
            assert!(text.contains("[\"${SecurityGroups}\"]\n"), "{text}");
        }
        assert!(
            public.contains(r#""AssignPublicIp": "ENABLED""#),
            "{public}"
        );
    }
}
