//! The subcommands that change locks.
//!
//! Acts can be repeated, so an invocation without a response is sent again. An act on a prefix continues page
//! by page, with the `next` of each response, until all locks are as requested.

use super::act_error::ActError;
use super::function::{Function, Surface};
use super::screen::Screen;
use super::{finish, print, without_null};
use crate::args::act::{
    ActArgs, ClearRestArgs, DropWaiterArgs, EvictArgs, ForgetArgs, PauseArgs, ResumeArgs, ScopeArgs,
};
use crate::args::operate::Format;
use crate::exit::Exit;
use crate::log;
use crate::platform::env::variable;
use serde_json::{Value, json};

/// The fields with counts in a response to pause or resume.
const COUNTS: [&str; 2] = ["done", "unchanged"];

/// The fields with lists in a response to pause or resume.
const LISTS: [&str; 2] = ["frozen", "failed"];

/// Maximum number of locks that a line on stderr names.
const NAMED_MAX: usize = 5;

/// Pauses locks. With `--drain`, waits until no run holds them.
pub(crate) async fn pause(args: PauseArgs) -> Exit {
    let mut request = mode_request("pause", &args.scope);
    request["drain"] = json!(args.drain.then_some(true));
    request["until"] = json!(args.until);
    finish(change_mode(request, &args.act).await)
}

/// Resumes locks.
pub(crate) async fn resume(args: ResumeArgs) -> Exit {
    let request = mode_request("resume", &args.scope);
    finish(change_mode(request, &args.act).await)
}

/// Evicts a holder or a waiter.
pub(crate) async fn evict(args: EvictArgs) -> Exit {
    let request = json!({
        "act": "evict", "lock": args.lock, "holder": args.holder, "force": args.force,
        "abandon": args.abandon.then_some(true),
    });
    finish(change(request, &args.act).await)
}

/// Removes a waiter from the queue.
pub(crate) async fn drop_waiter(args: DropWaiterArgs) -> Exit {
    let request = json!({
        "act": "drop-waiter", "lock": args.lock, "holder": args.holder, "id": args.id,
    });
    finish(change(request, &args.act).await)
}

/// Ends the rest of a lock.
pub(crate) async fn clear_rest(args: ClearRestArgs) -> Exit {
    let request = json!({ "act": "clear-rest", "lock": args.lock });
    finish(change(request, &args.act).await)
}

/// Forgets the success of a run key, which frees the key.
pub(crate) async fn forget(args: ForgetArgs) -> Exit {
    let request = json!({ "act": "forget", "lock": args.lock, "runKey": args.run_key });
    finish(change(request, &args.act).await)
}

/// Replaces the field of a request in the text of an error with the flag of this command.
fn with_flag_names(mut error: ActError) -> ActError {
    error.text = error.text.replace("send force: true", "give --force");
    error
}

fn mode_request(act: &str, scope: &ScopeArgs) -> Value {
    let ScopeArgs { lock, prefix, all } = scope;
    let all = all.then_some(true);
    json!({ "act": act, "lock": lock, "prefix": prefix, "all": all })
}

/// Invokes operate once, and prints the message of the response.
async fn change(request: Value, args: &ActArgs) -> Result<Exit, ActError> {
    let request = audited(request, args)?;
    let operate = Function::open(&args.function, Surface::Operate).await?;
    let response = operate.act(&request).await.map_err(with_flag_names)?;
    match args.output {
        Format::Json => print(&format!("{response}\n"))?,
        Format::Table => {
            let message = super::rows::shown(&response["message"]);
            print(&format!("{}\n", Screen::new(false).lines(&message, "  ")))?;
        }
    }
    Ok(Exit::OK)
}

