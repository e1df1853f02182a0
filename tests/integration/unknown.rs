//! Attributes of a later version: after a rollback, the functions of this version keep them in all that they update.

use crate::fixture::{
    Fixture, acquire, acquire_tick, audit_note, drop_waiter, holder, paced, release, release_tick,
    renew, run_key, wait,
};
use aws_sdk_dynamodb::types::AttributeValue;
use lockstep::domain::{Acquire, Command, ExitStep, Mark, Opening, Renew, WaiterId};
use lockstep::testing;
use lockstep_tests::units::Item;
use std::time::Duration;

/// An attribute that this version does not know.
const UNKNOWN: &str = "ofTheNextVersion";

fn value() -> AttributeValue {
    AttributeValue::M([("since".to_owned(), AttributeValue::N("2".to_owned()))].into())
}

/// Adds the attribute to an item of the lock, and to the leases in it.
async fn write_as_the_next_version(fixture: &Fixture, sort: &str) {
    let mut item = fixture.item(sort).await;
    item.insert(UNKNOWN.into(), value());
    if let Some(AttributeValue::M(holders)) = item.get_mut("holders") {
        for lease in holders.values_mut() {
            let AttributeValue::M(lease) = lease else {
                panic!("a lease is a map: {lease:?}");
            };
            lease.insert(UNKNOWN.into(), value());
        }
    }
    fixture.put(item).await;
}

fn has_it(item: &Item) -> bool {
    item.get(UNKNOWN) == Some(&value())
}

/// Checks that the record and the lease of `name` still have the attribute.
async fn assert_kept(fixture: &Fixture, name: &str, after: &str) {
    let record = fixture.item("lock").await;
    assert!(has_it(&record), "the record after {after}: {record:?}");
    let holders = record["holders"].as_m().expect("a map");
    let lease = &holders[holder(name).as_str()];
    assert!(
        has_it(lease.as_m().expect("a map")),
        "the lease after {after}: {lease:?}"
    );
}

/// Returns an acquire of a lock with two permits.
fn of_two(name: &str) -> Acquire {
    let mut acquire = acquire(name);
    acquire.terms.permits = testing::permits(2);
    acquire
}

#[tokio::test]
async fn each_update_of_a_record_keeps_attributes_of_a_later_version() {
    let fixture = Fixture::new("unknown-record").await;
    let token = fixture.granted(of_two("a")).await;
    write_as_the_next_version(&fixture, "lock").await;
    let mark = |step| {
        Command::Mark(Mark {
            ..testing::mark(holder("a"), token, step)
        })
    };

    let told = Renew {
        progress: Some("half".into()),
        ..renew("a", token)
    };
    let awake: [(&str, Command); 6] = [
        ("a heartbeat", renew("a", token).into()),
        ("a slower heartbeat", paced("a", token).into()),
        ("progress", told.into()),
        ("a repeated acquire", Command::Acquire(of_two("a"))),
        ("a pause", Command::Pause(audit_note("upgrade"), None)),
        (
            "a resumption",
            Command::Open(Opening::Resume, audit_note("upgrade")),
        ),
    ];
    let silent = [
        ("the mark of a suspect", mark(ExitStep::Suspect)),
        ("the mark of an ending holder", mark(ExitStep::Ending)),
    ];
    for (what, command) in awake {
        fixture.done(command).await;
        assert_kept(&fixture, "a", what).await;
    }
    fixture.advance(Duration::from_secs(600));
    for (what, command) in silent {
        let before = fixture.record().await.version;
        fixture.done(command).await;
        assert_kept(&fixture, "a", what).await;
        assert!(
            fixture.record().await.version > before,
            "{what} writes the lease"
        );
    }

    let second = fixture.granted(of_two("b")).await;
    fixture.done(wait_for_two("c")).await;
    fixture.done(drop_waiter("c")).await;
    fixture.done(release("b", second)).await;
    assert_kept(&fixture, "a", "the run of another").await;
    fixture.done(release("a", token)).await;
    assert!(has_it(&fixture.item("lock").await), "after the release");
}

fn wait_for_two(name: &str) -> Acquire {
    let mut wait = wait(name);
    wait.terms.permits = testing::permits(2);
    wait
}

#[tokio::test]
async fn each_update_of_a_side_item_keeps_attributes_of_a_later_version() {
    let fixture = Fixture::new("unknown-side").await;
    let token = fixture.granted(acquire_tick("a")).await;
    let marker = format!("run#key/{}", run_key().as_str());
    write_as_the_next_version(&fixture, &marker).await;
    fixture.done(wait("b")).await;
    let waiter = format!("waiter#{}", WaiterId::of(&holder("b")));
    write_as_the_next_version(&fixture, &waiter).await;

    fixture.done(wait("b")).await;
    assert!(
        has_it(&fixture.item(&waiter).await),
        "a waiter that registers again"
    );
    fixture.done(release_tick("a", token)).await;

    assert!(has_it(&fixture.item(&marker).await), "the end of a run");
}
