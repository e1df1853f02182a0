//! The files that an adopter gets: their texts, and how they are written.

use super::answers::{Answers, Launch};
use super::earlier::Earlier;
use super::saved::{FOLDER, LOCKSTEP_CONFIG, samconfig};
use super::template::SCHEDULE;
use crate::exit::Exit;
use crate::operate::ActError;
use crate::platform::file::Prepared;
use std::fmt::Write;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// What the parameters of a template begin with.
const PARAMETERS: &str = "\n\nParameters:\n";

/// A file to be written.
#[derive(Debug)]
pub(super) struct File {
    /// Path from the adopter's repository.
    pub(super) path: String,
    text: String,
    /// Whether the text has what the file had before, so that the file may be replaced.
    is_added_to: bool,
}

/// What happened to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Written,
    /// It has more answers than before.
    AddedTo,
    /// It had the same text before.
    Unchanged,
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
        let file = |path, text, is_added_to| File {
            path,
            text,
            is_added_to,
        };
        [
            file(self.schedule_template(), self.schedule_text(), false),
            file(self.schedule_config(), schedule, false),
            file(
                LOCKSTEP_CONFIG.to_owned(),
                earlier.config(self),
                earlier.keeps(self),
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

/// Writes the files below `directory`. None of them is replaced before all texts are on the disk.
///
/// # Errors
/// [`ActError`] if a file exists with another text and `force` is not set, or if a file cannot be written. The text
/// says which files were written already.
pub(super) fn write(
    directory: &Path,
    files: &[File],
    force: bool,
) -> Result<Vec<Change>, ActError> {
    let changes: Vec<_> = files
        .iter()
        .map(|file| change(directory, file, force))
        .collect::<Result<_, _>>()?;
    let mut prepared = Vec::new();
    for (file, change) in files.iter().zip(&changes) {
        if *change != Change::Unchanged {
            let path = directory.join(&file.path);
            let folder = path.parent().unwrap_or(directory);
            let written =
                fs::create_dir_all(folder).and_then(|()| Prepared::write(&path, &file.text));
            let written = written.map_err(|error| {
                let text = format!("{} cannot be written: {error}; no file was", path.display());
                ActError::new(Exit::CANNOT_WRITE, text)
            })?;
            prepared.push((path, written));
        }
    }
    let mut done = Vec::new();
    for (path, file) in prepared {
        let shown = path.display().to_string();
        file.put().map_err(|error| {
            let done = match done.is_empty() {
                true => "none".to_owned(),
                false => done.join(", "),
            };
            let text = format!("{shown} cannot be replaced: {error}; written before it: {done}");
            ActError::new(Exit::CANNOT_WRITE, text)
        })?;
        done.push(shown);
    }
    Ok(changes)
}

/// Returns what is to happen to a file.
fn change(directory: &Path, file: &File, force: bool) -> Result<Change, ActError> {
    let path = directory.join(&file.path);
    let refused = |why: String| {
        Err(ActError::new(
            Exit::CANNOT_WRITE,
            format!("{}: {why}", path.display()),
        ))
    };
    match fs::metadata(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return match path.symlink_metadata() {
                Ok(_) => refused("it is a symbolic link to nothing".into()),
                Err(_) => Ok(Change::Written),
            };
        }
        Ok(found) if !found.is_file() => return refused("it exists and is no file".into()),
        _ => {}
    }
    match fs::read(&path) {
        Ok(before) if before == file.text.as_bytes() => Ok(Change::Unchanged),
        Ok(_) if file.is_added_to => Ok(Change::AddedTo),
        Ok(_) if force => Ok(Change::Written),
        Ok(_) => refused(
            "it exists with other content, and nothing was written: --force replaces it, and --name names others"
                .into(),
        ),
        Err(error) => refused(format!("it cannot be read: {error}")),
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

    /// Returns files with these texts, and a folder for them.
    fn scene(name: &str) -> (std::path::PathBuf, Vec<File>) {
        let folder = std::env::temp_dir().join(format!("init-files-{name}-{}", std::process::id()));
        fs::create_dir_all(folder.join(FOLDER)).unwrap();
        let files = ["a", "b"].map(|name| File {
            path: format!("{FOLDER}/{name}"),
            text: "new".into(),
            is_added_to: false,
        });
        (folder, files.into())
    }

    #[test]
    fn a_place_that_cannot_be_taken_is_named_with_what_was_written() {
        let (folder, files) = scene("place");
        let taken = folder.join("lockstep/b");
        let changes = [&files[0], &files[1]].map(|file| change(&folder, file, false).unwrap());
        let prepared = Prepared::write(&taken, "new").unwrap();
        fs::create_dir(&taken).unwrap();

        assert_eq!(changes, [Change::Written; 2]);
        assert!(prepared.put().is_err());
        let refused = write(&folder, &files, true).unwrap_err();
        assert!(
            refused.text.contains("it exists and is no file"),
            "{}",
            refused.text
        );
        let left: Vec<_> = fs::read_dir(folder.join(FOLDER)).unwrap().collect();
        assert_eq!(left.len(), 1, "nothing else was written: {left:?}");
        fs::remove_dir_all(folder).ok();
    }

    #[test]
    fn a_link_to_nothing_stays() {
        let (folder, files) = scene("link");
        let link = folder.join("lockstep/a");
        std::os::unix::fs::symlink("../none", &link).unwrap();

        let refused = write(&folder, &files, true).unwrap_err();

        assert!(refused.text.contains("a symbolic link"), "{}", refused.text);
        assert!(link.is_symlink());
        fs::remove_dir_all(folder).ok();
    }

    #[test]
    fn a_file_that_is_no_text_is_replaced_by_force() {
        let (folder, files) = scene("bytes");
        fs::write(folder.join("lockstep/a"), [0xff, 0xfe]).unwrap();

        let refused = write(&folder, &files, false).unwrap_err();
        let written = write(&folder, &files, true).unwrap();

        assert!(refused.text.contains("other content"), "{}", refused.text);
        assert_eq!(written, [Change::Written; 2]);
        assert_eq!(
            fs::read_to_string(folder.join("lockstep/a")).unwrap(),
            "new"
        );
        fs::remove_dir_all(folder).ok();
    }
}
