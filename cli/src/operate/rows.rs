//! Rows of a response, as a table or as comma-separated values.

use super::table;
use serde_json::Value;

/// A column: its head, and the field of a row. Of two fields a row has one.
pub(super) type Column = (&'static str, &'static [&'static str]);

/// `rows` as a table for people. Without rows, `none`.
pub(super) fn as_table<const N: usize>(columns: [Column; N], rows: &[Value], none: &str) -> String {
    let cells: Vec<[String; N]> = rows
        .iter()
        .map(|row| columns.map(|(_, fields)| shown(field_of(row, fields))))
        .collect();
    table::table(columns.map(|(head, _)| head), &cells, none)
}

/// `rows` as comma-separated values, with the names of the fields as header.
pub(super) fn as_csv<const N: usize>(columns: [Column; N], rows: &[Value]) -> String {
    let mut writer = csv::Writer::from_writer(Vec::new());
    let header = columns.map(|(_, fields)| fields[0]);
    // A write to memory does not fail.
    writer.write_record(header).ok();
    for row in rows {
        let cells = columns.map(|(_, fields)| text_of(field_of(row, fields)));
        writer.write_record(cells).ok();
    }
    let bytes = writer.into_inner().unwrap_or_default();
    String::from_utf8_lossy(&bytes).into_owned()
}

fn field_of<'a>(row: &'a Value, fields: &[&str]) -> &'a Value {
    let mut found = fields.iter().map(|field| &row[*field]);
    found.find(|value| !value.is_null()).unwrap_or(&Value::Null)
}

/// A value as text: the items of a list behind each other, nothing for null.
fn text_of(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        Value::Array(items) => items.iter().map(text_of).collect::<Vec<_>>().join(" "),
        other => other.to_string(),
    }
}

/// A value in a cell: times without their fraction, `-` for nothing, and no control character, which a
/// terminal would obey.
pub(super) fn shown(value: &Value) -> String {
    let text = text_of(value);
    let is_time = text.len() > 20 && text.ends_with('Z') && text.as_bytes()[10] == b'T';
    let text = if is_time { table::short(&text) } else { text };
    // Holders, notes and progress are texts of others.
    let text = text.replace(char::is_control, "\u{FFFD}");
    if text.is_empty() { "-".into() } else { text }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const COLUMNS: [Column; 3] = [
        ("LOCK", &["lock"]),
        ("WHO", &["holder", "actor"]),
        ("AT", &["at"]),
    ];

    fn rows() -> [Value; 2] {
        [
            json!({ "lock": "a", "holder": "x, \"y\"", "at": "2026-03-01T06:00:00.25Z" }),
            json!({ "lock": "b", "actor": "jo\u{1b}[31m", "at": null }),
        ]
    }

    #[test]
    fn a_cell_has_no_control_character_and_no_fraction_of_a_second() {
        assert_eq!(
            as_table(COLUMNS, &rows(), "nothing"),
            "LOCK  WHO      AT\n\
             a     x, \"y\"   2026-03-01T06:00:00Z\n\
             b     jo\u{FFFD}[31m  -\n"
        );
        assert_eq!(as_table(COLUMNS, &[], "no lock"), "no lock\n");
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

    #[test]
    fn a_list_is_one_cell() {
        let row = json!({ "holders": ["a", "b"], "queueLength": 3 });

        assert_eq!(shown(&row["holders"]), "a b");
        assert_eq!(shown(&row["queueLength"]), "3");
    }
}
