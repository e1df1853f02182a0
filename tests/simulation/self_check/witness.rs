//! Tests of the witness: each of its rules is shown a case that breaks it, and the same case with a
//! reason.

use crate::asl::Machine;
use crate::cloud::{self, OpenState};
use crate::definition::merged;
use crate::engine::locked;
use crate::functions::Function;
use crate::invoke::Failure;
use crate::trial::Trials;
use crate::weather::Weather;
use crate::witness::{self, BOUND};
use crate::workflow::{self, Order};
use crate::world::{START, World};
use lockstep::domain::{ExecutionArn, ExecutionEnd, HolderId, LockKey, Timestamp, rfc3339};
use lockstep::store::LockStore;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A world in which nothing happens by itself.
pub(super) struct Scene {
    pub(super) world: Arc<World>,
    pub(super) lock: LockKey,
}

impl Scene {
    pub(super) fn new() -> Self {
        Self::under(Weather::default())
    }

    /// Returns a world with this weather, judged by every rule.
    pub(super) fn under(weather: Weather) -> Self {
        let mut world = World::trying(0, 0, Trials::ALL);
        world.weather = weather;
        locked(&world.witness).same_tick = true;
        Self {
            world: Arc::new(world),
            lock: LockKey::new("by-hand").unwrap(),
        }
    }

    /// Returns a world with a run of these terms, whose lease is good for a minute.
    pub(super) fn held(terms: Value) -> (Self, HolderId) {
        let scene = Self::new();
        let holder = scene.run("a", terms);
        scene.grant(&holder, 5);
        (scene, holder)
    }

    /// Starts an execution with `terms` in its input, whose states do nothing.
    pub(super) fn run(&self, name: &str, terms: Value) -> HolderId {
        self.run_of(Machine::exclusive_run(), name, terms)
    }

    pub(super) fn run_of(&self, machine: &'static Machine, name: &str, terms: Value) -> HolderId {
        let arn = format!("arn:aws:states:eu-west-1:1:execution:report:{name}");
        let order = Order {
            arn: ExecutionArn::new(arn.clone()).unwrap(),
            machine,
            input: merged(json!({ "lock": self.lock.as_str() }), terms),
            dies_releasing: false,
        };
        workflow::start(&self.world, &order);
        let job = locked(&self.world.cloud).executions[&order.arn].job;
        self.world.engine.kill(job);
        HolderId::new(arn).unwrap()
    }

    pub(super) fn answer(&self, holder: &HolderId, answer: Value) {
        let event = json!({ "holder": holder.as_str() });
        let now = self.world.now();
        witness::answered(&self.world, Function::Acquire, &event, now, &Ok(answer));
    }

    pub(super) fn ask_to_replace(&self, holder: &HolderId) {
        let event = json!({ "holder": holder.as_str(), "overlap": "replace" });
        witness::asked(&self.world, Function::Acquire, &event);
    }

    pub(super) fn grant(&self, holder: &HolderId, token: u64) {
        self.grant_for(holder, token, 60);
    }

    pub(super) fn grant_for(&self, holder: &HolderId, token: u64, seconds: u64) {
        let end = Timestamp::from_millis(self.world.now() + seconds * 1000);
        let grant = json!({ "token": token });
        let answer = json!({ "status": "granted", "grant": grant, "expiresAt": rfc3339(end) });
        self.answer(holder, answer);
    }

    /// Starts a task of the execution under `token`.
    pub(super) fn task(&self, holder: &HolderId, token: u64) -> String {
        let command = json!({ "length": 1, "exitCode": 0, "stopping": 0, "deaf": true });
        let token = json!({ "Name": "LOCKSTEP_FENCING_TOKEN", "Value": token.to_string() });
        let container = json!({
            "Name": "job", "Command": [command.to_string()], "Environment": [token],
        });
        let request = json!({
            "TaskDefinition": "job", "Overrides": { "ContainerOverrides": [container] },
        });
        let request = serde_json::from_value(request).unwrap();
        let (arn, _) = cloud::begin_task(&self.world, &arn(holder), request).unwrap();
        arn
    }

    pub(super) fn at(&self, seconds: u64) {
        let world = Arc::clone(&self.world);
        self.world
            .spawn(async move { world.sleep(seconds * 1000).await });
        self.world.run(self.world.now() + seconds * 1000);
    }

