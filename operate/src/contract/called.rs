//! Short names for holders and waiters, as output shows them and operators type them.
//!
//! The name of a holder may be an ARN of some 150 characters. Output shows its end, and an operator may type
//! any part of the name that only one holder or waiter of the lock has.

use lockstep_core::domain::{HolderId, Invalid};

/// Longest name that is shown in full, in characters.
const WHOLE_MAX: usize = 28;

/// Number of characters that are shown of the end of a longer name.
const END: usize = 12;

/// The character that stands for the characters that are left out.
const CUT: char = '…';

/// Least number of characters in a part that stands for a name.
const PART_MIN: usize = 4;

/// A name of a holder or a waiter, or a part of a name, as an operator typed it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Called(String);

impl Called {
    /// Checks the characters of a name. Each `…` in it stands for any characters.
    ///
    /// # Errors
    /// [`Invalid`] for a character that no name has, for no character, and for more than 512 characters.
    pub fn new(text: impl Into<String>) -> Result<Self, Invalid> {
        let text = text.into();
        HolderId::new(text.replace(CUT, ""))?;
        Ok(Self(text))
    }

    /// Returns the holder with exactly this name; `None` if the text has a `…`.
    #[must_use]
    pub fn whole(&self) -> Option<HolderId> {
        HolderId::new(self.0.as_str()).ok()
    }

    /// Returns whether this text is exactly the own part of `name`: of an execution, the name after the state
    /// machine; of a task, the part after the cluster.
    #[must_use]
    pub fn is_own_part_of(&self, name: &str) -> bool {
        self.0 == own_part(name)
    }

    /// Returns whether this text is a part of the own part of `name`: of an execution, the name after the
    /// state machine; of a task, the part after the cluster. A text of fewer than four characters is a part
    /// of no name.
    #[must_use]
    pub fn is_part_of(&self, name: &str) -> bool {
        let given = self.0.chars().filter(|one| *one != CUT).count();
        let mut rest = own_part(name);
        given >= PART_MIN
            && self.0.split(CUT).all(|part| {
                let found = rest.find(part);
                rest = found.map_or("", |at| &rest[at + part.len()..]);
                found.is_some()
            })
    }
}

impl std::fmt::Display for Called {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns the part that distinguishes `name` from the other executions of its state machine, or from the
/// other tasks of its cluster. Returns a name that is not an ARN unchanged.
fn own_part(name: &str) -> &str {
    let resource = name
        .strip_prefix("arn:")
        .and_then(|rest| rest.splitn(5, ':').nth(4));
    match resource.map(|resource| (resource, resource.strip_prefix("task/"))) {
        None => name,
        Some((_, Some(task))) => task.split_once('/').map_or(task, |(_, own)| own),
        Some((resource, None)) => resource.splitn(3, ':').last().unwrap_or(resource),
    }
}

/// Returns the short name of a holder, a waiter, an execution or a task: the last part of its ARN, of which a
/// long one is cut to its last 12 characters. [`Called`] accepts the short name.
#[must_use]
pub fn short_name(name: &str) -> String {
    let resource = name
        .strip_prefix("arn:")
        .and_then(|rest| rest.splitn(5, ':').nth(4));
    let Some(resource) = resource else {
        return cut(name);
    };
    let Some(task) = resource.strip_prefix("task/") else {
        return cut(resource.rsplit(':').next().unwrap_or(resource));
    };
    // A process in a container is `<task>#<container>/<random>`, and a job of the agent ends with its name.
    let (task, process) = task.split_once('#').unwrap_or((task, ""));
    let id = cut(task.rsplit('/').next().unwrap_or(task));
    match process.split_once(':') {
        Some((_, job)) => format!("{id}{CUT}:{}", cut(job)),
        None => id,
    }
}

/// Replaces the ARNs of executions and tasks in `text` by their short names.
#[must_use]
pub fn with_short_names(text: &str) -> String {
    let words = text.split_inclusive(char::is_whitespace).map(|word| {
        let Some(at) = word.find("arn:") else {
            return word.to_owned();
        };
        let (before, arn) = word.split_at(at);
        let end = arn
            .trim_end_matches(|one: char| !one.is_alphanumeric())
            .len();
        let (arn, after) = arn.split_at(end);
        let kind = arn.splitn(6, ':').nth(5).unwrap_or_default();
        let kinds = ["execution:", "express:", "task/"];
        match kinds.iter().any(|known| kind.starts_with(known)) {
            true => format!("{before}{}{after}", short_name(arn)),
            false => word.to_owned(),
        }
    });
    words.collect()
}

fn cut(name: &str) -> String {
    let length = name.chars().count();
    if length <= WHOLE_MAX {
        return name.to_owned();
    }
    let end: String = name.chars().skip(length - END).collect();
    format!("{CUT}{end}")
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: &str = "arn:aws:states:eu-west-1:123456789012:execution:report:";
    const TASK: &str =
        "arn:aws:ecs:eu-west-1:123456789012:task/batch/0f1e2d3c4b5a69788796a5b4c3d2e1f0";

    #[test]
    fn a_short_name_is_the_end_of_the_name_and_is_accepted_for_it() {
        let uuid = "9c089e40-0493-4fbd-8312-8356c81bcc30";
        for (name, expected) in [
            (format!("{RUN}monday"), "monday".to_owned()),
            (format!("{RUN}{uuid}"), "…8356c81bcc30".to_owned()),
            (format!("{RUN}{uuid}_{uuid}"), "…8356c81bcc30".to_owned()),
            (format!("{RUN}monday#shard-3"), "monday#shard-3".to_owned()),
            (format!("{TASK}#ea32192c/k3j4"), "…a5b4c3d2e1f0".to_owned()),
            (
                format!("{TASK}#ea32/k3:load"),
                "…a5b4c3d2e1f0…:load".to_owned(),
            ),
            ("host:batch-1#17/k3j4".into(), "host:batch-1#17/k3j4".into()),
            ("arn:x".into(), "arn:x".into()),
        ] {
            let short = short_name(&name);

            assert_eq!(short, expected, "{name}");
            assert!(Called::new(short).unwrap().is_part_of(&name), "{name}");
        }
    }

    #[test]
    fn executions_and_tasks_in_a_text_have_short_names_and_other_arns_stay() {
        let role = "arn:aws:iam::123456789012:role/report";
        for (text, expected) in [
            (
                format!("{RUN}monday holds it."),
                "monday holds it.".to_owned(),
            ),
            (
                format!("wait for {RUN}monday."),
                "wait for monday.".to_owned(),
            ),
            (
                format!("\"{TASK}\", stopped"),
                "\"…a5b4c3d2e1f0\", stopped".into(),
            ),
            (
                format!("{role} may not stop {RUN}monday\n"),
                format!("{role} may not stop monday\n"),
            ),
        ] {
            assert_eq!(with_short_names(&text), expected);
        }
    }

    #[test]
    fn a_part_of_a_name_has_four_characters_or_more_in_their_order() {
        let name = format!("{RUN}monday");
        for (part, expected) in [
            ("onda", true),
            ("monday", true),
            ("mo…day", true),
            ("day…mon", false),
            ("report:mon", false),
            ("execution", false),
            ("tuesday", false),
            ("day", false),
            ("d…a…y", false),
        ] {
            let called = Called::new(part).unwrap();
            assert_eq!(called.is_part_of(&name), expected, "{part}");
        }
        for wrong in ["", "…", "mon day", "bücher"] {
            assert!(Called::new(wrong).is_err(), "{wrong}");
        }
    }
}
