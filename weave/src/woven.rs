//! A woven definition: the places of its parts, and its original.
//!
//! ```text
//!  Request Lock ─▶ Acquire Lock ─▶ … ─▶ Run Exclusively ─▶ what followed the work
//!    Comment: the command                  └ Run Work ─ the work, indented deeper
//! ```
//! A woven definition is recognised by the Comment of its first woven state, which is the command with its
//! flags. An additional field would be refused by CreateStateMachine, and a YAML comment is lost in JSON. The
//! other parts are found by the names of the states of exclusive-run.

use crate::document::{Document, Entry, Node};
use crate::guard::{HOLD, Names, WORK};
use crate::options::Options;
use crate::section::{Section, transitions};
use crate::{Error, edited, write};
use std::ops::Range;

/// A definition that was woven.
pub(crate) struct Woven<'d, 'a> {
    document: &'d Document<'a>,
    pub(crate) options: Options,
    entry: &'d str,
    /// The indexes of the woven states among the states of the top level.
    range: Range<usize>,
    /// The `Next` of the state that holds the lock; `None` if no other state follows the work.
    next: Option<&'d Node>,
    start: &'d Node,
    work: &'d Node,
}

impl<'d, 'a> Woven<'d, 'a> {
    /// Finds the parts of a woven definition; `None` if it is not woven.
    ///
    /// # Errors
    /// [`Error::NotWoven`] if a part is missing or was changed.
    pub(crate) fn find(document: &'d Document<'a>) -> Result<Option<Self>, Error> {
        let states = states(&document.root);
        let entry = states.iter().find_map(|state| {
            let comment = state.value.get("Comment").and_then(Node::text)?;
            Some((
                state,
                Names::of_entry(&state.name)?,
                Options::of_comment(comment)?,
            ))
        });
        let Some((entry, names, options)) = entry else {
            return Ok(None);
        };
        let missing = |what: &str| {
            let from = &entry.name;
            Error::NotWoven(format!(
                "state \"{from}\" is woven, but {what} is missing or was changed"
            ))
        };
        let hold = named(states, &names.state(HOLD))
            .ok_or_else(|| missing("the state that holds the lock"))?;
        let branch = first_branch(hold)
            .and_then(|branch| named(branch.get("States")?.entries(), &names.state(WORK)))
            .and_then(first_branch);
        let branch = branch.ok_or_else(|| missing("the state around the work"))?;
        let [start, work] = ["StartAt", "States"].map(|field| branch.get(field));
        let (Some(start), Some(work)) = (start, work.filter(|work| !work.entries().is_empty()))
        else {
            return Err(missing("the work"));
        };
        let next = hold.get("Next");
        let range =
            range(states, &entry.name, next).ok_or_else(|| missing("one of the woven states"))?;
        Ok(Some(Self {
            document,
            options,
            entry: &entry.name,
            range,
            next,
            start,
            work,
        }))
    }

    /// Returns the original definition.
    pub(crate) fn original(&self) -> String {
        let document = self.document;
        let states = states(&document.root);
        let flow = document.root.get("States").is_some_and(Node::is_flow);
        let place = document.place(&states[self.range.clone()], flow);
        let moved = document.place(self.work.entries(), self.work.is_flow());
        let work = edited(document, &moved, &self.edits_after_work());
        let margins = document
            .margin(moved.start)
            .zip(document.margin(place.start));
        let more = margins.and_then(|(inner, outer)| inner.strip_prefix(outer));
        let mut edits = vec![(place, write::dedent(&work, more.unwrap_or_default()))];
        let outside = states.iter().enumerate();
        let outside = outside.filter(|(at, _)| !self.range.contains(at));
        let targets = outside.flat_map(|(_, state)| transitions(&state.value));
        let targets = targets
            .map(|(_, target)| target)
            .chain(document.root.get("StartAt"));
        for target in targets.filter(|target| target.text() == Some(self.entry)) {
            edits.push((target.span.clone(), self.first_state(target)));
        }
        edited(document, &(0..document.text.len()), &edits)
    }

