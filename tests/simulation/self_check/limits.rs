//! Tests of the stricter judges: a case that breaks each rule, and the same case with a reason.

use super::table::{Table, holder};
use super::witness::{Scene, arn};
use crate::cloud;
use crate::functions::Function;
use crate::weather::Weather;
use crate::witness;
use crate::world::START;
use lockstep::domain::{
    EndingCause, ExecutionEnd, HolderId, LockRecord, Mode, Permits, Seconds, StalePolicy, Timestamp,
};
use lockstep::testing;
use serde_json::{Value, json};

const HOUR: u64 = 3_600_000;

#[test]
fn an_execution_that_succeeds_without_its_work_is_noticed() {
    for (case, output, worked, noticed) in [
        ("finished", json!({ "status": "finished" }), false, true),
        ("its output", json!({ "TaskArn": "t" }), false, true),
        ("done", json!({ "status": "finished" }), true, false),
        ("skipped", json!({ "status": "skipped" }), false, false),
        ("duplicate", json!({ "status": "duplicate" }), false, false),
    ] {
        let (scene, holder) = Scene::held(json!({}));
        if worked {
            witness::succeeded(&scene.world, &holder);
        }

        witness::is_green(&scene.world, &arn(&holder), &output);

        scene.notices("but its work has not", noticed, case);
    }
}

#[test]
fn a_retry_that_is_skipped_for_the_attempt_before_it_is_noticed() {
    let ended = json!("2026-03-01T00:01:00Z");
    for (case, seconds, by, more, noticed) in [
        ("the attempt before", 16, "a", json!({}), true),
        ("others wait", 16, "a", json!({ "queueLength": 1 }), false),
        ("a denial a moment ago", 10, "a", json!({}), false),
        ("an old state of it", 10, "a", json!({}), false),
        ("an old state of another", 10, "a", json!({}), true),
        ("another run", 16, "b", json!({}), false),
        (
            "a duplicate",
            16,
            "a",
            json!({ "status": "duplicate" }),
            true,
        ),
        (
            "a duplicate of a run that has ended",
            16,
            "a",
            json!({ "status": "duplicate", "endedAt": ended }),
            false,
        ),
        (
            "its work is done",
            16,
            "a",
            json!({ "status": "duplicate" }),
            false,
        ),
    ] {
        let scene = Scene::new();
        let retry = scene.run("a-retry", json!({}));
        let attempt = retry.as_str().strip_suffix("-retry").unwrap();
        match case {
            "an old state of it" => scene
                .world
                .shows_old(&arn(&HolderId::new(attempt).unwrap())),
            "an old state of another" => scene.world.shows_old(&arn(&retry)),
            _ => scene.world.is_denied(),
        }
        scene.at(seconds);
        let by = scene.run(by, json!({}));
        if case == "its work is done" {
            witness::succeeded(&scene.world, &by);
        }

        let mut output = json!({ "status": "skipped", "holder": by.as_str(), "queueLength": 0 });
        for (name, value) in more.as_object().into_iter().flatten() {
            output[name] = value.clone();
        }
        witness::is_green(&scene.world, &arn(&retry), &output);

        scene.notices("without a run", noticed, case);
    }
}

#[test]
fn a_run_that_replaces_one_of_its_own_tick_is_noticed() {
    for (case, key, noticed) in [("its tick", "tick", true), ("another", "next", false)] {
        let (scene, holder) = Scene::held(json!({ "runKey": "tick" }));
        let other = scene.run("b", json!({ "overlap": "replace", "runKey": key }));
        scene.ask_to_replace(&other);

        witness::stops_execution(&scene.world, &arn(&holder));

        scene.notices("stops the work of a", noticed, case);
    }
}

#[test]
fn a_second_alert_about_one_silence_is_noticed() {
    for (case, by, end, noticed) in [
        ("the same silence", "a", 60, true),
        ("a later silence", "a", 120, false),
        ("another holder", "b", 60, false),
    ] {
        let scene = Scene::new();
        let [holder, other] = ["a", by].map(|name| scene.run(name, json!({})));
        let reason = |end| {
            format!("the lease ended at {end}, and whether the run is dead cannot be determined")
        };
        witness::alerts(&scene.world, &holder, &reason(60));

        witness::alerts(&scene.world, &other, &reason(end));

        scene.notices("of one silence", noticed, case);
    }
}

