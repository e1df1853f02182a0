//! The saved answers of `sam deploy`: how they are written, and how an answer is added to a file that has more in it.

use super::overrides::{self, assigned};
use std::str;
use toml_edit::{Array, DocumentMut, Item, TableLike, Value};

/// The folder of the files, in the adopter's repository.
pub(super) const FOLDER: &str = "lockstep";
/// The saved answers of `sam deploy` for the stack of Lockstep.
pub(super) const LOCKSTEP_CONFIG: &str = "lockstep/samconfig.toml";

/// The section that `sam deploy` reads.
const SECTION: [&str; 3] = ["default", "deploy", "parameters"];
const OVERRIDES: &str = "parameter_overrides";
/// The section whose settings hold for every command of `sam`, where [`SECTION`] lacks them.
const GLOBAL: [&str; 3] = ["default", "global", "parameters"];

/// The saved answers of a file.
#[derive(Debug)]
pub(super) struct Saved {
    document: DocumentMut,
    /// The text that was read, which may have a byte order mark and other ends of lines than the document.
    text: String,
    /// The parameters and their values, in their order.
    assignments: Vec<(String, String)>,
}

/// Why a file gives no answers for a stack, in one line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unread {
    /// It is for another stack, or for none.
    Other(String),
    /// It may have answers for the stack, and what they are cannot be told.
    Unclear(String),
}

impl Saved {
    /// Reads the answers of a file for the stack `stack`.
    ///
    /// # Errors
    /// Why it has none.
    pub(super) fn read(bytes: &[u8], stack: &str) -> Result<Self, Unread> {
        let text = str::from_utf8(bytes);
        let text = text.map_err(|_| Unread::Unclear("it is not UTF-8".into()))?;
        let document = text.parse::<DocumentMut>();
        let document = document
            .map_err(|error| Unread::Unclear(format!("it is no TOML: {}", error.message())))?;
        let mut saved = Self {
            document,
            text: text.to_owned(),
            assignments: Vec::new(),
        };
        saved.check_stack(stack).map_err(Unread::Other)?;
        saved.assignments = saved.overrides().map_err(Unread::Unclear)?;
        Ok(saved)
    }

    fn check_stack(&self, stack: &str) -> Result<(), String> {
        if self.table(SECTION).is_none() {
            return Err(format!("it has no section {}", SECTION.join(".")));
        }
        match self.setting("stack_name") {
            Some(of) if of == stack => Ok(()),
            Some(of) => Err(format!("it is for the stack {of}")),
            None => Err("it names no stack".into()),
        }
    }

    fn overrides(&self) -> Result<Vec<(String, String)>, String> {
        let global = self.table(GLOBAL);
        if global.is_some_and(|global| global.contains_key(OVERRIDES)) {
            return Err(format!("it has {OVERRIDES} in {}", GLOBAL.join(".")));
        }
        let item = self
            .table(SECTION)
            .and_then(|section| section.get(OVERRIDES));
        let rule = "neither texts NAME=VALUE nor a map of names to texts";
        overrides::read(item).ok_or_else(|| format!("its {OVERRIDES} are {rule}"))
    }

    fn table(&self, path: [&str; 3]) -> Option<&dyn TableLike> {
        let mut table: &dyn TableLike = self.document.as_table();
        for name in path {
            table = table.get(name)?.as_table_like()?;
        }
        Some(table)
    }

    /// Returns the text that was read.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// Returns a setting of the file, such as `stack_name`.
    pub(super) fn setting(&self, name: &str) -> Option<&str> {
        let tables = [SECTION, GLOBAL].into_iter();
        let mut found = tables.filter_map(|path| self.table(path)?.get(name));
        found.next()?.as_str()
    }

    /// Returns the value of a parameter. Of several, SAM takes the last one.
    pub(super) fn get(&self, parameter: &str) -> Option<String> {
        let mut all = self.assignments.iter().rev();
        let found = all.find(|(name, _)| name == parameter);
        found.map(|(_, value)| value.clone())
    }

    /// Returns the text of the file with these values of parameters. All else stays as it is.
    pub(super) fn with(&self, parameters: &[(&str, String)]) -> String {
        let wrong = parameters.iter();
        let wrong: Vec<_> = wrong
            .filter(|(name, value)| self.get(name).as_ref() != Some(value))
            .collect();
        if wrong.is_empty() {
            return self.text.clone();
        }
        let mut document = self.document.clone();
        let mut section: &mut dyn TableLike = document.as_table_mut();
        for name in SECTION {
            let item = section.entry(name).or_insert_with(toml_edit::table);
            let Some(table) = item.as_table_like_mut() else {
                return self.text.clone();
            };
            section = table;
        }
        let overrides = section.entry(OVERRIDES);
        let overrides = overrides.or_insert_with(|| Item::Value(Array::new().into()));
        for (name, value) in wrong {
            overrides::set(overrides, name, value);
        }
        let text = document.to_string();
        match self.text.contains("\r\n") {
            true => text.replace("\r\n", "\n").replace('\n', "\r\n"),
            false => text,
        }
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

/// Returns a text as a string of TOML.
fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

#[cfg(test)]
mod tests;
