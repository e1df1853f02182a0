//! The saved answers of `sam deploy`: how they are written, and how an answer is added to a file that has more in it.

use regex_lite::Regex;
use toml_edit::{Array, DocumentMut, Item, Table, Value};

/// The folder of the files, in the adopter's repository.
pub(super) const FOLDER: &str = "lockstep";
/// The saved answers of `sam deploy` for the stack of Lockstep.
pub(super) const LOCKSTEP_CONFIG: &str = "lockstep/samconfig.toml";

/// The section that `sam deploy` reads.
const SECTION: [&str; 3] = ["default", "deploy", "parameters"];
const OVERRIDES: &str = "parameter_overrides";
/// An assignment of `parameter_overrides` where it is one text, as `sam deploy --guided` writes it.
const ASSIGNMENT: &str = r#"([A-Za-z0-9]+)=("(?:\\.|[^"\\])*"|[^ "]*)"#;

/// The saved answers of a file.
#[derive(Debug)]
pub(super) struct Saved {
    document: DocumentMut,
}

impl Saved {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// Why the text has no answers, in one line.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let document = text.parse::<DocumentMut>();
        let document = document.map_err(|error| format!("it is no TOML: {}", error.message()))?;
        let saved = Self { document };
        let is_known = match saved.section().map(|section| section.get(OVERRIDES)) {
            None => return Err(format!("it has no section {}", SECTION.join("."))),
            Some(None | Some(Item::Value(Value::String(_)))) => true,
            Some(Some(Item::Value(Value::Array(array)))) => array
                .iter()
                .all(|one| one.as_str().and_then(assignment).is_some()),
            Some(Some(_)) => false,
        };
        match is_known {
            true => Ok(saved),
            false => Err(format!("its {OVERRIDES} are no texts NAME=VALUE")),
        }
    }

    fn section(&self) -> Option<&Table> {
        let mut table = self.document.as_table();
        for name in SECTION {
            table = table.get(name)?.as_table()?;
        }
        Some(table)
    }

    /// Returns a setting of the file, such as `stack_name`.
    pub(super) fn setting(&self, name: &str) -> Option<&str> {
        self.section()?.get(name)?.as_str()
    }

    /// Returns the value of a parameter.
    pub(super) fn get(&self, parameter: &str) -> Option<String> {
        let mut all = self.assignments().into_iter();
        all.find_map(|(name, value)| (name == parameter).then_some(value))
    }

    fn assignments(&self) -> Vec<(String, String)> {
        match self.section().and_then(|section| section.get(OVERRIDES)) {
            Some(Item::Value(Value::Array(array))) => {
                let texts = array.iter().filter_map(Value::as_str);
                texts.filter_map(assignment).collect()
            }
            Some(Item::Value(Value::String(text))) => {
                let Ok(pattern) = Regex::new(ASSIGNMENT) else {
                    return Vec::new();
                };
                let found = pattern.captures_iter(text.value());
                found
                    .map(|of| (of[1].to_owned(), unquoted(&of[2])))
                    .collect()
            }
            _ => Vec::new(),
        }
    }

    /// Returns the text of the file with these values of parameters. All else stays as it is.
    pub(super) fn with(&self, parameters: &[(&str, String)]) -> String {
        let mut document = self.document.clone();
        let wrong = parameters.iter();
        let wrong: Vec<_> = wrong
            .filter(|(name, value)| self.get(name).as_ref() != Some(value))
            .collect();
        if wrong.is_empty() {
            return document.to_string();
        }
        let section = SECTION
            .into_iter()
            .try_fold(document.as_table_mut(), |table, name| {
                table.get_mut(name)?.as_table_mut()
            });
        let Some(section) = section else {
            return document.to_string();
        };
        let overrides = section
            .entry(OVERRIDES)
            .or_insert_with(|| Array::new().into());
        if overrides.is_str() {
            let all = self.assignments();
            let all = all.iter().map(|(name, value)| assigned(name, value));
            *overrides = Item::Value(all.collect::<Array>().into());
        }
        if let Some(array) = overrides.as_array_mut() {
            for (name, value) in wrong {
                let text = assigned(name, value);
                let is_it = |one: &Value| {
                    let known = one.as_str().and_then(assignment);
                    known.is_some_and(|(known, _)| known == *name)
                };
                let at = array.iter().position(is_it);
                match at {
                    Some(at) => drop(array.replace(at, text)),
                    None => array.push(text),
                }
            }
            // One on a line.
            for one in array.iter_mut() {
                let has_comment = |text: Option<&toml_edit::RawString>| {
                    text.and_then(toml_edit::RawString::as_str)
                        .is_some_and(|text| text.contains('#'))
                };
                if !has_comment(one.decor().prefix()) {
                    one.decor_mut().set_prefix("\n    ");
                }
            }
            array.set_trailing_comma(true);
            array.set_trailing("\n");
        }
        document.to_string()
    }
}