/// Returns the record of a lock that `holder` holds until `end`, under this policy.
fn held(scene: &Scene, holder: &HolderId, stale: StalePolicy, end: u64) -> LockRecord {
    let mut record = LockRecord::new(Permits::ONE);
    let terms = lockstep::domain::Terms {
        stale,
        lease: Seconds::of(3600),
        ..testing::terms(holder.clone())
    };
    let mut lease = terms.lease(testing::token(5), Timestamp::from_millis(START));
    lease.expires_at = Timestamp::from_millis(end);
    record.holders.insert(holder.clone(), lease);
    scene.world.store.put(scene.lock.clone(), record.clone());
    record
}

#[test]
fn an_exceeded_limit_that_no_sweep_finds_is_noticed() {
    use StalePolicy::{Hold, Terminate, Yield};
    for (case, policy, stale, noticed) in [
        ("at work", "terminate", Terminate, true),
        ("at work, without a limit", "terminate", Terminate, false),
        ("is being stopped", "terminate", Terminate, false),
        ("has its permit", "yield", Yield, true),
        ("has yielded", "yield", Yield, false),
        ("holds an open lock", "hold", Hold, true),
        ("holds a closed lock", "hold", Hold, false),
    ] {
        let scene = Scene::new();
        let limit = match case.ends_with("without a limit") {
            true => Value::Null,
            false => json!(30),
        };
        let terms = json!({ "maxRunSeconds": limit, "stalePolicy": policy });
        let holder = scene.run("a", terms);
        scene.grant_for(&holder, 5, 3600);
        let mut record = held(&scene, &holder, stale, START + HOUR);
        let lease = record.holders.get_mut(&holder).unwrap();
        match case {
            "is being stopped" => {
                let now = Timestamp::from_millis(START);
                lease.exit = lease.exit.ending(EndingCause::Stopped, now);
            }
            "has yielded" => record.holders.clear(),
            "holds a closed lock" => {
                record.gate.mode = Mode::Frozen {
                    note: "stale".into(),
                }
            }
            _ => {}
        }
        scene.world.store.put(scene.lock.clone(), record);

        scene.watch(300_000);

        scene.notices("the limit of a is over", noticed, case);
    }
}

#[test]
fn an_execution_that_runs_on_after_its_release_is_noticed() {
    for (case, noticed) in [("runs on", true), ("has ended", false), ("at work", false)] {
        let scene = Scene::new();
        let holder = scene.run("a", json!({}));
        scene.grant_for(&holder, 5, 3600);
        if case != "at work" {
            let grant = json!({ "holder": holder.as_str(), "token": 5 });
            let event = json!({ "grant": grant, "outcome": "succeeded" });
            let answer = Ok(json!({ "status": "released", "alreadyReleased": false }));
            witness::answered(&scene.world, Function::Release, &event, START, &answer);
        }
        if case == "has ended" {
            cloud::abort(&scene.world, &arn(&holder), ExecutionEnd::Aborted);
        }

        scene.watch(300_000);

        scene.notices("after its release", noticed, case);
    }
}

#[test]
fn a_lock_that_stays_open_without_evidence_is_noticed() {
    for (case, mode, end, noticed) in [
        ("open", Mode::Open, START, true),
        ("its lease is good", Mode::Open, START + 2 * HOUR, false),
        (
            "frozen",
            Mode::Frozen {
                note: "hidden".into(),
            },
            START,
            false,
        ),
    ] {
        let scene = Scene::under(Weather::hiding(START, START + 3 * HOUR));
        let holder = scene.run("a", json!({}));
        let mut record = held(&scene, &holder, StalePolicy::Terminate, end);
        record.gate.mode = mode;
        scene.world.store.put(scene.lock.clone(), record);

        scene.watch(HOUR + 300_000);

        scene.notices("nothing can be learnt of", noticed, case);
    }
}

#[test]
fn a_lease_whose_end_moves_back_is_noticed() {
    for (case, later, noticed) in [("renewed", true, false), ("moved back", false, true)] {
        let (mut table, a) = (Table::new(), holder("a"));
        table.grant(&a, 5);

        let broken = table.write(Vec::new(), |record| {
            let lease = record.holders.get_mut(&a).unwrap();
            let end = lease.expires_at.millis();
            let end = if later { end + 1 } else { end - 1 };
            lease.expires_at = Timestamp::from_millis(end);
        });

        assert_eq!(
            broken.contains("moves its end back"),
            noticed,
            "{case}: {broken}"
        );
    }
}

#[test]
fn a_freeze_that_ends_without_a_resume_is_noticed() {
    let mut table = Table::new();
    table.write(Vec::new(), |record| {
        record.gate.mode = Mode::Frozen {
            note: "stale".into(),
        };
    });

    let broken = table.write(Vec::new(), |record| record.gate.mode = Mode::Open);

    assert!(broken.contains("without a resume"), "{broken}");
}
