//! The page of one lock.
//!
//! From the top: whether the lock grants and what would free a permit, the buttons, who holds it,
//! who waits, and what happened before. The buttons ask once more, with a sentence that names the
//! lock and what becomes of its runs.

use super::html::{Action, Html, headings};
use super::text::{length, state, time};
use super::{Frame, Notice, page, runs, show_notices, timeline, to_list};
use crate::contract::{
    ExecutionView, HistoryEntry, HolderView, LockState, ShowResponse, UsualView, WaiterView,
    short_name, with_short_names,
};
use serde_json::{Value, json};

/// What the page of a lock shows.
#[derive(Clone, Copy, Debug)]
pub struct LockPage<'a> {
    /// The lock.
    pub lock: &'a ShowResponse,
    /// Its latest runs and acts, newest first.
    pub last: &'a [HistoryEntry],
    /// Messages above it.
    pub notices: &'a [Notice],
    /// What the field of the operator's name shows.
    pub actor: &'a str,
    /// What the field of the note shows.
    pub note: &'a str,
}

/// The page of one lock.
#[must_use]
pub fn lock(frame: &Frame<'_>, shown: &LockPage<'_>) -> String {
    let lock = shown.lock;
    page(frame, |html| {
        show_notices(html, shown.notices);
        html.element("h2", &[], |html| {
            html.text(&lock.lock);
            html.text(" ");
            let word = state(lock.state);
            let class = format!("state {word}");
            html.line("span", &[("class", &class)], word);
        });
        html.line("p", &[], &with_short_names(&lock.frees));
        closed(html, lock);
        outcomes(html, lock);
        controls(html, frame, shown);
        holders(html, frame, lock);
        waiters(html, lock);
        timeline::show(html, shown.last, &lock.holders, frame.now);
        runs::show(html, shown.last);
        html.element("p", &[], |html| to_list(html, frame));
    })
}

/// Why the lock grants no permit, beside its holders.
fn closed(html: &mut Html, lock: &ShowResponse) {
    if let Some(closed) = &lock.closed {
        html.element("p", &[], |html| {
            html.line("b", &[], &with_short_names(&closed.note));
            let parts = [
                (" since ", closed.since.as_deref().map(time)),
                (" by ", closed.actor.as_deref().map(short_name)),
                (" until ", closed.until.as_deref().map(time)),
            ];
            for (word, part) in parts {
                if let Some(part) = part {
                    html.text(word);
                    html.text(&part);
                }
            }
        });
    }
    if let Some(until) = &lock.rests_until {
        let text = format!("No grant is made before {} UTC.", time(until));
        html.line("p", &[], &text);
    }
}

/// How the latest runs ended, and whether a success is missing.
fn outcomes(html: &mut Html, lock: &ShowResponse) {
    let outcomes = &lock.outcomes;
    let every = outcomes.expect_every_seconds.map(|every| every.to_string());
    let parts = [
        (
            "Last success ",
            outcomes.last_success_at.as_deref().map(time),
        ),
        (
            "Last failure ",
            outcomes.last_failure_at.as_deref().map(time),
        ),
        (
            "A success is expected every ",
            every.map(|every| format!("{every} s")),
        ),
        ("Expected by ", outcomes.expected_by.as_deref().map(time)),
        (
            "Missing since ",
            outcomes.missing_since.as_deref().map(time),
        ),
    ];
    let given = parts.into_iter();
    let sentences: Vec<_> = given
        .filter_map(|(word, part)| Some(format!("{word}{}.", part?)))
        .chain(lock.usual.as_ref().map(usual))
        .collect();
    if !sentences.is_empty() {
        html.line("p", &[], &sentences.join(" "));
    }
}

/// How long a run usually takes.
fn usual(usual: &UsualView) -> String {
    format!(
        "A run usually takes {}, the median of {} successes, and took {} at most.",
        length(usual.median_seconds),
        usual.successes,
        length(usual.longest_seconds)
    )
}

/// The form with who acts and why, and the buttons that open and close the lock.
///
/// Name and note are required by the act and kept over a refusal. A lock has one of the two
/// buttons: the other would change nothing.
fn controls(html: &mut Html, frame: &Frame<'_>, shown: &LockPage<'_>) {
    if frame.operate.is_none() {
        return;
    }
    let lock = shown.lock;
    html.element("form", &[], |html| {
        field(html, "Your name ", "actor", "512", shown.actor);
        field(html, "Note ", "note", "500", shown.note);
        let pause = (
            "Pause",
            json!({ "act": "pause", "lock": lock.lock }),
            format!(
                "Pause lock {}? Holders finish, and no permit is granted.",
                lock.lock
            ),
        );
        let resume = (
            "Resume",
            json!({ "act": "resume", "lock": lock.lock }),
            format!("Resume lock {}? It grants permits again.", lock.lock),
        );
        let (label, body, question) = match lock.state {
            LockState::Paused | LockState::Frozen => &resume,
            _ => &pause,
        };
        act(html, frame, label, body, question);
        if lock.holders.is_empty() && shown.last.is_empty() {
            return;
        }
        let question = format!(
            "Start the state machine of the latest run of lock {} again, with the input that it had? A workflow that \
             called it is not started.",
            lock.lock
        );
        act(
            html,
            frame,
            "Start again",
            // A second click on the same page starts nothing more.
            &json!({ "act": "start", "lock": lock.lock, "id": format!("page-{}", frame.now.millis()) }),
            &question,
        );
    });
}

