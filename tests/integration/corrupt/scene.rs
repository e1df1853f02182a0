//! A lock whose items are damaged on purpose.

use super::damage::{Damage, Item, text};
use crate::fixture::{
    Ask, Fixture, acquire, acquire_tick, audit_note, evict, holder, recover, release_tick, renew,
    run_key,
};
use aws_sdk_dynamodb::Client;
use lockstep::domain::{
    Command, FencingToken, Permits, Seconds, StalePolicy, TaskSet, WaiterId, Work,
};
use lockstep::protocol::ProtocolError;
use lockstep::store::StoreError;
use std::time::Duration;

/// A lock with the holder `a`, whose lease has every attribute, seen past the protocol.
pub(crate) struct Scene {
    pub(crate) fixture: Fixture,
    client: Client,
    pub(crate) token: FencingToken,
}

impl Scene {
    pub(crate) async fn new(test: &str, permits: i64) -> Self {
        let fixture = Fixture::new(test).await;
        let mut tick = acquire_tick("a");
        tick.terms.permits = Permits::new(permits).unwrap();
        tick.terms.max_run = Some(Seconds::of(3600));
        tick.terms.no_progress = Some(Seconds::of(600));
        tick.terms.stale = StalePolicy::Hold;
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
