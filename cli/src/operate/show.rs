//! `lockstep show`: one lock, with the live state of its holders.
//!
//! The response is shown as it came: what would free a permit, and what cannot be described, are
//! sentences of the function.

use super::function::{ActError, Function, Surface};
use super::rows::{Column, as_table, shown};
use super::table::last_part;
use super::{HISTORY, all, finish, print, waits};
use crate::args::operate::{Format, ShowArgs};
use crate::exit::Exit;
use serde_json::{Value, json};

const HOLDERS: [Column; 6] = [
    ("HOLDER", &["holder"]),
    ("SINCE", &["since"]),
    ("LEASE UNTIL", &["expiresAt"]),
    ("EXECUTION", &["execution"]),
    ("WORK", &["work"]),
    ("PROGRESS", &["progress"]),
];

const WITHOUT_PERMIT: [Column; 3] = [
    ("AT WORK WITHOUT A PERMIT", &["holder"]),
    ("SINCE", &["since"]),
    ("WORK", &["work"]),
];

const WAITERS: [Column; 5] = [
    ("POSITION", &["position"]),
    ("WAITER", &["holder", "id"]),
    ("SINCE", &["since"]),
    ("WAITS UNTIL", &["waitUntil"]),
    ("PROBLEM", &["problem"]),
];

/// Most locks that are searched for those that its holder may wait for.
const HELD_MAX: u32 = 200;

/// Most locks that are shown for it, each by a call of view.
const OTHERS_MAX: usize = 20;

/// Prints one lock.
pub(crate) async fn show(args: ShowArgs) -> Exit {
    finish(attempt(&args).await)
}

async fn attempt(args: &ShowArgs) -> Result<Exit, ActError> {
    let view = Function::open(&args.function, Surface::View).await?;
    let lock = view
        .act(&json!({ "act": "show", "lock": args.lock }))
        .await?;
    match args.output {
        Format::Json => print(&format!("{lock}\n")),
        Format::Table => {
            let others = others(&view, &lock).await.unwrap_or_default();
            print(&text(&lock, &others));
        }
    }
    Ok(Exit::OK)
}

/// The other locks that have a holder and a waiter, if `lock` has both: its holder may wait for them. A failure hides
/// nothing of `lock`.
async fn others(view: &Function, lock: &Value) -> Result<Vec<Value>, ActError> {
    if rows(lock, "holders").is_empty() || rows(lock, "waiters").is_empty() {
        return Ok(Vec::new());
    }
    let list = json!({ "act": "list", "state": "held" });
    let held = all(view, list, "locks", HELD_MAX).await?;
    let waited = held
        .iter()
        .filter(|other| other["queueLength"].as_u64() > Some(0) && other["lock"] != lock["lock"]);
    let mut others = Vec::new();
    for other in waited.take(OTHERS_MAX) {
        others.push(
            view.act(&json!({ "act": "show", "lock": other["lock"] }))
                .await?,
        );
    }
    Ok(others)
}

/// The lock for people. `others` are locks that its holder may wait for.
fn text(lock: &Value, others: &[Value]) -> String {
    let mut text = format!("{}: {}\n", shown(&lock["lock"]), shown(&lock["state"]));
    text.push_str(&format!("{}\n", shown(&lock["frees"])));
    let locks: Vec<_> = others.iter().chain([lock]).cloned().collect();
    let circle = lock["lock"]
        .as_str()
        .and_then(|lock| waits::circle(&locks, lock));
    let circle = circle.filter(|circle| circle.iter().any(|name| lock["lock"] == **name));
    if let Some(circle) = circle {
        let circle = waits::in_words(&circle);
        text.push_str(&format!(
            "its holder waits in a circle: {circle}; evict one of the holders\n"
        ));
    }
    let closed = &lock["closed"];
    if !closed.is_null() {
        let [note, actor, since] = ["note", "actor", "since"].map(|field| shown(&closed[field]));
        text.push_str(&format!("closed since {since} by {actor}: {note}\n"));
    }
    if !lock["restsUntil"].is_null() {
        text.push_str(&format!("rests until {}\n", shown(&lock["restsUntil"])));
    }
    text.push_str(&outcomes(lock));
    text.push_str(&format!(
        "permits: {}, waiters: {}\n",
        lock["permits"], lock["queueLength"]
    ));
    let holders: Vec<_> = rows(lock, "holders").iter().map(with_work).collect();
    let ended: Vec<_> = rows(lock, "withoutPermit").iter().map(with_work).collect();
    let parts = [
        (!holders.is_empty()).then(|| as_table(HOLDERS, &holders, "")),
        part(WITHOUT_PERMIT, &ended),
        part(WAITERS, rows(lock, "waiters")),
        part(HISTORY, rows(lock, "last")),
    ];
    for table in parts.into_iter().flatten() {
        text.push_str(&format!("\n{table}"));
    }
    text
}

