//! Definitions with the lock woven in. Each ends as it does without the lock.

mod definitions;

use crate::shapes::{self, seen};
use crate::stack;
use definitions::{Case, Runs, cases, filled};
use futures_util::future::join_all;
use lockstep::contract::{LockOptions, Overlap};
use lockstep_tests::stack::{Ended, Stack, now, pause, unique, until};
use lockstep_tests::yaml::to_json;
use lockstep_weave::{Options, weave};
use serde_json::{Value, json};
use std::path::Path;
use std::process::Command;

/// Creates the state machine of a woven text, and returns its ARN.
async fn machine(stack: &Stack, text: &str) -> String {
    stack.guarded(&to_json(&filled(stack, text))).await
}

fn options(lock: &str) -> Options {
    Options {
        lock: lock.to_owned(),
        ..Options::default()
    }
}

/// Runs a definition as it is and woven, on the same input. Returns both ends.
async fn both(stack: &Stack, case: &Case) -> [Ended; 2] {
    let woven = weave(&case.text, &case.options(&unique("woven")));
    let woven = woven.unwrap_or_else(|error| panic!("{}: {error}", case.name));
    let start = async |text| {
        let machine = machine(stack, text).await;
        stack.start_machine(&machine, &case.input).await
    };
    let bare = start(&case.text).await;
    let woven = start(&woven).await;
    [stack.wait(&bare, 90).await, stack.wait(&woven, 90).await]
}

#[tokio::test]
async fn a_definition_ends_the_same_woven_and_unwoven() {
    let stack = stack().await;
    let mut all = cases(&stack).await;
    all.extend(shapes::all(&stack).await.into_iter().map(|shape| Case {
        name: shape.name,
        text: shape.definition.to_string(),
        input: shape.input,
        section: None,
        runs: Runs::Here,
    }));
    all.retain(|case| case.runs == Runs::Here);

    let ends = join_all(all.iter().map(|case| both(&stack, case))).await;

    for (case, [bare, woven]) in all.iter().zip(&ends) {
        assert_eq!(seen(woven), seen(bare), "{}", case.name);
    }
    let failed = ends.iter().filter(|[bare, _]| bare.status == "FAILED");
    let failed = failed.count();
    eprintln!(
        "figure: {} definitions, {failed} of them fail: equal woven and as they are",
        ends.len()
    );
    assert!(
        ends.len() >= 36 && failed >= 9,
        "{failed} of {}",
        ends.len()
    );
}

#[tokio::test]
async fn every_woven_definition_passes_both_validators() {
    let stack = stack().await;
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join(unique("woven"));
    std::fs::create_dir_all(&scratch).expect("a folder");
    let mut files = Vec::new();
    for (number, case) in cases(&stack).await.iter().enumerate() {
        let woven = weave(&case.text, &case.options("woven")).expect(case.name);
        let file = scratch.join(format!("{number}-{}.json", case.name));
        let woven = to_json(&filled(&stack, &woven)).to_string();
        std::fs::write(&file, woven).expect("a file");
        files.push(file);
    }

    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent();
    let mut validate = Command::new(root.expect("the workspace").join("infra/validate"));
    let validated = validate.args(&files).output().expect("infra/validate runs");

    let stdout = String::from_utf8_lossy(&validated.stdout);
    let good = stdout
        .lines()
        .filter(|line| line.starts_with("ok "))
        .count();
    assert!(validated.status.success(), "{stdout}");
    assert_eq!(good, 2 * files.len(), "{stdout}");
    std::fs::remove_dir_all(&scratch).ok();
}

/// Returns a woven workflow whose only state of its own waits for the `seconds` of its input.
fn waits(stack: &Stack, options: &Options) -> Value {
    let text = r#"{"StartAt":"Work","States":{"Work":{"Type":"Wait","SecondsPath":"$.seconds","End":true}}}"#;
    to_json(&filled(stack, &weave(text, options).expect("woven")))
}

/// Creates a woven workflow with a short lease, and starts a run of it that holds `lock` for
/// minutes. Returns both ARNs.
async fn working(stack: &Stack, lock: &str, overlap: Overlap) -> (String, String) {
    let short = Options {
        options: LockOptions {
            overlap: Some(overlap),
            lease_seconds: Some(6),
            heartbeat_seconds: Some(2),
            ..LockOptions::default()
        },
        ..options(lock)
    };
    let machine = stack.guarded(&waits(stack, &short)).await;
    let run = stack
        .start_machine(&machine, &json!({ "seconds": 300 }))
        .await;
    until("the first run", 20, async || stack.held(lock).await == 1).await;
    pause(1_000).await;
    (machine, run)
}

#[tokio::test]
async fn of_five_woven_runs_at_once_exactly_one_works() {
    let stack = stack().await;
    let whole = options(&unique("woven-five"));
    let section = Options {
        from: Some("Work".into()),
        ..options(&unique("woven-section"))
    };
    for (options, answer) in [(whole, "skipped"), (section, "")] {
        let machine = stack.guarded(&waits(&stack, &options)).await;

        let arns = stack
            .start_many(&machine, &json!({ "seconds": 3 }), 5)
            .await;
        let ended = stack.wait_all(&arns, 60).await;

        let (worked, others): (Vec<_>, Vec<_>) = ended.into_iter().partition(Ended::worked);
        assert_eq!(worked.len(), 1, "{worked:?}");
        assert_eq!(worked[0].output, json!({ "seconds": 3 }));
        for other in others {
            assert_eq!(other.answer(), answer, "{other:?}");
            assert_eq!(other.error.is_empty(), !answer.is_empty(), "{other:?}");
            assert!(
                ["", "Lockstep.LockHeld"].contains(&&*other.error),
                "{other:?}"
            );
        }
    }
}

#[tokio::test]
async fn after_the_abort_of_a_woven_run_the_next_run_works() {
    let (stack, lock) = (stack().await, unique("woven-killed"));
    let (machine, first) = working(&stack, &lock, Overlap::Queue).await;
    let next = stack
        .start_machine(&machine, &json!({ "seconds": 1 }))
        .await;
    stack.wait_waiting(&lock, 1, 20).await;

    let killed = now();
    stack.abort(&first).await;
    let ended = stack.wait(&next, 150).await;

    assert!(ended.worked(), "{ended:?}");
    let after = ended.stopped.saturating_sub(killed);
    eprintln!(
        "figure: woven workflow aborted at work: the next, of a second, has run {after} ms later"
    );
    assert!(
        after >= 31_000,
        "what its states had started has time to stop: {after} ms"
    );
    assert_eq!(stack.outcomes(&lock).await, ["recovered", "succeeded"]);
}

#[tokio::test]
async fn a_woven_run_that_replaces_stops_the_holder_first() {
    let (stack, lock) = (stack().await, unique("woven-replaced"));
    let (machine, first) = working(&stack, &lock, Overlap::Replace).await;

    let next = stack
        .start_machine(&machine, &json!({ "seconds": 1 }))
        .await;
    let [first, next] = [stack.wait(&first, 60).await, stack.wait(&next, 150).await];

    assert_eq!(next.output, json!({ "seconds": 1 }), "{next:?}");
    assert!(["ABORTED", "FAILED"].contains(&&*first.status), "{first:?}");
    let after = next.stopped.saturating_sub(first.stopped);
    assert!(after >= 31_000, "its states have time to stop: {after} ms");
}
