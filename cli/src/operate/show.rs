//! `lockstep show`: prints one lock, with the live state of its holders.
//!
//! The sentences on what will free a permit, and on what cannot be described, come from the function view.

use super::act_error::ActError;
use super::function::{Function, Surface};
use super::rows::{Column, Kind, as_table, seconds, shown};
use super::screen::{Screen, tone, whole_seconds};
use super::table::last_part;
use super::{HISTORY, all, entries_for_people, finish, print, waits, watch};
use crate::args::operate::{Format, ShowArgs};
use crate::exit::Exit;
use serde_json::{Value, json};

const HOLDERS: [Column; 6] = [
    ("HOLDER", &["holder"], Kind::Name),
    ("GRANTED", &["since"], Kind::Ago),
    ("LEASE ENDS", &["expiresAt"], Kind::Ago),
    ("EXECUTION", &["execution"], Kind::Sentence),
    ("WORK", &["work"], Kind::Sentence),
    ("PROGRESS", &["progress"], Kind::Plain),
];

const WITHOUT_PERMIT: [Column; 3] = [
    ("AT WORK WITHOUT A PERMIT", &["holder"], Kind::Name),
    ("GRANTED", &["since"], Kind::Ago),
    ("WORK", &["work"], Kind::Sentence),
];

const WAITERS: [Column; 5] = [
    ("POSITION", &["position"], Kind::Plain),
    ("WAITER", &["holder", "id"], Kind::Name),
    ("CAME", &["since"], Kind::Ago),
    ("GIVES UP", &["waitUntil"], Kind::Ago),
    ("PROBLEM", &["problem"], Kind::Sentence),
];

/// Maximum number of held locks that are searched for a lock that the holder may wait for.
const HELD_MAX: u32 = 200;

/// Maximum number of those locks that are read in full, each by one invocation of view.
const OTHERS_MAX: usize = 20;

/// Prints one lock.
pub(crate) async fn show(args: ShowArgs) -> Exit {
    finish(attempt(&args).await)
}

async fn attempt(args: &ShowArgs) -> Result<Exit, ActError> {
    let view = Function::open(&args.function, Surface::View).await?;
    let answer = async || view.act(&json!({ "act": "show", "lock": args.lock })).await;
    let for_people = async || {
        let lock = answer().await?;
        let others = others(&view, &lock).await.unwrap_or_default();
        Ok(text(&Screen::new(args.layout.wide), &lock, &others))
    };
    match (args.output, args.watch) {
        (Format::Json, _) => print(&format!("{}\n", answer().await?))?,
        (Format::Table, None) => print(&for_people().await?)?,
        (Format::Table, Some(every)) => return watch::again(every, for_people).await,
    }
    Ok(Exit::OK)
}

/// Returns the other locks that have a holder and a waiter, if `lock` has both: the holder of `lock` may wait
/// for one of them. The caller shows `lock` even if this fails.
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