    /// Watches the lock for `millis`.
    pub(super) fn watch(&self, millis: u64) {
        let watch = witness::watch(Arc::clone(&self.world), vec![self.lock.clone()]);
        self.world.spawn(watch);
        self.world.run(START + millis);
    }

    /// Asserts whether a promise is broken whose text contains `what`.
    #[track_caller]
    pub(super) fn notices(&self, what: &str, noticed: bool, case: &str) {
        let broken = self.world.broken().unwrap_or_default();
        assert_eq!(broken.contains(what), noticed, "{case}: {broken}");
    }
}

pub(super) fn arn(holder: &HolderId) -> ExecutionArn {
    ExecutionArn::of_holder(holder).unwrap()
}

#[test]
fn a_stop_of_work_under_a_good_lease_is_noticed_unless_it_has_a_reason() {
    let limited = |policy: &str| json!({ "maxRunSeconds": 30, "stalePolicy": policy });
    for (case, terms, noticed) in [
        ("no reason", json!({}), true),
        ("ended", json!({}), false),
        ("evicted", json!({}), false),
        ("the lease is over", json!({}), false),
        ("over its time", json!({ "maxRunSeconds": 30 }), false),
        ("over its time, but it may yield", limited("yield"), true),
        ("over its time by the workflow", limited("terminate"), false),
        (
            "over what it may yield by the workflow",
            limited("yield"),
            true,
        ),
        ("over what it holds by the workflow", limited("hold"), true),
        ("replaced", json!({}), false),
        // The first call of the run that replaces does not wait, and is answered late.
        ("replaced, with a late answer", json!({}), false),
        ("replaced by one that waits no more", json!({}), true),
    ] {
        let (scene, holder) = Scene::held(terms);
        if case.starts_with("over") {
            scene.at(31);
        }
        if case.starts_with("replaced") {
            let other = scene.run("other", json!({ "overlap": "replace" }));
            scene.ask_to_replace(&other);
            if case.ends_with("late answer") {
                scene.at(20);
                scene.answer(&other, json!({ "status": "skipped" }));
            }
            if case.ends_with("no more") {
                cloud::abort(&scene.world, &arn(&other), ExecutionEnd::Aborted);
                scene.at(20);
            }
        }
        match case {
            "ended" => {
                cloud::abort(&scene.world, &arn(&holder), ExecutionEnd::Aborted);
            }
            "evicted" => drop(locked(&scene.world.audit).evictions.insert(holder.clone())),
            "the lease is over" => scene.at(61),
            _ => {}
        }

        match case.ends_with("by the workflow") {
            true => witness::workflow_stops_task(&scene.world, &arn(&holder)),
            false => witness::stops_execution(&scene.world, &arn(&holder)),
        }

        scene.notices("stops the work of a", noticed, case);
    }
}

#[test]
fn two_copies_under_one_token_are_noticed() {
    let scene = Scene::new();
    let holder = scene.run("a", json!({ "permits": 3 }));
    scene.task(&holder, 5);

    scene.task(&holder, 5);

    scene.notices("under 5", true, "a second task");
}

#[test]
fn more_work_than_permits_is_noticed() {
    for (permits, policy, noticed) in [
        (1, "terminate", true),
        (2, "terminate", false),
        (1, "yield", false),
    ] {
        let scene = Scene::new();
        let terms = json!({ "permits": permits, "stalePolicy": policy });
        let (a, b) = (scene.run("a", terms.clone()), scene.run("b", terms));
        scene.task(&a, 5);

        scene.task(&b, 6);

        scene.notices("begins for", noticed, &format!("{permits} {policy}"));
    }
}

#[test]
fn a_permit_granted_while_its_last_work_still_runs_is_noticed() {
    let (task, own) = (Machine::exclusive_run(), Machine::own_workflow());
    for (case, machine, noticed) in [
        ("its task runs", task, true),
        ("its states are at work", own, true),
        ("its states ask again", own, false),
    ] {
        let scene = Scene::new();
        let a = scene.run_of(machine, "a", json!({ "batch": {} }));
        let b = scene.run("b", json!({}));
        scene.grant(&a, 5);
        match case {
            "its task runs" => drop(scene.task(&a, 5)),
            _ => witness::entered(&scene.world, &arn(&a), case.ends_with("at work")),
        }
        let cloud = locked(&scene.world.cloud);

        let verdict = witness::granted(&scene.world, &cloud, &BTreeSet::new(), &scene.lock, &b);

        let what = verdict.err().unwrap_or_default();
        assert_eq!(what.contains("still runs"), noticed, "{case}: {what}");
    }
}

