//! Locks on which a run is expected to succeed every ten minutes.

use super::scene::{Decision, RETENTION, Scene, answer, at, audit_note, holder, run_key};
use crate::domain::{
    Acquire, Command, Expectation, FencingToken, Opening, RecoveryBasis, Release, RunOutcome,
    Seconds, Settle, StalePolicy, WhenFull, decide, fast_path,
};
use crate::testing;

const EVERY: Seconds = Seconds::of(600);

fn start(scene: &mut Scene, every: Option<Seconds>, second: u64) -> Decision {
    let mut terms = scene.terms("a");
    terms.expect_every = every;
    scene.ask(terms, WhenFull::Refuse, second)
}

/// Returns a run that was granted at second 0.
fn started() -> Scene {
    Scene::held_on(1, |terms| terms.expect_every = Some(EVERY))
}

/// Returns [`started`] after the run ended at second 10.
fn ended(outcome: RunOutcome) -> Scene {
    let mut scene = started();
    scene.release("a", outcome, 10).unwrap();
    scene
}

fn note_missing(scene: &mut Scene, second: u64) -> String {
    answer(&scene.carry_out(&Command::NoteMissing, second))
}

#[test]
fn a_missing_success_is_noted_once_until_the_next_success() {
    let mut scene = ended(RunOutcome::Succeeded);
    assert_eq!(scene.record().due, Some(at(610)), "due for the sweep");

    let outcomes = [609, 610, 670].map(|second| note_missing(&mut scene, second));

    assert_eq!(outcomes, ["Unchanged", "Done", "Unchanged"]);
    assert_eq!(scene.record().due, None, "noted, so nothing is due");
    start(&mut scene, Some(EVERY), 700).unwrap();
    assert_eq!(scene.record().success_due(), None, "it has not succeeded");
    scene.release("a", RunOutcome::Succeeded, 710).unwrap();
    assert_eq!(scene.record().due, Some(at(1310)));
    assert_eq!(note_missing(&mut scene, 1310), "Done");
}

#[test]
fn only_a_success_meets_the_expectation() {
    let [mut dead, mut evicted] = [started(), started()];
    dead.recover("a", RecoveryBasis::Seen, 10).unwrap();
    evicted.evict("a", 10).unwrap();
    let (succeeded, failed) = (ended(RunOutcome::Succeeded), ended(RunOutcome::Failed));
    for (case, scene, from, success, failure) in [
        ("succeeded", succeeded, 10, Some(at(10)), None),
        ("failed", failed, 0, None, Some(at(10))),
        ("found dead", dead, 0, None, Some(at(10))),
        ("evicted", evicted, 0, None, None),
    ] {
        let record = scene.record();
        assert_eq!(record.expectation.unwrap().from, at(from), "{case}");
        assert_eq!(record.due, Some(at(from + 600)), "{case}");
        let ends = (record.last_success, record.last_failure);
        assert_eq!(ends, (success, failure), "{case}");
    }
}

#[test]
fn a_late_success_of_the_newest_run_meets_the_expectation() {
    let mut scene = Scene::held_on(1, |terms| {
        terms.run_key = Some(run_key("tick"));
        terms.expect_every = Some(EVERY);
    });
    let release = Command::Release(scene.release_of("a"));
    scene.renew("a", scene.token("a"), 1).unwrap();
    scene.recover("a", RecoveryBasis::Seen, 100).unwrap();

    scene.carry_out(&release, 120).unwrap();

    assert_eq!(scene.record().last_success, Some(at(120)));
    assert_eq!(scene.record().due, Some(at(720)));
}

