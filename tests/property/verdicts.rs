//! Rules of the verdicts on a holder: a check writes each verdict into the table, and no verdict repeats for
//! ever.

mod facts;

use crate::case::{Case, check_often};
use facts::{Facts, facts, is_hidden, lease_of, scenes};
use lockstep::domain::{Command, Lease, Mode, Seconds, StopReason, Timestamp, WaiterId};
use lockstep::recovery::{
    Action, Check, CheckAnswer, CheckStep, Commitment, Gathered, Gathering, Request,
};
use lockstep::store::Commit;
use lockstep::store::memory::LockItems;
use lockstep::testing::variant;
use lockstep_tests::generate::RETENTION;
use proptest::prelude::{Strategy, prop_assert};
use proptest::test_runner::TestCaseError;
use std::collections::BTreeMap;

/// Time between two sweeps, in seconds.
const SWEEP: u32 = 60;

/// The number of sweeps after which time alone changes no verdict. The longest wait is that for the
/// confirmation of a hand-over: two hours and a quarter.
const SWEEPS: u32 = 200;

/// A lock, the facts about one of its holders, and the time of the check.
#[derive(Clone, Debug)]
struct Scene {
    items: LockItems,
    facts: Facts,
    now: Timestamp,
}

fn all() -> impl Strategy<Value = Scene> {
    (scenes(), facts()).prop_map(|((items, now), facts)| Scene { items, facts, now })
}

impl Scene {
    fn lease(&self) -> Option<Lease> {
        lease_of(&self.items)
    }

    /// Returns whether a freed permit can be granted at once, and no other permit is free.
    fn lets_in(&self) -> bool {
        let record = self.items.record.as_ref();
        record.is_some_and(|record| record.gate.lets_in(self.now) && !record.has_room())
    }

    fn verdict(&self, lease: &Lease) -> Action {
        let mut gathering = Gathering::new(facts::lock(), facts::holder(), lease.clone(), None);
        loop {
            match gathering.next(self.now) {
                Gathered::Complete(verdict) => return verdict.action,
                Gathered::Ask(request) => {
                    let answer = self.facts.answer(&self.items, &request);
                    gathering.learn(answer, self.now);
                }
            }
        }
    }

    /// Carries out a whole check, as the reaper does.
    fn check(&mut self, lease: Lease) {
        let mut check = Check::new(facts::lock(), facts::holder(), lease, None, RETENTION);
        let mut step = check.begin(self.now);
        while let CheckStep::Ask(request) = step {
            let answer = match request {
                Request::Execute(command) | Request::Note(command) => self.execute(command),
                request => self
                    .facts
                    .done(&request, self.now)
                    .unwrap_or_else(|| self.facts.answer(&self.items, &request)),
            };
            step = check.answer(answer, self.now);
        }
    }

    /// Decides the command on the current items, and writes the decision.
    fn execute(&mut self, command: Command) -> CheckAnswer {
        let case = Case {
            items: self.items.clone(),
            command,
            now: self.now,
        };
        let Some(decided) = case.decided() else {
            return CheckAnswer::Done;
        };
        if let Some(change) = decided.change(case.items.record.as_ref()) {
            let commit = self.items.commit(&change);
            assert!(matches!(commit, Commit::Committed(_)), "{commit:?}");
        }
        CheckAnswer::Executed(decided.outcome)
    }

    /// Returns whether another run is to replace the holder and DescribeExecution gives no answer about that
    /// run.
    fn hides_replacer(&self) -> bool {
        let lease = self.lease();
        let replaced = lease.is_some_and(|lease| lease.exit.replaced_by.is_some());
        replaced && self.facts.hides_replacer()
    }

    fn mode(&self) -> Option<&Mode> {
        self.items.record.as_ref().map(|record| &record.gate.mode)
    }

    fn later(&mut self) {
        self.now = self.now.plus(Seconds::of(SWEEP));
    }
}

/// Returns whether the table shows the effect of `action` on the holder of `lease`.
fn has_effect(before: &Scene, after: &Scene, lease: &Lease, action: &Action) -> bool {
    let holds = after.lease().filter(|held| held.token == lease.token);
    let exit = holds.as_ref().map(|held| &held.exit);
    match action {
        Action::Leave | Action::Wake | Action::Alert { .. } | Action::Refrain { .. } => true,
        Action::Recover { .. } => holds.is_none(),
        // What the check stopped has ended at once, so the same check has freed the permit.
        _ if holds.is_none() => true,
        Action::Suspect => exit.is_some_and(|exit| exit.suspect.is_some()),
        // The stop for a replacement waits until the lock can grant the freed permit.
        Action::Stop {
            commit: Commitment::Stop(StopReason::Replaced),
            ..
        } if !before.lets_in() => true,
        Action::Stop { commit, .. } => exit.is_some_and(|exit| match commit {
            Commitment::Ending => exit.ending.is_some(),
            Commitment::Stop(_) | Commitment::Done => exit.is_committed(),
        }),
        Action::DropReplacer { replacer } => {
            let record = after.items.record.as_ref();
            record.is_some_and(|record| !record.queue.contains_key(&WaiterId::of(replacer)))
        }
        Action::Freeze { .. } => {
            before.mode() != Some(&Mode::Open) || after.mode() != Some(&Mode::Open)
        }
    }
}