#[test]
fn a_second_success_of_a_run_key_is_noticed() {
    let scene = Scene::new();
    let terms = json!({ "runKey": "tick" });
    for (name, noticed) in [("a", false), ("b", true)] {
        let holder = scene.run(name, terms.clone());

        witness::succeeded(&scene.world, &holder);

        assert_eq!(scene.world.broken().is_some(), noticed, "{name}");
        scene.notices("succeeded twice", noticed, name);
    }
}

#[test]
fn a_recorded_outcome_that_differs_from_the_work_is_noticed() {
    for (said, succeeded, noticed) in [
        (true, false, true),
        (true, true, false),
        (false, true, true),
        (false, false, false),
    ] {
        let scene = Scene::new();
        let holder = scene.run("a", json!({}));
        if succeeded {
            witness::succeeded(&scene.world, &holder);
        }
        let cloud = locked(&scene.world.cloud);

        let verdict = witness::ends_as(&scene.world, &cloud, &holder, said);

        assert_eq!(verdict.is_err(), noticed, "{said} {succeeded}: {verdict:?}");
    }
}

#[test]
fn a_lease_that_lapses_by_itself_is_noticed() {
    let limited = json!({ "maxRunSeconds": 100 });
    for (case, terms, noticed) in [
        ("the run works", json!({}), true),
        ("its time is over", limited, false),
        ("it was evicted, and waits again", json!({}), false),
    ] {
        let (scene, holder) = Scene::held(terms);
        if case.ends_with("waits again") {
            scene.at(1);
            scene.ask_to_replace(&holder);
            scene.answer(&holder, json!({ "status": "queued" }));
        }

        scene.watch(400_000);

        scene.notices("lapsed", noticed, case);
    }
}

#[test]
fn a_heartbeat_that_is_refused_is_noticed_unless_it_stops_nothing() {
    for (case, after, noticed) in [
        ("under a good lease", 1, true),
        ("after its lease", 61, false),
        ("at work, whose stop was reported", 0, true),
        // The task ends by itself.
        ("after its work, whose stop was reported", 30, false),
    ] {
        let (scene, holder) = Scene::held(json!({}));
        let event = json!({ "grant": { "holder": holder.as_str() }, "outcome": "stopping" });
        if case.ends_with("reported") {
            scene.task(&holder, 5);
        }
        scene.at(after);
        if case.ends_with("reported") {
            witness::asked(&scene.world, Function::Release, &event);
        }
        let refused = Err(Failure::new("Lockstep.LeaseLost", "by hand"));
        let now = scene.world.now();

        witness::answered(&scene.world, Function::Heartbeat, &event, now, &refused);

        scene.notices("a refused heartbeat stops", noticed, case);
    }
}

#[test]
fn a_run_that_waits_beside_a_free_permit_is_noticed() {
    for (granted, noticed) in [(false, true), (true, false)] {
        let scene = Scene::new();
        let waiter = scene.run("a", json!({ "overlap": "queue" }));
        scene.answer(&waiter, json!({ "status": "queued" }));
        let holder = scene.run("b", json!({}));
        if granted {
            scene.grant_for(&holder, 5, 3600);
        }

        scene.watch(400_000 + BOUND);

        scene.notices("was free for", noticed, &format!("granted: {granted}"));
    }
}

#[test]
fn a_side_item_left_by_a_waiter_is_noticed() {
    let scene = Scene::new();
    let holder = scene.run("a", json!({ "overlap": "queue" }));
    assert_eq!(witness::at_rest(&scene.world, &scene.lock), Ok(()));
    let (world, lock) = (Arc::clone(&scene.world), scene.lock.clone());
    let waiter = super::table::waiter(&holder);
    scene.world.spawn(async move {
        world.store.register(&lock, &waiter).await.unwrap();
    });
    scene.world.run(START + 1000);

    let left = witness::at_rest(&scene.world, &scene.lock).unwrap_err();

    assert!(left.contains("the side item"), "{left}");
}

#[test]
fn a_state_that_is_left_open_is_noticed() {
    let scene = Scene::new();
    let holder = scene.run("a", json!({}));
    let _open = OpenState::of(&scene.world, &arn(&holder));

    let left = witness::at_rest(&scene.world, &scene.lock).unwrap_err();

    assert!(left.contains("still open"), "{left}");
}
