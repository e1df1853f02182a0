//! A record and its runs in one transaction.

use super::error::{self, bad_request, store_error};
use super::expression::{self, Expression};
use super::item::{self, Attributes};
use super::{ALL_OLD, DynamoStore, guard, record_in, run_in, update_condition};
use crate::domain::{Change, LockKey, RunGuard, RunWrite, Update};
use crate::store::{Commit, Found, StoreError};
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{CancellationReason, Put, TransactWriteItem, Update as UpdateAction};

impl DynamoStore {
    /// The SDK gives every call its own `ClientRequestToken` and keeps it over its retries, so a
    /// retry after a lost response succeeds without a second write.
    pub(super) async fn transact(
        &self,
        lock: &LockKey,
        change: &Change,
    ) -> Result<Commit, StoreError> {
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
    let own = runs.unwrap_or_default().iter().zip(&change.runs).next();
    if let Some((reason, (_, write))) = own.filter(|(reason, _)| error::is_failed_guard(reason)) {
        found.run = run_in(lock, &write.id, reason.item())?;
    }
    Ok(Commit::Conflict(found))
}
