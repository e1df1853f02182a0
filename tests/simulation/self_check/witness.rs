//! The witness notices what it is there for: each of its rules is shown a case that breaks it, and
//! the same case with a reason.

use crate::asl::Machine;
use crate::cloud::{self, OpenState};
use crate::engine::locked;
use crate::functions::Function;
use crate::invoke::Failure;
use crate::witness::{self, BOUND};
use crate::workflow::{self, Order};
use crate::world::{START, World};
use lockstep::domain::{ExecutionArn, ExecutionEnd, HolderId, LockKey, Timestamp, rfc3339};
use lockstep::store::LockStore;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

/// A world in which nothing happens by itself.
struct Scene {
    world: Arc<World>,
    lock: LockKey,
}

impl Scene {
    fn new() -> Self {
        Self {
            world: Arc::new(World::of_seed(0, 0)),
            lock: LockKey::new("by-hand").unwrap(),
        }
    }

    /// An execution that has just started, with `terms` in its input.
    fn run(&self, name: &str, terms: Value) -> HolderId {
        let arn = format!("arn:aws:states:eu-west-1:1:execution:report:{name}");
        let mut input = json!({ "lock": self.lock.as_str() });
        let fields = input.as_object_mut().unwrap();
        fields.extend(terms.as_object().unwrap().clone());
        let order = Order {
            arn: ExecutionArn::new(arn.clone()).unwrap(),
            lock: self.lock.clone(),
            machine: Machine::exclusive_run(),
            input,
            dies_releasing: false,
        };
        workflow::start(&self.world, &order);
        let job = locked(&self.world.cloud).executions[&order.arn].job;
        self.world.engine.kill(job);
        HolderId::new(arn).unwrap()
    }

    fn answer(&self, holder: &HolderId, answer: Value) {
        let event = json!({ "holder": holder.as_str() });
        let now = self.world.now();
        witness::answered(&self.world, Function::Acquire, &event, now, &Ok(answer));
    }

    fn ask_to_replace(&self, holder: &HolderId) {
        let event = json!({ "holder": holder.as_str(), "overlap": "replace" });
        witness::asked(&self.world, Function::Acquire, &event);
    }

    fn grant(&self, holder: &HolderId, token: u64) {
        self.grant_for(holder, token, 60);
    }

    fn grant_for(&self, holder: &HolderId, token: u64, seconds: u64) {
        let end = Timestamp::from_millis(self.world.now() + seconds * 1000);
        let grant = json!({ "token": token });
        let answer = json!({ "status": "granted", "grant": grant, "expiresAt": rfc3339(end) });
        self.answer(holder, answer);
    }

    /// A task that the execution starts under `token`.
    fn task(&self, holder: &HolderId, token: u64) -> String {
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

    fn at(&self, seconds: u64) {
        let world = Arc::clone(&self.world);
        self.world
            .spawn(async move { world.sleep(seconds * 1000).await });
        self.world.run(self.world.now() + seconds * 1000);
    }

    fn broken(&self) -> String {
        self.world.broken().unwrap_or_default()
    }
}

fn arn(holder: &HolderId) -> ExecutionArn {
    ExecutionArn::of_holder(holder).unwrap()
}

/// What happens to a run before it is stopped.
type Reason = fn(&Scene, &HolderId);

fn replaced(scene: &Scene, _: &HolderId) {
    let other = scene.run("other", json!({ "overlap": "replace" }));
    scene.ask_to_replace(&other);
}

fn replaced_and_answered_late(scene: &Scene, _: &HolderId) {
    let other = scene.run("other", json!({ "overlap": "replace" }));
    scene.ask_to_replace(&other);
    scene.at(20);
    scene.answer(&other, json!({ "status": "skipped" }));
}

fn replaced_and_abandoned(scene: &Scene, _: &HolderId) {
    let other = scene.run("other", json!({ "overlap": "replace" }));
    scene.ask_to_replace(&other);
    cloud::abort(&scene.world, &arn(&other), ExecutionEnd::Aborted);
    scene.at(20);
}

#[test]
fn a_stop_of_work_under_a_good_lease_is_noticed_unless_it_has_a_reason() {
    let cases: [(&str, Value, Reason, bool); 9] = [
        ("no reason", json!({}), |_, _| {}, true),
        (
            "ended",
            json!({}),
            |scene, holder| {
                cloud::abort(&scene.world, &arn(holder), ExecutionEnd::Aborted);
            },
            false,
        ),
        (
            "evicted",
            json!({}),
            |scene, holder| {
                locked(&scene.world.audit).evictions.insert(holder.clone());
            },
            false,
        ),
        (
            "the lease is over",
            json!({}),
            |scene, _| scene.at(61),
            false,
        ),
        (
            "over its time",
            json!({ "maxRunSeconds": 30 }),
            |scene, _| scene.at(31),
            false,
        ),
        (
            "over its time, but it may yield",
            json!({ "maxRunSeconds": 30, "stalePolicy": "yield" }),
            |scene, _| scene.at(31),
            true,
        ),
        ("replaced", json!({}), replaced, false),
        (
            "replaced by one whose first call, which did not wait, is answered late",
            json!({}),
            replaced_and_answered_late,
            false,
        ),
        (
            "replaced by one that waits no more",
            json!({}),
            replaced_and_abandoned,
            true,
        ),
    ];
    for (case, terms, reason, noticed) in cases {
        let scene = Scene::new();
        let holder = scene.run("a", terms);
        scene.grant(&holder, 5);
        reason(&scene, &holder);

        witness::stops_execution(&scene.world, &arn(&holder));

        let broken = scene.broken();
        let seen = broken.contains("stops the work of a");
        assert_eq!(seen, noticed, "{case}: {broken}");
    }
}

#[test]
fn two_copies_under_one_token_are_noticed() {
    let scene = Scene::new();
    let holder = scene.run("a", json!({ "permits": 3 }));
    scene.task(&holder, 5);

    scene.task(&holder, 5);

    assert!(scene.broken().contains("under 5"), "{}", scene.broken());
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

        let broken = scene.broken();
        assert_eq!(
            broken.contains("begins for"),
            noticed,
            "{permits} {policy}: {broken}"
        );
    }
}