/// Returns the text of a new file, with which `sam deploy` asks at most whether it is to change what it shows.
pub(super) fn samconfig(
    what: &str,
    stack: &str,
    region: &str,
    confirms: bool,
    parameters: &[(&str, String)],
) -> String {
    let assignments = parameters.iter().map(|(name, value)| {
        let assignment = quoted(&assigned(name, value));
        format!("    {assignment},\n")
    });
    format!(
        "# Written by `lockstep init`: the answers of `sam deploy` for {what}.
version = 0.1

[default.deploy.parameters]
stack_name = {stack}
region = {region}
capabilities = \"CAPABILITY_IAM\"
resolve_s3 = true
s3_prefix = {stack}
confirm_changeset = {confirms}
fail_on_empty_changeset = false
{OVERRIDES} = [
{assignments}]
",
        stack = quoted(stack),
        region = quoted(region),
        assignments = assignments.collect::<String>(),
    )
}

/// Returns an assignment as SAM reads it. Without the quotes, SAM ends a value at a space and drops an empty one.
fn assigned(name: &str, value: &str) -> String {
    format!("{name}=\"{value}\"")
}

/// Splits an assignment into name and value.
fn assignment(text: &str) -> Option<(String, String)> {
    let (name, value) = text.split_once('=')?;
    Some((name.to_owned(), unquoted(value)))
}

fn unquoted(value: &str) -> String {
    let inner = value
        .strip_prefix('"')
        .and_then(|rest| rest.strip_suffix('"'));
    inner.map_or_else(|| value.to_owned(), |inner| inner.replace("\\\"", "\""))
}

/// Returns a text as a string of TOML.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn new() -> String {
        let parameters = [
            ("TaskDefinitionArns", "a:*,b:*".to_owned()),
            ("AlarmEmail", String::new()),
        ];
        samconfig("the stack", "lockstep", "eu-west-1", false, &parameters)
    }

    #[test]
    fn what_is_written_is_read_again() {
        let saved = Saved::read(&new()).unwrap();

        assert_eq!(saved.setting("stack_name"), Some("lockstep"));
        assert_eq!(saved.setting("region"), Some("eu-west-1"));
        assert_eq!(saved.get("TaskDefinitionArns").as_deref(), Some("a:*,b:*"));
        assert_eq!(saved.get("AlarmEmail").as_deref(), Some(""));
        assert_eq!(saved.get("ClusterArns"), None);
    }

    #[test]
    fn an_answer_is_added_and_all_else_stays() {
        let edited = new()
            .replace("resolve_s3 = true", "s3_bucket = \"mine\" # ours")
            .replace("[\n", "[\n    # Graviton\n    \"Architecture=arm64\",\n");
        let saved = Saved::read(&edited).unwrap();
        let same = [("AlarmEmail", String::new())];
        let changed = [
            ("TaskDefinitionArns", "a:*,b:*,c:*".to_owned()),
            ("ClusterArns", "batch".to_owned()),
        ];

        let text = saved.with(&changed);

        assert_eq!(saved.with(&same), edited);
        let expected = edited
            .replace("b:*", "b:*,c:*")
            .replace(",\n]", ",\n    'ClusterArns=\"batch\"',\n]");
        assert_eq!(text, expected);
        let again = Saved::read(&text).unwrap();
        assert_eq!(again.get("Architecture").as_deref(), Some("arm64"));
        assert_eq!(again.get("ClusterArns").as_deref(), Some("batch"));
    }

    #[test]
    fn the_one_text_of_a_guided_deploy_is_read_and_added_to() {
        let guided = "version = 0.1\n[default.deploy.parameters]\nstack_name = \"lockstep\"\n\
                      parameter_overrides = \"TaskRoleArns=\\\"\\\" ClusterArns=\\\"a,b\\\" LogLevel=info\"\n";
        let saved = Saved::read(guided).unwrap();

        let text = saved.with(&[("LogLevel", "debug".to_owned())]);

        let again = Saved::read(&text).unwrap();
        for (name, value) in [
            ("TaskRoleArns", ""),
            ("ClusterArns", "a,b"),
            ("LogLevel", "debug"),
        ] {
            assert_eq!(again.get(name).as_deref(), Some(value), "{text}");
        }
    }

    #[test]
    fn a_file_without_answers_is_refused() {
        for text in [
            "no TOML",
            "version = 0.1\n",
            "[default.deploy.parameters]\nparameter_overrides = 1\n",
            "[default.deploy.parameters]\nparameter_overrides = [\"LogLevel\"]\n",
        ] {
            assert!(Saved::read(text).is_err(), "{text}");
        }
    }
}
