//! Locks in a DynamoDB table: one conditional write per change, no read before it.
//!
//! ```text
//!  pk = <lock>   sk = lock                the record
//!                sk = run#key/<run key>   the run of a run key
//!                sk = run#token/<token>   the run of a grant without one
//! ```
//!
//! May depend on: domain, store, the AWS SDK. No AWS type leaves this folder.

mod error;
mod expression;
mod guard;
mod item;
mod reader;

use super::{Commit, Found, LockStore, StoreError};
use crate::domain::{
    Assign, Change, Guard, LockKey, LockRecord, Run, RunGuard, RunId, RunWrite, Update,
};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::operation::put_item::PutItemError;
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::operation::update_item::UpdateItemError;
use aws_sdk_dynamodb::types::{
    CancellationReason, Put, ReturnValue, ReturnValuesOnConditionCheckFailure, TransactWriteItem,
    Update as UpdateAction,
};
use error::{bad_request, store_error};
use expression::Expression;
use item::Attributes;

const ALL_OLD: ReturnValuesOnConditionCheckFailure = ReturnValuesOnConditionCheckFailure::AllOld;

/// A table of locks in DynamoDB.
#[derive(Clone, Debug)]
pub struct DynamoStore {
    client: Client,
    table: String,
}

impl DynamoStore {
    /// The locks of `table`.
    #[must_use]
    pub fn new(client: Client, table: String) -> Self {
        Self { client, table }
    }

    /// The locks of `table`, as `sdk` reaches it.
    #[must_use]
    pub fn from_sdk(sdk: &aws_config::SdkConfig, table: String) -> Self {
        Self::new(Client::new(sdk), table)
    }

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
            // A put returns no new values, and needs none: the record is the one that was sent.
            Ok(_) => Ok(Commit::Committed(change.read_back.then(|| record.clone()))),
            Err(failure) => match failure.as_service_error() {
                Some(PutItemError::ConditionalCheckFailedException(failed)) => {
                    conflict(lock, failed.item())
                }
                Some(PutItemError::TransactionConflictException(_)) => Ok(Commit::Busy),
                _ => Err(store_error(&failure)),
            },
        }
    }

    async fn update(
        &self,
        lock: &LockKey,
        change: &Change,
        assigns: &[Assign],
    ) -> Result<Commit, StoreError> {
        let mut expression = Expression::default();
        let condition = update_condition(&change.guard, &mut expression);
        let update = expression::update(assigns, &mut expression);
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

    /// The SDK gives every call its own `ClientRequestToken` and keeps it over its retries, so a
    /// retry after a lost response succeeds without a second write.
    async fn transact(&self, lock: &LockKey, change: &Change) -> Result<Commit, StoreError> {
        let mut actions = vec![self.record_action(lock, change)?];
        for (guard, write) in &change.runs {
            actions.push(self.run_action(lock, *guard, write)?);
        }
        let sent = self
            .client
            .transact_write_items()
            .set_transact_items(Some(actions))
            .send()
            .await;
        let Err(failure) = sent else {
            return Ok(Commit::Committed(None));
        };
        match failure.as_service_error() {
            Some(TransactWriteItemsError::TransactionCanceledException(cancelled)) => {
                match error::cancellation(cancelled.cancellation_reasons()) {
                    Some(error) => Err(error),
                    None => found_in(lock, change, cancelled.cancellation_reasons()),
                }
            }
            Some(TransactWriteItemsError::TransactionInProgressException(_)) => Ok(Commit::Busy),
            _ => Err(store_error(&failure)),
        }
    }

    fn record_action(
        &self,
        lock: &LockKey,
        change: &Change,
    ) -> Result<TransactWriteItem, StoreError> {
        let mut expression = Expression::default();
        let assigns = match &change.update {
            Update::Create(record) => {
                let condition = guard::condition(&change.guard, &mut expression);
                return self.put_action(item::record_item(lock, record), condition, expression);
            }
            Update::Assign(assigns) => assigns,
        };
        let condition = update_condition(&change.guard, &mut expression);
        let update = expression::update(assigns, &mut expression);
        let (names, values) = expression.into_parts();
        let action = UpdateAction::builder()
            .table_name(&self.table)
            .set_key(Some(item::record_key(lock)))
            .update_expression(update)
            .condition_expression(condition)
            .set_expression_attribute_names(names)
            .set_expression_attribute_values(values)
            .return_values_on_condition_check_failure(ALL_OLD)
            .build()
            .map_err(|problem| bad_request(&problem))?;
        Ok(TransactWriteItem::builder().update(action).build())
    }

    fn run_action(
        &self,
        lock: &LockKey,
        guard: RunGuard,
        write: &RunWrite,
    ) -> Result<TransactWriteItem, StoreError> {
        let mut expression = Expression::default();
        let condition = guard::run_condition(guard, &mut expression);
        self.put_action(item::run_item(lock, write), condition, expression)
    }

    fn put_action(
        &self,
        item: Attributes,
        condition: String,
        expression: Expression,
    ) -> Result<TransactWriteItem, StoreError> {
        let (names, values) = expression.into_parts();
        let action = Put::builder()
            .table_name(&self.table)
            .set_item(Some(item))
            .condition_expression(condition)
            .set_expression_attribute_names(names)
            .set_expression_attribute_values(values)
            .return_values_on_condition_check_failure(ALL_OLD)
            .build()
            .map_err(|problem| bad_request(&problem))?;
        Ok(TransactWriteItem::builder().put(action).build())
    }

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
        if !change.runs.is_empty() {
            return self.transact(lock, change).await;
        }
        match &change.update {
            Update::Create(record) => self.create(lock, change, record).await,
            Update::Assign(assigns) => self.update(lock, change, assigns).await,
        }
    }

    async fn load(&self, lock: &LockKey) -> Result<Option<LockRecord>, StoreError> {
        let got = self.get(item::record_key(lock)).await?;
        record_in(lock, got.as_ref())
    }

    async fn load_run(&self, lock: &LockKey, run: &RunId) -> Result<Option<Run>, StoreError> {
        let got = self.get(item::run_key(lock, run)).await?;
        run_in(lock, run, got.as_ref())
    }
}