#[test]
fn a_check_writes_the_effect_of_each_verdict() {
    let judged = std::cell::RefCell::new(BTreeMap::<String, u32>::new());

    check_often(20_000, &all(), 2_000, |scene| {
        let Some(lease) = scene.lease() else {
            return Ok(0);
        };
        let action = scene.verdict(&lease);
        let mut after = scene.clone();

        after.check(lease.clone());

        let effect = has_effect(&scene, &after, &lease, &action);
        prop_assert!(effect, "{action:?} leaves {:?}", after.items.record);
        *judged.borrow_mut().entry(variant(&action)).or_default() += 1;
        Ok(u32::from(action != Action::Leave))
    });

    let judged = judged.into_inner();
    println!("{judged:?}");
    let all = [
        "Alert",
        "DropReplacer",
        "Freeze",
        "Leave",
        "Recover",
        "Refrain",
        "Stop",
        "Suspect",
        "Wake",
    ];
    let found: Vec<_> = judged.keys().map(String::as_str).collect();
    assert_eq!(found, all, "some verdicts were never reached");
    assert!(
        judged.values().all(|times| *times >= 25),
        "too few: {judged:?}"
    );
}

/// Returns how often the sweeps may reach the same verdict on one silent holder.
fn most(action: &str) -> u32 {
    match action {
        // Every sweep leaves a holder whose evidence can be read again, and one that is evicted.
        "Leave" => SWEEPS,
        "Wake" => 8_000 / SWEEP + 2,
        // Once, and once more after a redrive or a mark in between.
        "Suspect" | "Recover" | "DropReplacer" | "Freeze" => 2,
        // The first stop, its repetitions until the work has ended, and the stop of the work of an earlier
        // attempt.
        "Stop" => 4,
        // The lock freezes an hour after the end of the longest lease.
        "Alert" | "Refrain" => 3_600 / SWEEP + 2,
        _ => 0,
    }
}

/// Sweeps an open lock until the holder's permit is free or the lock is closed. Fails if a verdict repeats
/// too often.
fn repeats(mut scene: Scene) -> Result<u32, TestCaseError> {
    let start = scene.clone();
    let mut times = BTreeMap::<String, u32>::new();
    for _ in 0..SWEEPS {
        let lease = scene.lease().filter(|_| scene.mode() == Some(&Mode::Open));
        let Some(lease) = lease else {
            return Ok(u32::from(!times.is_empty()));
        };
        let action = scene.verdict(&lease);
        scene.check(lease);
        let name = variant(&action);
        let count = times.entry(name.clone()).or_default();
        *count += 1;
        let most = most(&name);
        let times = *count;
        prop_assert!(
            times <= most,
            "{action:?} for the {times}th time: {start:?}"
        );
        scene.facts.pass();
        scene.later();
    }
    let end = scene.items.record;
    Err(TestCaseError::fail(format!(
        "a silent holder keeps an open lock forever: begins with {start:?}, ends with {end:?}"
    )))
}

/// Checks on the random scenes that `is` selects that no verdict repeats forever. The holder sends no
/// heartbeat, and no operator acts. At least `fewest` scenes need a verdict.
fn none_repeats(fewest: u32, is: impl Fn(&Scene) -> bool) {
    check_often(6_000, &all(), fewest, |scene| match is(&scene) {
        true => repeats(scene),
        false => Ok(0),
    });
}

#[test]
fn no_verdict_on_a_silent_holder_repeats_for_ever() {
    none_repeats(1_900, |scene| {
        scene.facts.is_proven() && !scene.hides_replacer()
    });
}

#[test]
fn a_hidden_replacer_does_not_keep_a_silent_holder_for_ever() {
    none_repeats(50, |scene| {
        scene.facts.is_proven() && scene.hides_replacer()
    });
}

#[test]
fn a_holder_that_stays_unproven_is_not_reported_for_ever() {
    none_repeats(500, |scene| {
        // An evicted holder is reported as not stopped to the operator who evicts it.
        let evicted = scene
            .lease()
            .is_some_and(|lease| lease.exit.evicted().is_some());
        !scene.facts.is_proven() && !scene.hides_replacer() && !evicted
    });
}

#[test]
fn evidence_that_stays_hidden_ends_in_a_freeze() {
    check_often(3_000, &all(), 100, |mut scene| {
        let open = scene.mode() == Some(&Mode::Open);
        let Some(lease) = scene.lease().filter(|_| open && is_hidden(&scene.facts)) else {
            return Ok(0);
        };
        scene.now = lease.freezes_without_evidence_at();

        scene.check(lease.clone());

        let frozen = matches!(scene.mode(), Some(Mode::Frozen { .. }));
        prop_assert!(frozen, "{:?} {lease:?}", scene.mode());
        Ok(1)
    });
}
