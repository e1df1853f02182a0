//! `lockstep start`: starts a run of a lock again.
//!
//! What would be started is asked for first, and shown beside the state of the lock: a run that meets a holder does what
//! its overlap policy says, and may be skipped.

use super::change::audited;
use super::function::{ActError, Function, Surface};
use super::rows::shown;
use super::screen::Screen;
use super::{finish, print};
use crate::args::operate::{Format, StartArgs};
use crate::exit::Exit;
use crate::platform::clock::sleep;
use crate::platform::env::random_id;
use crate::platform::terminal::ask;
use serde_json::{Value, json};
use std::time::Duration;

/// Repetitions of a start without a clear answer, and the pause before each.
const REPEATS: u32 = 2;
const PAUSE: Duration = Duration::from_secs(2);

/// Starts the run, after a question.
pub(crate) async fn start(args: StartArgs) -> Exit {
    finish(attempt(&args).await)
}

async fn attempt(args: &StartArgs) -> Result<Exit, ActError> {
    let id = args.id.clone().unwrap_or_else(random_id);
    let mut request = audited(
        json!({
            "act": "start", "lock": args.lock, "again": args.again, "schedule": args.schedule,
            "scheduledTime": args.scheduled_time, "id": id, "dryRun": true,
        }),
        &args.act,
    )?;
    let operate = Function::open(&args.act.function, Surface::Operate).await?;
    let mut asked_time = Value::Null;
    if !args.yes {
        let would = operate.act(&request).await?;
        asked_time = would["scheduledTime"].clone();
        if args.dry_run && args.act.output == Format::Json {
            print(&format!("{would}\n"))?;
            return Ok(Exit::OK);
        }
        let lock = operate
            .act(&json!({ "act": "show", "lock": args.lock }))
            .await;
        let lock = match lock {
            // A lock has no record before its first run.
            Err(error) if error.exit == Exit::CONFIGURATION => {
                json!({ "lock": args.lock, "state": "has not run yet" })
            }
            lock => lock?,
        };
        print(&question(&would, &lock))?;
        if args.dry_run {
            return Ok(Exit::OK);
        }
        if !is_yes().await? {
            return Ok(Exit::FAILED);
        }
    }
    request["dryRun"] = json!(false);
    // What was asked about is what is started, also if a minute has passed.
    if !asked_time.is_null() {
        request["scheduledTime"] = asked_time;
    }
    let started = start_once(&operate, &request, &id).await?;
    match args.act.output {
        Format::Json => print(&format!("{started}\n"))?,
        Format::Table => {
            let message = shown(&started["message"]);
            print(&format!("{}\n", Screen::new(false).lines(&message, "  ")))?;
        }
    }
    Ok(Exit::OK)
}

/// Starts the run. Without a clear answer it may have been started: the same request says so, and starts nothing more.
async fn start_once(operate: &Function, request: &Value, id: &str) -> Result<Value, ActError> {
    let mut repeats = 0;
    loop {
        match operate.act(request).await {
            Err(error) if error.may_have_acted && repeats < REPEATS => {
                repeats += 1;
                sleep(PAUSE).await;
            }
            Err(error) if error.may_have_acted => {
                let time = request["scheduledTime"].as_str();
                let time = time.map_or_else(String::new, |at| format!(" --scheduled-time {at}"));
                let text = format!(
                    "{}; it may have been started: repeat it with --id {id}{time}",
                    error.text
                );
                return Err(ActError { text, ..error });
            }
            answer => return answer,
        }
    }
}

/// What would be started, and what it would meet.
fn question(would: &Value, lock: &Value) -> String {
    let screen = Screen::new(false);
    let state = format!("{}: {}", shown(&lock["lock"]), shown(&lock["state"]));
    let frees = lock["frees"].as_str().map(|_| shown(&lock["frees"]));
    let lines = [shown(&would["message"]), state].into_iter().chain(frees);
    let lines = lines.map(|line| format!("{}\n", screen.lines(&line, "  ")));
    lines.collect()
}

async fn is_yes() -> Result<bool, ActError> {
    let answer = ask("Start it? [y/N] ".to_owned()).await;
    let answer = answer.map_err(|error| {
        let text = format!("there is no terminal to ask at ({error}): give --yes, or --dry-run");
        ActError::new(Exit::CONFIGURATION, text)
    })?;
    Ok(["y", "yes"].contains(&answer.to_lowercase().as_str()))
}
