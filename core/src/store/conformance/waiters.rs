//! Guarantees of the side items of waiters.

use super::Bench;
use super::samples::{
    assign, at, conflict, full_terms, held, holder, task_token, token, waited, waiter, waiter_id,
    workflow,
};
use crate::domain::{Assign, Change, Clause, Terms, Waiter, WaiterDrop, Work};
use crate::store::{Commit, Found, LockStore};
use crate::testing::RETENTION;

pub(super) async fn a_waiter_comes_back_with_every_attribute<S: LockStore>(bench: &Bench<'_, S>) {
    let lock = bench.lock("waiter");
    let full = |name, change: fn(&mut Terms)| {
        let mut terms = full_terms(name);
        change(&mut terms);
        Waiter {
            terms,
            ..waiter(name, 1000)
        }
    };
    let mut late = full("b", |_| {});
    late.wait_until = Some(at(90_000));
    let mut bare = waiter("c", 1000);
    bare.task_token = None;

    for wanted in [
        late,
        bare,
        full("d", |terms| terms.work = Some(workflow())),
        full("e", |terms| terms.work = Some(Work::States)),
        full("f", |terms| terms.retention = RETENTION),
    ] {
        let before = bench.load_waiter(&lock, &wanted.id()).await;
        bench.register(&lock, &wanted).await;

        assert_eq!(before, None);
        assert_eq!(bench.load_waiter(&lock, &wanted.id()).await, Some(wanted));
    }
    assert_eq!(bench.load(&lock).await, None, "no record comes of it");
}

pub(super) async fn an_older_registration_does_not_replace_a_newer_one<S: LockStore>(
    bench: &Bench<'_, S>,
) {
    let lock = bench.lock("re-registration");
    let with = |state, since| Waiter {
        task_token: Some(task_token(state)),
        ..waiter("w", since)
    };
    let steps = [
        (with("second", 2000), with("second", 2000)),
        (with("first", 1999), with("second", 2000)),
        (with("same-time", 2000), with("same-time", 2000)),
        (with("third", 2001), with("third", 2001)),
    ];

    for (comes, stays) in steps {
        bench.register(&lock, &comes).await;

        let there = bench.load_waiter(&lock, &waiter_id("w")).await;
        let stays = Waiter {
            queued_at: at(2000),
            ..stays
        };
        assert_eq!(there, Some(stays), "after {comes:?}");
    }
}

pub(super) async fn a_waiter_leaves_with_its_place_unless_it_registered_anew<S: LockStore>(
    bench: &Bench<'_, S>,
) {
    let mut bare = waiter("w", 1000);
    bare.task_token = None;
    let there = [None, Some(waiter("w", 1000)), Some(bare)];
    let [waiting, before] = ["waiting", "before"].map(|token| Some(task_token(token)));
    let seen = [None, Some(None), Some(waiting), Some(before)];
    for (number, waiter) in there.iter().enumerate() {
        for (which, task_token) in seen.iter().enumerate() {
            let lock = bench.lock(&format!("drop-{number}-{which}"));
            bench.given(&lock, &waited()).await;
            if let Some(waiter) = waiter {
                bench.register(&lock, waiter).await;
            }
            let (id, task_token) = (waiter_id("w"), task_token.clone());
            let drop = WaiterDrop { id, task_token };
            let leave = leave(drop.clone());

            let done = bench.commit(&lock, &leave).await;

            let (expected, record, left) = if drop.holds(waiter.as_ref()) {
                let after = leave.update.apply(Some(&waited()));
                (Commit::Committed(None), after, None)
            } else {
                let nothing = Commit::Conflict(Found::default());
                (nothing, Some(waited()), waiter.clone())
            };
            assert_eq!(done, expected, "{drop:?} on {waiter:?}");
            assert_eq!(bench.load(&lock).await, record, "{drop:?} on {waiter:?}");
            assert_eq!(bench.load_waiter(&lock, &drop.id).await, left, "{drop:?}");
        }
    }
}

pub(super) async fn a_failed_guard_keeps_the_waiter<S: LockStore>(bench: &Bench<'_, S>) {
    let lock = bench.lock("drop-guard");
    bench.given(&lock, &held()).await;
    bench.register(&lock, &waiter("w", 1000)).await;
    let (id, task_token) = (waiter_id("w"), None);
    let mut leave = leave(WaiterDrop { id, task_token });
    leave.guard.0.push(Clause::LeaseIs(holder("a"), token(999)));

    let done = bench.commit(&lock, &leave).await;

    assert_eq!(done, conflict(Some(held())));
    let there = bench.load_waiter(&lock, &waiter_id("w")).await;
    assert_eq!(there, Some(waiter("w", 1000)));
}

fn leave(drop: WaiterDrop) -> Change {
    let leave = vec![Assign::DropTicket(drop.id.clone())];
    Change {
        waiter: Some(drop),
        ..assign(vec![Clause::Readable], leave)
    }
}
