//! What was written, and the commands that follow.

use super::answers::Answers;
use super::files::File;
use super::saved::LOCKSTEP_CONFIG;
use super::write::Change;
use crate::exit::Exit;
use crate::operate::ActError;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// Stands for the template where no flag names it. A shell expands it, so that the printed commands need no
/// edit once the variable is set.
const UNNAMED: &str = "\"$LOCKSTEP_BUNDLE/template.yaml\"";
/// How the template names the programs of its functions.
const PROGRAM: &str = "CodeUri: ";

/// The template of Lockstep, as the commands name it.
#[derive(Debug)]
pub(super) struct Template {
    word: String,
    /// Whether the programs of its functions are there.
    is_built: bool,
}

/// What the command that deploys the stack of Lockstep is for, if AWS was read.
const STACK: &str = "the stack of Lockstep";
/// The same, if it was not.
const STACK_UNREAD: &str = "the stack of Lockstep; --offline has not read it: if it is there, this takes away what \
                            lockstep/samconfig.toml lacks";

/// Finds the template that `--template` names: a file, or the folder of one. A release and the folder `infra` of
/// a checkout both have it as template.yaml.
///
/// # Errors
/// [`ActError`] if there is no such file, or if it is not the template of Lockstep.
pub(super) fn template(given: Option<&Path>) -> Result<Template, ActError> {
    let Some(given) = given else {
        return Ok(Template {
            word: UNNAMED.into(),
            is_built: true,
        });
    };
    let path = match given.is_dir() {
        true => given.join("template.yaml"),
        false => given.to_owned(),
    };
    let refused = |rule: String| {
        let given = given.display().to_string();
        let text = format!("--template is {given:?}, but must be {rule}");
        ActError::new(Exit::CONFIGURATION, text)
    };
    let text = fs::read_to_string(&path);
    let text = text.map_err(|error| refused(format!("a file that can be read: {error}")))?;
    let has = |part: &str| text.lines().any(|line| line.trim_end() == part);
    if !has("  LockstepVersion:") || !has("  TaskDefinitionArns:") {
        return Err(refused("the template of Lockstep, or its folder".into()));
    }
    let folder = path.parent().unwrap_or(Path::new(""));
    let programs = text
        .lines()
        .filter_map(|line| line.trim().strip_prefix(PROGRAM));
    let is_built = programs
        .map(|program| folder.join(program))
        .all(|file| file.is_file());
    // The commands are typed in the adopter's repository, which may be another folder than this one.
    let path = fs::canonicalize(&path).unwrap_or(path);
    Ok(Template {
        word: word(&path),
        is_built,
    })
}

/// Returns the text for people: each file with what happened to it, and the commands in their order.
pub(super) fn report(
    directory: &Path,
    answers: &Answers,
    files: &[File],
    changes: &[Change],
    template: &Template,
    is_offline: bool,
) -> String {
    let mut text = String::new();
    for (file, change) in files.iter().zip(changes) {
        let what = match change {
            Change::Written => "wrote",
            Change::AddedTo => "added to",
            Change::Unchanged => "unchanged",
        };
        let _ = writeln!(text, "{what:9} {}", directory.join(&file.path).display());
    }
    text.push_str("\nNext, in your repository:\n\n");
    for (why, command) in commands(directory, answers, template, is_offline) {
        let _ = writeln!(text, "# {why}\n{command}\n");
    }
    let _ = writeln!(
        text,
        "A workflow of several states takes the lock itself: `lockstep weave FILE --lock {}` writes it in.",
        answers.lock
    );
    text
}

fn commands(
    directory: &Path,
    answers: &Answers,
    template: &Template,
    is_offline: bool,
) -> Vec<(&'static str, String)> {
    let Answers { lock, stack, .. } = answers;
    let schedule = answers.schedule_name();
    // The names in this account and Region, which fit on a line.
    let [task, cluster] = [&answers.task_definition, &answers.cluster]
        .map(|arn| arn.rsplit('/').next().unwrap_or_default());
    let deploy = |template: &str, config: &str| {
        format!("sam deploy --template-file {template} --config-file \"$PWD/{config}\"")
    };
    let mut commands = Vec::new();
    if directory != Path::new(".") {
        let directory = fs::canonicalize(directory).unwrap_or(PathBuf::from(directory));
        commands.push((
            "the folder of the files",
            format!("cd {}", word(&directory)),
        ));
    }
    commands.push((
        "the Region of both stacks",
        format!("export AWS_REGION={}", answers.region()),
    ));
    if template.word == UNNAMED {
        let path = "export LOCKSTEP_BUNDLE=/path/to/lockstep/infra".to_owned();
        commands.push((
            "the folder of template.yaml: an unpacked release, or infra of a built checkout",
            path,
        ));
    }
    if !template.is_built {
        let build = format!(
            "(cd \"$(dirname {})/..\" && cargo lambda build --release --arm64)",
            template.word
        );
        commands.push(("the programs of the functions are not built yet", build));
    }
    commands.extend([
        (
            if is_offline { STACK_UNREAD } else { STACK },
            deploy(&template.word, LOCKSTEP_CONFIG),
        ),
        (
            "what is missing, if anything",
            format!("lockstep doctor --stack {stack} --task-definition {task} --cluster {cluster}"),
        ),
        (
            "the schedule; it shows what it makes, and asks",
            deploy(&answers.schedule_template(), &answers.schedule_config()),
        ),
        (
            "a first run, now",
            format!(
                "lockstep start {lock} --stack {stack} --schedule {schedule} --yes --note \"first run\""
            ),
        ),
        ("who ran", format!("lockstep history {lock} --stack {stack}")),
    ]);
    commands
}

/// Returns a path as one word of a shell.
fn word(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-".contains(c);
    match text.chars().all(is_plain) && !text.is_empty() {
        true => text,
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_one_word_of_a_shell() {
        for (path, expected) in [
            ("/a/b-c.yaml", "/a/b-c.yaml"),
            ("/a b", "'/a b'"),
            ("/it's", r"'/it'\''s'"),
            ("/$HOME", "'/$HOME'"),
        ] {
            assert_eq!(word(Path::new(path)), expected);
        }
    }

    #[test]
    fn a_template_is_named_by_its_file_or_its_folder() {
        let infra = Path::new(env!("CARGO_MANIFEST_DIR")).join("../infra");
        for given in [infra.clone(), infra.join("template.yaml")] {
            let found = template(Some(&given)).unwrap();
            assert!(found.word.ends_with("/infra/template.yaml"), "{found:?}");
        }
        for other in [
            infra.join("team.yaml"),
            infra.join("none.yaml"),
            infra.join(".."),
        ] {
            let refused = template(Some(&other)).unwrap_err();
            assert!(
                format!("{refused:?}").contains("--template is "),
                "{refused:?}"
            );
        }
        assert_eq!(template(None).unwrap().word, UNNAMED);
    }
}
