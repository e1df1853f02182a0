//! Damaged side items of waiters, and damaged entries in the index of the sweep.

use super::RECORD;
use super::scene::{Damage, Scene, damages, number, text, to, waiter_sort_key};
use crate::fixture::{Ask, drop_waiter, recover, release_tick, turn, wait};
use lockstep::domain::Timestamp;
use lockstep::store::{DUE_PAGE, shard};

#[tokio::test]
async fn a_damaged_waiter_is_reported_by_its_hand_over_and_left_alone() {
    let scene = Scene::new("waiter", 1).await;
    scene.fixture.queued(&["b"]).await;
    let required = "schema holder permits leaseMs beatMs retentionMs since";
    let optional = "maxRunMs noProgressMs minIntervalMs stale runKey taskToken waitUntil cluster \
                    family";
    let mut damages = damages(&[], required, optional);
    damages.push(to(&["schema"], number("2")));
    damages.push(to(&["permits"], number("101")));
    damages.push(to(&["leaseMs"], number("1500")));
    damages.push(to(&["stale"], text("shrug")));
    let release = release_tick("a", scene.token).ask();
    let commands = [release, recover("a", scene.token).ask(), drop_waiter("b")];

    let key = waiter_sort_key("b");
    scene.each_is_reported(&key, &damages, &commands).await;
}

#[tokio::test]
async fn a_registration_leaves_a_waiter_of_a_newer_version_alone() {
    let scene = Scene::new("waiter-newer", 1).await;
    scene.fixture.queued(&["b"]).await;
    let damages = [
        to(&["schema"], number("2")),
        Damage::new(&["schema"], None),
        to(&["since"], text("noon")),
    ];

    let (key, again) = (waiter_sort_key("b"), wait("b").ask());
    scene.each_is_reported(&key, &damages, &[again]).await;
}

#[tokio::test]
async fn a_waiter_that_registers_again_heals_its_item() {
    let scene = Scene::new("waiter-heals", 1).await;
    scene.fixture.queued(&["b"]).await;
    let key = waiter_sort_key("b");
    let waiter = scene.item(&key).await;
    let damaged = to(&["leaseMs"], text("long")).done_to(&waiter);
    scene.put(&damaged).await;

    scene.fixture.done(wait("b")).await;
    scene.fixture.done(release_tick("a", scene.token)).await;

    let record = scene.fixture.record().await;
    let lease = record.holders.values().next().unwrap();
    let called = lease.call.as_ref().and_then(|call| call.task_token.clone());
    assert_eq!(called, Some(turn("b")));
}

/// Before the lock, the index has more damaged entries than a page takes; after it, a page of them.
#[tokio::test]
async fn damaged_entries_do_not_hide_other_due_locks_from_the_sweep() {
    let scene = Scene::new("sweep", 1).await;
    let record = scene.item(RECORD).await;
    let behind = format!("{}.5", Timestamp::MAX.millis() - 1);
    for (due, entries) in [("1.5", DUE_PAGE + 1), (behind.as_str(), DUE_PAGE)] {
        let mut damaged = to(&["dueAt"], number(due)).done_to(&record);
        for entry in 0..entries {
            damaged.insert("pk".into(), text(&format!("damaged-{due}-{entry}")));
            scene.put(&damaged).await;
        }
    }

    let (found, unreadable) = scene.fixture.all_due(shard(&scene.fixture.lock)).await;

    assert_eq!(found, [scene.fixture.lock]);
    assert_eq!(unreadable, DUE_PAGE + 1 + DUE_PAGE);
}
