//! Locks in a DynamoDB table: one conditional write per change, no read before it.
//!
//! ```text
//!  pk = <lock>   sk = lock                the record
//!                sk = run#token/<token>   the run of a grant, in the history
//!                sk = run#act/<version>   an operator's act, in the history
//!                sk = run#key/<run key>   the marker of a run key
//!                sk = waiter#<short name> the side item of a waiter
//!  pk = #token-key sk = key               the key that the functions seal task tokens with
//!  pk = #new-locks sk = gate              what closes locks that have no record yet
//!  index `due`:  shard, dueAt             records with holders or waiters, for the sweep
//!  index `locks`: lockShard, pk           all records, for operators
//! ```
//!
//! May depend on: domain, store, the AWS SDK. No AWS type leaves this folder.
//!
//! Every write is conditional, so a write that is sent twice is harmless: the second one fails its condition,
//! and the conflict shows what the first one has written. A failed condition returns the item
//! (`ReturnValuesOnConditionCheckFailure`), so no read before the write is needed. Reads of the table are
//! consistent. Reads of an index are not, so what an index shows is checked against the record.

mod decode;
mod error;
mod expression;
#[cfg(test)]
mod golden;
mod guard;
mod history;
mod index;
mod item;
mod locks;
mod new_locks;
mod reader;
mod token_key;
mod transaction;

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::{Builder, Intercept};
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::{ReturnValue, ReturnValuesOnConditionCheckFailure};
use error::store_error;
use expression::Expression;
use item::Attributes;
use lockstep_core::domain::{
    Act, Assign, Change, FencingToken, Guard, LockKey, LockRecord, Mode, Run, RunId, Timestamp,
    Update, Waiter, WaiterId,
};
use lockstep_core::store::{
    Commit, DueLock, DuePage, Found, HistoryPage, LockIndex, LockStore, LocksPage, StoreError,
};

/// With this setting a failed condition returns the item that it failed on, also in a transaction
/// (<https://docs.aws.amazon.com/amazondynamodb/latest/APIReference/API_TransactWriteItems.html>).
const ALL_OLD: ReturnValuesOnConditionCheckFailure = ReturnValuesOnConditionCheckFailure::AllOld;

/// A table of locks in DynamoDB.
#[derive(Clone, Debug)]
pub struct DynamoStore {
    client: Client,
    table: String,
}

impl DynamoStore {
    /// Creates the store of the locks in `table`.
    #[must_use]
    pub fn new(client: Client, table: String) -> Self {
        Self { client, table }
    }

    /// Creates the store of the locks in `table`, with a client that has the settings of `sdk`.
    #[must_use]
    pub fn from_sdk(sdk: &aws_config::SdkConfig, table: String) -> Self {
        Self::new(Client::new(sdk), table)
    }

    /// Creates the store as [`Self::from_sdk`] does, with `watcher` as an interceptor of each request and
    /// response.
    #[must_use]
    pub fn watched(
        sdk: &aws_config::SdkConfig,
        table: String,
        watcher: impl Intercept + 'static,
    ) -> Self {
        let settings = Builder::from(sdk).interceptor(watcher).build();
        Self::new(Client::from_conf(settings), table)
    }

    /// Writes the first record of a lock. PutItem replaces a whole item, so the guard has to require that
    /// none exists: an item that this version cannot read must not be overwritten.
    async fn create(
        &self,
        lock: &LockKey,
        change: &Change,
        record: &LockRecord,
    ) -> Result<Commit, StoreError> {
        let mut expression = Expression::default();
        let condition = guard::condition(&change.guard, &mut expression);
        let (names, values) = expression.into_parts();
        let sent = self
            .client
            .put_item()
            .table_name(&self.table)
            .set_item(Some(item::record_item(lock, record)))
            .condition_expression(condition)
            .set_expression_attribute_names(names)
            .set_expression_attribute_values(values)
            .return_values_on_condition_check_failure(ALL_OLD)
            .send()
            .await;
        match sent {
            // PutItem returns no new values. The new record is the one that was sent.
            Ok(_) => Ok(Commit::Committed(change.read_back.then(|| record.clone()))),
            Err(failure) => match failure.as_service_error() {
                Some(PutItemError::ConditionalCheckFailedException(failed)) => {
                    conflict(lock, failed.item())
                }
                // A transaction is writing the item at the same time. Nothing was written or compared.
                Some(PutItemError::TransactionConflictException(_)) => Ok(Commit::Busy),
                _ => Err(store_error(&failure)),
            },
        }
    }

