//! Damaged side items of waiters, and a damaged entry in the sweep's index.

use super::RECORD;
use super::scene::{Damage, Scene, every_damage, every_wrong_type, number, text, waiter_sort_key};
use crate::fixture::{Ask, evict, recover, release_tick, turn, wait};
use lockstep::domain::Timestamp;
use lockstep::store::{DUE_PAGE, LockStore, shard};

#[tokio::test]
async fn a_damaged_waiter_is_reported_by_the_call_that_would_let_it_in_and_left_alone() {
    let scene = Scene::new("waiter", 1).await;
    scene.fixture.queued(&["b"]).await;
    let key = waiter_sort_key("b");
    let waiter = scene.item(&key).await;
    let record = scene.item(RECORD).await;
    let mut damages = Vec::new();
    let required = "schema holder permits leaseMs beatMs retentionMs since";
    for name in required.split_whitespace() {
        damages.extend(every_damage(&[name]));
    }
    let optional = "maxRunMs noProgressMs minIntervalMs stale runKey taskToken waitUntil cluster \
                    family";
    for name in optional.split_whitespace() {
        damages.extend(every_wrong_type(&[name]));
    }
    damages.push(Damage::new(&["schema"], Some(number("2"))));
    damages.push(Damage::new(&["permits"], Some(number("101"))));
    damages.push(Damage::new(&["leaseMs"], Some(number("1500"))));
    damages.push(Damage::new(&["stale"], Some(text("shrug"))));

    for damage in damages {
        let damaged = damage.done_to(&waiter);
        let release = release_tick("a", scene.token).ask();
        for command in [release, recover("a", scene.token), evict("b")] {
            scene.expect_corrupt(&damaged, &key, &damage, command).await;
        }
        assert_eq!(scene.item(RECORD).await, record, "nothing is half done");
    }
}

#[tokio::test]
async fn a_registration_leaves_a_waiter_of_a_newer_version_alone() {
    let scene = Scene::new("waiter-newer", 1).await;
    scene.fixture.queued(&["b"]).await;
    let key = waiter_sort_key("b");
    let waiter = scene.item(&key).await;

    for damage in [
        Damage::new(&["schema"], Some(number("2"))),
        Damage::new(&["schema"], None),
        Damage::new(&["since"], Some(text("noon"))),
    ] {
        let damaged = damage.done_to(&waiter);
        let again = wait("b").ask();
        scene.expect_corrupt(&damaged, &key, &damage, again).await;
    }
}

#[tokio::test]
async fn a_waiter_that_registers_again_heals_its_item() {
    let scene = Scene::new("waiter-heals", 1).await;
    scene.fixture.queued(&["b"]).await;
    let key = waiter_sort_key("b");
    let waiter = scene.item(&key).await;
    let damage = Damage::new(&["leaseMs"], Some(text("long")));
    scene.put(&damage.done_to(&waiter)).await;

    scene.fixture.done(wait("b")).await;
    scene.fixture.done(release_tick("a", scene.token)).await;

    let record = scene.fixture.record().await;
    let lease = record.holders.values().next().unwrap();
    let called = lease.call.as_ref().and_then(|call| call.task_token.clone());
    assert_eq!(called, Some(turn("b")));
}

/// More entries than one page takes are damaged and sort before the lock, and a page of them behind it.
#[tokio::test]
async fn damaged_entries_do_not_keep_the_sweep_from_the_others() {
    let scene = Scene::new("sweep", 1).await;
    let store = scene.fixture.store();
    let of = shard(&scene.fixture.lock);
    let record = scene.item(RECORD).await;
    let behind = format!("{}.5", Timestamp::MAX.millis() - 1);
    for (due, entries) in [("1.5", DUE_PAGE + 1), (behind.as_str(), DUE_PAGE)] {
        let damage = Damage::new(&["dueAt"], Some(number(due)));
        let mut damaged = damage.done_to(&record);
        for entry in 0..entries {
            damaged.insert("pk".into(), text(&format!("damaged-{due}-{entry}")));
            scene.put(&damaged).await;
        }
    }

    let (mut found, mut unreadable, mut after) = (Vec::new(), 0, None);
    loop {
        let page = store.due(of, Timestamp::MAX, after.as_ref()).await.unwrap();
        found.extend(page.locks.into_iter().map(|due| due.lock));
        unreadable += page.unreadable;
        after = page.next;
        if after.is_none() {
            break;
        }
    }

    assert_eq!(found, [scene.fixture.lock]);
    assert_eq!(unreadable, DUE_PAGE + 1 + DUE_PAGE);
}