/// How the latest runs ended, one line each.
fn outcomes(lock: &Value) -> String {
    let lines = [
        ("last success", "lastSuccessAt"),
        ("last failure", "lastFailureAt"),
        ("success expected by", "expectedBy"),
        ("success missing since", "missingSince"),
    ];
    let given = lines.iter().filter(|(_, field)| !lock[field].is_null());
    let mut text: String = given
        .map(|(words, field)| format!("{words} {}\n", shown(&lock[field])))
        .collect();
    if let Some(row) = lock["skippedInARow"].as_u64().filter(|row| *row > 0) {
        text.push_str(&format!("starts skipped since the latest grant: {row}\n"));
    }
    text
}

fn part<const N: usize>(columns: [Column; N], rows: &[Value]) -> Option<String> {
    (!rows.is_empty()).then(|| as_table(columns, rows, ""))
}

fn rows<'a>(lock: &'a Value, field: &str) -> &'a [Value] {
    lock[field].as_array().map_or(&[], Vec::as_slice)
}

/// The row of a holder: the status of its execution, and of its work in one cell.
fn with_work(holder: &Value) -> Value {
    let mut row = holder.clone();
    row["execution"] = status(&holder["execution"]);
    let tasks = rows(holder, "tasks").iter().map(|task| {
        let arn = task["arn"].as_str().unwrap_or_default();
        let state = match (&task["stopped"], &task["exitCode"]) {
            (Value::Bool(true), Value::Null) => "stopped".to_owned(),
            (Value::Bool(true), code) => format!("stopped (exit code {code})"),
            _ => "runs".to_owned(),
        };
        format!("{} {state}", last_part(arn))
    });
    let workflow = status(&holder["workflow"]);
    let workflow = (!workflow.is_null()).then(|| shown(&workflow));
    let work: Vec<_> = tasks.chain(workflow).collect();
    row["work"] = json!(work.join(", "));
    row
}

/// The status of an execution, or why it is hidden.
fn status(execution: &Value) -> Value {
    match &execution["hidden"] {
        Value::Null => execution["status"].clone(),
        reason => json!(format!("hidden: {}", shown(reason))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_shown_with_the_state_of_its_work() {
        let lock = json!({
            "lock": "nightly", "state": "paused", "permits": 1, "queueLength": 1,
            "frees": "The release of its holder.",
            "closed": { "note": "upgrade", "actor": "jo", "since": "2026-03-01T06:00:00Z" },
            "holders": [{
                "holder": "x", "since": "2026-03-01T05:00:00.5Z", "expiresAt": "2026-03-01T06:01:00Z",
                "execution": { "status": "running" },
                "tasks": [
                    { "arn": "arn:aws:ecs:eu-west-1:1:task/batch/4f", "stopped": false },
                    { "arn": "arn:aws:ecs:eu-west-1:1:task/batch/5c", "stopped": true, "exitCode": 137 },
                ],
            }],
            "waiters": [{ "position": 1, "id": "0123456789abcdef", "problem": "its item is missing" }],
            "last": [],
        });

        assert_eq!(
            text(&lock, &[]),
            "nightly: paused\n\
             The release of its holder.\n\
             closed since 2026-03-01T06:00:00Z by jo: upgrade\n\
             permits: 1, waiters: 1\n\
             \n\
             HOLDER  SINCE                 LEASE UNTIL           EXECUTION  WORK                                 PROGRESS\n\
             x       2026-03-01T05:00:00Z  2026-03-01T06:01:00Z  running    4f runs, 5c stopped (exit code 137)  -\n\
             \n\
             POSITION  WAITER            SINCE  WAITS UNTIL  PROBLEM\n\
             1         0123456789abcdef  -      -            its item is missing\n"
        );
    }

    #[test]
    fn a_lock_whose_holder_waits_in_a_circle_names_the_circle() {
        let lock = |name, holder, parent| {
            json!({
                "lock": name, "state": "held", "permits": 1, "queueLength": 1, "frees": "Its release.",
                "holders": [{ "holder": holder }], "waiters": [{ "position": 1, "parent": parent }],
            })
        };
        let (a, b) = (lock("a", "x", "y"), lock("b", "y", "x"));

        let line =
            |circle| format!("its holder waits in a circle: {circle}; evict one of the holders");
        let from_a = text(&a, std::slice::from_ref(&b));
        assert!(
            from_a.contains(&line("a waits for b waits for a")),
            "{from_a}"
        );
        let from_b = text(&b, std::slice::from_ref(&a));
        assert!(
            from_b.contains(&line("b waits for a waits for b")),
            "{from_b}"
        );
        assert!(!text(&a, &[lock("b", "z", "x")]).contains("circle"));
    }
}
