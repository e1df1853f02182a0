//! Writes a record and its runs in one transaction.
//!
//! The transaction frees the permit, and at the same time writes the end of the run to the history and to the
//! item of its run key. With two writes, a crash between them would either lose a success, so that the run
//! could be repeated, or record the end of a run that still holds its permit.
//!
//! A transaction returns no new values. So a change that has to be read back
//! ([`Change::read_back`](lockstep_core::domain::Change::read_back)) changes the record alone.
//!
//! ```text
//!  actions   record │ run … run │ act │ side item of a waiter
//!  reasons   ───────┴───────────┴─────┴────────  in the same order, with the item that failed its guard
//! ```

use super::error::{self, bad_request, store_error};
use super::expression::{self, Expression};
use super::item::{self, Attributes};
use super::{ALL_OLD, DynamoStore, guard, record_in, run_in, update_condition};
use aws_sdk_dynamodb::operation::transact_write_items::TransactWriteItemsError;
use aws_sdk_dynamodb::types::{
    CancellationReason, Delete, Put, TransactWriteItem, Update as UpdateAction,
};
use lockstep_core::domain::{Act, Change, LockKey, RunGuard, RunWrite, Update, WaiterDrop};
use lockstep_core::store::{Commit, Found, StoreError};

impl DynamoStore {
    /// Writes `change` with TransactWriteItems. The SDK gives every call its own `ClientRequestToken` and
    /// keeps it for its retries, so a retry after a lost response succeeds without a second write.
    pub(super) async fn transact(
        &self,
        lock: &LockKey,
        change: &Change,
    ) -> Result<Commit, StoreError> {
        let mut actions = Vec::new();
        actions.extend(self.record_action(lock, change)?);
        let first_run = actions.len();
        for (guard, write) in &change.runs {
            actions.push(self.run_action(lock, *guard, write)?);
        }
        if let Some(act) = &change.act {
            actions.push(self.act_action(lock, act)?);
        }
        if let Some(drop) = &change.waiter {
            actions.push(self.waiter_action(lock, drop)?);
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
                    None => {
                        let reasons = cancelled.cancellation_reasons();
                        // A change that does not update the record has no action for the record, and so no
                        // reason.
                        let (record, rest) = reasons.split_at(first_run.min(reasons.len()));
                        found_in(lock, change, record.first(), rest)
                    }
                }
            }
            Some(TransactWriteItemsError::TransactionInProgressException(_)) => Ok(Commit::Busy),
            _ => Err(store_error(&failure)),
        }
    }

    /// Returns the action on the record, or `None` for a change that does not update the record.
    fn record_action(
        &self,
        lock: &LockKey,
        change: &Change,
    ) -> Result<Option<TransactWriteItem>, StoreError> {
        let mut expression = Expression::default();
        let assigns = match &change.update {
            Update::Create(record) => {
                let condition = guard::condition(&change.guard, &mut expression);
                let item = item::record_item(lock, record);
                return self.put_action(item, condition, expression).map(Some);
            }
            Update::Keep => return Ok(None),
            Update::Assign(assigns) => assigns,
        };
        let condition = update_condition(&change.guard, &mut expression);
        let update = expression::update(lock, assigns, &mut expression);
        let key = item::record_key(lock);
        self.update_action(key, update, Some(condition), expression)
            .map(Some)
    }

    /// Returns the action on one run. It is an update and not a put, so that a task that was noted earlier is
    /// kept.
    fn run_action(
        &self,
        lock: &LockKey,
        guard: RunGuard,
        write: &RunWrite,
    ) -> Result<TransactWriteItem, StoreError> {
        let mut expression = Expression::default();
        let condition = guard::run_condition(guard, &mut expression);
        let update = expression::run_update(&write.run, &mut expression);
        let key = item::run_key(lock, &write.id);
        self.update_action(key, update, Some(condition), expression)
    }

    /// Returns the action on an act. It is an update and not a put, because heartbeat may not put items.
    ///
    /// It has no condition. The version in its key is guarded by the condition of the record, and a record
    /// that was restored from a backup repeats versions.
    fn act_action(&self, lock: &LockKey, act: &Act) -> Result<TransactWriteItem, StoreError> {
        let mut expression = Expression::default();
        let update = expression::act_update(act, &mut expression);
        let key = item::act_key(lock, act.version);
        self.update_action(key, update, None, expression)
    }

    /// Returns the deletion of a side item. A failure does not return the item: the next decision reads again
    /// what the waiter has registered since.
    fn waiter_action(
        &self,
        lock: &LockKey,
        drop: &WaiterDrop,
    ) -> Result<TransactWriteItem, StoreError> {
        let mut expression = Expression::default();
        let condition = guard::waiter_condition(drop, &mut expression);
        let (names, values) = expression.into_parts();
        let action = Delete::builder()
            .table_name(&self.table)
            .set_key(Some(item::waiter_key(lock, &drop.id)))
            .set_condition_expression(condition)
            .set_expression_attribute_names(names)
            .set_expression_attribute_values(values)
            .build()
            .map_err(|problem| bad_request(&problem))?;
        Ok(TransactWriteItem::builder().delete(action).build())
    }

    fn update_action(
        &self,
        key: Attributes,
        update: String,
        condition: Option<String>,
        expression: Expression,
    ) -> Result<TransactWriteItem, StoreError> {
        let (names, values) = expression.into_parts();
        let action = UpdateAction::builder()
            .table_name(&self.table)
            .set_key(Some(key))
            .update_expression(update)
            .set_condition_expression(condition)
            .set_expression_attribute_names(names)
            .set_expression_attribute_values(values)
            .return_values_on_condition_check_failure(ALL_OLD)
            .build()
            .map_err(|problem| bad_request(&problem))?;
        Ok(TransactWriteItem::builder().update(action).build())
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

/// Returns the conflict of a cancelled transaction, with the items that its failed guards return. The reasons
/// are in the order of the actions.
fn found_in(
    lock: &LockKey,
    change: &Change,
    record: Option<&CancellationReason>,
    rest: &[CancellationReason],
) -> Result<Commit, StoreError> {
    if record.into_iter().chain(rest).any(error::is_busy) {
        return Ok(Commit::Busy);
    }
    let mut found = Found::default();
    if let Some(reason) = record.filter(|reason| error::is_failed_guard(reason)) {
        found.record = Some(record_in(lock, reason.item())?);
    }
    for (reason, (_, write)) in rest.iter().zip(&change.runs) {
        if error::is_failed_guard(reason) {
            let run = run_in(lock, &write.id, reason.item())?;
            found.runs.insert(write.id.clone(), run);
        }
    }
    Ok(Commit::Conflict(found))
}
