//! The lock table, read past Lockstep, and what the history of a lock says of its runs.

use super::operator::key;
use super::{Item, Stack, deadline, now, pause, until};
use aws_sdk_dynamodb::types::AttributeValue;
use lockstep::domain::{FencingToken, HolderId, Run, RunId, RunOutcome, WaiterId};
use lockstep::store::LockStore;
use std::collections::HashMap;

impl Stack {
    /// Returns the run of a grant from the history.
    pub async fn entry(&self, lock: &str, token: u64) -> Option<Run> {
        let operator = self.operator().await;
        let id = RunId::Token(FencingToken::from_number(token));
        let run = operator.protocol.store().load_run(&key(lock), &id).await;
        run.unwrap_or_else(|error| panic!("the run {token} of {lock}: {error}"))
    }

    /// Returns when a waiter last registered, in epoch milliseconds; 0 if it does not wait.
    pub async fn waits_since(&self, lock: &str, holder: &str) -> u64 {
        let operator = self.operator().await;
        let id = WaiterId::of(&HolderId::new(holder).expect("a holder"));
        let waiter = operator.protocol.store().load_waiter(&key(lock), &id).await;
        let waiter = waiter.unwrap_or_else(|error| panic!("{id} of {lock}: {error}"));
        waiter.map_or(0, |waiter| waiter.since.millis())
    }

    /// Returns the run of a grant, once the history has its end and its task.
    pub async fn whole_entry(&self, lock: &str, token: u64, seconds: u64) -> Run {
        let deadline = deadline(seconds);
        loop {
            let run = self.entry(lock, token).await;
            match run {
                Some(run) if run.end.is_some() && run.task.is_some() => return run,
                run => assert!(
                    now() < deadline,
                    "the history of {lock} has no end or no task of run {token}: {run:?}"
                ),
            }
            pause(100).await;
        }
    }

    /// Returns the outcomes in the history of `lock`: those of its runs by their tokens, and those
    /// of acts.
    pub async fn outcomes(&self, lock: &str) -> Vec<String> {
        let items = self.items(lock).await;
        let of_run = items.iter().filter(|item| {
            let sort = item["sk"].as_s().expect("a sort key");
            sort.starts_with("run#token/") || sort.starts_with("run#act/")
        });
        let outcome = |item: &super::Item| item.get("outcome")?.as_s().ok().cloned();
        of_run.filter_map(outcome).collect()
    }
}

/// Returns how a run of the history ended, and on what evidence.
pub fn ending(run: &Run) -> (RunOutcome, &str) {
    let end = run.end.as_ref();
    let end = end.unwrap_or_else(|| panic!("a run without an end: {run:?}"));
    (end.outcome, end.evidence.as_deref().unwrap_or_default())
}

impl Stack {
    /// Returns the record of `lock`, as it is in the table.
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

    /// Returns how many runs hold `lock`.
    pub async fn held(&self, lock: &str) -> usize {
        self.entries(lock, "holders").await
    }

    /// Returns how many runs wait for `lock`.
    pub async fn waiting(&self, lock: &str) -> usize {
        self.entries(lock, "queue").await
    }

    /// Waits until `count` runs wait for `lock`.
    pub async fn wait_waiting(&self, lock: &str, count: usize, seconds: u64) {
        let what = format!("{count} in the queue of {lock}");
        until(&what, seconds, async || self.waiting(lock).await == count).await;
    }

    /// Waits until `lock` has no holder. Returns the milliseconds that it took.
    pub async fn wait_free(&self, lock: &str, seconds: u64) -> u64 {
        let what = format!("permit of {lock}");
        until(&what, seconds, async || self.held(lock).await == 0).await
    }

    /// Returns every item of `lock`: its record, its runs and its waiters.
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

    /// Writes `lock` back as it was when [`Stack::items`] read `before`: what came later is gone.
    pub async fn restore(&self, lock: &str, before: Vec<Item>) {
        let table = self.output("LockTableName");
        for item in self.items(lock).await {
            let delete = self.dynamodb.delete_item().table_name(table);
            let key = |name: &str| item[name].clone();
            let delete = delete.key("pk", key("pk")).key("sk", key("sk"));
            delete.send().await.expect("an item deleted");
        }
        for item in before {
            let put = self.dynamodb.put_item().table_name(table);
            put.set_item(Some(item))
                .send()
                .await
                .expect("an item restored");
        }
    }

    /// Moves the end of the lease of `holder` by `seconds` into the past, as if the clock had moved
    /// on.
    pub async fn age_lease(&self, lock: &str, holder: &str, seconds: u64) {
        let update = self
            .dynamodb
            .update_item()
            .table_name(self.output("LockTableName"))
            .key("pk", AttributeValue::S(lock.into()))
            .key("sk", AttributeValue::S("lock".into()))
            .update_expression(
                "SET holders.#holder.expiresAt = holders.#holder.expiresAt - :time, dueAt = :due",
            )
            .expression_attribute_names("#holder", holder)
            .expression_attribute_values(":time", AttributeValue::N((seconds * 1000).to_string()))
            .expression_attribute_values(":due", AttributeValue::N(now().to_string()));
        update.send().await.expect("an older lease");
    }

    async fn entries(&self, lock: &str, attribute: &str) -> usize {
        let item = self.lock_item(lock).await;
        let map = item.and_then(|item| item[attribute].as_m().map(HashMap::len).ok());
        map.unwrap_or(0)
    }
}