/// A text field. Its `maxlength` is that of the contract, which checks it all the same.
fn field(
    html: &mut Html,
    label: &'static str,
    name: &'static str,
    length: &'static str,
    value: &str,
) {
    html.element("label", &[], |html| {
        html.text(label);
        html.void(
            "input",
            &[
                ("type", "text"),
                ("class", "wide"),
                ("name", name),
                ("maxlength", length),
                ("value", value),
            ],
        );
    });
}

/// A button that calls operate, if the page knows its ARN.
fn act(html: &mut Html, frame: &Frame<'_>, label: &str, body: &Value, question: &str) {
    if let Some(endpoint) = frame.operate {
        html.action(&Action {
            label,
            class: "btn btn-primary",
            endpoint,
            body,
            confirmation: Some(question),
        });
    }
}

fn holders(html: &mut Html, frame: &Frame<'_>, lock: &ShowResponse) {
    let title = format!(
        "Holders ({} of {} permits)",
        lock.holders.len(),
        lock.permits
    );
    html.line("h3", &[], &title);
    if lock.holders.is_empty() {
        return;
    }
    html.element("table", &[], |html| {
        let titles = [
            "Holder",
            "Since (UTC)",
            "Lease ends (UTC)",
            "Its work",
            "Progress",
            "",
        ];
        headings(html, &titles);
        for holder in &lock.holders {
            html.element("tr", &[], |html| {
                let name = holder.holder.as_str();
                html.line("td", &[("title", name)], &short_name(name));
                html.line("td", &[("class", "fixed")], &time(&holder.since));
                let ended = if holder.expired { " (ended)" } else { "" };
                let lease = format!("{}{ended}", time(&holder.expires_at));
                html.line("td", &[("class", "fixed")], &lease);
                html.line("td", &[], &work(holder));
                html.line("td", &[], holder.progress.as_deref().unwrap_or_default());
                html.element("td", &[], |html| evict(html, frame, lock, holder));
            });
        }
    });
}

/// Two buttons, since they differ in what they do to work that runs.
fn evict(html: &mut Html, frame: &Frame<'_>, lock: &ShowResponse, holder: &HolderView) {
    let (lock, name) = (&lock.lock, &holder.holder);
    let body = json!({ "act": "evict", "lock": lock, "holder": name });
    let question = format!("Evict {name} from lock {lock}? This is refused if it is alive.");
    act(html, frame, "Evict", &body, &question);
    let body = json!({ "act": "evict", "lock": lock, "holder": name, "force": true });
    let question = format!("Stop the work of {name}, and evict it from lock {lock}?");
    act(html, frame, "Stop and evict", &body, &question);
}

/// The state of a holder's execution, tasks and workflow, in a few words.
fn work(holder: &HolderView) -> String {
    let of = |name: &str, execution: &Option<ExecutionView>| {
        let execution = execution.as_ref()?;
        Some(format!("{name} {}", execution.status))
    };
    let mut parts = Vec::new();
    parts.extend(of("execution", &holder.execution));
    parts.extend(of("workflow", &holder.workflow));
    parts.extend(holder.tasks.iter().map(|task| {
        let word = if task.stopped { "STOPPED" } else { "RUNNING" };
        format!("task {} {word}", short_name(&task.arn))
    }));
    parts.extend(holder.hidden.as_deref().map(with_short_names));
    parts.extend(
        holder
            .longer_than_usual
            .then(|| "longer than usual".to_owned()),
    );
    parts.extend(holder.unconfirmed.then(|| "not confirmed yet".to_owned()));
    parts.extend(
        holder
            .ending
            .as_ref()
            .map(|ending| format!("being stopped since {}", time(&ending.since))),
    );
    parts.join(", ")
}

fn waiters(html: &mut Html, lock: &ShowResponse) {
    if lock.queue_length == 0 {
        return;
    }
    html.line("h3", &[], &format!("Waiting ({})", lock.queue_length));
    html.element("table", &[], |html| {
        headings(
            html,
            &["", "Waiter", "Since (UTC)", "Gives up (UTC)", "Problem"],
        );
        for waiter in &lock.waiters {
            html.element("tr", &[], |html| waiter_row(html, waiter));
        }
    });
}

fn waiter_row(html: &mut Html, waiter: &WaiterView) {
    let optional = |value: &Option<String>| value.as_deref().map(time).unwrap_or_default();
    html.line("td", &[("class", "fixed")], &waiter.position.to_string());
    let name = waiter.holder.as_deref().unwrap_or(&waiter.id);
    html.line("td", &[("title", name)], &short_name(name));
    html.line("td", &[("class", "fixed")], &optional(&waiter.since));
    html.line("td", &[("class", "fixed")], &optional(&waiter.wait_until));
    html.line("td", &[], waiter.problem.as_deref().unwrap_or_default());
}
