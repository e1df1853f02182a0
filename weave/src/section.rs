//! Finds the states that are the work, and what leads into and out of them.
//!
//! The work becomes a branch of a Parallel, which has rules of its own:
//! - a transition leads only to a state of the same branch;
//! - the branch ends with its last state;
//! - a variable that is assigned inside the branch is not visible outside.
//!
//! A section that breaks one of these rules is refused with the name of the state. AWS would refuse the
//! result too, but its error would not mention the section.

mod machine;

pub(crate) use machine::transitions;

use crate::Error;
use crate::document::{Entry, Node};
use crate::guard::variables_of;
use crate::options::Options;
use machine::Machine;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The states that are the work. They stand next to each other in the file, and have one entrance and at most
/// one exit.
#[derive(Debug)]
pub(crate) struct Section<'a> {
    /// The indexes of these states among the states of the top level.
    pub(crate) range: Range<usize>,
    /// The name of the first state.
    pub(crate) first: String,
    /// The `Next` of the last state; `None` if no other state follows the work.
    pub(crate) exit: Option<&'a Entry>,
    /// The scalars outside of the section that name its first state: `StartAt`, and targets of transitions.
    pub(crate) entrances: Vec<&'a Node>,
}

impl<'a> Section<'a> {
    /// Finds and checks the section that `options` name.
    ///
    /// # Errors
    /// [`Error::Section`] if the states are not such a section, and [`Error::Definition`] if the top level is
    /// not valid.
    pub(crate) fn find(root: &'a Node, options: &Options) -> Result<Self, Error> {
        let machine = Machine::of(root)?;
        let first = options.from.as_deref().unwrap_or(machine.start);
        let inside = if options.is_section() {
            machine.exists("--from", first)?;
            machine.inside(first, options.to.as_deref())?
        } else {
            (0..machine.states.len()).collect()
        };
        let bounds = Bounds {
            machine: &machine,
            first,
            last: options.to.as_deref(),
            inside: &inside,
        };
        let exit = bounds.exit()?;
        bounds.check_ends(exit)?;
        bounds.check_variables()?;
        Ok(Self {
            range: bounds.neighbours()?,
            first: first.to_owned(),
            exit,
            entrances: bounds.entrances()?,
        })
    }
}

/// A section while it is checked.
struct Bounds<'m, 'a> {
    machine: &'m Machine<'a>,
    first: &'m str,
    last: Option<&'m str>,
    /// The indexes of the states of the section.
    inside: &'m BTreeSet<usize>,
}