#[test]
fn a_permit_that_goes_on_while_its_work_runs_is_noticed() {
    let scene = Scene::new();
    let (a, b) = (scene.run("a", json!({})), scene.run("b", json!({})));
    scene.task(&a, 5);
    let cloud = locked(&scene.world.cloud);

    let verdict = witness::granted(&scene.world, &cloud, &BTreeSet::new(), &scene.lock, &b);

    let what = verdict.unwrap_err();
    assert!(what.contains("still runs"), "{what}");
}

#[test]
fn a_second_success_of_a_run_key_is_noticed() {
    let scene = Scene::new();
    let terms = json!({ "runKey": "tick" });
    let (a, b) = (scene.run("a", terms.clone()), scene.run("b", terms));
    witness::succeeded(&scene.world, &a);
    assert_eq!(scene.broken(), "");

    witness::succeeded(&scene.world, &b);

    assert!(
        scene.broken().contains("succeeded twice"),
        "{}",
        scene.broken()
    );
}

#[test]
fn an_end_that_the_work_did_not_come_to_is_noticed() {
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
    let cases = [
        ("the run works", json!({}), false, true),
        (
            "its time is over",
            json!({ "maxRunSeconds": 100 }),
            false,
            false,
        ),
        ("it was evicted, and waits again", json!({}), true, false),
    ];
    for (case, terms, waits_again, noticed) in cases {
        let scene = Scene::new();
        let holder = scene.run("a", terms);
        scene.grant(&holder, 5);
        if waits_again {
            scene.at(1);
            scene.ask_to_replace(&holder);
            scene.answer(&holder, json!({ "status": "queued" }));
        }
        let watch = witness::watch(Arc::clone(&scene.world), vec![scene.lock.clone()]);
        scene.world.spawn(watch);

        scene.world.run(START + 400_000);

        let broken = scene.broken();
        assert_eq!(broken.contains("lapsed"), noticed, "{case}: {broken}");
    }
}

#[test]
fn a_workflow_that_stops_its_work_under_a_good_lease_is_noticed() {
    for (policy, noticed) in [("terminate", false), ("yield", true), ("hold", true)] {
        let scene = Scene::new();
        let terms = json!({ "maxRunSeconds": 30, "stalePolicy": policy });
        let holder = scene.run("a", terms);
        scene.grant(&holder, 5);
        scene.at(31);

        witness::workflow_stops_task(&scene.world, &arn(&holder));

        let broken = scene.broken();
        assert_eq!(
            broken.contains("stops the work of a"),
            noticed,
            "{policy}: {broken}"
        );
    }
}

#[test]
fn a_heartbeat_that_is_refused_under_a_good_lease_is_noticed() {
    for (after, noticed) in [(1, true), (61, false)] {
        let scene = Scene::new();
        let holder = scene.run("a", json!({}));
        scene.grant(&holder, 5);
        scene.at(after);
        let event = json!({ "grant": { "holder": holder.as_str() } });
        let refused = Err(Failure::new("Lockstep.LeaseLost", "by hand"));
        let now = scene.world.now();

        witness::answered(&scene.world, Function::Heartbeat, &event, now, &refused);

        let broken = scene.broken();
        assert_eq!(
            broken.contains("a refused heartbeat stops"),
            noticed,
            "{after}: {broken}"
        );
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
        let watch = witness::watch(Arc::clone(&scene.world), vec![scene.lock.clone()]);
        scene.world.spawn(watch);

        scene.world.run(START + 400_000 + BOUND);

        let broken = scene.broken();
        assert_eq!(broken.contains("was free for"), noticed, "{broken}");
    }
}

#[test]
fn what_is_left_of_a_waiter_is_noticed() {
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
