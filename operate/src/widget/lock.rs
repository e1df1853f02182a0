//! The page of one lock.
//!
//! From top to bottom the page shows the state of the lock and what will free a permit, the buttons, the
//! holders, the waiters, and the history. Each button asks for confirmation with a sentence that names the
//! lock and what happens to its runs.

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
    /// Messages above the lock.
    pub notices: &'a [Notice],
    /// The value of the field for the name of the operator.
    pub actor: &'a str,
    /// The value of the field for the note.
    pub note: &'a str,
}

/// Returns the page of one lock.
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

/// Shows why the lock grants no permit: its pause, its freeze or its rest.
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
        let text = format!(
            "The lock rests and grants no permit before {} UTC.",
            time(until)
        );
        html.line("p", &[], &text);
    }
}

/// Shows how the latest runs ended, and whether a success is missing.
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

/// Returns a sentence about how long a run usually takes.
fn usual(usual: &UsualView) -> String {
    format!(
        "A run usually takes {} (median of {} successes, at most {}).",
        length(usual.median_seconds),
        usual.successes,
        length(usual.longest_seconds)
    )
}

/// Shows the form with the name of the operator and the note, and the buttons for the lock.
///
/// An act requires the name and the note, and the form keeps both if the act is refused. Of *Pause* and
/// *Resume* only the button that would change the lock is shown.
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
                "Pause lock {}? Runs that hold a permit finish. No permit is granted until you resume the lock.",
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
            "Start the state machine of the latest run of lock {} again, with the same input? A workflow that started \
             that run is not started again.",
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

/// Adds a text field. Its `maxlength` is that of the contract, which checks the length again.
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

/// Adds a button that invokes operate, if the page knows the ARN of operate.
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

/// Adds two buttons, one without and one with `force`, because only `force` stops work that is running.
fn evict(html: &mut Html, frame: &Frame<'_>, lock: &ShowResponse, holder: &HolderView) {
    let (lock, name) = (&lock.lock, &holder.holder);
    let body = json!({ "act": "evict", "lock": lock, "holder": name });
    let question =
        format!("Evict {name} from lock {lock}? The eviction is refused if the run is alive.");
    act(html, frame, "Evict", &body, &question);
    let body = json!({ "act": "evict", "lock": lock, "holder": name, "force": true });
    let question = format!(
        "Stop the work of {name}, and free its permit of lock {lock} once the work has stopped?"
    );
    act(html, frame, "Stop and evict", &body, &question);
}

/// Describes the state of a holder's execution, tasks and workflow in a few words.
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
