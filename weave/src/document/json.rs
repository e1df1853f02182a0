//! Parses JSON with the place of each value. `serde_json` checks the text first, so the scanner reads only
//! valid JSON.
//!
//! The YAML parser cannot read all JSON, because the escapes of YAML have no surrogate pairs. So JSON has a
//! scanner of its own.

use super::{DEPTH_MAX, Entry, Kind, Node, TOO_DEEP};
use crate::Error;
use serde::de::IgnoredAny;

/// Parses `text`, which begins at byte `offset` of the file.
pub(super) fn parse(text: &str, offset: usize) -> Result<Node, Error> {
    let checked = serde_json::from_str::<IgnoredAny>(text);
    checked.map_err(|error| Error::Syntax {
        line: error.line(),
        column: error.column(),
        why: match placeholder(text) {
            Some(line) => format!(
                "not valid JSON: there is a ${{…}} or %{{…}} outside of a string in line {line}; if this is a Terraform \
                 template, weave the text that Terraform renders"
            ),
            None => without_place(&error.to_string()),
        },
    })?;
    let mut scanner = Scanner {
        text,
        at: 0,
        offset,
        depth: 0,
    };
    scanner.value()
}

/// Returns the line of the first `${` or `%{` outside of a string; `None` if there is none.
fn placeholder(text: &str) -> Option<usize> {
    let (mut line, mut is_string, mut is_escaped) = (1, false, false);
    for (at, c) in text.char_indices() {
        match c {
            '\n' => line += 1,
            '"' if !is_escaped => is_string = !is_string,
            '$' | '%' if !is_string && text[at + 1..].starts_with('{') => return Some(line),
            _ => {}
        }
        is_escaped = c == '\\' && !is_escaped;
    }
    None
}

/// Returns the message of serde_json without the place at its end.
fn without_place(text: &str) -> String {
    let end = text.rfind(" at line ").unwrap_or(text.len());
    text[..end].to_owned()
}

/// The scanner. Its methods rely on valid JSON and do not detect errors: for example, a colon is skipped
/// without a check.
struct Scanner<'a> {
    text: &'a str,
    at: usize,
    offset: usize,
    /// Depth of the value that is being read. The check by serde_json does not limit the depth.
    depth: usize,
}

impl Scanner<'_> {
    /// Reads the value that begins at the next byte that is not white space.
    fn value(&mut self) -> Result<Node, Error> {
        let first = self.peek();
        let start = self.at;
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(self.wrong(start, TOO_DEEP));
        }
        let kind = match first {
            b'{' => self.map()?,
            b'[' => self.list()?,
            b'"' => Kind::Scalar {
                text: self.string()?,
                quoted: true,
            },
            _ => self.literal(),
        };
        self.depth -= 1;
        Ok(Node {
            span: start + self.offset..self.at + self.offset,
            kind,
        })
    }

    fn map(&mut self) -> Result<Kind, Error> {
        let mut entries = Vec::new();
        self.at += 1;
        while self.peek() != b'}' {
            let start = self.at + self.offset;
            let name = self.string()?;
            let key = start..self.at + self.offset;
            self.peek();
            self.at += 1;
            let value = self.value()?;
            entries.push(Entry { key, name, value });
            if self.peek() == b',' {
                self.at += 1;
            }
        }
        self.at += 1;
        Ok(Kind::Map {
            flow: true,
            entries,
        })
    }

    fn list(&mut self) -> Result<Kind, Error> {
        let mut items = Vec::new();
        self.at += 1;
        while self.peek() != b']' {
            items.push(self.value()?);
            if self.peek() == b',' {
                self.at += 1;
            }
        }
        self.at += 1;
        Ok(Kind::List(items))
    }

    fn string(&mut self) -> Result<String, Error> {
        let start = self.at;
        let bytes = self.text.as_bytes();
        self.at += 1;
        while bytes[self.at] != b'"' {
            self.at += if bytes[self.at] == b'\\' { 2 } else { 1 };
        }
        self.at += 1;
        // This fails only for half of a surrogate pair, which the check of the whole text accepts.
        let parsed = serde_json::from_str(&self.text[start..self.at]);
        parsed.map_err(|error| self.wrong(start, &without_place(&error.to_string())))
    }

    fn wrong(&self, at: usize, why: &str) -> Error {
        let before = &self.text[..at];
        Error::Syntax {
            line: before.matches('\n').count() + 1,
            column: at - before.rfind('\n').map_or(0, |at| at + 1) + 1,
            why: why.into(),
        }
    }

    fn literal(&mut self) -> Kind {
        let rest = &self.text[self.at..];
        let ends = |c: char| matches!(c, ',' | ']' | '}') || c.is_ascii_whitespace();
        let text = &rest[..rest.find(ends).unwrap_or(rest.len())];
        self.at += text.len();
        Kind::Scalar {
            text: text.to_owned(),
            quoted: false,
        }
    }

    /// Moves to the next byte that is not white space, and returns it.
    fn peek(&mut self) -> u8 {
        let bytes = self.text.as_bytes();
        while bytes[self.at].is_ascii_whitespace() {
            self.at += 1;
        }
        bytes[self.at]
    }
}
