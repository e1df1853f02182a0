//! Names for the states and variables of the guard that do not collide with those of the definition.
//!
//! Variables always have a prefix, for two reasons: an inner scope may not assign a variable that an outer
//! scope has under the same name, and a variable that the author adds later should not collide.
//!
//! People read the names of states in the console. So these have a prefix only if the definition has one of
//! the names already. Then all of them have the prefix, so that the name of the first woven state shows it.

use crate::document::Node;
use crate::value::Value;
use std::collections::BTreeSet;

/// The names of the guard in one definition.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    /// The prefix of the name of each state; empty if none of the names is taken.
    prefix: String,
    /// The prefix of the name of each variable. The letter after the prefix is a capital.
    variables: String,
}

impl Names {
    /// Chooses names that are not among `states` and `variables` of the definition. `guard` contains the
    /// names of the states of the guard without a prefix.
    pub(crate) fn beside(
        guard: &[String],
        states: &BTreeSet<String>,
        variables: &BTreeSet<String>,
    ) -> Self {
        let numbered = |word: &str, n: u32| match n {
            1 => word.to_owned(),
            n => format!("{word}{n}"),
        };
        let prefixes = (1..).map(|n| format!("{} ", numbered("Lockstep", n)));
        let prefix = [String::new()].into_iter().chain(prefixes).find(|prefix| {
            let mut taken = guard.iter().map(|name| format!("{prefix}{name}"));
            !taken.any(|name| states.contains(&name))
        });
        let words = (1..).map(|n| numbered("lockstep", n));
        let word = words.into_iter().find(|word| {
            // A variable `lockstepInput` means that the prefix is taken. A variable `lockstepping` does not,
            // because the names of the guard continue with a capital letter.
            let mut names = variables.iter().filter_map(|name| name.strip_prefix(word));
            !names.any(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()))
        });
        Self {
            prefix: prefix.unwrap_or_default(),
            variables: word.unwrap_or_default(),
        }
    }

    /// Returns the names of a woven definition, given the name of its first woven state; `None` if that name
    /// is not one of the guard.
    ///
    /// The prefix of the variables stays empty, because unweaving does not need it.
    pub(crate) fn of_entry(entry: &str) -> Option<Self> {
        let prefix = entry.strip_suffix(super::ENTRY)?;
        Some(Self {
            prefix: prefix.to_owned(),
            variables: String::new(),
        })
    }

    /// Returns the name of the state `name` of the guard, with the prefix.
    pub(crate) fn state(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// Returns the name of the variable `name` of the guard, with the prefix.
    pub(crate) fn variable(&self, name: &str) -> String {
        let mut rest = name.chars();
        let first = rest.next().map(|first| first.to_ascii_uppercase());
        let first = first.map(String::from).unwrap_or_default();
        format!("{}{first}{}", self.variables, rest.as_str())
    }

    /// Renames the states and variables of the guard to these names. The variables are those that the guard
    /// assigns, and those of `read`, which it only reads.
    pub(crate) fn apply<'a>(&self, guard: &mut Value, read: impl Iterator<Item = &'a str>) {
        let mut variables: BTreeSet<String> = read.map(str::to_owned).collect();
        guard.change(&mut |value| {
            if let Some(Value::Map(assigned)) = value.get("Assign") {
                variables.extend(assigned.iter().map(|(name, _)| name.clone()));
            }
        });
        guard.change(&mut |value| match value {
            Value::Map(fields) => {
                for (name, value) in fields.iter_mut() {
                    let is_target = matches!(name.as_str(), "Next" | "Default" | "StartAt");
                    match value {
                        Value::Text(target) if is_target => *target = self.state(target),
                        Value::Map(assigned) if name == "Assign" => {
                            for (name, _) in assigned {
                                *name = self.variable(name);
                            }
                        }
                        Value::Map(inner) if name == "States" => self.rename_keys(inner),
                        _ => {}
                    }
                }
            }
            Value::Text(text) => *text = rename(text, &variables, |name| self.variable(name)),
            _ => {}
        });
        if let Value::Map(outer) = guard {
            self.rename_keys(outer);
        }
    }

    /// Renames the keys of a map of states, so that they match the targets of the transitions.
    fn rename_keys(&self, states: &mut [(String, Value)]) {
        for (name, _) in states {
            *name = self.state(name);
        }
    }
}

/// Adds the names of all states of the guard to `names`, at any depth.
pub(super) fn collect(guard: &mut Value, names: &mut Vec<String>) {
    if let Value::Map(states) = guard {
        names.extend(states.iter().map(|(name, _)| name.clone()));
    }
    guard.change(&mut |value| {
        if let Some(Value::Map(states)) = value.get("States") {
            names.extend(states.iter().map(|(name, _)| name.clone()));
        }
    });
}

/// Renames the variables of an expression that are `known`. Only whole `$name` tokens are renamed, and no
/// `$$name`.
fn rename(text: &str, known: &BTreeSet<String>, new: impl Fn(&str) -> String) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let (before, after) = rest.split_at(at + 1);
        out.push_str(before);
        let end = after.find(|c: char| !is_word(c)).unwrap_or(after.len());
        let (name, tail) = after.split_at(end);
        // In JSONata, `$$` is the root of the input and not a variable.
        match known.contains(name) && !before[..at].ends_with('$') {
            true => out.push_str(&new(name)),
            false => out.push_str(name),
        }
        rest = tail;
    }
    out + rest
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Returns the names of all states of a definition, at any depth.
pub(crate) fn state_names(root: &Node) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    root.walk(&mut |node| {
        if let Some(states) = node.get("States") {
            names.extend(states.entries().iter().map(|entry| entry.name.clone()));
        }
    });
    names
}

/// Returns the variables that a part of a definition assigns or reads. A text that is not an expression may
/// add words that are not variables.
pub(crate) fn variables_of(root: &Node) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    root.walk(&mut |node| {
        if let Some(assigned) = node.get("Assign") {
            let assigned = assigned.entries().iter();
            names.extend(assigned.map(|entry| entry.name.trim_end_matches(".$").to_owned()));
        }
        let mut rest = node.text().unwrap_or_default();
        while let Some(at) = rest.find('$') {
            rest = &rest[at + 1..];
            let end = rest.find(|c: char| !is_word(c)).unwrap_or(rest.len());
            if end > 0 {
                names.insert(rest[..end].to_owned());
            }
        }
    });
    names
}