#[test]
fn a_success_without_its_permit_meets_the_expectation() {
    let mut scene = Scene::held_on(1, |terms| {
        terms.run_key = Some(run_key("tick"));
        terms.expect_every = Some(EVERY);
        terms.stale = StalePolicy::Yield;
        terms.max_run = Some(Seconds::of(90));
    });
    let (release, token) = (Command::Release(scene.release_of("a")), scene.token("a"));
    scene.renew("a", token, 100).unwrap();
    let mut taken = scene.clone();
    taken.acquire("b", WhenFull::Refuse, 110).unwrap();
    let settle = Command::Settle(Settle {
        run_key: run_key("tick"),
        token,
        succeeded: true,
        evidence: "its work had succeeded".into(),
        retention: RETENTION,
    });

    for scene in [scene, taken] {
        for (command, expected) in [(&release, "Lost"), (&settle, "Done")] {
            let mut scene = scene.clone();

            let outcome = answer(&scene.carry_out(command, 120));

            let record = scene.record();
            assert_eq!(outcome, expected);
            assert_eq!(
                (record.last_success, record.success_due()),
                (Some(at(120)), Some(at(720)))
            );
        }
    }
}

#[test]
fn only_a_new_expectation_restarts_the_time() {
    let mut scene = ended(RunOutcome::Failed);
    for (case, every, from, expected) in [
        ("the same", Some(EVERY), 0, EVERY),
        ("none given", None, 0, EVERY),
        ("another", Some(Seconds::of(60)), 120, Seconds::of(60)),
    ] {
        start(&mut scene, every, 120).unwrap();
        scene.release("a", RunOutcome::Failed, 120).unwrap();

        let is = Expectation::starting(expected, at(from));
        assert_eq!(scene.record().expectation, Some(is), "{case}");
    }
}

#[test]
fn no_success_is_missing_during_a_pause_and_its_end_restarts_the_time() {
    let resume = Command::Open(Opening::Resume, audit_note("done"));
    let end = Command::Open(Opening::PauseEnd, audit_note("over"));
    for (case, until, resume) in [("resumed", None, resume), ("over", Some(at(5000)), end)] {
        let mut scene = ended(RunOutcome::Succeeded);
        let pause = Command::Pause(audit_note("upgrade"), until);
        scene.carry_out(&pause, 20).unwrap();
        assert_eq!(note_missing(&mut scene, 4000), "Unchanged", "{case}");

        scene.carry_out(&resume, 5000).unwrap();

        assert_eq!(scene.record().due, Some(at(5600)), "{case}");
        let outcomes = [5599, 5600].map(|second| note_missing(&mut scene, second));
        assert_eq!(outcomes, ["Unchanged", "Done"], "{case}");
    }
}

/// While the lock was paused, the sweep set its time to the end of the lease.
#[test]
fn a_resumed_lock_is_due_for_its_success_before_a_later_end_of_a_lease() {
    let mut scene = Scene::held_on(1, |terms| {
        terms.expect_every = Some(EVERY);
        terms.lease = Seconds::of(86_400);
    });
    scene.pause(20);
    scene.carry_out(&Command::Reschedule, 700).unwrap();
    assert_eq!(scene.record().due, Some(at(86_400)));

    scene.resume(5000);

    assert_eq!(scene.record().due, Some(at(5600)));
}

/// After the missing success was noted, the sweep set its time to the end of the leases.
#[test]
fn a_success_makes_the_lock_due_for_the_next_one_beside_another_holder() {
    let mut scene = Scene::new(2);
    for name in ["a", "b"] {
        let mut terms = scene.terms(name);
        terms.expect_every = Some(EVERY);
        terms.lease = Seconds::of(86_400);
        scene.ask(terms, WhenFull::Refuse, 0).unwrap();
    }
    assert_eq!(note_missing(&mut scene, 600), "Done");
    scene.carry_out(&Command::Reschedule, 601).unwrap();
    assert_eq!(scene.record().due, Some(at(86_400)));

    scene.release("a", RunOutcome::Succeeded, 700).unwrap();

    assert_eq!(scene.record().due, Some(at(1300)));
}

