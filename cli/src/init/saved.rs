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
/// The section whose settings hold for every command of `sam`, where [`SECTION`] lacks them.
const GLOBAL: [&str; 3] = ["default", "global", "parameters"];
/// An assignment, as `init` and `sam deploy --guided` write it. `parameter_overrides` is one text of them, or a list
/// with one in each text. SAM reads more than that, and what is not known to be the same must not be changed.
const ASSIGNMENT: &str = r#"([A-Za-z0-9]+)=("(?:\\.|[^"\\])*"|[^\s"']*)"#;
/// The other way to write assignments: `ParameterKey=NAME,ParameterValue=VALUE`.
const KEY: &str = "ParameterKey";

/// The saved answers of a file.
#[derive(Debug)]
pub(super) struct Saved {
    document: DocumentMut,
    /// The text that was read, which may have a byte order mark and other ends of lines than the document.
    text: String,
}

impl Saved {
    /// Reads the text of a file.
    ///
    /// # Errors
    /// Why the text has no answers, in one line.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        let document = text.parse::<DocumentMut>();
        let document = document.map_err(|error| format!("it is no TOML: {}", error.message()))?;
        let saved = Self {
            document,
            text: text.to_owned(),
        };
        let is_known = match saved.section().map(|section| section.get(OVERRIDES)) {
            None => return Err(format!("it has no section {}", SECTION.join("."))),
            Some(None) => true,
            Some(Some(Item::Value(Value::String(text)))) => assignments(text.value()).is_some(),
            Some(Some(Item::Value(Value::Array(array)))) => array
                .iter()
                .all(|one| one.as_str().and_then(assignment).is_some()),
            Some(Some(_)) => false,
        };
        let global = saved.table(GLOBAL);
        if global.is_some_and(|global| global.contains_key(OVERRIDES)) {
            return Err(format!("it has {OVERRIDES} in {}", GLOBAL.join(".")));
        }
        match is_known {
            true => Ok(saved),
            false => Err(format!("its {OVERRIDES} are no texts NAME=VALUE")),
        }
    }

    fn section(&self) -> Option<&Table> {
        self.table(SECTION)
    }

    fn table(&self, path: [&str; 3]) -> Option<&Table> {
        let mut table = self.document.as_table();
        for name in path {
            table = table.get(name)?.as_table()?;
        }
        Some(table)
    }

    /// Returns a setting of the file, such as `stack_name`.
    pub(super) fn setting(&self, name: &str) -> Option<&str> {
        let tables = [SECTION, GLOBAL].into_iter();
        let mut found = tables.filter_map(|path| self.table(path)?.get(name));
        found.next()?.as_str()
    }

    /// Returns the value of a parameter. Of several, SAM takes the last one.
    pub(super) fn get(&self, parameter: &str) -> Option<String> {
        let mut all = self.assignments().into_iter().rev();
        all.find_map(|(name, value)| (name == parameter).then_some(value))
    }

    fn assignments(&self) -> Vec<(String, String)> {
        match self.section().and_then(|section| section.get(OVERRIDES)) {
            Some(Item::Value(Value::Array(array))) => {
                let texts = array.iter().filter_map(Value::as_str);
                texts.filter_map(assignment).collect()
            }
            Some(Item::Value(Value::String(text))) => assignments(text.value()).unwrap_or_default(),
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
            return self.text.clone();
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
            let before = array.len();
            for (name, value) in wrong {
                let text = assigned(name, value);
                let is_it = |one: &Value| {
                    let known = one.as_str().and_then(assignment);
                    known.is_some_and(|(known, _)| known == *name)
                };
                let all = array.iter().enumerate();
                let at = all.filter(|(_, one)| is_it(one)).map(|(at, _)| at).last();
                match at {
                    Some(at) => drop(array.replace(at, text)),
                    None => array.push(text),
                }
            }
            one_on_a_line(array, before);
        }
        let text = document.to_string();
        match self.text.contains("\r\n") {
            true => text.replace("\r\n", "\n").replace('\n', "\r\n"),
            false => text,
        }
    }
}

/// Lays out a list with one entry on a line. A comment behind the last of the `before` entries that were there stays
/// behind it.
fn one_on_a_line(array: &mut Array, before: usize) {
    let comment = array.trailing().as_str().unwrap_or_default();
    let comment = comment.contains('#').then(|| comment.trim_end().to_owned());
    if let Some(comment) = &comment
        && let Some(first) = array.get_mut(before)
    {
        first.decor_mut().set_prefix(format!("{comment}\n    "));
    }
    let is_last = array.len() == before;
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
    array.set_trailing(match comment {
        Some(comment) if is_last => format!("{comment}\n"),
        _ => "\n".to_owned(),
    });
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
    format!("{name}=\"{}\"", value.replace('"', "\\\""))
}

