//! The lock table, as it is: read and written beside Lockstep.

use super::{Item, Stack, until};
use aws_sdk_dynamodb::types::AttributeValue;
use std::collections::HashMap;

impl Stack {
    /// The record of `lock`, as it is in the table.
    pub async fn lock_item(&self, lock: &str) -> Option<Item> {
        let get = self
            .dynamodb
            .get_item()
            .table_name(self.output("LockTableName"))
            .key("pk", AttributeValue::S(lock.into()))
            .key("sk", AttributeValue::S("lock".into()))
            .consistent_read(true);
        get.send().await.expect("an item of the lock table").item
    }

    /// How many hold `lock`.
    pub async fn held(&self, lock: &str) -> usize {
        self.entries(lock, "holders").await
    }

    /// How many wait for `lock`.
    pub async fn waiting(&self, lock: &str) -> usize {
        self.entries(lock, "queue").await
    }

    /// Waits until so many wait for `lock`.
    pub async fn wait_waiting(&self, lock: &str, count: usize, seconds: u64) {
        let what = format!("{count} in the queue of {lock}");
        until(&what, seconds, async || self.waiting(lock).await == count).await;
    }

    /// Waits until `lock` has no holder. Returns the milliseconds that it took.
    pub async fn wait_free(&self, lock: &str, seconds: u64) -> u64 {
        let what = format!("permit of {lock}");
        until(&what, seconds, async || self.held(lock).await == 0).await
    }

    /// Every item of `lock`: its record, its runs and its waiters.
    pub async fn items(&self, lock: &str) -> Vec<Item> {
        let query = self
            .dynamodb
            .query()
            .table_name(self.output("LockTableName"))
            .key_condition_expression("pk = :lock")
            .expression_attribute_values(":lock", AttributeValue::S(lock.into()))
            .consistent_read(true);
        let page = query.send().await.expect("the items of a lock");
        page.items.unwrap_or_default()
    }

    async fn entries(&self, lock: &str, attribute: &str) -> usize {
        let item = self.lock_item(lock).await;
        let map = item.and_then(|item| item[attribute].as_m().map(HashMap::len).ok());
        map.unwrap_or(0)
    }
}
