//! From the first request to the permit, or to the end without one.

use super::play::{Play, failure, said};
use crate::invoke::Failure;

/// Plays the rows of a table. Its columns are the fields of the input, the answers of acquire-lock,
/// the ends of the waiting state, the answer to Confirm Grant, the states after Check Input, and
/// the end.
#[track_caller]
fn lead(table: &str) {
    for row in table.trim().lines() {
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        let [fields, asked, waited, confirmed, path, end] = cells[..] else {
            panic!("{row} has no six columns");
        };
        let played = Play::of(serde_json::from_str(fields).expect(row))
            .answers("Acquire Lock", asked)
            .answers("Wait For Turn", waited)
            .answers("Confirm Grant", confirmed)
            .works()
            .play();

        let expected = match end {
            "held" => Err(Failure::new("Lockstep.LockHeld", "held by another")),
            error if error.contains('.') => Err(failure(error)),
            word => Ok(said(word)),
        };
        played.takes(path, &expected);
    }
}

#[test]
fn a_run_with_a_permit_works_and_returns_the_result_of_its_task() {
    lead(
        r#"
        {} | granted     | | | ASKS > BEGINS > RELEASES | done
        {} | alreadyHeld | | | ASKS > BEGINS > RELEASES | done
        "#,
    );
}

#[test]
fn a_run_without_a_permit_ends_as_its_input_says() {
    // A tick that has run already is no failure of this start.
    lead(
        r#"
        {"onSkip": null}      | skipped   | | | ASKS > Report Skip  | skipped
        {"onSkip": "succeed"} | skipped   | | | ASKS > Report Skip  | skipped
        {"onSkip": "fail"}    | skipped   | | | ASKS > Fail On Skip | held
        {"onSkip": null}      | duplicate | | | ASKS > Report Skip  | duplicate
        {"onSkip": "fail"}    | duplicate | | | ASKS > Report Skip  | duplicate
        "#,
    );
}

#[test]
fn a_run_that_waits_is_woken_confirms_its_grant_and_works() {
    lead(
        r#"
        {"overlap": "queue"}   | skipped | granted | granted | ASKS > TURN > CONFIRMS > BEGINS > RELEASES | done
        {"overlap": "replace"} | skipped | granted | granted | ASKS > TURN > CONFIRMS > BEGINS > RELEASES | done
        "#,
    );
}

#[test]
fn a_woken_run_does_what_the_answer_to_confirm_grant_says() {
    // A run that a forged SendTaskSuccess wakes has no grant, and waits on.
    lead(
        r#"
        {"overlap": "queue"} | skipped | granted gaveUp     | granted     | ASKS > TURN > CONFIRMS > BEGINS > RELEASES | done
        {"overlap": "queue"} | skipped | alreadyHeld gaveUp | alreadyHeld | ASKS > TURN > CONFIRMS > BEGINS > RELEASES | done
        {"overlap": "queue"} | skipped | granted gaveUp     | duplicate   | ASKS > TURN > CONFIRMS > Report Skip | duplicate
        {"overlap": "queue"} | skipped | granted gaveUp     | skipped     | ASKS > TURN > CONFIRMS > TURN > Lock Is Ours > Report Skip | gaveUp
        {"overlap": "queue"} | skipped | gaveUp gaveUp      |             | ASKS > TURN > Lock Is Ours > Report Skip | gaveUp
        {"overlap": "queue"} | skipped | duplicate gaveUp   |             | ASKS > TURN > Lock Is Ours > Report Skip | duplicate
        {"overlap": "queue"} | skipped | skipped gaveUp     |             | ASKS > TURN > Lock Is Ours > Report Skip | skipped
        "#,
    );
}

#[test]
fn a_run_that_gives_up_fails_where_its_input_says_so() {
    lead(
        r#"
        {"overlap": "queue", "onSkip": "succeed"} | skipped | gaveUp | | ASKS > TURN > Lock Is Ours > Report Skip  | gaveUp
        {"overlap": "queue", "onSkip": "fail"}    | skipped | gaveUp | | ASKS > TURN > Lock Is Ours > Fail On Skip | held
        "#,
    );
}

