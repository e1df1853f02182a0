//! A lock whose items are damaged on purpose.

use crate::fixture::{Ask, Fixture, acquire, acquire_tick, release_tick, renew, run_key};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::AttributeValue;
use lockstep::domain::{Command, FencingToken, Permits, Seconds};
use lockstep::protocol::ProtocolError;
use lockstep::store::StoreError;
use std::collections::HashMap;
use std::time::Duration;

type Item = HashMap<String, AttributeValue>;

/// One attribute of an item, and what it is damaged to: `None` is missing.
pub(crate) struct Damage {
    path: Vec<String>,
    pub(crate) to: Option<AttributeValue>,
}

/// A lock with the holder `a`, whose lease has every attribute, seen past the protocol.
pub(crate) struct Scene {
    pub(crate) fixture: Fixture,
    client: Client,
    pub(crate) token: FencingToken,
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

impl Scene {
    pub(crate) async fn new(test: &str, permits: i64) -> Self {
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

    pub(crate) fn acquire(&self, permits: i64) -> Command {
        let mut acquire = acquire("b");
        acquire.permits = Permits::new(permits).unwrap();
        acquire.ask()
    }

    pub(crate) fn commands(&self, permits: i64) -> [Command; 3] {
        let (renew, release) = (renew("a", self.token), release_tick("a", self.token));
        [self.acquire(permits), renew.ask(), release.ask()]
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

/// The attribute missing, and of three wrong types.
pub(crate) fn every_damage(path: &[&str]) -> Vec<Damage> {
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

pub(crate) fn run_sort_key() -> String {
    format!("run#key/{}", run_key().as_str())
}

pub(crate) fn number(number: &str) -> AttributeValue {
    AttributeValue::N(number.into())
}

pub(crate) fn text(text: &str) -> AttributeValue {
    AttributeValue::S(text.into())
}