    /// Returns the name of the first state of the work, written in the style of `target`.
    fn first_state(&self, target: &Node) -> String {
        let start = self.document.slice(&self.start.span);
        let target = self.document.slice(&target.span);
        // A name in the same quotes is copied unchanged, with its escapes.
        let style = |text: &str| text.bytes().next().filter(|byte| b"\"'".contains(byte));
        match style(start) == style(target) {
            true => start.to_owned(),
            false => write::in_style_of(target, self.start.text().unwrap_or_default()),
        }
    }

    /// Returns the edits that let the last state of the work lead to the state after it again: `End` becomes
    /// `Next`.
    fn edits_after_work(&self) -> Vec<(Range<usize>, String)> {
        let last = self.options.to.as_deref();
        let last = last.and_then(|last| named(self.work.entries(), last));
        let end = last.and_then(|last| last.entry("End"));
        let (Some(next), Some(end)) = (self.next, end) else {
            return Vec::new();
        };
        let key = write::in_style_of(self.document.slice(&end.key), "Next");
        let next = self.document.slice(&next.span).to_owned();
        vec![(end.key.clone(), key), (end.value.span.clone(), next)]
    }
}

fn states(root: &Node) -> &[Entry] {
    root.get("States").map(Node::entries).unwrap_or_default()
}

fn named<'d>(states: &'d [Entry], name: &str) -> Option<&'d Node> {
    let state = states.iter().find(|state| state.name == name);
    state.map(|state| &state.value)
}

fn first_branch(state: &Node) -> Option<&Node> {
    state.get("Branches")?.items().first()
}

/// Returns the indexes of `entry` and of the states that follow it, up to the state after the work; `None` if
/// these states no longer stand next to each other.
///
/// The states are found by their transitions and not by their position: a state that somebody added between
/// them by hand would otherwise be lost.
fn range(states: &[Entry], entry: &str, next: Option<&Node>) -> Option<Range<usize>> {
    let place = |name: &str| states.iter().position(|state| state.name == name);
    let behind = next.and_then(Node::text);
    let mut found = std::collections::BTreeSet::new();
    let mut left = vec![place(entry)?];
    while let Some(at) = left.pop() {
        if found.insert(at) {
            let targets = transitions(&states[at].value).into_iter();
            for target in targets.filter_map(|(_, target)| target.text()) {
                if Some(target) != behind {
                    left.push(place(target)?);
                }
            }
        }
    }
    let range = *found.first()?..*found.last()? + 1;
    (range.len() == found.len()).then_some(range)
}

/// Checks that a woven text contains the work unchanged, and that unweaving restores the original.
///
/// # Errors
/// [`Error::Text`] if the text cannot be moved without a change.
pub(crate) fn check_unchanged(
    original: &Document,
    section: &Section,
    woven: &str,
) -> Result<(), Error> {
    let lost = |what: &str| {
        Error::Text(format!(
            "the text cannot be moved without a change: {what}. Put its scalars in quotes, replace its aliases by their \
             values, and end the file with a newline"
        ))
    };
    let document = Document::parse(woven)
        .map_err(|error| lost(&format!("the woven text is not valid: {error}")))?;
    let found =
        Woven::find(&document)?.ok_or_else(|| lost("the woven states are not found again"))?;
    let states = states(&original.root);
    let before = &states[section.range.clone()];
    let after = found.work.entries();
    let exit = section.exit.map(|exit| &exit.key);
    let changed = before.iter().zip(after).find(|(before, after)| {
        // `Next` or `End` of the last state is the only field of the work that weaving changes.
        let last = |entry: &&Entry| !matches!(entry.name.as_str(), "Next" | "End");
        let own = |entry: &Entry| Some(&entry.key) == exit;
        let is_last = before.value.entries().iter().any(own);
        let same = match is_last {
            true => {
                let before = before.value.entries().iter().filter(last);
                let mut pairs = before.zip(after.value.entries().iter().filter(last));
                pairs.all(|(before, after)| before.value.same(&after.value))
            }
            false => before.value.same(&after.value),
        };
        before.name != after.name || !same
    });
    if let Some((before, _)) = changed {
        return Err(lost(&format!("state \"{}\" would change", before.name)));
    }
    if before.len() != after.len() || found.original() != original.text {
        return Err(lost("unweave would not restore it byte for byte"));
    }
    Ok(())
}