    /// Writes assignments to the record. Attributes that this version does not know are not changed.
    async fn update(
        &self,
        lock: &LockKey,
        change: &Change,
        assigns: &[Assign],
    ) -> Result<Commit, StoreError> {
        let mut expression = Expression::default();
        let condition = update_condition(&change.guard, &mut expression);
        let update = expression::update(lock, assigns, &mut expression);
        let (names, values) = expression.into_parts();
        let wanted = if change.read_back {
            ReturnValue::AllNew
        } else {
            ReturnValue::None
        };
        let sent = self
            .client
            .update_item()
            .table_name(&self.table)
            .set_key(Some(item::record_key(lock)))
            .update_expression(update)
            .condition_expression(condition)
            .set_expression_attribute_names(names)
            .set_expression_attribute_values(values)
            .return_values(wanted)
            .return_values_on_condition_check_failure(ALL_OLD)
            .send()
            .await;
        match sent {
            Ok(done) if change.read_back => {
                let after = record_in(lock, done.attributes())?;
                Ok(Commit::Committed(after))
            }
            Ok(_) => Ok(Commit::Committed(None)),
            Err(failure) => match failure.as_service_error() {
                Some(UpdateItemError::ConditionalCheckFailedException(failed)) => {
                    conflict(lock, failed.item())
                }
                Some(UpdateItemError::TransactionConflictException(_)) => Ok(Commit::Busy),
                _ => Err(store_error(&failure)),
            },
        }
    }

    /// Reads one item with a consistent read, because a decision must not be based on a lease or a waiter
    /// that no longer exists.
    async fn get(&self, key: Attributes) -> Result<Option<Attributes>, StoreError> {
        let sent = self
            .client
            .get_item()
            .table_name(&self.table)
            .set_key(Some(key))
            .consistent_read(true)
            .send()
            .await;
        sent.map(|got| got.item)
            .map_err(|failure| store_error(&failure))
    }
}

impl LockStore for DynamoStore {
    async fn commit(&self, lock: &LockKey, change: &Change) -> Result<Commit, StoreError> {
        // A change of one item needs no transaction: UpdateItem costs half as much, and can return the new
        // item.
        if !change.runs.is_empty() || change.act.is_some() || change.waiter.is_some() {
            return self.transact(lock, change).await;
        }
        match &change.update {
            Update::Create(record) => self.create(lock, change, record).await,
            Update::Assign(assigns) => self.update(lock, change, assigns).await,
            // Neither a record nor a run nor a side item: nothing to write.
            Update::Keep => Ok(Commit::Committed(None)),
        }
    }

    async fn load(&self, lock: &LockKey) -> Result<Option<LockRecord>, StoreError> {
        let got = self.get(item::record_key(lock)).await?;
        record_in(lock, got.as_ref())
    }

    async fn new_locks(&self) -> Result<Option<Mode>, StoreError> {
        self.mode_of_new_locks().await
    }

    async fn load_run(&self, lock: &LockKey, run: &RunId) -> Result<Option<Run>, StoreError> {
        let got = self.get(item::run_key(lock, run)).await?;
        run_in(lock, run, got.as_ref())
    }

    async fn history(
        &self,
        lock: &LockKey,
        after: Option<FencingToken>,
        most: usize,
    ) -> Result<HistoryPage, StoreError> {
        self.history_page(lock, after, most).await
    }

