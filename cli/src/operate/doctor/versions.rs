//! Which versions of the parts of Lockstep work together: docs/upgrade.md, "Versions that work together".
//!
//! The functions are the middle: the command and the definitions call them. All functions are built and
//! deployed together, so the version of view stands for all of them, and for what they write into the table.

use super::check::Check;

/// A version as Cargo and the template write it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Version {
    major: u64,
    minor: u64,
    patch: u64,
}

impl Version {
    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('.').map(|part| part.parse().ok());
        let [Some(major), Some(minor), Some(patch)] = [(); 3].map(|()| parts.next().flatten())
        else {
            return None;
        };
        parts.next().is_none().then_some(Self {
            major,
            minor,
            patch,
        })
    }

    /// Returns whether two versions are at most one minor version apart.
    fn is_near(self, other: Self) -> bool {
        self.major == other.major && self.minor.abs_diff(other.minor) <= 1
    }
}

/// The versions of the parts, as each part reports its own. A part that reports none is `unknown`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Versions<'a> {
    pub(super) command: &'a str,
    pub(super) template: &'a str,
    pub(super) functions: &'a str,
    /// The definition of exclusive-run; `None` if it could not be read.
    pub(super) definition: Option<&'a str>,
}

impl Versions<'_> {
    const NAME: &'static str = "versions";

    /// Judges the versions:
    /// - the functions are not older than the template and the definition, which call them;
    /// - each part is at most one minor version older or newer than the functions.
    pub(super) fn check(self) -> Check {
        let parts = [
            ("command", Some(self.command)),
            ("template", Some(self.template)),
            ("functions", Some(self.functions)),
            ("definition", self.definition),
        ];
        let parts = parts.into_iter();
        let parts: Vec<_> = parts.filter_map(|(part, of)| Some((part, of?))).collect();
        let found: Vec<_> = parts
            .iter()
            .map(|(part, of)| format!("{part} {of}"))
            .collect();
        let found = found.join(", ");
        let Some(functions) = Version::parse(self.functions) else {
            return Check::failed(Self::NAME, found, DEPLOY);
        };
        let mut is_mixed = false;
        for (part, text) in parts {
            let version = Version::parse(text);
            let calls = part == "template" || part == "definition";
            let is_newer = version.is_some_and(|version| version > functions);
            let advice = match version {
                Some(version) if !version.is_near(functions) && part == "command" => INSTALL,
                Some(_) if calls && is_newer => DEPLOY,
                Some(version) if version.is_near(functions) => {
                    is_mixed |= version != functions;
                    continue;
                }
                _ => DEPLOY,
            };
            return Check::failed(Self::NAME, found, advice);
        }
        let remark = if is_mixed {
            "; these work together"
        } else {
            ""
        };
        Check::passed(Self::NAME, format!("{found}{remark}"))
    }
}

const DEPLOY: &str =
    "build the functions and the template of one version, and deploy the stack again";
const INSTALL: &str =
    "install the command of the version of the functions, or deploy the functions of its version";

/// Returns the version in the top-level `Comment` of a definition of exclusive-run, which begins with
/// `Lockstep VERSION.`; `unknown` if it has none.
pub(super) fn version_of_definition(definition: &str) -> String {
    let parsed: serde_json::Value = serde_json::from_str(definition).unwrap_or_default();
    let comment = parsed["Comment"].as_str().unwrap_or_default();
    let version = comment.strip_prefix("Lockstep ");
    let version = version.and_then(|rest| rest.split_once(". ").map(|(version, _)| version));
    version.unwrap_or("unknown").to_owned()
}

#[cfg(test)]
mod tests {
    use super::super::check::Status;
    use super::*;

    fn judged(command: &str, template: &str, functions: &str, definition: &str) -> Check {
        Versions {
            command,
            template,
            functions,
            definition: Some(definition),
        }
        .check()
    }

    #[test]
    fn the_command_may_be_one_minor_version_apart_from_the_functions() {
        for (command, status) in [
            ("1.2.0", Status::Ok),
            ("1.2.9", Status::Ok),
            ("1.1.0", Status::Ok),
            ("1.3.4", Status::Ok),
            ("1.0.0", Status::Failed),
            ("1.4.0", Status::Failed),
            ("0.2.0", Status::Failed),
            ("2.2.0", Status::Failed),
            ("1.2", Status::Failed),
            ("1.2.0.0", Status::Failed),
            ("unknown", Status::Failed),
        ] {
            let check = judged(command, "1.2.0", "1.2.0", "1.2.0");
            assert_eq!(check.status, status, "{}", check.found);
        }
    }

    #[test]
    fn functions_are_never_older_than_what_calls_them() {
        for (template, functions, definition, status) in [
            ("1.2.0", "1.2.0", "1.2.0", Status::Ok),
            ("1.1.0", "1.2.0", "1.1.0", Status::Ok),
            ("1.2.1", "1.2.0", "1.2.0", Status::Failed),
            ("1.2.0", "1.2.0", "1.2.1", Status::Failed),
            ("1.2.0", "1.1.0", "1.2.0", Status::Failed),
            ("1.2.0", "1.2.0", "1.0.9", Status::Failed),
            ("unknown", "1.2.0", "1.2.0", Status::Failed),
            ("1.2.0", "unknown", "1.2.0", Status::Failed),
            ("1.2.0", "1.2.0", "unknown", Status::Failed),
        ] {
            let check = judged("1.2.0", template, functions, definition);
            assert_eq!(check.status, status, "{}", check.found);
        }
    }

    #[test]
    fn a_skew_that_is_allowed_is_named_and_none_is_not() {
        let same = judged("1.2.0", "1.2.0", "1.2.0", "1.2.0");
        let apart = judged("1.1.0", "1.2.0", "1.2.0", "1.2.0");

        assert!(!same.found.contains("work together"), "{}", same.found);
        assert!(
            apart.found.ends_with("; these work together"),
            "{}",
            apart.found
        );
    }

    #[test]
    fn a_definition_says_its_version_in_its_comment() {
        let shipped = include_str!("../../../../statemachines/exclusive-run.asl.json");

        assert_eq!(version_of_definition(shipped), env!("CARGO_PKG_VERSION"));
        for other in ["{}", "no JSON", r#"{"Comment": "Runs one ECS task"}"#] {
            assert_eq!(version_of_definition(other), "unknown", "{other}");
        }
    }
}
