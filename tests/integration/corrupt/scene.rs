//! A lock whose items are damaged on purpose, and the ways to damage an attribute.

use crate::fixture::{
    Ask, Fixture, acquire, acquire_tick, audit_note, evict, holder, recover, release_tick, renew,
    run_key,
};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use lockstep::domain::{
    Command, FencingToken, Permits, Seconds, StalePolicy, TaskSet, WaiterId, Work,
};
use lockstep::protocol::ProtocolError;
use lockstep::store::StoreError;
use std::collections::HashMap;
use std::time::Duration;

/// A lock with the holder `a`, whose lease has every attribute, seen past the protocol.
pub(crate) struct Scene {
    pub(crate) fixture: Fixture,
    client: Client,
    pub(crate) token: FencingToken,
}

impl Scene {
    pub(crate) async fn new(test: &str, permits: i64) -> Self {
        Self::with(test, permits, StalePolicy::Hold).await
    }

    pub(crate) async fn with(test: &str, permits: i64, stale: StalePolicy) -> Self {
        let fixture = Fixture::new(test).await;
        let mut tick = acquire_tick("a");
        tick.terms.permits = Permits::new(permits).unwrap();
        tick.terms.max_run = Some(Seconds::of(3600));
        tick.terms.no_progress = Some(Seconds::of(600));
        tick.terms.stale = stale;
        tick.terms.work = Some(Work::Tasks(TaskSet {
            container: None,
            cluster: "batches".into(),
            family: Some("report".into()),
        }));
        let token = fixture.granted(tick).await;
        let mut renew = renew("a", token);
        renew.progress = Some("chapter 2 of 9".into());
        fixture.done(renew).await;
        fixture.advance(Duration::from_secs(1));
        let client = fixture.table.client().await;
        Self {
            fixture,
            client,
            token,
        }
    }

    pub(crate) fn acquire(&self, permits: i64) -> Command {
        let mut acquire = acquire("b");
        acquire.terms.permits = Permits::new(permits).unwrap();
        acquire.ask()
    }

    /// A command of everybody who may come, the holder, a caller, and the reaper.
    pub(crate) fn commands(&self, permits: i64) -> Vec<Command> {
        let token = self.token;
        vec![
            self.acquire(permits),
            renew("a", token).ask(),
            release_tick("a", token).ask(),
            recover("a", token),
            evict("a"),
            Command::Pause(audit_note("upgrade"), None),
        ]
    }

    pub(crate) async fn expect_corrupt(
        &self,
        damaged: &Item,
        sort: &str,
        damage: &Damage,
        command: Command,
    ) {
        self.put(damaged).await;

        let done = self.fixture.execute(command.clone()).await;

        let wanted = damage.path.join(".");
        let reported =
            |attribute: &str| attribute == wanted || attribute.starts_with(&format!("{wanted}."));
        let Err(ProtocolError::Store(StoreError::Corrupt {
            item, attribute, ..
        })) = done
        else {
            panic!("{wanted} to {:?}, {command:?}: {done:?}", damage.to);
        };
        assert_eq!(item, format!("{}/{sort}", self.fixture.lock));
        assert!(reported(&attribute), "{attribute} for {wanted}");
        assert_eq!(self.item(sort).await, *damaged, "{wanted}, {command:?}");
    }

    pub(crate) async fn put(&self, item: &Item) {
        let request = self.client.put_item().table_name(&self.fixture.table.name);
        request.set_item(Some(item.clone())).send().await.unwrap();
    }

    pub(crate) async fn item(&self, sort: &str) -> Item {
        let request = self.client.get_item().table_name(&self.fixture.table.name);
        let request = request
            .key("pk", text(self.fixture.lock.as_str()))
            .key("sk", text(sort))
            .consistent_read(true);
        request.send().await.unwrap().item.expect("the item")
    }
}

pub(crate) fn key_sort_key() -> String {
    format!("run#key/{}", run_key().as_str())
}

pub(crate) fn token_sort_key(token: FencingToken) -> String {
    format!("run#token/{token}")
}

pub(crate) fn waiter_sort_key(name: &str) -> String {
    format!("waiter#{}", WaiterId::of(&holder(name)))
}

/// Attributes that hold text; all others hold numbers or maps.
const TEXTS: [&str; 13] = [
    "mode",
    "holder",
    "outcome",
    "runKey",
    "taskToken",
    "progress",
    "stale",
    "cluster",
    "family",
    "replacedBy",
    "evidence",
    "taskArn",
    "note",
];

pub(crate) type Item = HashMap<String, AttributeValue>;

/// One attribute of an item, and what it is damaged to: `None` is missing.
pub(crate) struct Damage {
    pub(crate) path: Vec<String>,
    pub(crate) to: Option<AttributeValue>,
}

impl Damage {
    pub(crate) fn new(path: &[&str], to: Option<AttributeValue>) -> Self {
        let path = path.iter().map(ToString::to_string).collect();
        Self { path, to }
    }

    pub(crate) fn done_to(&self, item: &Item) -> Item {
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

/// The attribute missing, and of three wrong types.
pub(crate) fn every_damage(path: &[&str]) -> Vec<Damage> {
    let other = match path.last() {
        Some(name) if TEXTS.contains(name) => number("7"),
        _ => text("7"),
    };
    let values = [
        None,
        Some(other),
        Some(AttributeValue::Null(true)),
        Some(AttributeValue::L(Vec::new())),
    ];
    values.into_iter().map(|to| Damage::new(path, to)).collect()
}

/// The attribute of three wrong types: it may be missing.
pub(crate) fn every_wrong_type(path: &[&str]) -> Vec<Damage> {
    let damages = every_damage(path).into_iter();
    damages.filter(|damage| damage.to.is_some()).collect()
}

pub(crate) fn number(number: &str) -> AttributeValue {
    AttributeValue::N(number.into())
}

pub(crate) fn text(text: &str) -> AttributeValue {
    AttributeValue::S(text.into())
}
