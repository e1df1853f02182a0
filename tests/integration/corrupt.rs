//! An item that cannot be read is named, and never overwritten.

use crate::fixture::{Ask, Fixture, acquire, acquire_tick, holder, release_tick, renew, run_key};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use lockstep::domain::{Command, FencingToken, Permits, RunOutcome, Seconds};
use lockstep::protocol::ProtocolError;
use lockstep::store::StoreError;
use std::collections::HashMap;
use std::time::Duration;

type Item = HashMap<String, AttributeValue>;

const RECORD: &str = "lock";

/// One attribute of an item, and what it is damaged to: `None` is missing.
struct Damage {
    path: Vec<String>,
    to: Option<AttributeValue>,
}

/// A lock with the holder `a`, whose lease has every attribute, seen past the protocol.
struct Scene {
    fixture: Fixture,
    client: Client,
    token: FencingToken,
}

#[tokio::test]
async fn every_command_reports_a_damaged_record_and_leaves_it_alone() {
    let scene = Scene::new("record", 2).await;
    let record = scene.item(RECORD).await;
    let required = [
        "schema",
        "version",
        "lastToken",
        "lastTicket",
        "permits",
        "holders",
        "queue",
        "notBefore",
        "mode",
    ];
    let mut damages: Vec<Damage> = required
        .iter()
        .flat_map(|name| every_damage(&[*name]))
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

impl Damage {
    fn new(path: &[&str], to: Option<AttributeValue>) -> Self {
        let path = path.iter().map(ToString::to_string).collect();
        Self { path, to }
    }

    fn done_to(&self, item: &Item) -> Item {
        let mut damaged = item.clone();
        let (last, outer) = self.path.split_last().unwrap();
        let mut map = &mut damaged;
        for name in outer {
            let Some(AttributeValue::M(inner)) = map.get_mut(name) else {
                panic!("{name} is no map");
            };
            map = inner;
        }
        match &self.to {
            Some(value) => map.insert(last.clone(), value.clone()),
            None => map.remove(last),
        };
        damaged
    }
}

impl Scene {
    async fn new(test: &str, permits: i64) -> Self {
        let fixture = Fixture::new(test).await;
        let mut tick = acquire_tick("a");
        tick.permits = Permits::new(permits).unwrap();
        tick.max_run = Some(Seconds::of(3600));
        let token = fixture.granted(tick).await;
        fixture.done(renew("a", token)).await;
        fixture.advance(Duration::from_secs(1));
        let client = fixture.table.client().await;
        Self {
            fixture,
            client,
            token,
        }
    }

    fn acquire(&self, permits: i64) -> Command {
        let mut acquire = acquire("b");
        acquire.permits = Permits::new(permits).unwrap();
        acquire.ask()
    }

    fn commands(&self, permits: i64) -> [Command; 3] {
        let (renew, release) = (renew("a", self.token), release_tick("a", self.token));
        [self.acquire(permits), renew.ask(), release.ask()]
    }

    async fn expect_corrupt(&self, damaged: &Item, sort: &str, damage: &Damage, command: Command) {
        self.put(damaged).await;

        let done = self.fixture.execute(command.clone()).await;

        let wanted = damage.path.join(".");
        let Err(ProtocolError::Store(StoreError::Corrupt {
            item, attribute, ..
        })) = done
        else {
            panic!("{wanted} to {:?}, {command:?}: {done:?}", damage.to);
        };
        assert_eq!(item, format!("{}/{sort}", self.fixture.lock));
        let named = attribute == wanted || attribute.starts_with(&format!("{wanted}."));
        assert!(named, "{attribute} for {wanted}");
        assert_eq!(self.item(sort).await, *damaged, "{wanted}, {command:?}");
    }

    async fn put(&self, item: &Item) {
        let request = self.client.put_item().table_name(&self.fixture.table.name);
        request.set_item(Some(item.clone())).send().await.unwrap();
    }

    async fn item(&self, sort: &str) -> Item {
        let request = self.client.get_item().table_name(&self.fixture.table.name);
        let request = request
            .key("pk", text(self.fixture.lock.as_str()))
            .key("sk", text(sort))
            .consistent_read(true);
        request.send().await.unwrap().item.expect("the item")
    }
}

/// The attribute missing, and of three wrong types.
fn every_damage(path: &[&str]) -> Vec<Damage> {
    let numeric = !matches!(
        path.last(),
        Some(&("mode" | "holder" | "outcome" | "runKey" | "taskToken"))
    );
    let other = if numeric { text("7") } else { number("7") };
    let values = [
        None,
        Some(other),
        Some(AttributeValue::Null(true)),
        Some(AttributeValue::L(Vec::new())),
    ];
    values.into_iter().map(|to| Damage::new(path, to)).collect()
}

fn run_sort_key() -> String {
    format!("run#key/{}", run_key().as_str())
}

fn number(number: &str) -> AttributeValue {
    AttributeValue::N(number.into())
}

fn text(text: &str) -> AttributeValue {
    AttributeValue::S(text.into())
}