#[test]
fn under_every_overlap_a_run_waits_for_the_end_of_a_stopping_run() {
    // Unless the caller asked to wait, the run fails: a retry of the caller must not succeed
    // without a run.
    lead(
        r#"
        {"overlap": null}    | ending | granted | granted | ASKS > TURN > CONFIRMS > BEGINS > RELEASES | done
        {"overlap": "skip"}  | ending | gaveUp  | granted | ASKS > TURN > Lock Is Ours > Fail On Skip | held
        {"overlap": "fail"}  | ending | gaveUp  | granted | ASKS > TURN > Lock Is Ours > Fail On Skip | held
        {"overlap": "queue"} | ending | granted | granted | ASKS > TURN > CONFIRMS > BEGINS > RELEASES | done
        {"overlap": "queue"} | ending | gaveUp  | granted | ASKS > TURN > Lock Is Ours > Report Skip  | gaveUp
        {}                   | notEnding | |              | ASKS > Report Skip | notEnding
        "#,
    );
}

#[test]
fn a_closed_lock_fails_a_run_that_does_not_wait_and_keeps_one_that_does() {
    lead(
        r#"
        {"onPaused": "fail"} | Lockstep.LockPaused | | | ASKS > Rethrow | Lockstep.LockPaused
        {"overlap": "queue"} | Lockstep.LockPaused | granted | granted | ASKS > TURN > CONFIRMS > BEGINS > RELEASES | done
        {}                   | Lockstep.LockFrozen | | | ASKS > Rethrow | Lockstep.LockFrozen
        {"overlap": "queue"} | Lockstep.LockFrozen | granted | granted | ASKS > TURN > CONFIRMS > BEGINS > RELEASES | done
        "#,
    );
}

#[test]
fn a_run_at_a_paused_lock_waits_or_ends_as_its_input_says() {
    lead(
        r#"
        {}                                        | paused | | | ASKS > Report Skip | paused
        {"onSkip": "fail"}                        | paused | | | ASKS > Fail On Skip | held
        {"overlap": "queue", "onPaused": "skip"}  | paused | | | ASKS > Report Skip | paused
        {"onPaused": "wait"}  | Lockstep.LockPaused | granted | granted | ASKS > TURN > CONFIRMS > BEGINS > RELEASES | done
        {"onPaused": "wait"}  | skipped | | | ASKS > Report Skip | skipped
        {"onPaused": "wait", "overlap": "queue"} | skipped | granted | granted | ASKS > TURN > CONFIRMS > BEGINS > RELEASES | done
        {"catchUp": "once"}   | Lockstep.LockPaused | granted | granted | ASKS > TURN > CONFIRMS > BEGINS > RELEASES | done
        {"catchUp": "once"}   | Lockstep.LockPaused | paused  | | ASKS > TURN > Lock Is Ours > Report Skip | paused
        {"catchUp": "once"}   | Lockstep.LockPaused | skipped | | ASKS > TURN > Lock Is Ours > Report Skip | skipped
        {"catchUp": "none"}   | Lockstep.LockFrozen | | | ASKS > Rethrow | Lockstep.LockFrozen
        {"onPaused": "wait"}  | Lockstep.LockFrozen | Lockstep.LockFrozen | | ASKS > Wait For Turn | Lockstep.LockFrozen
        "#,
    );
}

#[test]
fn a_refusal_is_the_error_of_the_execution() {
    lead(
        r#"
        {} | Lockstep.LockHeld        | | | Acquire Lock | Lockstep.LockHeld
        {} | Lockstep.PermitsMismatch | | | Acquire Lock | Lockstep.PermitsMismatch
        {"overlap": "queue", "maxQueue": 1} | skipped | Lockstep.QueueFull | | ASKS > Wait For Turn | Lockstep.QueueFull
        {"overlap": "queue", "whenQueueFull": "skip"} | skipped | skipped | | ASKS > TURN > Lock Is Ours > Report Skip | skipped
        "#,
    );
}