/// Formats the lock for people. `others` are locks that its holder may wait for.
fn text(screen: &Screen, lock: &Value, others: &[Value]) -> String {
    let state = shown(&lock["state"]);
    let painted = screen.painted(tone(&state), &state);
    let head = format!("{}: {state}", shown(&lock["lock"]));
    let mut text = format!("{}\n", screen.lines(&head, "  "))
        .replace(&format!(": {state}\n"), &format!(": {painted}\n"));
    let (closed, row) = (&lock["closed"], lock["skippedInARow"].as_u64());
    let sentences = [
        Some(shown(&lock["frees"])),
        circle(lock, others),
        (!closed.is_null()).then(|| {
            let note = shown(&closed["note"]);
            let by = closed["actor"].as_str().map(|actor| format!(" by {actor}"));
            let since = closed["since"]
                .as_str()
                .map(|since| format!(" {}", screen.ago(since)));
            let [since, by] = [since, by].map(Option::unwrap_or_default);
            format!("closed{since}{by}: {note}")
        }),
        (!lock["restsUntil"].is_null())
            .then(|| format!("rest ends {}", screen.ago(&shown(&lock["restsUntil"])))),
        usual(&lock["usual"], rows(lock, "holders")),
    ];
    let skipped = row.filter(|row| *row > 0);
    let skipped = skipped.map(|row| format!("starts skipped since the latest grant: {row}"));
    let counts = format!(
        "permits: {}, waiters: {}",
        lock["permits"], lock["queueLength"]
    );
    let sentences = sentences.into_iter().flatten();
    for line in sentences
        .chain(outcomes(screen, lock))
        .chain(skipped)
        .chain([counts])
    {
        text.push_str(&format!("{}\n", screen.lines(&line, "  ")));
    }
    let holders: Vec<_> = rows(lock, "holders").iter().map(with_work).collect();
    let ended: Vec<_> = rows(lock, "withoutPermit").iter().map(with_work).collect();
    let parts = [
        part(screen, HOLDERS, &holders),
        links(screen, rows(lock, "holders")),
        part(screen, WITHOUT_PERMIT, &ended),
        part(screen, WAITERS, rows(lock, "waiters")),
        part(screen, HISTORY, &entries_for_people(rows(lock, "last"))),
    ];
    for table in parts.into_iter().flatten() {
        text.push_str(&format!("\n{table}"));
    }
    text
}

/// Returns a sentence about the circle of locks that `lock` is part of; `None` if it is in no circle.
fn circle(lock: &Value, others: &[Value]) -> Option<String> {
    let locks: Vec<_> = others.iter().chain([lock]).cloned().collect();
    let circle = waits::circle(&locks, lock["lock"].as_str()?)?;
    let is_in = circle.iter().any(|name| lock["lock"] == **name);
    let circle = waits::in_words(&circle);
    is_in.then(|| {
        format!(
            "its holder waits in a circle: {circle}; to end it, type `lockstep evict LOCK HOLDER --force --note TEXT` \
             for one of these holders"
        )
    })
}

/// Returns a sentence about how long a run usually takes, and which holders take longer; `None` if that is
/// not known.
fn usual(usual: &Value, holders: &[Value]) -> Option<String> {
    let successes = usual["successes"].as_u64()?;
    let [median, longest] = ["medianSeconds", "longestSeconds"].map(|field| seconds(&usual[field]));
    let over = holders
        .iter()
        .filter(|holder| holder["longerThanUsual"] == true);
    let over: Vec<_> = over.map(|holder| shown(&holder["holder"])).collect();
    let over = match over.is_empty() {
        true => String::new(),
        false => format!("; {} takes longer than usual", over.join(", ")),
    };
    Some(format!(
        "a run usually takes {median} (median of {successes} successes, at most {longest}){over}"
    ))
}

/// Returns lines about the last success, the last failure, and the expected or missing success.
fn outcomes(screen: &Screen, lock: &Value) -> Vec<String> {
    let lines = [
        ("last success", "lastSuccessAt"),
        ("last failure", "lastFailureAt"),
        ("success expected", "expectedBy"),
        ("success missing since", "missingSince"),
    ];
    let given = lines.iter().filter(|(_, field)| !lock[field].is_null());
    given
        .map(|(words, field)| {
            let time = shown(&lock[field]);
            match *field {
                // The line begins with "since", which a relative time such as "3 h ago" cannot follow.
                "missingSince" => {
                    format!("{words} {} ({})", whole_seconds(&time), screen.ago(&time))
                }
                _ => format!("{words} {}", screen.ago(&time)),
            }
        })
        .collect()
}

