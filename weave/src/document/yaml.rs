//! Parses YAML with the place of each value, from the events of saphyr-parser.
//!
//! Libraries that edit YAML write a layout of their own. The events of a parser contain the place of each
//! value, which is enough to edit the text.

use super::{DEPTH_MAX, Entry, Kind, Node};
use crate::Error;
use saphyr_parser::{Event, Parser, ScalarStyle, Span, StrInput};
use std::collections::HashMap;

/// Maximum number of values that aliases may add. A text with more cannot be a definition, because AWS
/// accepts at most 1,048,576 characters.
const ALIASED_MAX: usize = 100_000;

/// Parses the only document of `text`, which begins at byte `offset` of the file.
pub(super) fn parse(text: &str, offset: usize) -> Result<Node, Error> {
    let bytes = text.char_indices().map(|(at, _)| at);
    let mut reader = Reader {
        parser: Parser::new_from_str(text),
        bytes: bytes.chain([text.len()]).map(|at| at + offset).collect(),
        anchors: HashMap::new(),
        aliased: 0,
        depth: 0,
    };
    let mut root = None;
    loop {
        match reader.next()? {
            (Event::StreamEnd, _) => break,
            (Event::StreamStart | Event::DocumentStart(_) | Event::DocumentEnd, _) => {}
            (_, span) if root.is_some() => {
                let why = "a second document begins here";
                return Err(reader.wrong(span, why));
            }
            (event, span) => root = Some(reader.node(event, span)?),
        }
    }
    root.ok_or_else(|| Error::Definition("the file is empty".into()))
}

struct Reader<'a> {
    parser: Parser<'a, StrInput<'a>>,
    /// For each character, the byte of the file at which it begins. The parser counts characters.
    bytes: Vec<usize>,
    /// The values of the anchors so far. An alias is read as the value of its anchor, with the place of the
    /// alias.
    anchors: HashMap<usize, Node>,
    /// Number of values that aliases have added. It is limited, because a few nested aliases can stand for
    /// billions.
    aliased: usize,
    /// Depth of the value that is being read.
    depth: usize,
}

impl<'a> Reader<'a> {
    fn next(&mut self) -> Result<(Event<'a>, Span), Error> {
        match self.parser.next_event() {
            Some(Ok(event)) => Ok(event),
            Some(Err(error)) => Err(Error::Syntax {
                line: error.marker().line(),
                column: error.marker().col() + 1,
                why: error.info().to_owned(),
            }),
            None => Ok((Event::StreamEnd, Span::default())),
        }
    }

    fn wrong(&self, span: Span, why: &str) -> Error {
        Error::Syntax {
            line: span.start.line(),
            column: span.start.col() + 1,
            why: why.into(),
        }
    }

    fn byte(&self, character: usize) -> usize {
        let last = self.bytes[self.bytes.len() - 1];
        self.bytes.get(character).copied().unwrap_or(last)
    }

    fn node(&mut self, event: Event<'a>, span: Span) -> Result<Node, Error> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(self.wrong(span, super::TOO_DEEP));
        }
        let start = self.byte(span.start.index());
        let mut end = self.byte(span.end.index());
        let (kind, anchor) = match event {
            Event::Scalar(text, style, anchor, _) => {
                let text = text.into_owned();
                let quoted = style != ScalarStyle::Plain;
                (Kind::Scalar { text, quoted }, anchor)
            }
            Event::SequenceStart(anchor, _) => {
                let (items, closed) = self.items(span)?;
                end = closed.max(items.last().map_or(start, |item| item.span.end));
                (Kind::List(items), anchor)
            }
            Event::MappingStart(anchor, _) => {
                let (entries, closed) = self.entries()?;
                // A map in block style has no closing brace, so it ends with its last value.
                end = closed.unwrap_or_else(|| {
                    let last = entries.last();
                    last.map_or(start, |entry| entry.value.span.end.max(entry.key.end))
                });
                let flow = closed.is_some();
                (Kind::Map { flow, entries }, anchor)
            }
            Event::Alias(anchor) => (self.alias(anchor, span)?, 0),
            other => return Err(self.wrong(span, &format!("unexpected {other:?}"))),
        };
        self.depth -= 1;
        let node = Node {
            span: start..end,
            kind,
        };
        if anchor > 0 {
            self.anchors.insert(anchor, node.clone());
        }
        Ok(node)
    }

    /// Reads the items of a list. Returns them with the end of the closing bracket, or of the opening event
    /// in block style.
    fn items(&mut self, opened: Span) -> Result<(Vec<Node>, usize), Error> {
        let mut items = Vec::new();
        loop {
            match self.next()? {
                (Event::SequenceEnd, span) => {
                    let end = if span.is_empty() {
                        opened.end
                    } else {
                        span.end
                    };
                    return Ok((items, self.byte(end.index())));
                }
                (event, span) => items.push(self.node(event, span)?),
            }
        }
    }

    /// Reads the fields of a map. Returns them with the end of the closing brace; `None` in block style.
    fn entries(&mut self) -> Result<(Vec<Entry>, Option<usize>), Error> {
        let mut entries = Vec::new();
        loop {
            let (event, span) = self.next()?;
            if event == Event::MappingEnd {
                let closed = (!span.is_empty()).then(|| self.byte(span.end.index()));
                return Ok((entries, closed));
            }
            let key = self.node(event, span)?;
            let (event, span) = self.next()?;
            let value = self.node(event, span)?;
            let name = key.text().unwrap_or_default().to_owned();
            entries.push(Entry {
                key: key.span,
                name,
                value,
            });
        }
    }

    fn alias(&mut self, anchor: usize, span: Span) -> Result<Kind, Error> {
        let Some(node) = self.anchors.get(&anchor).cloned() else {
            return Err(self.wrong(span, "the alias contains itself"));
        };
        node.walk(&mut |_| self.aliased += 1);
        if self.aliased > ALIASED_MAX {
            return Err(self.wrong(span, "the aliases stand for too many values"));
        }
        Ok(node.kind)
    }
}
