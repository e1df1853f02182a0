//! Writes the fields of a map in the layout of the text around them.
//!
//! ```text
//!  flow, over lines   "Next": "Run Work",     JSON, and YAML in flow style
//!  flow, on one line  "Next":"Run Work",      a definition without line ends
//!  block              Next: "Run Work"        YAML
//! ```
//! Both JSON and YAML must read the same value from the written text, so texts are always in double quotes.

use crate::value::Value;

/// The layout of the definition at the place where the fields are written.
#[derive(Clone, Debug)]
pub(crate) struct Layout<'a> {
    /// Whether to write flow style, as in JSON, or else the block style of YAML.
    pub(crate) flow: bool,
    /// The white space before each field on its line; `None` writes everything on one line.
    pub(crate) margin: Option<&'a str>,
    /// One level of indentation.
    pub(crate) unit: &'a str,
    /// The end of a line.
    pub(crate) newline: &'a str,
    /// The text of the states that are the work, without the margin of its first line.
    pub(crate) work: &'a str,
}

impl<'a> Layout<'a> {
    /// Writes the fields, from the first key to the end of the last value.
    pub(crate) fn fields(&self, fields: &[(String, Value)]) -> String {
        let mut out = String::new();
        match (self.flow, self.margin) {
            (true, Some(margin)) => self.flow_fields(&mut out, fields, margin),
            (true, None) => self.line_fields(&mut out, fields),
            (false, margin) => self.block_fields(&mut out, fields, margin.unwrap_or_default()),
        }
        out
    }

    fn flow_fields(&self, out: &mut String, fields: &[(String, Value)], margin: &str) {
        for (at, (name, value)) in fields.iter().enumerate() {
            if at > 0 {
                out.push(',');
                self.new_line(out, margin);
            }
            out.push_str(&quoted(name));
            out.push_str(": ");
            self.flow_value(out, value, margin);
        }
    }

    fn flow_value(&self, out: &mut String, value: &Value, margin: &str) {
        let deeper = format!("{margin}{}", self.unit);
        match value {
            Value::Map(fields) if fields.is_empty() => out.push_str("{}"),
            Value::Map(fields) => {
                out.push('{');
                self.new_line(out, &deeper);
                self.flow_fields(out, fields, &deeper);
                self.new_line(out, margin);
                out.push('}');
            }
            Value::Work => {
                out.push('{');
                self.new_line(out, &deeper);
                out.push_str(&self.moved(&deeper));
                self.new_line(out, margin);
                out.push('}');
            }
            Value::List(items) if items.iter().all(is_scalar) => self.line_value(out, value),
            Value::List(items) => {
                out.push('[');
                for (at, item) in items.iter().enumerate() {
                    out.push_str(if at > 0 { "," } else { "" });
                    self.new_line(out, &deeper);
                    self.flow_value(out, item, &deeper);
                }
                self.new_line(out, margin);
                out.push(']');
            }
            scalar => out.push_str(&written(scalar)),
        }
    }

    fn line_fields(&self, out: &mut String, fields: &[(String, Value)]) {
        for (at, (name, value)) in fields.iter().enumerate() {
            out.push_str(if at > 0 { "," } else { "" });
            out.push_str(&quoted(name));
            // The keys are in quotes. In flow style, YAML requires a space after the colon only for keys
            // without quotes.
            out.push(':');
            self.line_value(out, value);
        }
    }

    fn line_value(&self, out: &mut String, value: &Value) {
        match value {
            Value::Map(fields) => {
                out.push('{');
                self.line_fields(out, fields);
                out.push('}');
            }
            Value::List(items) => {
                out.push('[');
                for (at, item) in items.iter().enumerate() {
                    let comma = if self.margin.is_some() { ", " } else { "," };
                    out.push_str(if at > 0 { comma } else { "" });
                    self.line_value(out, item);
                }
                out.push(']');
            }
            Value::Work => {
                out.push('{');
                out.push_str(self.work);
                out.push('}');
            }
            scalar => out.push_str(&written(scalar)),
        }
    }