/// Returns links to the executions of the holders, and to the logs of their tasks; `None` if there are no
/// links.
fn links(screen: &Screen, holders: &[Value]) -> Option<String> {
    let links = holders.iter().flat_map(|holder| {
        let name = screen.name(holder["holder"].as_str().unwrap_or_default());
        let executions = ["execution", "workflow"].map(|field| (field, &holder[field]));
        let tasks = rows(holder, "tasks").iter().map(|task| ("logs", task));
        executions
            .into_iter()
            .chain(tasks)
            .filter_map(move |(what, of)| {
                screen.link(&format!("{what} of {name}"), of["console"].as_str()?)
            })
    });
    let links: String = links.map(|link| format!("{link}\n")).collect();
    (!links.is_empty()).then_some(links)
}

fn part<const N: usize>(screen: &Screen, columns: [Column; N], rows: &[Value]) -> Option<String> {
    (!rows.is_empty()).then(|| as_table(screen, columns, rows, ""))
}

fn rows<'a>(lock: &'a Value, field: &str) -> &'a [Value] {
    lock[field].as_array().map_or(&[], Vec::as_slice)
}

/// Returns the row of a holder, with the status of its execution in one cell and the state of its work in
/// another.
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

/// Returns the status of an execution, or the reason why it could not be described.
fn status(execution: &Value) -> Value {
    match &execution["hidden"] {
        Value::Null => execution["status"].clone(),
        reason => json!(format!("cannot be described: {}", shown(reason))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn screen() -> Screen {
        Screen::plain(Some(120), "2026-03-01T06:10:00Z")
    }

    #[test]
    fn a_run_that_takes_longer_than_usual_is_named() {
        let usual = json!({ "successes": 17, "medianSeconds": 723.5, "longestSeconds": 1860.0 });
        let usually = "a run usually takes 12 min 3 s (median of 17 successes, at most 31 min 0 s)";
        for (longer, end) in [(true, "; x takes longer than usual"), (false, "")] {
            let holders = [json!({ "holder": "x", "longerThanUsual": longer })];
            let line = super::usual(&usual, &holders);
            assert_eq!(line, Some(format!("{usually}{end}")));
        }
        assert_eq!(super::usual(&Value::Null, &[]), None);
    }

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
            text(&screen(), &lock, &[]),
            "nightly: paused\n\
             The release of its holder.\n\
             closed 10 min ago by jo: upgrade\n\
             permits: 1, waiters: 1\n\
             \n\
             HOLDER  GRANTED        LEASE ENDS  EXECUTION  WORK\n\
             x       1 h 9 min ago  9 min ago   running    4f runs, 5c stopped (exit code 137)\n\
             \n\
             POSITION  WAITER            PROBLEM\n\
             1         0123456789abcdef  its item is missing\n"
        );
    }

    #[test]
    fn a_failed_run_is_shown_with_the_exit_code_of_its_container() {
        let lock = json!({
            "lock": "nightly", "state": "idle", "permits": 1, "queueLength": 0, "frees": "A permit is free.",
            "last": [
                { "at": "2026-03-01T06:00:00Z", "lock": "nightly", "outcome": "failed", "exitCode": 3, "reason": "exited" },
                { "at": "2026-03-01T05:00:00Z", "lock": "nightly", "outcome": "succeeded", "exitCode": 0, "reason": "exited" },
            ],
        });

        let text = text(&screen(), &lock, &[]);

        let whys = text
            .lines()
            .rev()
            .take(2)
            .map(|line| line.split_once("  exit").is_some());
        assert_eq!(whys.collect::<Vec<_>>(), [true, true], "{text}");
        assert!(text.contains("failed     exit code 3: exited"), "{text}");
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

        let line = |circle| format!("its holder waits in a circle: {circle};");
        let from_a = text(&screen(), &a, std::slice::from_ref(&b));
        assert!(
            from_a.contains(&line("a waits for b waits for a")),
            "{from_a}"
        );
        let from_b = text(&screen(), &b, std::slice::from_ref(&a));
        assert!(
            from_b.contains(&line("b waits for a waits for b")),
            "{from_b}"
        );
        assert!(!text(&screen(), &a, &[lock("b", "z", "x")]).contains("circle"));
    }
}
