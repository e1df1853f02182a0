//! The index of all locks.
//!
//! The index has every record, also of an idle lock, under the same shard as in the sweep's index. A page of
//! locks costs one request to each shard.

use super::DynamoStore;
use super::error::store_error;
use super::expression::Expression;
use super::item::{self, Attributes, LOCK_SHARD, LOCKS_INDEX};
use super::reader::Reader;
use futures_util::stream::{self, StreamExt, TryStreamExt};
use lockstep_core::domain::LockKey;
use lockstep_core::store::{LOCKS_PAGE, LocksPage, SHARDS, StoreError};

/// Number of shards that are read at once. Each needs its own connection, and to a cold function the
/// handshakes of more connections cost more than the wait for a second round.
const AT_ONCE: usize = 4;

/// The locks of one shard, and whether there are more.
type ShardPage = (Vec<LockKey>, bool);

impl DynamoStore {
    /// Returns one page: sends a request to each shard, and merges the answers by name. A shard that has more
    /// locks than it returned has returned as many as the page takes, so no lock of the page is missing.
    pub(super) async fn locks_page(
        &self,
        prefix: &str,
        after: Option<&LockKey>,
        most: usize,
    ) -> Result<LocksPage, StoreError> {
        let most = most.clamp(1, LOCKS_PAGE);
        let shards = (0..SHARDS).map(|shard| self.locks_of_shard(shard, prefix, after, most));
        let shards = stream::iter(shards).buffered(AT_ONCE);
        let shards: Vec<ShardPage> = shards.try_collect().await?;
        let mut more = shards.iter().any(|(_, more)| *more);
        let mut locks: Vec<_> = shards.into_iter().flat_map(|(locks, _)| locks).collect();
        locks.sort();
        more |= locks.len() > most;
        locks.truncate(most);
        Ok(LocksPage { locks, more })
    }

    /// Reads the locks of one shard. Reads of an index are eventually consistent
    /// (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.html>).
    async fn locks_of_shard(
        &self,
        shard: u8,
        prefix: &str,
        after: Option<&LockKey>,
        most: usize,
    ) -> Result<ShardPage, StoreError> {
        let (low, high) = bounds(prefix, after);
        let mut expression = Expression::default();
        let (path, of) = (
            expression.path(&[LOCK_SHARD]),
            expression.value(item::shard_value(shard)),
        );
        let name = expression.path(&["pk"]);
        let (low, high) = (expression.text(&low), expression.text(&high));
        let (names, values) = expression.into_parts();
        let sent = self
            .client
            .query()
            .table_name(&self.table)
            .index_name(LOCKS_INDEX)
            .key_condition_expression(format!("{path} = {of} AND {name} BETWEEN {low} AND {high}"))
            .set_expression_attribute_names(names)
            .set_expression_attribute_values(values)
            .limit(i32::try_from(most).unwrap_or(i32::MAX))
            .send()
            .await;
        let page = sent.map_err(|failure| store_error(&failure))?;
        let locks = page.items().iter().map(lock_in).collect::<Result<_, _>>()?;
        let more = page.last_evaluated_key().is_some_and(|key| !key.is_empty());
        Ok((locks, more))
    }
}

/// Returns bounds that hold exactly the names that begin with `prefix` and come after `after`. All characters
/// of a name are above the space and below the tilde.
fn bounds(prefix: &str, after: Option<&LockKey>) -> (String, String) {
    let from = match prefix {
        "" => " ".to_owned(),
        prefix => prefix.to_owned(),
    };
    let low = after.map_or(from.clone(), |after| from.max(format!("{after} ")));
    let high = format!("{prefix}~");
    // DynamoDB refuses a range whose ends are in the wrong order.
    (low.min(high.clone()), high)
}

/// Returns the lock of an entry. A name that breaks the rule for names was not written by Lockstep.
fn lock_in(key: &Attributes) -> Result<LockKey, StoreError> {
    let reader = Reader::new(LOCKS_INDEX, key);
    let lock = LockKey::new(reader.text("pk")?);
    lock.map_err(|invalid| reader.corrupt("pk", format!("must be {}", invalid.rule)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bounds_hold_exactly_the_names_with_the_prefix_after_the_last() {
        let names = [
            "-", "a", "a-", "a.b", "a/", "a/b", "a/b:c", "a/z", "aa", "b", "z",
        ];
        for prefix in ["", "a", "a/", "a/b", "zz"] {
            for after in [None, Some("a"), Some("a/b"), Some("b"), Some("z")] {
                let after = after.map(|name| LockKey::new(name).unwrap());
                let (low, high) = bounds(prefix, after.as_ref());
                let found = names.map(|name| low.as_str() <= name && name <= high.as_str());

                let last = after.as_ref().map(LockKey::as_str);
                let expected = names.map(|name| name.starts_with(prefix) && Some(name) > last);
                assert_eq!(found, expected, "{prefix:?} behind {last:?}");
                assert!(low <= high && !low.is_empty());
            }
        }
    }
}