    /// Writes fields in block style. It has no brackets: only the indentation shows where a value ends.
    fn block_fields(&self, out: &mut String, fields: &[(String, Value)], margin: &str) {
        for (at, (name, value)) in fields.iter().enumerate() {
            if at > 0 {
                self.new_line(out, margin);
            }
            out.push_str(&plain(name));
            out.push(':');
            self.block_value(out, value, margin);
        }
    }

    fn block_value(&self, out: &mut String, value: &Value, margin: &str) {
        let deeper = format!("{margin}{}", self.unit);
        match value {
            Value::Map(fields) if !fields.is_empty() => {
                self.new_line(out, &deeper);
                self.block_fields(out, fields, &deeper);
            }
            Value::Work => {
                self.new_line(out, &deeper);
                out.push_str(&self.moved(&deeper));
            }
            Value::List(items) if !items.iter().all(is_scalar) => {
                for item in items {
                    self.new_line(out, &deeper);
                    out.push_str("- ");
                    match item {
                        Value::Map(fields) => {
                            self.block_fields(out, fields, &format!("{deeper}  "));
                        }
                        other => self.line_value(out, other),
                    }
                }
            }
            value => {
                out.push(' ');
                self.line_value(out, value);
            }
        }
    }

    /// Returns the work, indented to `margin`.
    ///
    /// Lines keep their own indentation after the new margin, so that [`dedent`] restores every byte.
    fn moved(&self, margin: &str) -> String {
        let from = self.margin.unwrap_or_default();
        indent(self.work, margin.strip_prefix(from).unwrap_or_default())
    }

    fn new_line(&self, out: &mut String, margin: &str) {
        out.push_str(self.newline);
        out.push_str(margin);
    }
}

/// Adds `more` to the beginning of each line except the first line and empty lines.
fn indent(text: &str, more: &str) -> String {
    let lines = text.split('\n').enumerate().map(|(at, line)| {
        // An empty line stays empty, without trailing white space.
        let is_empty = line.is_empty() || line == "\r";
        let more = if at == 0 || is_empty { "" } else { more };
        format!("{more}{line}")
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// Removes `less` from the beginning of each line except the first. This is the inverse of [`indent`].
pub(crate) fn dedent(text: &str, less: &str) -> String {
    let lines = text.split('\n').enumerate().map(|(at, line)| match at {
        0 => line,
        _ => line.strip_prefix(less).unwrap_or(line),
    });
    lines.collect::<Vec<_>>().join("\n")
}

fn is_scalar(value: &Value) -> bool {
    !matches!(value, Value::Map(_) | Value::List(_) | Value::Work)
}

fn written(value: &Value) -> String {
    match value {
        Value::Text(text) => quoted(text),
        Value::Literal(text) | Value::Verbatim(text) => text.clone(),
        Value::Map(_) | Value::List(_) | Value::Work => unreachable!("no scalar: {value:?}"),
    }
}

/// Returns a text in double quotes, which JSON and YAML read in the same way.
pub(crate) fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}

/// Returns a key for block style, without quotes if it consists of letters, digits and spaces.
fn plain(name: &str) -> String {
    let is_plain = name
        .bytes()
        .all(|byte| byte.is_ascii_alphanumeric() || byte == b' ');
    if is_plain {
        name.to_owned()
    } else {
        quoted(name)
    }
}

/// Returns a name in the style of the scalar that it replaces: in double quotes, in single quotes, or without
/// quotes.
pub(crate) fn in_style_of(scalar: &str, name: &str) -> String {
    match scalar.bytes().next() {
        Some(b'"') => quoted(name),
        Some(b'\'') => format!("'{}'", name.replace('\'', "''")),
        _ => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_comes_back_from_every_indentation() {
        for text in ["a", "a\n b\n\n  \n\tc\r\n\r\nd\n", "\n", "a\n   "] {
            for more in ["", "  ", "\t\t"] {
                assert_eq!(dedent(&indent(text, more), more), text, "{text:?} {more:?}");
            }
        }
    }
}