    async fn register(&self, lock: &LockKey, waiter: &Waiter) -> Result<(), StoreError> {
        let mut expression = Expression::default();
        let condition = guard::not_newer(waiter.since, &mut expression);
        let update = expression::registration(waiter, &mut expression);
        let (names, values) = expression.into_parts();
        let sent = self
            .client
            .update_item()
            .table_name(&self.table)
            .set_key(Some(item::waiter_key(lock, &waiter.id())))
            .update_expression(update)
            .condition_expression(condition)
            .set_expression_attribute_names(names)
            .set_expression_attribute_values(values)
            .return_values_on_condition_check_failure(ALL_OLD)
            .send()
            .await;
        let Err(failure) = sent else { return Ok(()) };
        match failure.as_service_error() {
            // The waiter has a newer registration, because this one arrived late. The newer one counts, and
            // this call has nothing to write. An item that is damaged or has a newer schema is an error.
            Some(UpdateItemError::ConditionalCheckFailedException(newer)) => {
                waiter_in(lock, &waiter.id(), newer.item()).map(drop)
            }
            _ => Err(store_error(&failure)),
        }
    }

    async fn load_waiter(
        &self,
        lock: &LockKey,
        id: &WaiterId,
    ) -> Result<Option<Waiter>, StoreError> {
        let got = self.get(item::waiter_key(lock, id)).await?;
        waiter_in(lock, id, got.as_ref())
    }

    async fn due(
        &self,
        shard: u8,
        until: Timestamp,
        after: Option<&DueLock>,
    ) -> Result<DuePage, StoreError> {
        self.due_page(shard, until, after).await
    }
}

impl LockIndex for DynamoStore {
    async fn locks(
        &self,
        prefix: &str,
        after: Option<&LockKey>,
        most: usize,
    ) -> Result<LocksPage, StoreError> {
        self.locks_page(prefix, after, most).await
    }

    async fn close_new_locks(&self, mode: Option<&Mode>) -> Result<Option<Mode>, StoreError> {
        self.set_mode_of_new_locks(mode).await
    }

    async fn acts(&self, lock: &LockKey) -> Result<Vec<Act>, StoreError> {
        self.all_acts(lock).await
    }
}

/// Returns the condition of an update. It always requires that the item exists, because UpdateItem would
/// create a missing item.
fn update_condition(guard: &Guard, expression: &mut Expression) -> String {
    let there = guard::exists(expression);
    if guard.0.is_empty() {
        return there;
    }
    format!("{there} AND {}", guard::condition(guard, expression))
}

/// Returns the conflict with the record that the guard failed on. If `found` is `None`, the lock has no
/// record.
///
/// # Errors
/// [`StoreError::Corrupt`] for an item that cannot be read, which is then the reason why the guard failed.
fn conflict(lock: &LockKey, found: Option<&Attributes>) -> Result<Commit, StoreError> {
    Ok(Commit::Conflict(Found {
        record: Some(record_in(lock, found)?),
        ..Found::default()
    }))
}

/// Reads a record. For an item that does not exist, DynamoDB returns no attributes or an empty map.
fn record_in(lock: &LockKey, item: Option<&Attributes>) -> Result<Option<LockRecord>, StoreError> {
    item.filter(|item| !item.is_empty())
        .map(|item| decode::record(lock, item))
        .transpose()
}

fn run_in(
    lock: &LockKey,
    id: &RunId,
    item: Option<&Attributes>,
) -> Result<Option<Run>, StoreError> {
    item.filter(|item| !item.is_empty())
        .map(|item| decode::run(lock, id, item))
        .transpose()
}

fn waiter_in(
    lock: &LockKey,
    id: &WaiterId,
    item: Option<&Attributes>,
) -> Result<Option<Waiter>, StoreError> {
    item.filter(|item| !item.is_empty())
        .map(|item| decode::waiter(lock, id, item))
        .transpose()
}
