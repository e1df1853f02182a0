//! Tests of the auditor: each of its rules is shown a write that breaks it. An auditor that notices
//! nothing would accept every world.

mod limits;
mod table;
mod witness;

use crate::engine::locked;
use crate::resource;
use lockstep::domain::{FencingToken, RunOutcome, Ticket, WaiterId};
use table::{Table, holder};

fn token(number: u64) -> FencingToken {
    FencingToken::from_number(number)
}

#[test]
fn a_grant_and_its_release_break_nothing() {
    let (mut table, a) = (Table::new(), holder("a"));
    locked(&table.world.audit)
        .releases
        .insert((a.clone(), token(5)));

    assert_eq!(table.grant(&a, 5), "");
    assert_eq!(table.end(&a, 5, RunOutcome::Failed), "");
    assert_eq!(table.grant(&holder("b"), 6), "");
}

#[test]
fn a_grant_that_breaks_a_rule_is_noticed() {
    for (case, number, rule) in [
        ("more holders than permits", 6, "holders exceed permits"),
        ("no larger token", 4, "token 4 came after 5"),
        ("past the queue", 6, "passed the queue"),
        ("a key that succeeded", 6, "runs again after its success"),
    ] {
        let (mut table, a) = (Table::new(), holder("a"));
        let end = |table: &mut Table, outcome| {
            table.grant(&a, 5);
            table.end(&a, 5, outcome)
        };
        match case {
            "more holders than permits" => drop(table.grant(&a, 5)),
            "no larger token" => {
                locked(&table.world.audit).evictions.insert(a.clone());
                end(&mut table, RunOutcome::Evicted);
                table.record.last_token = FencingToken::NONE;
            }
            "past the queue" => drop(table.write(Vec::new(), |record| {
                record.last_ticket = Ticket::from_number(1);
                let first = WaiterId::of(&holder("first"));
                record.queue.insert(first, record.last_ticket);
            })),
            _ => {
                locked(&table.world.audit)
                    .releases
                    .insert((a.clone(), token(5)));
                end(&mut table, RunOutcome::Succeeded);
            }
        }

        let broken = table.grant(&holder("b"), number);

        assert!(broken.contains(rule), "{case}: {broken}");
    }
}

#[test]
fn a_permit_taken_from_a_holder_without_a_reason_is_noticed() {
    use RunOutcome::{Evicted, Failed, Lost, Recovered, Replaced, Succeeded};
    for outcome in [Succeeded, Failed, Lost, Recovered, Replaced, Evicted] {
        let (mut table, a) = (Table::new(), holder("a"));
        table.grant(&a, 5);

        let broken = table.end(&a, 5, outcome);

        assert!(broken.contains("without a reason"), "{outcome:?}: {broken}");
    }
}

#[test]
fn a_holder_that_leaves_without_an_entry_in_the_history_is_noticed() {
    let mut table = Table::new();
    table.grant(&holder("a"), 5);

    let broken = table.write(Vec::new(), |record| record.holders.clear());

    assert!(broken.contains("without a word"), "{broken}");
}

#[test]
fn work_under_a_token_without_a_grant_is_noticed() {
    let table = Table::new();

    resource::write(&table.world, &table.lock, token(5), "somebody");

    let broken = table.world.broken().unwrap_or_default();
    assert!(broken.contains("which no write granted"), "{broken}");
}
