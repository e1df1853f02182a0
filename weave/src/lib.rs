//! Writes the states that hold a lock into a state machine definition, and restores the original definition.
//!
//! A definition is edited as text: what its author wrote is moved, and never reformatted. The woven states
//! are those of exclusive-run, read from its definition; they surround the states that are the work.
//! [`weave`] of a woven definition begins with [`unweave`], which returns the original byte for byte.
//!
//! ```text
//!  text ─▶ document: a tree whose nodes know their place in the text
//!            ├─▶ section: which states are the work, and what leads into and out of them
//!            ├─▶ guard: the states of exclusive-run around them, as values
//!            └─▶ write: those values in the layout of the file
//!  edits of the text: the place of the work, and the names that lead into it
//! ```
//! A tool that parses a definition and serialises it again uses a layout of its own, so the first diff would
//! cover the whole file. Here only the woven states are serialised. [`weave`] then parses its own result, and
//! returns an error if a value of the work has changed, or if [`unweave`] would not restore the original.

mod document;
mod error;
mod guard;
mod options;
mod section;
mod valid;
mod value;
mod woven;
mod write;

pub use error::Error;
pub use lockstep::contract::OnSkip;
pub use options::Options;

use document::{Document, Node};
use guard::{Around, Names};
use section::Section;
use std::ops::Range;
use woven::Woven;
use write::Layout;

/// Maximum number of characters in a definition that CreateStateMachine accepts
/// (<https://docs.aws.amazon.com/step-functions/latest/apireference/API_CreateStateMachine.html>).
pub const DEFINITION_MAX: usize = 1_048_576;

/// Weaves the lock around the states that `options` name. A definition that is woven already is unwoven first.
///
/// [`unweave`] of the result returns `text`, or the definition that `text` was woven from.
///
/// # Errors
/// [`Error`] if the definition or an option cannot be used.
pub fn weave(text: &str, options: &Options) -> Result<String, Error> {
    options.check()?;
    let document = definition(text)?;
    // Other flags lead to other states, so the definition is woven from its original.
    if Woven::find(&document)?.is_some() {
        return weave(&unweave(text)?, options);
    }
    let section = Section::find(&document.root, options)?;
    valid::check(&document)?;
    check_guard(&document, options)?;
    let states = document
        .root
        .get("States")
        .map(Node::entries)
        .unwrap_or_default();
    let states = &states[section.range.clone()];
    let flow = document.root.get("States").is_some_and(Node::is_flow);
    let place = document.place(states, flow);
    let names = Names::beside(
        &guard::own_names()?,
        &guard::state_names(&document.root),
        &guard::variables_of(&document.root),
    );
    let around = around(&document, &section);
    let work = edited(&document, &place, &ending(&document, &section));
    let layout = layout(&document, &place, flow, &work);
    let fields = guard::build(options, &names, &around)?;
    let mut edits = vec![(place, layout.fields(&fields))];
    edits.extend(section.entrances.iter().map(|entrance| {
        let entry = names.state(guard::ENTRY);
        let written = document.slice(&entrance.span);
        (entrance.span.clone(), write::in_style_of(written, &entry))
    }));
    let woven = edited(&document, &(0..text.len()), &edits);
    let characters = woven.chars().count();
    // CreateStateMachine would refuse a longer definition. This error comes before the deployment.
    if characters > DEFINITION_MAX {
        return Err(Error::TooLong { characters });
    }
    woven::check_unchanged(&document, &section, &woven)?;
    Ok(woven)
}

/// Returns the original of a woven definition.
///
/// # Errors
/// [`Error::NotWoven`] if the definition is not woven, or if its woven states were changed so that the
/// original cannot be found.
pub fn unweave(text: &str) -> Result<String, Error> {
    let document = definition(text)?;
    let woven = Woven::find(&document)?;
    let woven = woven.ok_or_else(|| Error::NotWoven("the definition is not woven".into()))?;
    Ok(woven.original())
}

/// Returns the options of a woven definition; `None` if it is not woven.
///
/// # Errors
/// [`Error`] if `text` is not a definition, or if its woven states were changed so that the original cannot
/// be found.
pub fn options_of(text: &str) -> Result<Option<Options>, Error> {
    let document = definition(text)?;
    Ok(Woven::find(&document)?.map(|woven| woven.options))
}

/// Checks that a definition is woven, and that this version would weave it in the same way. Returns its
/// options.
///
/// # Errors
/// [`Error::NotWoven`] if the definition is not woven, or if weaving it again would change it.
pub fn check(text: &str) -> Result<Options, Error> {
    let options = options_of(text)?;
    let options = options.ok_or_else(|| Error::NotWoven("the definition is not woven".into()))?;
    // The definition contains its flags. Weaving it with the same flags gives another text only if this
    // version weaves other states.
    if weave(text, &options)? == text {
        return Ok(options);
    }
    let why =
        "the woven states differ from those that this version weaves; weave the definition again";
    Err(Error::NotWoven(why.into()))
}

