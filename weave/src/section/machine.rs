//! The top level of a definition, and the transitions of its states.
//!
//! Only states of the top level can be a section. All iterations of a Map, and all branches of a Parallel,
//! run in one execution, which is the holder, so all of them would hold the lock at once.

use crate::Error;
use crate::document::{Entry, Node};
use crate::guard::state_names;
use std::collections::BTreeSet;

/// A transition: its field, and the scalar that names its target.
pub(crate) type Transition<'a> = (&'static str, &'a Node);

/// Returns all transitions of a state.
pub(crate) fn transitions(state: &Node) -> Vec<Transition<'_>> {
    let own = ["Next", "Default"].into_iter();
    let own = own.filter_map(|name| Some((name, state.get(name)?)));
    let rules = ["Choices", "Catch"].into_iter().flat_map(|name| {
        let rules = state.get(name).map(Node::items).unwrap_or_default();
        let targets = rules.iter().filter_map(|rule| rule.get("Next"));
        targets.map(move |target| (name, target))
    });
    own.chain(rules).collect()
}

/// The top level of a definition.
pub(super) struct Machine<'a> {
    pub(super) root: &'a Node,
    pub(super) start: &'a str,
    pub(super) states: &'a [Entry],
}

impl<'a> Machine<'a> {
    /// Reads the top level of a definition.
    ///
    /// # Errors
    /// [`Error::Definition`] if a field is missing, if a name occurs twice, or if a transition leads to no
    /// state of the top level.
    pub(super) fn of(root: &'a Node) -> Result<Self, Error> {
        let start = root.get("StartAt").and_then(Node::text);
        let missing = |field: &str| Error::Definition(format!("field {field} is missing"));
        let start = start.ok_or_else(|| missing("StartAt"))?;
        let states = root.get("States").ok_or_else(|| missing("States"))?;
        let machine = Self {
            root,
            start,
            states: states.entries(),
        };
        let known: BTreeSet<_> = machine.states.iter().map(|state| &state.name).collect();
        if known.len() < machine.states.len() {
            let rule = "has a state twice, but names must be unique";
            return Err(Error::Definition(format!("field States {rule}")));
        }
        let named = machine.states.iter().flat_map(|state| {
            let to = transitions(&state.value).into_iter();
            to.map(|(field, target)| {
                (
                    format!("{field} of state \"{}\"", state.name),
                    target.text(),
                )
            })
        });
        let named = [("field StartAt".to_owned(), Some(start))]
            .into_iter()
            .chain(named);
        for (field, target) in named {
            if target.is_none_or(|target| machine.place(target).is_none()) {
                let target = target.unwrap_or_default();
                return Err(Error::Definition(format!(
                    "{field} is \"{target}\", but must be a state of the same level"
                )));
            }
        }
        Ok(machine)
    }

    /// Returns the index of the state `name`.
    pub(super) fn place(&self, name: &str) -> Option<usize> {
        self.states.iter().position(|state| state.name == name)
    }

    /// Rejects a flag that names no state of the top level.
    pub(super) fn exists(&self, flag: &str, name: &str) -> Result<(), Error> {
        if self.place(name).is_some() {
            return Ok(());
        }
        let around = self
            .states
            .iter()
            .find(|state| state_names(&state.value).contains(name));
        let rule = match around {
            None => "must be a state of the definition's top level".to_owned(),
            Some(around) => {
                let kind = around
                    .value
                    .get("Type")
                    .and_then(Node::text)
                    .unwrap_or_default();
                let why = match kind {
                    "Map" => "its iterations have one execution, so they would share one holder",
                    _ => "its branches have one execution, so they would share one holder",
                };
                format!(
                    "is inside of the {kind} \"{}\": {why}. Name the {kind} itself",
                    around.name
                )
            }
        };
        Err(Error::Section(format!("{flag} is \"{name}\", but {rule}")))
    }

    /// Returns the indexes of `first` and of all states that follow it, without following the `Next` of
    /// `last`.
    pub(super) fn inside(&self, first: &str, last: Option<&str>) -> Result<BTreeSet<usize>, Error> {
        if let Some(last) = last {
            self.exists("--to", last)?;
        }
        let mut found = BTreeSet::new();
        let mut left: Vec<usize> = self.place(first).into_iter().collect();
        while let Some(at) = left.pop() {
            if !found.insert(at) {
                continue;
            }
            let state = &self.states[at];
            for (field, target) in transitions(&state.value) {
                if Some(state.name.as_str()) == last && field == "Next" {
                    continue;
                }
                left.extend(target.text().and_then(|target| self.place(target)));
            }
        }
        match last.and_then(|last| self.place(last)) {
            Some(last) if !found.contains(&last) => Err(Error::Section(format!(
                "--to is \"{}\", but must be reachable from \"{first}\"",
                self.states[last].name
            ))),
            _ => Ok(found),
        }
    }
}