/// An update without a condition would create the item: assignments always ask for one.
fn update_condition(guard: &Guard, expression: &mut Expression) -> String {
    let there = guard::exists(expression);
    if guard.0.is_empty() {
        return there;
    }
    format!("{there} AND {}", guard::condition(guard, expression))
}

fn conflict(lock: &LockKey, found: Option<&Attributes>) -> Result<Commit, StoreError> {
    Ok(Commit::Conflict(Found {
        record: Some(record_in(lock, found)?),
        run: None,
    }))
}

/// What the guards of a cancelled transaction found. Reasons stand in the order of the actions.
fn found_in(
    lock: &LockKey,
    change: &Change,
    reasons: &[CancellationReason],
) -> Result<Commit, StoreError> {
    if reasons.iter().any(error::is_busy) {
        return Ok(Commit::Busy);
    }
    let (record, runs) = reasons.split_first().unzip();
    let mut found = Found::default();
    if let Some(reason) = record.filter(|reason| error::is_failed_guard(reason)) {
        found.record = Some(record_in(lock, reason.item())?);
    }
    for (reason, (_, write)) in runs.unwrap_or_default().iter().zip(&change.runs) {
        if found.run.is_none() && error::is_failed_guard(reason) {
            found.run = run_in(lock, &write.id, reason.item())?;
        }
    }
    Ok(Commit::Conflict(found))
}

fn record_in(lock: &LockKey, item: Option<&Attributes>) -> Result<Option<LockRecord>, StoreError> {
    item.filter(|item| !item.is_empty())
        .map(|item| item::record(lock, item))
        .transpose()
}

fn run_in(
    lock: &LockKey,
    id: &RunId,
    item: Option<&Attributes>,
) -> Result<Option<Run>, StoreError> {
    item.filter(|item| !item.is_empty())
        .map(|item| item::run(lock, id, item))
        .transpose()
}
