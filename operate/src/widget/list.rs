//! The page with the list of locks.
//!
//! Each row is a lock, with the values that an operator compares between locks. Values that take calls to
//! Step Functions and ECS are only on the page of the lock, so that a list of hundreds of locks does not wait
//! for these calls.

use super::html::{Action, Html};
use super::text::{STATES, state, time};
use super::{Frame, Notice, page, show_notices};
use crate::contract::{
    CheckedList, ListResponse, LockSummary, PAGE_MAX, PREFIX_FIELD, short_name, with_short_names,
};
use serde_json::json;

/// The text of a cell, and a longer text that the browser shows as its title.
type Cell = (String, Option<String>);

/// The title of a column, the class of its cells, and the function that returns the cell of a lock.
type Column = (&'static str, &'static str, fn(&LockSummary) -> Cell);

/// The columns after the name and the state.
const COLUMNS: [Column; 7] = [
    ("Holder", "", holder),
    ("Permits", "fixed", permits),
    ("Latest grant (UTC)", "fixed", granted),
    ("Last success (UTC)", "fixed", succeeded),
    ("Skipped", "fixed", skipped),
    ("Waiting", "fixed", waiting),
    ("Note", "", note),
];

/// Returns the page with the locks that `asked` selects.
#[must_use]
pub fn list(
    frame: &Frame<'_>,
    asked: &CheckedList,
    found: &ListResponse,
    notices: &[Notice],
) -> String {
    page(frame, |html| {
        show_notices(html, notices);
        filter(html, frame, asked);
        if let Some(closed) = &found.new_locks {
            let until = closed.until.as_deref().map(time);
            let until = until.unwrap_or_else(|| "all locks are resumed".to_owned());
            let text = format!(
                "Locks that have not run yet are paused until {until}: {}",
                closed.note
            );
            html.line("p", &[], &text);
        }
        table(html, frame, &found.locks);
        if found.locks.is_empty() && found.next.is_none() {
            html.line("p", &[("class", "dim")], "No lock matches.");
        }
        if let (Some(next), Some(endpoint)) = (&found.next, frame.pages) {
            let body = json!({
                "page": "list",
                "prefix": asked.prefix,
                "state": asked.state.map_or("", state),
                "limit": asked.limit,
                "next": next,
            });
            html.element("p", &[], |html| {
                html.action(&Action {
                    label: "Next",
                    class: "btn",
                    endpoint,
                    body: &body,
                    confirmation: None,
                });
            });
        }
    })
}

/// Shows the form that selects the locks.
fn filter(html: &mut Html, frame: &Frame<'_>, asked: &CheckedList) {
    let Some(endpoint) = frame.pages else { return };
    html.element("form", &[], |html| {
        html.element("label", &[], |html| {
            html.text("Name begins with ");
            let prefix = asked.prefix.as_str();
            html.void(
                "input",
                &[
                    ("type", "text"),
                    ("name", PREFIX_FIELD),
                    ("maxlength", "128"),
                    ("value", prefix),
                ],
            );
        });
        html.element("label", &[], |html| {
            html.text("State ");
            let states = STATES.iter().map(|(_, word)| (*word, *word));
            let states = std::iter::once(("", "any")).chain(states);
            select(html, "state", asked.state.map_or("", state), states);
        });
        html.element("label", &[], |html| {
            html.text("Locks on a page ");
            let (given, most) = (asked.limit.to_string(), PAGE_MAX.to_string());
            let mut sizes = vec!["50", "100", most.as_str()];
            // The form keeps a limit that comes from the parameters of the widget.
            if !sizes.contains(&given.as_str()) {
                sizes.push(&given);
            }
            let sizes = sizes.into_iter().map(|size| (size, size));
            select(html, "limit", &given, sizes);
        });
        html.action(&Action {
            label: "Show",
            class: "btn",
            endpoint,
            body: &json!({ "page": "list" }),
            confirmation: None,
        });
    });
}

/// Adds a field with a choice of values, each with its text.
fn select<'a>(
    html: &mut Html,
    name: &'static str,
    chosen: &str,
    choices: impl Iterator<Item = (&'a str, &'a str)>,
) {
    html.element("select", &[("name", name)], |html| {
        for (value, text) in choices {
            let attributes = [("value", value), ("selected", "selected")];
            let shown = if value == chosen { 2 } else { 1 };
            html.line("option", &attributes[..shown], text);
        }
    });
}

fn table(html: &mut Html, frame: &Frame<'_>, locks: &[LockSummary]) {
    html.element("table", &[], |html| {
        html.element("thead", &[], |html| {
            html.element("tr", &[], |html| {
                html.line("th", &[], "Lock");
                html.line("th", &[], "State");
                for (title, ..) in COLUMNS {
                    html.line("th", &[], title);
                }
            });
        });
        html.element("tbody", &[], |html| {
            for lock in locks {
                html.element("tr", &[], |html| row(html, frame, lock));
            }
        });
    });
}

fn row(html: &mut Html, frame: &Frame<'_>, lock: &LockSummary) {
    html.element("td", &[], |html| match frame.pages {
        Some(endpoint) => html.action(&Action {
            label: &lock.lock,
            class: "link",
            endpoint,
            body: &json!({ "page": "lock", "lock": lock.lock }),
            confirmation: None,
        }),
        None => html.text(&lock.lock),
    });
    html.element("td", &[], |html| {
        let word = state(lock.state);
        let class = format!("state {word}");
        html.line("span", &[("class", &class)], word);
    });
    for (_, class, cell) in COLUMNS {
        let (text, more) = cell(lock);
        match more {
            Some(more) => html.line("td", &[("class", class), ("title", &more)], &text),
            None => html.line("td", &[("class", class)], &text),
        }
    }
}

fn holder(lock: &LockSummary) -> Cell {
    let Some(first) = lock.holders.first() else {
        return Cell::default();
    };
    let more = lock.holders.len() - 1;
    let text = match more {
        0 => short_name(first),
        _ => format!("{} and {more} more", short_name(first)),
    };
    (text, Some(lock.holders.join(", ")))
}

fn permits(lock: &LockSummary) -> Cell {
    let text = lock.permits.map(|permits| match lock.holders.len() {
        0 => permits.to_string(),
        held => format!("{held} of {permits}"),
    });
    (text.unwrap_or_default(), None)
}

fn granted(lock: &LockSummary) -> Cell {
    let text = lock.granted_at.as_deref().map(time);
    (text.unwrap_or_default(), None)
}

fn succeeded(lock: &LockSummary) -> Cell {
    let outcomes = &lock.outcomes;
    let last = outcomes.last_success_at.as_deref().map(time);
    let Some(since) = outcomes.missing_since.as_deref().map(time) else {
        return (last.unwrap_or_default(), None);
    };
    let more = format!("A success is missing since {since} UTC.");
    let last = last.unwrap_or_else(|| "never".to_owned());
    (format!("{last}, missing"), Some(more))
}

fn skipped(lock: &LockSummary) -> Cell {
    let row = lock.skipped_in_a_row.filter(|row| *row > 0);
    let more =
        row.map(|_| "Starts skipped since the latest grant, in the last 24 hours".to_owned());
    (row.map(|row| row.to_string()).unwrap_or_default(), more)
}

fn waiting(lock: &LockSummary) -> Cell {
    let length = lock.queue_length.filter(|length| *length > 0);
    let text = length.map(|length| length.to_string());
    (text.unwrap_or_default(), None)
}

fn note(lock: &LockSummary) -> Cell {
    let note = lock.note.as_deref().map(with_short_names);
    (note.unwrap_or_default(), None)
}
