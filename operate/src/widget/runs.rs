//! The table of the latest runs and acts of a lock.
//!
//! A row shows a run, an act, or consecutive starts that got no permit. All kinds share the columns, and a
//! cell stays empty if it does not apply to its kind.

use super::html::{Html, headings};
use super::text::{length, time};
use crate::contract::{HistoryEntry, short_name, with_short_names};

pub(super) fn show(html: &mut Html, last: &[HistoryEntry]) {
    if last.is_empty() {
        return;
    }
    html.line("h3", &[], "Latest runs and acts");
    html.element("table", &[], |html| {
        let titles = ["Outcome", "Who", "From (UTC)", "To (UTC)", "Took", "Why"];
        headings(html, &titles);
        for entry in last {
            html.element("tr", &[], |html| row(html, entry));
        }
    });
}

fn row(html: &mut Html, entry: &HistoryEntry) {
    let unknown = String::new();
    let (outcome, who, from, to, took, why) = match entry {
        HistoryEntry::Run {
            holder,
            since,
            at,
            outcome,
            held_seconds,
            evidence,
            exit_code,
            reason,
            ..
        } => {
            let exit = exit_code.map(|code| format!("exit code {code}"));
            let parts = [exit, reason.clone(), evidence.clone()];
            let why: Vec<_> = parts.into_iter().flatten().collect();
            let took = length(*held_seconds);
            (
                *outcome,
                holder,
                time(since),
                time(at),
                took,
                why.join(", "),
            )
        }
        HistoryEntry::Act {
            actor,
            at,
            outcome,
            note,
            ..
        } => {
            let why = note.clone().unwrap_or_default();
            (*outcome, actor, String::new(), time(at), String::new(), why)
        }
        HistoryEntry::NotStarted {
            holder,
            since,
            at,
            outcome,
            starts,
            reason,
            ..
        } => {
            let took = format!("{starts} starts");
            let (from, to) = (time(since), time(at));
            (
                *outcome,
                holder.as_ref().unwrap_or(&unknown),
                from,
                to,
                took,
                reason.clone(),
            )
        }
    };
    html.element("td", &[], |html| {
        let class = format!("state {outcome}");
        html.line("span", &[("class", &class)], outcome);
    });
    html.line("td", &[("title", who)], &short_name(who));
    html.line("td", &[("class", "fixed")], &from);
    html.line("td", &[("class", "fixed")], &to);
    html.line("td", &[("class", "fixed")], &took);
    html.line("td", &[], &with_short_names(&why));
}
