//! The sweep's index: the locks that are due.
//!
//! The index is sparse: a lock that the sweep need not check has no `shard` and no `dueAt`, and costs the
//! sweep nothing. The index may lag behind the table, so an entry is only a reason to read the record. An
//! entry that is out of date costs one read. A lock whose entry is not there yet is found by the next sweep.

use super::DynamoStore;
use super::error::store_error;
use super::expression::Expression;
use super::item::{self, Attributes, INDEX};
use super::reader::Reader;
use aws_sdk_dynamodb::operation::query::QueryOutput;
use lockstep_core::domain::{LockKey, Timestamp};
use lockstep_core::store::{DUE_PAGE, DueLock, DuePage, StoreError};
use std::mem;

impl DynamoStore {
    /// Returns one page of the index, which ends with a readable entry or at the end of the shard.
    ///
    /// Reads of an index are eventually consistent
    /// (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.html>).
    pub(super) async fn due_page(
        &self,
        shard: u8,
        until: Timestamp,
        after: Option<&DueLock>,
    ) -> Result<DuePage, StoreError> {
        let mut start = after.map(|after| start_key(shard, after));
        let mut page = DuePage::default();
        loop {
            let sent = self.query_due(shard, until, start).await?;
            let mut skipped = 0;
            for entry in sent.items() {
                match readable(entry) {
                    Some(lock) => {
                        page.locks.push(lock);
                        page.unreadable += mem::take(&mut skipped);
                    }
                    None => skipped += 1,
                }
            }
            let last = sent.last_evaluated_key.filter(|key| !key.is_empty());
            // The next page begins after the last lock of this page, and counts the unreadable entries after
            // it.
            if last.is_some() && !page.locks.is_empty() {
                page.next = page.locks.last().cloned();
                return Ok(page);
            }
            page.unreadable += skipped;
            if last.is_none() {
                return Ok(page);
            }
            start = last;
        }
    }

    /// Sends one Query. Its entries are in the order of `dueAt`: the lock that is due longest comes first.
    async fn query_due(
        &self,
        shard: u8,
        until: Timestamp,
        start: Option<Attributes>,
    ) -> Result<QueryOutput, StoreError> {
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
            .set_exclusive_start_key(start)
            .limit(i32::try_from(DUE_PAGE).unwrap_or(i32::MAX))
            .send()
            .await;
        sent.map_err(|failure| store_error(&failure))
    }
}

/// Returns the key of an index entry, which includes the key of the record in the table.
fn start_key(shard: u8, after: &DueLock) -> Attributes {
    let mut key = item::record_key(&after.lock);
    key.insert("shard".into(), item::shard_value(shard));
    key.insert("dueAt".into(), item::number(after.due.millis()));
    key
}

/// Returns the lock of an index entry. A damaged entry is logged and returns `None`, because it must not keep
/// the sweep from the other locks of its shard. Requests to its lock fail with the same error.
fn readable(key: &Attributes) -> Option<DueLock> {
    let lock = due_lock(key);
    if let Err(error) = &lock {
        let of = key.get("pk").and_then(|name| name.as_s().ok());
        tracing::error!(event = "record_skipped", lock = of, %error, "the sweep skips an index entry that it cannot read");
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
