//! The sweep's index: the locks that are due.

use super::DynamoStore;
use super::error::store_error;
use super::expression::Expression;
use super::item::{self, Attributes, INDEX};
use super::reader::Reader;
use crate::domain::{LockKey, Timestamp};
use crate::store::{DUE_PAGE, DueLock, DuePage, StoreError};

impl DynamoStore {
    /// One page of the index. Its reads are eventually consistent: an index has no others
    /// (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.html>).
    pub(super) async fn due_page(
        &self,
        shard: u8,
        until: Timestamp,
        after: Option<&DueLock>,
    ) -> Result<DuePage, StoreError> {
        let mut expression = Expression::default();
        let (path, of) = (
            expression.path(&["shard"]),
            expression.value(item::shard_value(shard)),
        );
        let (due, until) = (
            expression.path(&["dueAt"]),
            expression.number(until.millis()),
        );
        let (names, values) = expression.into_parts();
        let sent = self
            .client
            .query()
            .table_name(&self.table)
            .index_name(INDEX)
            .key_condition_expression(format!("{path} = {of} AND {due} <= {until}"))
            .set_expression_attribute_names(names)
            .set_expression_attribute_values(values)
            .set_exclusive_start_key(after.map(|after| start_key(shard, after)))
            .limit(i32::try_from(DUE_PAGE).unwrap_or(i32::MAX))
            .send()
            .await;
        let page = sent.map_err(|failure| store_error(&failure))?;
        let locks: Vec<_> = page.items().iter().filter_map(readable).collect();
        let last = page.last_evaluated_key().filter(|key| !key.is_empty());
        let next = last.and_then(|key| due_lock(key).ok().or(locks.last().cloned()));
        Ok(DuePage { locks, next })
    }
}

fn start_key(shard: u8, after: &DueLock) -> Attributes {
    let mut key = item::record_key(&after.lock);
    key.insert("shard".into(), item::shard_value(shard));
    key.insert("dueAt".into(), item::number(after.due.millis()));
    key
}

/// The lock of an index entry; `None` for a damaged one, which must not keep the sweep from the
/// others of its shard. Requests to its lock fail with the same fault.
fn readable(key: &Attributes) -> Option<DueLock> {
    let lock = due_lock(key);
    if let Err(error) = &lock {
        let of = key.get("pk").and_then(|name| name.as_s().ok());
        tracing::error!(event = "record_skipped", lock = of, %error, "the sweep skips a record that it cannot read");
    }
    lock.ok()
}

fn due_lock(key: &Attributes) -> Result<DueLock, StoreError> {
    let reader = Reader::new(INDEX, key);
    let name = reader.text("pk")?;
    let lock = LockKey::new(name);
    Ok(DueLock {
        due: reader.time("dueAt")?,
        lock: lock.map_err(|invalid| reader.corrupt("pk", format!("must be {}", invalid.rule)))?,
    })
}
