//! A lock whose items are damaged on purpose, and the ways to damage an attribute.

use super::RECORD;
use crate::fixture::{
    Ask, Fixture, acquire, acquire_tick, audit_note, evict, holder, recover, release_tick, renew,
    run_key,
};
use aws_sdk_dynamodb::types::AttributeValue;
use lockstep::domain::{
    Command, FencingToken, Permits, Seconds, StalePolicy, TaskSet, WaiterId, Work,
};
use lockstep::protocol::ProtocolError;
use lockstep::store::StoreError;
use lockstep_tests::units::Item;
use std::time::Duration;

/// A lock with the holder `a`, whose lease has every attribute. Its items are read and written past
/// the protocol.
pub(crate) struct Scene {
    pub(crate) fixture: Fixture,
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
        Self { fixture, token }
    }

    pub(crate) fn acquire(&self, permits: i64) -> Command {
        let mut acquire = acquire("b");
        acquire.terms.permits = Permits::new(permits).unwrap();
        acquire.ask()
    }

    /// Returns a command of each caller: of a newcomer, the holder, the reaper and an operator.
    pub(crate) fn commands(&self, permits: i64) -> Vec<Command> {
        let token = self.token;
        vec![
            self.acquire(permits),
            renew("a", token).ask(),
            release_tick("a", token).ask(),
            recover("a", token).ask(),
            evict("a", token).ask(),
            Command::Pause(audit_note("upgrade"), None),
        ]
    }

    /// Checks that each command reports each damage to the item, and changes neither the item nor
    /// the record.
    pub(crate) async fn each_is_reported(
        &self,
        sort: &str,
        damages: &[Damage],
        commands: &[Command],
    ) {
        let (item, record) = (self.item(sort).await, self.item(RECORD).await);
        for damage in damages {
            let damaged = damage.done_to(&item);
            for command in commands {
                self.expect_corrupt(&damaged, sort, damage, command).await;
            }
            if sort != RECORD {
                let now = self.item(RECORD).await;
                assert_eq!(now, record, "the record was changed: {:?}", damage.path);
            }
        }
    }

    async fn expect_corrupt(&self, damaged: &Item, sort: &str, damage: &Damage, command: &Command) {
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
        self.fixture.put(item.clone()).await;
    }

    pub(crate) async fn item(&self, sort: &str) -> Item {
        self.fixture.item(sort).await
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

/// One attribute of an item, and the value that it is damaged to; `None` removes the attribute.
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

/// Returns the damages below `path`: each attribute with three values of a wrong type, and each
/// required attribute missing.
pub(crate) fn damages(path: &[&str], required: &str, optional: &str) -> Vec<Damage> {
    let required = required.split_whitespace().map(|name| (name, true));
    let optional = optional.split_whitespace().map(|name| (name, false));
    let each = required.chain(optional).flat_map(|(name, required)| {
        let other = if TEXTS.contains(&name) {
            number("7")
        } else {
            text("7")
        };
        let wrong = [
            other,
            AttributeValue::Null(true),
            AttributeValue::L(Vec::new()),
        ];
        let missing = required.then_some(None);
        let path = [path, &[name]].concat();
        let values = missing.into_iter().chain(wrong.map(Some));
        values.map(move |to| Damage::new(&path, to))
    });
    each.collect()
}

/// Returns the damage that sets the attribute to this value.
pub(crate) fn to(path: &[&str], value: AttributeValue) -> Damage {
    Damage::new(path, Some(value))
}

pub(crate) fn number(number: &str) -> AttributeValue {
    AttributeValue::N(number.into())
}

pub(crate) fn text(text: &str) -> AttributeValue {
    AttributeValue::S(text.into())
}
