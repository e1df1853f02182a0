//! An item that cannot be read is named in the error, and never overwritten.

mod runs;
mod scene;
mod waiters;

use crate::fixture::{Ask, holder, wait};
use aws_sdk_dynamodb::types::AttributeValue;
use lockstep::domain::Permits;
use scene::{Scene, damages, number, text, to};
use std::collections::HashMap;

const RECORD: &str = "lock";

#[tokio::test]
async fn every_command_reports_a_damaged_record_and_leaves_it_alone() {
    let scene = Scene::new("record", 2).await;
    let required = "schema version lastToken lastTicket frontTicket permits holders queue \
                    notBefore mode";
    let mut damages = damages(&[], required, "note");
    damages.push(to(&["schema"], number("2")));
    damages.push(to(&["mode"], text("ajar")));
    let mut full = wait("b");
    full.terms.permits = Permits::new(2).unwrap();
    let commands = [scene.commands(2), vec![full.ask()]].concat();

    scene.each_is_reported(RECORD, &damages, &commands).await;
}

#[tokio::test]
async fn every_command_reports_a_damaged_lease_and_leaves_it_alone() {
    let scene = Scene::new("lease", 1).await;
    let a = holder("a");
    let lease = ["holders", a.as_str()];
    let optional = "runUntil maxRunMs noProgressMs stallsAt runKey taskToken progress stale cluster family \
                    replacedBy call";
    let mut all = damages(&lease, "token expiresAt leaseMs beatMs", optional);
    all.push(to(&["holders", a.as_str(), "stale"], text("shrug")));
    all.extend(damages(&["holders"], "", a.as_str()));

    scene
        .each_is_reported(RECORD, &all, &scene.commands(1))
        .await;
}

#[tokio::test]
async fn a_refused_acquire_reports_a_value_out_of_its_range() {
    let scene = Scene::new("range", 1).await;
    let a = holder("a");
    let lease = |name| vec!["holders", a.as_str(), name];
    let damages = [
        (vec!["version"], number("1.5")),
        (vec!["lastToken"], number("-1")),
        (vec!["permits"], number("0")),
        (vec!["permits"], number("101")),
        (vec!["notBefore"], number("253402300800000")),
        (vec!["holders", "a b"], AttributeValue::M(HashMap::new())),
        (lease("expiresAt"), number("1e30")),
        (lease("leaseMs"), number("1500")),
        (lease("runKey"), text("a b")),
        (lease("taskToken"), text("")),
        (lease("replacedBy"), text("a b")),
        (vec!["queue", "0123456789abcdef"], text("first")),
        (vec!["queue", "0123456789abcdef"], number("1.5")),
        (vec!["queue", "waiter"], number("1")),
        (vec!["dueAt"], number("1.5")),
    ];
    let damages = damages.map(|(path, value)| to(&path, value));

    let acquire = [scene.acquire(1)];
    scene.each_is_reported(RECORD, &damages, &acquire).await;
}

#[tokio::test]
async fn a_record_that_breaks_a_rule_of_all_records_is_reported() {
    let scene = Scene::new("rule", 1).await;
    let record = scene.item(RECORD).await;
    let damaged = to(&["lastToken"], number("5")).done_to(&record);

    scene.put(&damaged).await;
    let error = scene.fixture.execute(scene.acquire(1)).await.unwrap_err();

    let shown = error.to_string();
    assert!(shown.contains("a token is above lastToken"), "{shown}");
    assert_eq!(scene.item(RECORD).await, damaged);
}

#[tokio::test]
async fn a_lease_with_attributes_of_a_newer_version_can_be_handed_over() {
    let scene = Scene::new("newer-over", 1).await;
    let record = scene.item(RECORD).await;
    let a = holder("a");
    let in_lease = ["holders", a.as_str(), "mood"];
    let extra = to(&in_lease, number("40")).done_to(&record);
    scene.put(&extra).await;
    scene.fixture.queued(&["b"]).await;

    let recovery = scene.fixture.recovery("a", scene.token).await;
    scene.fixture.done(recovery).await;

    let record = scene.fixture.record().await;
    assert_eq!(record.holders.keys().collect::<Vec<_>>(), [&holder("b")]);
}
