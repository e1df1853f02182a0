//! The clauses of a write on the fast path: each fails on a record on which `decide` would decide
//! otherwise.

mod narrow;

use super::scene::{Scene, at, holder, id, run_key, task_token};
use crate::domain::fast_path::enqueue;
use crate::domain::{
    Call, Clause, Command, Ending, EndingCause, Expectation, FencingToken, Guard, Lease,
    LockRecord, Mode, Permits, Release, Renew, RunGuard, RunOutcome, RunWrite, Seconds, WhenFull,
    decide, fast_path,
};
use crate::testing;

/// A change of a record, with its name.
type Change = (&'static str, fn(&mut LockRecord));

const NOW: u64 = 100;

/// Asserts that each of `changes` fails exactly one clause of the guard, and that the guard has no other
/// clause but `Readable`, which always holds for a record in memory.
fn assert_bound(guard: &Guard, record: &LockRecord, changes: &[Change]) {
    assert!(guard.holds(Some(record)), "{guard:?} on {record:?}");
    assert!(guard.0.contains(&Clause::Readable), "{guard:?}");
    for (name, change) in changes {
        let mut changed = record.clone();
        change(&mut changed);
        let broken = guard.0.iter().filter(|clause| {
            let alone = Guard(vec![(*clause).clone()]);
            !alone.holds(Some(&changed))
        });
        let broken: Vec<_> = broken.collect();
        assert_eq!(broken.len(), 1, "{name} breaks {broken:?}");
    }
    assert_eq!(guard.0.len(), changes.len() + 1, "{guard:?}");
}

/// Asserts that the guard holds on `record`, and fails after each of `changes`.
fn assert_broken(guard: &Guard, record: &LockRecord, changes: &[Change]) {
    assert!(guard.holds(Some(record)), "{guard:?} on {record:?}");
    for (name, change) in changes {
        let mut changed = record.clone();
        change(&mut changed);
        assert!(!guard.holds(Some(&changed)), "{name}");
    }
}

fn fast_guard(command: &Command) -> Guard {
    fast_path(command, at(NOW)).unwrap().change.guard
}

fn expect(record: &mut LockRecord, seconds: u32) {
    record.expectation = Some(Expectation::starting(Seconds::of(seconds), at(0)));
}

fn pause(record: &mut LockRecord) {
    record.gate.mode = Mode::Paused {
        note: "x".into(),
        until: None,
    };
}

fn freeze(record: &mut LockRecord) {
    record.gate.mode = Mode::Frozen { note: "x".into() };
}

fn resize(record: &mut LockRecord) {
    record.permits = Permits::new(3).unwrap();
}

fn hold(record: &mut LockRecord, name: &str) {
    let lease = record.holders.values().next().unwrap().clone();
    record.holders.insert(holder(name), lease);
}

fn enter(record: &mut LockRecord, name: &str) {
    record.last_ticket = record.last_ticket.behind();
    record.queue.insert(id(name), record.last_ticket);
}

/// Returns the lease of `a`.
fn held(record: &mut LockRecord) -> &mut Lease {
    record.holders.get_mut(&holder("a")).unwrap()
}

/// Gives the lease of `a` to `b`.
fn rename(record: &mut LockRecord) {
    let lease = record.holders.remove(&holder("a")).unwrap();
    record.holders.insert(holder("b"), lease);
}

fn move_lease(record: &mut LockRecord) {
    held(record).expires_at = held(record).expires_at.plus(Seconds::of(1));
}

fn grant_again(record: &mut LockRecord) {
    held(record).token = FencingToken::from_number(held(record).token.number() + 1);
}

#[test]
fn the_fast_grant_needs_an_open_lock_with_a_free_permit_and_no_waiter() {
    let scene = Scene::held_by(2, &[("a", 50)]);
    let guard = fast_guard(&Command::Acquire(scene.request("b", WhenFull::Refuse)));

    assert_bound(
        &guard,
        scene.record(),
        &[
            ("a pause", pause),
            ("other permits", resize),
            ("a holder more", |record| {
                record.permits = Permits::new(2).unwrap();
                hold(record, "c");
            }),
            ("the same holder", rename),
            ("a waiter", |record| enter(record, "c")),
            ("a rest", |record| record.gate.not_before = at(NOW + 1)),
            ("a grant at the same time", |record| {
                record.last_token = FencingToken::next(FencingToken::NONE, at(NOW));
            }),
            ("a late sweep", |record| record.due = Some(at(NOW + 61))),
        ],
    );
}

#[test]
fn the_fast_renewal_needs_an_unchanged_grant_within_its_limits() {
    let scene = Scene::held_on(1, |terms| terms.max_run = Some(Seconds::of(200)));
    let guard = fast_guard(&Command::Renew(Renew {
        redrives: Some(0),
        ..testing::renew(holder("a"), scene.token("a"))
    }));

    assert_bound(
        &guard,
        scene.record(),
        &[
            ("another grant", grant_again),
            ("overrun", |record| held(record).run_until = Some(at(NOW))),
            ("a hand-over", |record| {
                held(record).call = Some(Call {
                    task_token: None,
                    since: at(NOW),
                });
            }),
            ("a later renewal", |record| {
                held(record).expires_at = at(NOW + 61);
            }),
            ("a stop", |record| {
                held(record).exit.ending = Some(Ending {
                    since: at(NOW),
                    cause: EndingCause::Stopped,
                });
            }),
            ("a redrive", |record| held(record).redrives = 1),
        ],
    );
}

#[test]
fn a_report_of_progress_without_a_read_needs_the_known_limit_and_news() {
    let scene = Scene::held_on(1, |terms| terms.no_progress = Some(Seconds::of(200)));
    let report = |no_progress| {
        fast_guard(&Command::Renew(Renew {
            progress: Some("row 2".into()),
            no_progress,
            ..testing::renew(holder("a"), scene.token("a"))
        }))
    };
    let mut unlimited = scene.record().clone();
    held(&mut unlimited).no_progress = None;
    held(&mut unlimited).progress = Some("row 2".into());

    assert_broken(
        &report(Some(Seconds::of(200))),
        scene.record(),
        &[
            ("the same progress", |record| {
                held(record).progress = Some("row 2".into());
            }),
            ("another limit", |record| {
                held(record).no_progress = Some(Seconds::of(100));
            }),
            ("no limit", |record| held(record).no_progress = None),
        ],
    );
    assert!(report(None).holds(Some(&unlimited)), "nothing begins again");
}

#[test]
fn the_fast_release_needs_a_lease_with_nothing_else_to_end() {
    let scene = Scene::held_by(2, &[("a", 50)]);
    let guard = fast_guard(&Command::Release(scene.release_of("a")));

    assert_bound(
        &guard,
        scene.record(),
        &[
            ("another grant", grant_again),
            ("a run key", |record| {
                held(record).run_key = Some(run_key("tick"));
            }),
            ("a heartbeat state", |record| {
                held(record).beat = Some(task_token("beat"));
            }),
            ("an ending", |record| {
                held(record).exit = held(record).exit.ending(EndingCause::Over, at(NOW));
            }),
            ("another holder", |record| hold(record, "c")),
            ("a waiter", |record| enter(record, "c")),
            ("a pause with an end", |record| {
                record.gate.mode = Mode::Paused {
                    note: "x".into(),
                    until: Some(at(NOW)),
                };
            }),
            ("an expectation", |record| expect(record, 600)),
        ],
    );
}

#[test]
fn the_fast_release_needs_the_same_expectation_and_an_open_lock() {
    let mut scene = Scene::held_by(1, &[("a", 50)]);
    expect(scene.record_mut(), 600);
    let guard = fast_guard(&Command::Release(Release {
        expect_every: Some(Seconds::of(600)),
        ..scene.release_of("a")
    }));
    for clause in [Clause::ExpectedEvery(Some(Seconds::of(600))), Clause::Open] {
        assert!(guard.0.contains(&clause), "{guard:?}");
    }

    assert_broken(
        &guard,
        scene.record(),
        &[
            ("another", |record| expect(record, 60)),
            ("none", |record| record.expectation = None),
            ("a pause", pause),
        ],
    );
}

#[test]
fn the_fast_grant_does_not_change_the_expectation() {
    let scene = Scene::new(1);
    let mut request = scene.request("a", WhenFull::Refuse);
    let without = fast_guard(&Command::Acquire(request.clone()));
    request.terms.expect_every = Some(Seconds::of(600));
    let with = fast_guard(&Command::Acquire(request));
    let mut record = LockRecord::new(Permits::ONE);
    assert!(without.holds(Some(&record)));
    assert!(!with.holds(Some(&record)), "the first grant sets it");

    expect(&mut record, 600);
    // The lock is due later than the lease of the grant ends.
    record.due = Some(at(NOW + 10_000));
    assert!(with.holds(Some(&record)) && without.holds(Some(&record)));
    expect(&mut record, 60);
    assert!(!with.holds(Some(&record)), "another one is set first");
}

#[test]
fn the_fast_enqueue_needs_a_full_lock_and_a_queue_below_its_bound() {
    let scene = Scene::held_by(1, &[("a", 50)]);
    let asked = scene.request("b", WhenFull::Queue { most: 1 });
    let guard = fast_guard(&Command::Acquire(asked.clone()));

    // A queue of one is full if the caller is in it, so the bound is tested separately.
    let mut full = scene.record().clone();
    enter(&mut full, "c");
    assert!(!guard.holds(Some(&full)), "the queue is full");
    let roomy = scene.request("b", WhenFull::Queue { most: 2 });
    let guard = fast_guard(&Command::Acquire(roomy));

    assert_bound(
        &guard,
        scene.record(),
        &[
            ("a stale holder", freeze),
            ("other permits, and all held", |record| {
                record.permits = Permits::new(2).unwrap();
                hold(record, "c");
            }),
            ("the same holder", rename),
            ("the same waiter", |record| enter(record, "b")),
            ("two waiters", |record| {
                enter(record, "c");
                enter(record, "d");
            }),
            ("a permit", |record| record.holders.clear()),
        ],
    );
}

#[test]
fn enqueueing_beside_a_free_permit_needs_a_reason_and_an_early_sweep() {
    let mut scene = Scene::held_by(2, &[("a", 50)]);
    scene.pause(60);
    let mut record = scene.record().clone();
    record.due = Some(at(NOW));
    let asked = scene.request("b", WhenFull::Queue { most: 2 });

    let place = enqueue(&asked, 2, &record, at(NOW)).unwrap().change;

    assert_broken(
        &place.guard,
        &record,
        &[
            ("an open lock", |record| record.gate.mode = Mode::Open),
            ("a late sweep", |record| record.due = Some(at(NOW + 1))),
            // A sweep that is early enough for the end of a rest may be too late for a permit that is
            // free at once.
            ("an ended rest", |record| {
                record.gate.not_before = at(NOW - 1)
            }),
        ],
    );
    // The holder may have released in between, so that the lock is no longer due.
    let mut idle = record.clone();
    idle.holders.clear();
    idle.due = None;
    assert!(place.guard.holds(Some(&idle)));
    let taken = place.update.apply(Some(&idle)).unwrap();
    assert_eq!(taken.due, Some(at(NOW)), "a run waits");
    record.due = Some(at(NOW + 1));
    assert_eq!(enqueue(&asked, 2, &record, at(NOW)), None);
}

#[test]
fn the_fast_path_writes_what_decide_writes() {
    let held = Scene::held_by(1, &[("a", 50)]);
    let mut used = held.clone();
    used.release("a", RunOutcome::Failed, 60).unwrap();
    let mut spaced = used.request("b", WhenFull::Refuse);
    spaced.terms.min_interval = Some(Seconds::of(600));
    let release = held.release_of("a");
    let place = held.request("b", WhenFull::Queue { most: 9 });
    let limited = Scene::held_on(1, |terms| terms.no_progress = Some(Seconds::of(200)));
    let report = |scene: &Scene, no_progress| {
        Command::Renew(Renew {
            progress: Some("row 1".into()),
            no_progress,
            ..testing::renew(holder("a"), scene.token("a"))
        })
    };
    for (scene, command) in [
        (&limited, report(&limited, Some(Seconds::of(200)))),
        (&held, report(&held, None)),
        (&used, Command::Acquire(spaced)),
        (&held, Command::Release(release)),
        (&held, Command::Acquire(place)),
    ] {
        let observed = decide(&scene.read(None), &command, at(NOW)).unwrap();

        let fast = fast_path(&command, at(NOW)).unwrap().change;

        assert!(fast.guard.holds(Some(scene.record())), "{command:?}");
        let next = fast.update.apply(Some(scene.record()));
        assert_eq!(next, observed.next, "{command:?}");
        let writes = |runs: &[(RunGuard, RunWrite)]| -> Vec<RunWrite> {
            runs.iter().map(|(_, write)| write.clone()).collect()
        };
        assert_eq!(writes(&fast.runs), writes(&observed.runs), "{command:?}");
    }
}