#[test]
fn a_freeze_at_the_end_of_a_pause_begins_the_expected_time_anew() {
    let mut scene = Scene::held_on(1, |terms| {
        terms.expect_every = Some(EVERY);
        terms.max_run = Some(Seconds::of(100));
        terms.stale = StalePolicy::Hold;
    });
    let until = Command::Pause(audit_note("upgrade"), Some(at(101)));
    scene.carry_out(&until, 1).unwrap();

    let beat = scene.renew("a", scene.token("a"), 102);

    assert_eq!(answer(&beat), "Frozen");
    let anew = Expectation::starting(EVERY, at(102));
    assert_eq!(scene.record().expectation, Some(anew));
}

#[test]
fn a_success_that_comes_while_the_lock_is_paused_leaves_nothing_due() {
    let mut scene = started();
    scene.pause(5);

    scene.release("a", RunOutcome::Succeeded, 10).unwrap();

    assert_eq!(scene.record().due, None);
    assert_eq!(scene.record().last_success, Some(at(10)));
}

#[test]
fn the_first_grant_makes_the_lock_due_for_its_success() {
    // The lease ends at 60 s.
    for (every, due) in [(30, 30), (600, 60)] {
        let scene = Scene::held_on(1, |terms| terms.expect_every = Some(Seconds::of(every)));

        assert_eq!(scene.record().due, Some(at(due)), "every {every} s");
    }
}

#[test]
fn a_success_that_is_missing_is_due_although_a_lease_ends_later() {
    for (permits, leases) in [(1, 1), (2, 1), (2, 2)] {
        let mut scene = Scene::held_on(permits, |terms| terms.expect_every = Some(EVERY));
        scene.release("a", RunOutcome::Succeeded, 10).unwrap();
        for name in ["a", "b"].into_iter().take(leases) {
            let mut terms = scene.terms(name);
            terms.expect_every = Some(EVERY);
            terms.lease = Seconds::of(86_400);
            scene.ask(terms, WhenFull::Refuse, 60).unwrap();
        }

        let (due, first) = (scene.record().due, scene.record().next_due());
        let noted = note_missing(&mut scene, 610);

        let case = format!("{leases} of {permits}");
        assert_eq!((due, first), (Some(at(610)), Some(at(610))), "{case}");
        assert_eq!(noted, "Done", "{case}");
        let lease_end = Some(scene.lease("a").expires_at);
        assert_eq!(scene.record().next_due(), lease_end, "{case}: its holder");
    }
}

#[test]
fn a_grant_reads_only_if_a_success_is_missing_earlier_than_expected() {
    // The lease ends at 120 s. A success is missing from 40 s, 110 s or 610 s on.
    for every in [30, 100, 600].map(Seconds::of) {
        let mut scene = Scene::held_on(1, |terms| terms.expect_every = Some(every));
        scene.release("a", RunOutcome::Succeeded, 10).unwrap();
        let mut terms = scene.terms("a");
        terms.expect_every = Some(every);
        let acquire = Command::Acquire(Acquire::new(terms));

        let fast = fast_path(&acquire, at(60)).unwrap();
        let decided = decide(&scene.read(None), &acquire, at(60)).unwrap();

        let record = scene.record();
        let holds = fast.change.guard.holds(Some(record));
        assert_eq!(holds, every != Seconds::of(100), "{every:?}");
        let due = decided.next.unwrap().due.unwrap();
        assert_eq!(due, at(120).min(at(10).plus(every)), "{every:?}");
    }
}

#[test]
fn a_failure_under_an_expectation_is_not_released_without_a_read() {
    let (done, failed) = (RunOutcome::Succeeded, RunOutcome::Failed);
    for (case, outcome, expect_every, is_fast) in [
        ("success", done, Some(EVERY), true),
        ("success without one", done, None, true),
        ("failure", failed, Some(EVERY), false),
        ("failure without one", failed, None, true),
    ] {
        let release = Command::Release(Release {
            outcome,
            expect_every,
            ..testing::release(holder("a"), FencingToken::from_number(5))
        });

        assert_eq!(fast_path(&release, at(1)).is_some(), is_fast, "{case}");
    }
}