impl<'a> Bounds<'_, 'a> {
    /// Returns the error that names the section by its flags, and says what is wrong with it.
    fn wrong(&self, why: &str) -> Error {
        let to = self
            .last
            .map(|last| format!(" to \"{last}\""))
            .unwrap_or_default();
        Error::Section(format!("the section from \"{}\"{to} {why}", self.first))
    }

    /// Returns the states of the section, or those outside of it.
    fn states(&self, inside: bool) -> impl Iterator<Item = &'a Entry> {
        let states = self.machine.states.iter().enumerate();
        let states = states.filter(move |(at, _)| self.inside.contains(at) == inside);
        states.map(|(_, state)| state)
    }

    /// Returns whether `target` names a state of the section.
    fn contains(&self, target: &Node) -> bool {
        let place = target.text().and_then(|name| self.machine.place(name));
        place.is_some_and(|place| self.inside.contains(&place))
    }

    /// Returns the `Next` of the last state; `None` if the section ends the execution, or has no `--to`.
    fn exit(&self) -> Result<Option<&'a Entry>, Error> {
        let last = self.last.and_then(|last| self.machine.place(last));
        let Some(last) = last.map(|last| &self.machine.states[last]) else {
            return Ok(None);
        };
        if last.value.get("Choices").is_some() {
            let rule = "a Choice state, but must be a state with one exit: Next or End";
            return Err(Error::Section(format!("--to is \"{}\", {rule}", last.name)));
        }
        let Some(target) = last.value.get("Next") else {
            return Ok(None);
        };
        if self.contains(target) {
            let target = target.text().unwrap_or_default();
            let into = self.states(true).filter(|state| state.name != last.name);
            let mut others = into.filter(|state| {
                let mut to = transitions(&state.value).into_iter();
                to.any(|(_, to)| to.text() == Some(target))
            });
            return Err(self.wrong(&match others.next() {
                _ if target == self.first => format!("leads back to its first state \"{target}\""),
                Some(other) => {
                    format!(
                        "has two exits: \"{}\" leads to \"{target}\" too",
                        other.name
                    )
                }
                None => format!(
                    "has two exits: a Catch of \"{}\" leads to \"{target}\" too",
                    last.name
                ),
            }));
        }
        let own = last.value.entry("Next");
        let why = format!(
            "Next of state \"{}\" comes from a YAML merge and cannot be changed alone",
            last.name
        );
        own.map(Some).ok_or(Error::Text(why))
    }

    /// Rejects a state that ends the execution, if the section has an exit to another state.
    fn check_ends(&self, exit: Option<&Entry>) -> Result<(), Error> {
        if exit.is_none() {
            return Ok(());
        }
        let mut ends = self.states(true).filter(|state| {
            let is = |name, value| state.value.get(name).and_then(Node::text) == Some(value);
            is("End", "true") || is("Type", "Succeed")
        });
        match ends.next() {
            Some(end) => Err(self.wrong(&format!(
                "has two exits: \"{}\" ends the execution",
                end.name
            ))),
            None => Ok(()),
        }
    }

    /// Rejects a variable that the section assigns and a state outside of it uses: the variables of the work
    /// are lost when the work ends.
    fn check_variables(&self) -> Result<(), Error> {
        let mut assigned = BTreeMap::new();
        for state in self.states(true) {
            let rules = ["Choices", "Catch"]
                .into_iter()
                .filter_map(|name| state.value.get(name));
            let rules = rules.flat_map(Node::items);
            for place in [&state.value].into_iter().chain(rules) {
                let names = place.get("Assign").map(Node::entries).unwrap_or_default();
                for name in names {
                    assigned.insert(name.name.trim_end_matches(".$").to_owned(), &state.name);
                }
            }
        }
        for state in self.states(false) {
            let known = variables_of(&state.value);
            if let Some((name, by)) = assigned.iter().find(|(name, _)| known.contains(*name)) {
                return Err(self.wrong(&format!(
                    "assigns the variable \"{name}\" in \"{by}\", and \"{}\" outside of it uses that variable: \
                     the variables of the work are lost when the work ends",
                    state.name
                )));
            }
        }
        Ok(())
    }

    /// Returns the indexes of the states, if they stand next to each other.
    ///
    /// The section is moved as one piece of text. With gaps between its states, the original place of each
    /// state would have to be stored for `unweave`.
    fn neighbours(&self) -> Result<Range<usize>, Error> {
        let least = self.inside.first().copied().unwrap_or_default();
        let most = self.inside.last().copied().unwrap_or_default();
        let between = (least..=most).find(|at| !self.inside.contains(at));
        match between {
            None => Ok(least..most + 1),
            Some(between) => Err(self.wrong(&format!(
                "has states that do not stand next to each other in the file: move \"{}\" before or after them",
                self.machine.states[between].name
            ))),
        }
    }

    /// Returns the scalars outside of the section that name its first state. No other state of the section
    /// may be named outside of it.
    fn entrances(&self) -> Result<Vec<&'a Node>, Error> {
        let start = self.machine.root.get("StartAt").into_iter();
        let mut found: Vec<_> = start.filter(|start| self.contains(start)).collect();
        if let Some(start) = found.first()
            && start.text() != Some(self.first)
        {
            let start = start.text().unwrap_or_default();
            return Err(self.wrong(&format!("has a second entrance: StartAt is \"{start}\"")));
        }
        for state in self.states(false) {
            for (field, target) in transitions(&state.value) {
                if !self.contains(target) {
                    continue;
                }
                if target.text() != Some(self.first) {
                    return Err(self.wrong(&format!(
                        "has a second entrance: {field} of \"{}\" leads to \"{}\"",
                        state.name,
                        target.text().unwrap_or_default()
                    )));
                }
                found.push(target);
            }
        }
        Ok(found)
    }
}
