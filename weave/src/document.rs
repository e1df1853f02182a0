//! A definition as its author wrote it: the text, and a tree of nodes that know their places in the text.
//!
//! A place is a range of bytes in the text as it was read, including a byte order mark. Edits are made at
//! these places.

mod json;
mod yaml;

use crate::Error;
use std::ops::Range;

/// Deepest nesting of values that is accepted, because each level takes stack.
const DEPTH_MAX: usize = 128;
const TOO_DEEP: &str = "the nesting is too deep";

/// A text and its tree.
#[derive(Debug)]
pub(crate) struct Document<'a> {
    pub(crate) text: &'a str,
    pub(crate) root: Node,
}

/// A value, and its place in the text.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    pub(crate) span: Range<usize>,
    pub(crate) kind: Kind,
}

#[derive(Clone, Debug)]
pub(crate) enum Kind {
    Map { flow: bool, entries: Vec<Entry> },
    List(Vec<Node>),
    Scalar { text: String, quoted: bool },
}

/// A field of a map.
#[derive(Clone, Debug)]
pub(crate) struct Entry {
    pub(crate) key: Range<usize>,
    pub(crate) name: String,
    pub(crate) value: Node,
}

impl<'a> Document<'a> {
    /// Parses a definition in JSON or YAML.
    ///
    /// A text that begins with a brace and a quote, or with an empty map, must be JSON. YAML may begin in the
    /// same way, but such a text was most likely meant as JSON, and AWS accepts only JSON. So single quotes,
    /// `NaN` and hexadecimal numbers are errors in it.
    ///
    /// # Errors
    /// [`Error::Syntax`] with the place of the first error, and [`Error::Definition`] for an empty text.
    pub(crate) fn parse(text: &'a str) -> Result<Self, Error> {
        let body = text.strip_prefix('\u{feff}').unwrap_or(text);
        let offset = text.len() - body.len();
        let inside = body.trim_start().strip_prefix('{');
        let is_json =
            inside.is_some_and(|inside| inside.trim_start().starts_with(['"', '\'', '}']));
        let root = if is_json {
            json::parse(body, offset)?
        } else {
            yaml::parse(body, offset)?
        };
        Ok(Self { text, root })
    }

    /// Returns the text of `span`.
    pub(crate) fn slice(&self, span: &Range<usize>) -> &'a str {
        &self.text[span.clone()]
    }

    /// Returns the text before `at` on its line, if that is only white space; `None` otherwise, and on the
    /// first line.
    pub(crate) fn margin(&self, at: usize) -> Option<&'a str> {
        let line = self.text[..at].rfind('\n').map_or(0, |end| end + 1);
        let margin = self.text[line..at].trim_start_matches('\u{feff}');
        (line > 0 && margin.bytes().all(|byte| matches!(byte, b' ' | b'\t'))).then_some(margin)
    }

    /// Returns the place of `entries`: from the first key to the end of the last value. In block style the
    /// place extends to the end of the last line, so that a comment stays with the value before it.
    pub(crate) fn place(&self, entries: &[Entry], flow: bool) -> Range<usize> {
        let (Some(first), Some(last)) = (entries.first(), entries.last()) else {
            return 0..0;
        };
        let start = first.key.start;
        let end = last.value.span.end.max(last.key.end);
        if flow {
            return start..end;
        }
        let end = start + self.text[start..end].trim_end().len();
        let rest = &self.text[end..];
        let line = rest.find('\n').map_or(rest, |at| &rest[..at]);
        start..end + line.trim_end().len()
    }
}

impl Node {
    /// Returns the fields of a map; empty for any other value.
    pub(crate) fn entries(&self) -> &[Entry] {
        match &self.kind {
            Kind::Map { entries, .. } => entries,
            Kind::List(_) | Kind::Scalar { .. } => &[],
        }
    }

    /// Returns the items of a list; empty for any other value.
    pub(crate) fn items(&self) -> &[Node] {
        match &self.kind {
            Kind::List(items) => items,
            Kind::Map { .. } | Kind::Scalar { .. } => &[],
        }
    }

    /// Returns the text of a scalar; `None` for any other value.
    pub(crate) fn text(&self) -> Option<&str> {
        match &self.kind {
            Kind::Scalar { text, .. } => Some(text),
            Kind::Map { .. } | Kind::List(_) => None,
        }
    }

    /// Returns whether the value is a map in flow style, as in JSON.
    pub(crate) fn is_flow(&self) -> bool {
        matches!(self.kind, Kind::Map { flow: true, .. })
    }

    /// Returns whether the value is a map.
    pub(crate) fn is_map(&self) -> bool {
        matches!(self.kind, Kind::Map { .. })
    }

    /// Returns the field `name` of this map, without fields that a YAML merge adds.
    pub(crate) fn entry(&self, name: &str) -> Option<&Entry> {
        self.entries().iter().find(|entry| entry.name == name)
    }

    /// Returns the value of the field `name`, even if a YAML merge (`<<`) adds the field.
    pub(crate) fn get(&self, name: &str) -> Option<&Node> {
        let own = self.entry(name).map(|entry| &entry.value);
        own.or_else(|| {
            let merged = &self.entry("<<")?.value;
            let listed = merged.items().iter().find_map(|item| item.get(name));
            merged.get(name).or(listed)
        })
    }

    /// Returns whether both nodes have the same value, regardless of their places.
    pub(crate) fn same(&self, other: &Self) -> bool {
        match (&self.kind, &other.kind) {
            (Kind::Map { entries: a, .. }, Kind::Map { entries: b, .. }) => {
                let pairs = a.iter().zip(b);
                let mut pairs = pairs.map(|(a, b)| a.name == b.name && a.value.same(&b.value));
                a.len() == b.len() && pairs.all(|same| same)
            }
            (Kind::List(a), Kind::List(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same(b))
            }
            (Kind::Scalar { text: a, quoted: p }, Kind::Scalar { text: b, quoted: q }) => {
                a == b && p == q
            }
            _ => false,
        }
    }

    /// Calls `visit` with this node and every node inside it.
    pub(crate) fn walk<'n>(&'n self, visit: &mut impl FnMut(&'n Node)) {
        visit(self);
        for entry in self.entries() {
            entry.value.walk(visit);
        }
        for item in self.items() {
            item.walk(visit);
        }
    }
}