/// Invokes operate until all locks of the scope are changed and, with `drain`, until no run holds them.
/// Prints the totals.
async fn change_mode(request: Value, args: &ActArgs) -> Result<Exit, ActError> {
    let mut request = audited(request, args)?;
    let operate = Function::open(&args.function, Surface::Operate).await?;
    let mut total = json!({ "done": 0, "unchanged": 0, "frozen": [], "failed": [] });
    // Locks that an earlier invocation with the same request has changed. The next response counts them as
    // unchanged.
    let mut changed_before = 0;
    loop {
        let mut response = operate.act(&request).await?;
        let [done, unchanged] = COUNTS.map(|count| response[count].as_u64().unwrap_or_default());
        if !response["newLocks"].is_null() {
            total["newLocks"] = response["newLocks"].take();
        }
        // The function waits for up to 20 s. This command repeats the request until no run holds the locks.
        if response["drained"] == false {
            let held = response["held"].as_array().map(Vec::as_slice);
            log::print_line(waits_for(held.unwrap_or_default()));
            changed_before += done;
            continue;
        }
        total["done"] = add(&total["done"], done + changed_before);
        total["unchanged"] = add(
            &total["unchanged"],
            unchanged.saturating_sub(changed_before),
        );
        changed_before = 0;
        for list in LISTS {
            if let (Value::Array(all), Value::Array(more)) =
                (&mut total[list], response[list].take())
            {
                all.extend(more);
            }
        }
        let next = response["next"].take();
        if next.is_null() {
            break;
        }
        request["next"] = next;
    }
    let failed = total["failed"].as_array().map_or(0, Vec::len);
    match args.output {
        Format::Json => print(&format!("{total}\n"))?,
        Format::Table => print(&summary(&request, &total))?,
    }
    Ok(if failed == 0 { Exit::OK } else { Exit::FAILED })
}

fn add(count: &Value, more: u64) -> Value {
    json!(count.as_u64().unwrap_or_default() + more)
}

/// Adds the note and the actor to `request`.
pub(super) fn audited(mut request: Value, args: &ActArgs) -> Result<Value, ActError> {
    let actor = args.actor.clone().or_else(|| variable("USER"));
    let Some(actor) = actor else {
        let text = "--actor is missing, and neither LOCKSTEP_ACTOR nor USER is set";
        return Err(ActError::new(Exit::CONFIGURATION, text));
    };
    request["note"] = json!(args.note);
    request["actor"] = json!(actor);
    Ok(without_null(request))
}

fn waits_for(held: &[Value]) -> String {
    let names: Vec<_> = held.iter().filter_map(Value::as_str).collect();
    let rest = match names.len().saturating_sub(NAMED_MAX) {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let named = names[..names.len().min(NAMED_MAX)].join(", ");
    format!("waiting until no run holds {named}{rest}")
}

/// Formats the result of pausing or resuming for people.
fn summary(request: &Value, total: &Value) -> String {
    let what = if request["act"] == "pause" {
        "paused"
    } else {
        "resumed"
    };
    let mut text = format!(
        "{what}: {}, unchanged: {}\n",
        total["done"], total["unchanged"]
    );
    if let Some(new) = total["newLocks"].as_str() {
        text.push_str(&format!("locks that have not run yet are {new}\n"));
    }
    let frozen = total["frozen"].as_array().into_iter().flatten();
    for lock in frozen.filter_map(Value::as_str) {
        text.push_str(&format!(
            "{lock} is frozen and was not changed: see `lockstep show {lock}`, then resume it by its name\n"
        ));
    }
    let failed = total["failed"].as_array().into_iter().flatten();
    for one in failed {
        let [lock, error, message] =
            ["lock", "error", "message"].map(|field| super::rows::shown(&one[field]));
        text.push_str(&format!("{lock} is unchanged: {error}: {message}\n"));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_summary_names_the_locks_that_were_not_changed() {
        let total = json!({
            "done": 3, "unchanged": 1, "newLocks": "paused", "frozen": ["a"],
            "failed": [{ "lock": "b", "error": "Lockstep.Unavailable", "message": "no answer" }],
        });

        let text = summary(&json!({ "act": "pause" }), &total);

        assert_eq!(
            text,
            "paused: 3, unchanged: 1\n\
             locks that have not run yet are paused\n\
             a is frozen and was not changed: see `lockstep show a`, then resume it by its name\n\
             b is unchanged: Lockstep.Unavailable: no answer\n"
        );
    }

    #[test]
    fn a_line_names_at_most_five_held_locks() {
        let held: Vec<_> = ["a", "b", "c", "d", "e", "f", "g"].map(Value::from).into();

        assert_eq!(waits_for(&held[..2]), "waiting until no run holds a, b");
        assert_eq!(
            waits_for(&held),
            "waiting until no run holds a, b, c, d, e and 2 more"
        );
    }
}
