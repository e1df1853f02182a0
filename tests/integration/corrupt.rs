//! An item that cannot be read is named, and never overwritten.

mod scene;

use crate::fixture::{Ask, acquire_tick, holder, release_tick, renew, run_key};
use aws_sdk_dynamodb::types::AttributeValue;
use lockstep::domain::RunOutcome;
use scene::{Damage, Scene, every_damage, number, run_sort_key, text};
use std::collections::HashMap;

const RECORD: &str = "lock";

#[tokio::test]
async fn every_command_reports_a_damaged_record_and_leaves_it_alone() {
    let scene = Scene::new("record", 2).await;
    let record = scene.item(RECORD).await;
    let required = "schema version lastToken lastTicket permits holders queue notBefore mode";
    let mut damages: Vec<Damage> = required
        .split(' ')
        .flat_map(|name| every_damage(&[name]))
        .collect();
    damages.push(Damage::new(&["note"], Some(number("7"))));
    damages.push(Damage::new(&["schema"], Some(number("2"))));
    damages.push(Damage::new(&["mode"], Some(text("ajar"))));

    for damage in damages {
        let damaged = damage.done_to(&record);
        for command in scene.commands(2) {
            scene
                .expect_corrupt(&damaged, RECORD, &damage, command)
                .await;
        }
    }
}

#[tokio::test]
async fn every_command_reports_a_damaged_lease_and_leaves_it_alone() {
    let scene = Scene::new("lease", 1).await;
    let record = scene.item(RECORD).await;
    let a = holder("a");
    let within = |name| vec!["holders", a.as_str(), name];
    let mut damages = Vec::new();
    for name in ["token", "expiresAt", "leaseMs"] {
        damages.extend(every_damage(&within(name)));
    }
    for name in ["runUntil", "runKey", "taskToken"] {
        let wrong = every_damage(&within(name)).into_iter();
        damages.extend(wrong.filter(|damage| damage.to.is_some()));
    }
    damages.extend(every_damage(&["holders", a.as_str()]).into_iter().skip(1));

    for damage in damages {
        let damaged = damage.done_to(&record);
        for command in scene.commands(1) {
            scene
                .expect_corrupt(&damaged, RECORD, &damage, command)
                .await;
        }
    }
}

#[tokio::test]
async fn a_refused_acquire_reports_a_value_out_of_its_range() {
    let scene = Scene::new("range", 1).await;
    let record = scene.item(RECORD).await;
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
        (vec!["queue", "waiter"], text("first")),
    ];

    for (path, to) in damages {
        let damage = Damage::new(&path, Some(to));
        let damaged = damage.done_to(&record);
        let command = scene.acquire(1);
        scene
            .expect_corrupt(&damaged, RECORD, &damage, command)
            .await;
    }
}

#[tokio::test]
async fn a_record_that_breaks_a_rule_of_all_records_is_reported() {
    let scene = Scene::new("rule", 1).await;
    let record = scene.item(RECORD).await;
    let damage = Damage::new(&["lastToken"], Some(number("5")));
    let damaged = damage.done_to(&record);

    scene.put(&damaged).await;
    let error = scene.fixture.execute(scene.acquire(1)).await.unwrap_err();

    let shown = error.to_string();
    assert!(shown.contains("a token is above lastToken"), "{shown}");
    assert_eq!(scene.item(RECORD).await, damaged);
}

#[tokio::test]
async fn a_damaged_running_run_is_reported_by_its_release_and_left_alone() {
    let scene = Scene::new("running", 1).await;
    let key = run_sort_key();
    let run = scene.item(&key).await;
    let mut damages = Vec::new();
    for name in ["schema", "holder", "token"] {
        damages.extend(every_damage(&[name]));
    }
    damages.push(Damage::new(&["schema"], Some(number("2"))));
    damages.push(Damage::new(&["outcome"], Some(text("perfect"))));
    damages.push(Damage::new(&["endedAt"], Some(number("7"))));

    for damage in damages {
        let damaged = damage.done_to(&run);
        let command = release_tick("a", scene.token).ask();
        scene.expect_corrupt(&damaged, &key, &damage, command).await;
    }
}

#[tokio::test]
async fn a_damaged_ended_run_is_reported_by_whoever_needs_it_and_left_alone() {
    let scene = Scene::new("ended", 1).await;
    let key = run_sort_key();
    let mut failed = release_tick("a", scene.token);
    failed.outcome = RunOutcome::Failed;
    scene.fixture.done(failed).await;
    let run = scene.item(&key).await;
    let mut late = renew("a", scene.token);
    late.run_key = Some(run_key());
    let mut damages = Vec::new();
    for name in ["schema", "holder", "token", "endedAt", "retainUntil"] {
        damages.extend(every_damage(&[name]));
    }
    let wrong = every_damage(&["outcome"]).into_iter();
    damages.extend(wrong.filter(|damage| damage.to.is_some()));
    damages.push(Damage::new(&["schema"], Some(number("2"))));

    for damage in damages {
        let damaged = damage.done_to(&run);
        let again = release_tick("a", scene.token).ask();
        for command in [acquire_tick("b").ask(), late.clone().ask(), again] {
            scene.expect_corrupt(&damaged, &key, &damage, command).await;
        }
    }
}

#[tokio::test]
async fn attributes_of_a_newer_version_are_kept() {
    let scene = Scene::new("newer", 1).await;
    let record = scene.item(RECORD).await;
    let a = holder("a");
    let extra = Damage::new(&["sponsor"], Some(text("ops"))).done_to(&record);
    let in_lease = ["holders", a.as_str(), "progress"];
    let extra = Damage::new(&in_lease, Some(number("40"))).done_to(&extra);
    scene.put(&extra).await;

    scene.fixture.done(renew("a", scene.token)).await;
    let renewed = scene.item(RECORD).await;
    scene.fixture.done(release_tick("a", scene.token)).await;

    let lease = renewed["holders"].as_m().unwrap()[a.as_str()]
        .as_m()
        .unwrap();
    assert_eq!(lease["progress"], number("40"));
    assert_eq!(scene.item(RECORD).await["sponsor"], text("ops"));
}
