//! Formats the rows of a response as a table or as comma-separated values.

use super::screen::{Screen, Tone, tone, whole_seconds};
use super::table::{self, Cell, NOTHING};
use lockstep::contract::is_hidden;
use lockstep::domain::length_text;
use serde_json::Value;

/// A column: its head, the fields of a row that it may show, and how its values are shown. A column with
/// several fields shows the first one that a row has.
pub(super) type Column = (&'static str, &'static [&'static str], Kind);

/// How the values of a column are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Unchanged.
    Plain,
    /// Names of holders or operators, shortened.
    Name,
    /// A time, relative to now.
    Ago,
    /// A time, absolute and in whole seconds.
    At,
    /// A number of seconds, as a length of time.
    Length,
    /// A number; 0 is shown as nothing.
    Count,
    /// A state or an outcome, in a colour.
    Word,
    /// A sentence that may contain names and times.
    Sentence,
}

/// Formats `rows` as a table for people; without rows, returns the line `none`.
pub(super) fn as_table<const N: usize>(
    screen: &Screen,
    columns: [Column; N],
    rows: &[Value],
    none: &str,
) -> String {
    let cells: Vec<[Cell; N]> = rows
        .iter()
        .map(|row| columns.map(|(_, fields, kind)| cell(screen, field_of(row, fields), kind)))
        .collect();
    table::table(screen, columns.map(|(head, _, _)| head), &cells, none)
}

fn cell(screen: &Screen, value: &Value, kind: Kind) -> Cell {
    let text = shown(value);
    if text == NOTHING {
        return (text, Tone::Plain);
    }
    match kind {
        Kind::Name => (names(screen, value), Tone::Plain),
        Kind::Ago => (screen.ago(&text), Tone::Plain),
        Kind::At => (whole_seconds(&text), Tone::Plain),
        Kind::Length => (seconds(value), Tone::Plain),
        Kind::Count if text == "0" => (NOTHING.into(), Tone::Plain),
        Kind::Word => {
            let tone = tone(&text);
            (text, tone)
        }
        Kind::Sentence => (screen.text(&text), Tone::Plain),
        Kind::Plain | Kind::Count => (text, Tone::Plain),
    }
}

fn names(screen: &Screen, value: &Value) -> String {
    match value {
        Value::Array(names) => {
            let names: Vec<_> = names.iter().map(|name| names_of(screen, name)).collect();
            names.join(" ")
        }
        name => names_of(screen, name),
    }
}

fn names_of(screen: &Screen, name: &Value) -> String {
    screen.name(&shown(name))
}

/// Formats a number of seconds as a length of time.
pub(super) fn seconds(value: &Value) -> String {
    match value.as_f64() {
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "a run takes no thousand years"
        )]
        Some(seconds) => length_text((seconds * 1000.0).round() as u64),
        None => shown(value),
    }
}

/// Formats `rows` as comma-separated values, with the names of the fields as header.
pub(super) fn as_csv<const N: usize>(columns: [Column; N], rows: &[Value]) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let header = columns.map(|(_, fields, _)| fields[0]);
    // Writing to memory does not fail.
    writer.write_record(header).ok();
    for row in rows {
        let cells = columns.map(|(_, fields, _)| text_of(field_of(row, fields)));
        writer.write_record(cells).ok();
    }
    let bytes = writer.into_inner().unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn field_of<'a>(row: &'a Value, fields: &[&str]) -> &'a Value {
    let mut found = fields.iter().map(|field| &row[*field]);
    found.find(|value| !value.is_null()).unwrap_or(&Value::Null)
}

/// Returns a value as text: the items of a list with spaces between them, and nothing for null.
fn text_of(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(text_of).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    }
}

/// Returns a value as text for a terminal: `-` for nothing, and U+FFFD for each control character or hidden
/// character.
pub(super) fn shown(value: &Value) -> String {
    // Others choose the names of holders, the notes and the progress, so the texts may contain escape
    // sequences.
    let text = text_of(value).replace(is_hidden, "\u{FFFD}");
    if text.is_empty() {
        NOTHING.into()
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const COLUMNS: [Column; 3] = [
        ("LOCK", &["lock"], Kind::Plain),
        ("WHO", &["holder", "actor"], Kind::Name),
        ("AT", &["at"], Kind::At),
    ];

    fn screen() -> Screen {
        Screen::plain(Some(120), "2026-03-01T06:00:30Z")
    }

    fn rows() -> [Value; 2] {
        [
            json!({ "lock": "a", "holder": "x, \"y\"", "at": "2026-03-01T06:00:00.25Z" }),
            json!({ "lock": "b", "actor": "jo\u{1b}[31m", "at": null }),
        ]
    }

    #[test]
    fn a_cell_has_no_control_character_and_no_fraction_of_a_second() {
        assert_eq!(
            as_table(&screen(), COLUMNS, &rows(), "nothing"),
            "LOCK  WHO      AT\n\
             a     x, \"y\"   2026-03-01T06:00:00Z\n\
             b     jo\u{FFFD}[31m  -\n"
        );
        assert_eq!(as_table(&screen(), COLUMNS, &[], "no lock"), "no lock\n");
    }

    #[test]
    fn a_kind_says_how_a_value_is_shown() {
        let run = "arn:aws:states:eu-west-1:123456789012:execution:report:monday";
        for (value, kind, expected) in [
            (json!([run, run]), Kind::Name, "monday monday"),
            (json!("2026-03-01T06:00:00Z"), Kind::Ago, "30 s ago"),
            (json!(0.977), Kind::Length, "0.9 s"),
            (json!(7_380.5), Kind::Length, "2 h 3 min"),
            (
                json!(format!("{run} is over")),
                Kind::Sentence,
                "monday is over",
            ),
            (json!(3), Kind::Count, "3"),
            (json!(0), Kind::Count, "-"),
            (Value::Null, Kind::Ago, "-"),
        ] {
            assert_eq!(cell(&screen(), &value, kind).0, expected, "{kind:?}");
        }
        assert_eq!(cell(&screen(), &json!("frozen"), Kind::Word).1, Tone::Bad);
    }

    #[test]
    fn values_with_commas_and_quotes_are_quoted() {
        assert_eq!(
            as_csv(COLUMNS, &rows()),
            "lock,holder,at\n\
             a,\"x, \"\"y\"\"\",2026-03-01T06:00:00.25Z\n\
             b,jo\u{1b}[31m,\n"
        );
    }
}
