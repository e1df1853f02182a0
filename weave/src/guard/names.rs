//! Names of states and variables that do not collide with those of the definition.
//!
//! An inner scope may not assign a variable of an outer one under the same name, and a variable
//! that the author adds later should not collide: so variables always have a prefix. Names of
//! states are what people read in the console: they get one only where one of them is taken, and
//! then all together, so that the prefix is known from the first.

use crate::document::Node;
use crate::value::Value;
use std::collections::BTreeSet;

/// The names that the guard has in one definition.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    /// What stands before each state's name.
    prefix: String,
    /// What stands before each variable's name, whose first letter is then a capital.
    variables: String,
}

impl Names {
    /// Names that are not among `states` and `variables`. The guard's own names of states are `guard`.
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
            // `lockstepInput` is taken; `lockstepping` is not, since a guard's name goes on with a
            // capital.
            let mut names = variables.iter().filter_map(|name| name.strip_prefix(word));
            !names.any(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()))
        });
        Self {
            prefix: prefix.unwrap_or_default(),
            variables: word.unwrap_or_default(),
        }
    }

    /// The names of a woven definition, by that of its first woven state.
    ///
    /// The prefix of the variables is not needed to take the states out.
    pub(crate) fn of_entry(entry: &str) -> Option<Self> {
        let prefix = entry.strip_suffix(super::ENTRY)?;
        Some(Self {
            prefix: prefix.to_owned(),
            variables: String::new(),
        })
    }

    /// The name of the guard's state `name`.
    pub(crate) fn state(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// The name of the guard's variable `name`.
    pub(crate) fn variable(&self, name: &str) -> String {
        let mut rest = name.chars();
        let first = rest.next().map(|first| first.to_ascii_uppercase());
        let first = first.map(String::from).unwrap_or_default();
        format!("{}{first}{}", self.variables, rest.as_str())
    }

    /// Gives the guard these names. It assigns its variables itself, except those that it only reads.
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

    /// The names under which states stand are those by which transitions name them.
    fn rename_keys(&self, states: &mut [(String, Value)]) {
        for (name, _) in states {
            *name = self.state(name);
        }
    }
}

/// Adds the names of all states of the guard.
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

/// Renames the variables of an expression: whole `$name` tokens, and no `$$name`.
fn rename(text: &str, known: &BTreeSet<String>, new: impl Fn(&str) -> String) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let (before, after) = rest.split_at(at + 1);
        out.push_str(before);
        let end = after.find(|c: char| !is_word(c)).unwrap_or(after.len());
        let (name, tail) = after.split_at(end);
        // `$$` is the root of JSONata's input, and no variable.
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

/// The names of all states of a definition, at any depth.
pub(crate) fn state_names(root: &Node) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    root.walk(&mut |node| {
        if let Some(states) = node.get("States") {
            names.extend(states.entries().iter().map(|entry| entry.name.clone()));
        }
    });
    names
}

/// The variables that a part of a definition assigns or reads. A text that is no expression may add names that
/// are none.
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
