//! An auditor that notices nothing would be content with every world: each of its rules is shown a
//! write that breaks it.

mod table;
mod witness;

use crate::engine::locked;
use crate::resource;
use lockstep::domain::{FencingToken, RunOutcome, Ticket, WaiterId};
use table::{Table, holder};

#[test]
fn a_grant_and_its_release_break_nothing() {
    let (mut table, a) = (Table::new(), holder("a"));
    let release = (a.clone(), FencingToken::from_number(5));
    locked(&table.world.audit).releases.insert(release);

    assert_eq!(table.grant(&a, 5), "");
    assert_eq!(table.end(&a, 5, RunOutcome::Failed), "");
    assert_eq!(table.grant(&holder("b"), 6), "");
}

#[test]
fn more_holders_than_permits_are_noticed() {
    let mut table = Table::new();
    table.grant(&holder("a"), 5);

    let broken = table.grant(&holder("b"), 6);

    assert!(broken.contains("holders exceed permits"), "{broken}");
}

#[test]
fn a_token_that_does_not_grow_is_noticed() {
    let (mut table, a) = (Table::new(), holder("a"));
    locked(&table.world.audit).evictions.insert(a.clone());
    table.grant(&a, 5);
    table.end(&a, 5, RunOutcome::Evicted);
    table.record.last_token = FencingToken::NONE;

    let broken = table.grant(&holder("b"), 4);

    assert!(broken.contains("token 4 came after 5"), "{broken}");
}

#[test]
fn whoever_passes_the_queue_is_noticed() {
    let mut table = Table::new();
    table.write(Vec::new(), |record| {
        record.last_ticket = Ticket::from_number(1);
        let first = WaiterId::of(&holder("first"));
        record.queue.insert(first, record.last_ticket);
    });

    let broken = table.grant(&holder("a"), 5);

    assert!(broken.contains("passed the queue"), "{broken}");
}

#[test]
fn a_permit_taken_from_a_holder_that_gave_no_reason_is_noticed() {
    for outcome in [
        RunOutcome::Succeeded,
        RunOutcome::Failed,
        RunOutcome::Lost,
        RunOutcome::Recovered,
        RunOutcome::Replaced,
        RunOutcome::Evicted,
    ] {
        let (mut table, a) = (Table::new(), holder("a"));
        table.grant(&a, 5);

        let broken = table.end(&a, 5, outcome);

        assert!(broken.contains("without a reason"), "{outcome:?}: {broken}");
    }
}

#[test]
fn a_holder_that_leaves_without_an_entry_in_the_history_is_noticed() {
    let (mut table, a) = (Table::new(), holder("a"));
    table.grant(&a, 5);

    let broken = table.write(Vec::new(), |record| record.holders.clear());

    assert!(broken.contains("without a word"), "{broken}");
}

#[test]
fn a_run_key_that_runs_again_after_its_success_is_noticed() {
    let (mut table, a) = (Table::new(), holder("a"));
    let release = (a.clone(), FencingToken::from_number(5));
    locked(&table.world.audit).releases.insert(release);
    table.grant(&a, 5);
    table.end(&a, 5, RunOutcome::Succeeded);

    let broken = table.grant(&holder("b"), 6);

    assert!(broken.contains("runs again after its success"), "{broken}");
}

#[test]
fn work_under_a_token_that_nobody_granted_is_noticed() {
    let table = Table::new();

    resource::write(
        &table.world,
        &table.lock,
        FencingToken::from_number(5),
        "somebody",
    );

    let broken = table.world.broken().unwrap_or_default();
    assert!(broken.contains("which nobody granted"), "{broken}");
}
