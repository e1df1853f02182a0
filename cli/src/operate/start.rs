//! `lockstep start`: starts a run of a lock again.
//!
//! Before it starts anything, the command prints what it would start and the state of the lock, and asks for
//! confirmation. A run that meets a holder does what its overlap policy says, and may be skipped.

use super::act_error::ActError;
use super::change::audited;
use super::function::{Function, Surface};
use super::rows::shown;
use super::screen::Screen;
use super::{finish, print};
use crate::args::act::StartArgs;
use crate::args::operate::Format;
use crate::exit::Exit;
use crate::platform::clock::sleep;
use crate::platform::env::random_id;
use crate::platform::terminal::ask;
use serde_json::{Value, json};
use std::time::Duration;

/// Maximum number of repetitions of a start whose outcome is not known.
const REPEATS: u32 = 2;
/// Pause before each repetition.
const PAUSE: Duration = Duration::from_secs(2);

/// Starts the run after the operator has confirmed it.
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
            // A lock has no record before its first run, and `show` refuses its name.
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
    // The run that is started is the one that the operator confirmed, with the same scheduled time, even if a
    // minute has passed since.
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

/// Starts the run. If the outcome is not known, the run may have been started, so the same request is
/// repeated: it returns the earlier start and starts nothing more.
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
                    "{}; the run may have been started: repeat the command with --id {id}{time}, which starts nothing twice",
                    error.text
                );
                return Err(ActError { text, ..error });
            }
            answer => return answer,
        }
    }
}

/// Returns the text above the question: what would be started, and the state of the lock that it would meet.
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
        let text =
            format!("no terminal to ask for confirmation ({error}): give --yes or --dry-run");
        ActError::new(Exit::CONFIGURATION, text)
    })?;
    Ok(["y", "yes"].contains(&answer.to_lowercase().as_str()))
}
