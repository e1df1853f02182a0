//! `lockstep jobs`: lists the holders of all locks, the lost ones among them, and the history of a
//! lock. Reads only.

mod held;
mod history;
mod loss;

use crate::args::jobs::JobsArgs;
use crate::exit::Exit;
use crate::platform::tls;
use crate::run::EarlyExit;
use held::ListedHolder;
use lockstep::clock::{Clock, SystemClock};
use lockstep::domain::LockKey;
use lockstep::store::StoreError;
use lockstep::store::dynamodb::DynamoStore;
use lockstep::tasks::ecs::Ecs;
use serde::Serialize;
use serde_json::json;
use std::io::{Write, stdout};

/// Exit code when jobs are lost.
const LOST: Exit = Exit::FAILED;

/// Prints the list that `args` select.
pub(crate) async fn jobs(args: JobsArgs) -> Exit {
    attempt(&args).await.unwrap_or_else(|(exit, why)| {
        tracing::error!(event = "jobs_failed", "{why}");
        exit
    })
}

async fn attempt(args: &JobsArgs) -> Result<Exit, EarlyExit> {
    let wrong = |why: String| (Exit::CONFIGURATION, why);
    let config = args.table.config().map_err(wrong)?;
    let sdk = tls::sdk_config().await?;
    let store = DynamoStore::from_sdk(&sdk, config.table);
    if let Some(lock) = &args.lock {
        let lock = LockKey::new(lock.as_str()).map_err(|_| wrong(LockKey::RULE.into()))?;
        let runs = history::of(&store, &lock, args.last.into()).await;
        let runs = runs.map_err(|error| unreadable(&error))?;
        print(args.json, "runs", &runs, history::table);
        return Ok(Exit::OK);
    }
    let (mut jobs, mut complete) = held::all(&store)
        .await
        .map_err(|error| unreadable(&error))?;
    if args.lost {
        complete &= loss::mark_lost(&mut jobs, &Ecs::from_sdk(&sdk), SystemClock.now()).await;
        jobs.retain(|job| job.lost.is_some());
    }
    print(args.json, "jobs", &jobs, held::table);
    Ok(exit_code(&jobs, complete))
}

fn unreadable(error: &StoreError) -> EarlyExit {
    (Exit::UNAVAILABLE, error.to_string())
}

/// A job whose state could not be read may be lost, so an incomplete list is never [`Exit::OK`].
fn exit_code(jobs: &[ListedHolder], complete: bool) -> Exit {
    if jobs.iter().any(|job| job.lost.is_some()) {
        LOST
    } else if complete {
        Exit::OK
    } else {
        Exit::UNAVAILABLE
    }
}

fn print<T: Serialize>(as_json: bool, name: &str, rows: &[T], table: fn(&[T]) -> String) {
    let text = if as_json {
        format!("{}\n", json!({ name: rows }))
    } else {
        table(rows)
    };
    // A reader that closes the pipe has read enough.
    stdout().write_all(text.as_bytes()).ok();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_incomplete_list_never_exits_with_0() {
        let [good, mut lost] = [loss::tests::held(), loss::tests::held()];
        lost.lost = Some(loss::tests::loss());

        let one = [good];
        assert_eq!(exit_code(&[], true), Exit::OK);
        assert_eq!(exit_code(&one, true), Exit::OK);
        assert_eq!(exit_code(&one, false), Exit::UNAVAILABLE);
        let [good] = one;
        assert_eq!(exit_code(&[good, lost], false), LOST);
    }
}