/// Splits an assignment into name and value.
fn assignment(text: &str) -> Option<(String, String)> {
    match &assignments(text)?[..] {
        [only] => Some(only.clone()),
        _ => None,
    }
}

/// Splits assignments with spaces between them; returns `None` if the text has anything else.
fn assignments(text: &str) -> Option<Vec<(String, String)>> {
    let one = Regex::new(&format!("^{ASSIGNMENT}(?: +|$)")).ok()?;
    let mut rest = text.trim_matches(' ');
    let mut all = Vec::new();
    while !rest.is_empty() {
        let found = one.captures(rest)?;
        let (name, value) = (found[1].to_owned(), unquoted(&found[2]));
        if name == KEY {
            return None;
        }
        all.push((name, value));
        rest = &rest[found[0].len()..];
    }
    Some(all)
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
            "[default.deploy.parameters]\n[default.global.parameters]\nparameter_overrides = \"A=b\"\n",
        ] {
            assert!(Saved::read(text).is_err(), "{text}");
        }
    }

    /// Returns a file whose `parameter_overrides` are this TOML.
    fn overridden(toml: &str) -> Result<Saved, String> {
        Saved::read(&format!(
            "[default.deploy.parameters]\nstack_name = \"lockstep\"\nparameter_overrides = {toml}\n"
        ))
    }

    #[test]
    fn assignments_that_sam_reads_in_another_way_are_refused() {
        for toml in [
            r#""ParameterKey=TaskDefinitionArns,ParameterValue=a:* ParameterKey=LogLevel,ParameterValue=info""#,
            r#"["ParameterKey=TaskDefinitionArns,ParameterValue=a:*"]"#,
            r#"["LogLevel=info TaskDefinitionArns=a:*"]"#,
            r#"["TaskDefinitionArns='a:*'"]"#,
            r#""TaskDefinitionArns='a:*'""#,
            r#""LogLevel=info and more""#,
            "\"\"\"\nLogLevel=info\nTaskDefinitionArns=a:*\n\"\"\"",
        ] {
            let refused = overridden(toml).unwrap_err();
            assert!(refused.contains("no texts NAME=VALUE"), "{refused}");
        }
    }

    #[test]
    fn of_several_assignments_of_a_name_the_last_one_holds() {
        let saved = overridden(r#"["TaskRoleArns=a", "TaskRoleArns=b"]"#).unwrap();

        let text = saved.with(&[("TaskRoleArns", "b,c".to_owned())]);

        assert_eq!(saved.get("TaskRoleArns").as_deref(), Some("b"));
        let again = Saved::read(&text).unwrap();
        assert_eq!(again.get("TaskRoleArns").as_deref(), Some("b,c"), "{text}");
    }

    #[test]
    fn comments_and_ends_of_lines_stay() {
        let list = "[\n    \"LogLevel=info\", # until Friday\n    # \"Alarms=false\",\n]";
        let saved = overridden(list).unwrap();
        for (name, value) in [("LogLevel", "debug"), ("ClusterArns", "a")] {
            let text = saved.with(&[(name, value.to_owned())]);
            for comment in ["# until Friday", "# \"Alarms=false\","] {
                assert!(text.contains(comment), "{text}");
            }
            let again = Saved::read(&text).unwrap();
            assert_eq!(again.get(name).as_deref(), Some(value), "{text}");
            assert_eq!(again.get("Alarms"), None, "{text}");
        }

        let lines = new().replace('\n', "\r\n");
        let saved = Saved::read(&lines).unwrap();
        assert_eq!(saved.with(&[]), lines);
        let text = saved.with(&[("ClusterArns", "a".to_owned())]);
        assert!(
            text.split('\n')
                .rev()
                .skip(1)
                .all(|line| line.ends_with('\r')),
            "{text:?}"
        );
    }

    #[test]
    fn a_quote_in_a_value_stays_one() {
        let saved = overridden(r#"'RunbookUrl="https://a/\"b\"" LogLevel=info'"#).unwrap();

        let text = saved.with(&[("LogLevel", "debug".to_owned())]);

        let again = Saved::read(&text).unwrap();
        assert_eq!(
            again.get("RunbookUrl").as_deref(),
            Some(r#"https://a/"b""#),
            "{text}"
        );
    }

    #[test]
    fn a_setting_of_every_command_is_one_of_the_deploy() {
        let saved = Saved::read(
            "[default.global.parameters]\nregion = \"us-east-1\"\nstack_name = \"a\"\n\
             [default.deploy.parameters]\nstack_name = \"b\"\n",
        )
        .unwrap();

        assert_eq!(saved.setting("region"), Some("us-east-1"));
        assert_eq!(saved.setting("stack_name"), Some("b"));
    }
}