/// Parses a definition.
///
/// Checks only what is needed to find the woven states. [`valid`] checks a definition before it is woven.
fn definition(text: &str) -> Result<Document<'_>, Error> {
    let document = Document::parse(text)?;
    let root = &document.root;
    let wrong = |why: &str| Err(Error::Definition(why.into()));
    if let Some(other) = other_document(root) {
        return Err(Error::Definition(other));
    }
    if !root.is_map() {
        return wrong("a definition must be a map with StartAt and States");
    }
    for field in ["StartAt", "States"] {
        let times = root
            .entries()
            .iter()
            .filter(|entry| entry.name == field)
            .count();
        if times != 1 {
            return wrong(&format!(
                "field {field} must occur exactly once, but occurs {times} times"
            ));
        }
    }
    if root
        .get("States")
        .is_none_or(|states| states.entries().is_empty())
    {
        return wrong("field States must be a map of at least one state");
    }
    Ok(document)
}

/// Returns an error text if `root` is a document that contains a definition or refers to one: what the
/// document is, and what to weave instead. Returns `None` for any other document.
fn other_document(root: &Node) -> Option<String> {
    if let Some(resources) = root.get("Resources") {
        let types = resources.entries().iter();
        let mut types = types.filter_map(|resource| {
            let properties = resource.value.get("Properties")?;
            properties
                .get("Type")
                .or(properties.get("StateMachineType"))?
                .text()
        });
        let is_inline = resources.entries().iter().any(|resource| {
            let properties = resource.value.get("Properties");
            let names = ["Definition", "DefinitionString"];
            properties.is_some_and(|own| names.iter().any(|name| own.get(name).is_some()))
        });
        let inline = match is_inline {
            true => {
                " First move the inline Definition of the template into such a file; DefinitionSubstitutions replaces its ${…}."
            }
            false => "",
        };
        let express = match types.any(|kind| kind == "EXPRESS") {
            true => {
                " A state machine of type EXPRESS cannot hold a lock: nothing shows when its execution has ended."
            }
            false => "",
        };
        return Some(format!(
            "this is a CloudFormation template, not a definition: weave the file that its DefinitionUri or \
             DefinitionS3Location names.{inline}{express}"
        ));
    }
    if root.get("stateMachineArn").is_some() && root.get("definition").is_some() {
        return Some(
            "this is the output of DescribeStateMachine, not a definition: weave what `aws stepfunctions \
             describe-state-machine … --query definition --output text` prints"
                .into(),
        );
    }
    None
}

/// Rejects a definition whose own states call the functions of Lockstep.
///
/// The woven states and those states would be the same holder, the execution. Under one lock, the release by
/// one would release the permit of the other.
fn check_guard(document: &Document, options: &Options) -> Result<(), Error> {
    let functions = guard::functions(options)?;
    let states = document
        .root
        .get("States")
        .map(Node::entries)
        .unwrap_or_default();
    for state in states {
        let mut called = None;
        state.value.walk(&mut |node| {
            called = called.or(node.text().filter(|text| functions.contains(*text)));
        });
        if let Some(called) = called {
            return Err(Error::Definition(format!(
                "state \"{}\" calls {called} itself: a definition must hold the lock either by its own states or by woven \
                 states, not by both",
                state.name
            )));
        }
    }
    Ok(())
}

/// Returns what the woven states have to know about the definition around them. Names are copied as the
/// author wrote them, with their quotes.
fn around(document: &Document, section: &Section) -> Around {
    let language = document.root.get("QueryLanguage").and_then(Node::text);
    let start = section.entrances.first();
    let start = start.map(|start| document.slice(&start.span).to_owned());
    let next = section
        .exit
        .map(|exit| document.slice(&exit.value.span).to_owned());
    Around {
        jsonata: language == Some("JSONata"),
        start: start.unwrap_or_else(|| write::quoted(&section.first)),
        next,
    }
}

/// Returns the edits that make the last state of the section the end of the work: `Next` becomes `End`.
fn ending(document: &Document, section: &Section) -> Vec<(Range<usize>, String)> {
    let edits = section.exit.map(|exit| {
        let key = write::in_style_of(document.slice(&exit.key), "End");
        [
            (exit.key.clone(), key),
            (exit.value.span.clone(), "true".into()),
        ]
    });
    edits.into_iter().flatten().collect()
}

/// Returns the layout of the file at the place of the work. In JSON the states stand two levels deep, so one
/// level is half of their margin. If the margin does not show the level, it is two spaces.
fn layout<'a>(
    document: &Document<'a>,
    place: &Range<usize>,
    flow: bool,
    work: &'a str,
) -> Layout<'a> {
    let margin = document.margin(place.start);
    let half = margin.filter(|margin| flow && ["    ", "        ", "\t\t"].contains(margin));
    let lines = document.text.split_once('\n');
    Layout {
        flow,
        margin,
        unit: half.map_or("  ", |margin| &margin[..margin.len() / 2]),
        newline: match lines {
            Some((line, _)) if line.ends_with('\r') => "\r\n",
            _ => "\n",
        },
        work,
    }
}

/// Returns the text of `place` after `edits`, which do not overlap.
fn edited(document: &Document, place: &Range<usize>, edits: &[(Range<usize>, String)]) -> String {
    let mut edits: Vec<_> = edits.iter().collect();
    edits.sort_by_key(|(span, _)| span.start);
    // In YAML, the values that an alias stands for have the place of the anchor, so the same scalar may be
    // found twice.
    edits.dedup_by_key(|(span, _)| span.clone());
    let mut out = String::new();
    let mut at = place.start;
    for (span, new) in edits {
        out.push_str(&document.text[at..span.start]);
        out.push_str(new);
        at = span.end;
    }
    out.push_str(&document.text[at..place.end]);
    out
}

#[cfg(test)]
mod tests;
