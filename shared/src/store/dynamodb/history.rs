//! Reads the history of a lock, page by page.
//!
//! The sort key of a run's entry ends with the fencing token. A token is the time of its grant in
//! milliseconds, which has thirteen digits until the year 2286. So DynamoDB sorts the entries by the time of
//! their grants, and a page continues after a token.

use super::error::store_error;
use super::expression::Expression;
use super::item::{self, Attributes};
use super::reader::Reader;
use super::{DynamoStore, decode};
use lockstep_core::domain::{Act, FencingToken, LockKey, Run, RunId};
use lockstep_core::store::{HistoryPage, StoreError};

impl DynamoStore {
    /// Returns one page of the history, the newest run first, with one Query.
    pub(super) async fn history_page(
        &self,
        lock: &LockKey,
        after: Option<FencingToken>,
        most: usize,
    ) -> Result<HistoryPage, StoreError> {
        let mut expression = Expression::default();
        let (of, which) = (expression.path(&["pk"]), expression.path(&["sk"]));
        let name = expression.text(lock.as_str());
        let of_tokens = expression.text(item::RUN_OF_TOKEN);
        let (names, values) = expression.into_parts();
        let start = after.map(|after| item::run_key(lock, &RunId::Token(after)));
        let sent = self
            .client
            .query()
            .table_name(&self.table)
            .key_condition_expression(format!(
                "{of} = {name} AND begins_with({which}, {of_tokens})"
            ))
            .set_expression_attribute_names(names)
            .set_expression_attribute_values(values)
            .set_exclusive_start_key(start)
            .scan_index_forward(false)
            .consistent_read(true)
            .limit(i32::try_from(most.max(1)).unwrap_or(i32::MAX))
            .send()
            .await;
        let page = sent.map_err(|failure| store_error(&failure))?;
        let runs = page.items().iter().filter_map(|item| readable(lock, item));
        let runs: Vec<_> = runs.collect();
        let last = page.last_evaluated_key().filter(|key| !key.is_empty());
        Ok(HistoryPage {
            unreadable: page.items().len() - runs.len(),
            runs,
            // A key shows where the page ended, and not that more entries follow: `Query.Pagination` in the
            // developer guide of DynamoDB.
            next: last.map(|key| token(lock, key)).transpose()?,
        })
    }

    /// Returns all acts, the oldest first. The version in their sort keys has no fixed length, so DynamoDB
    /// sorts them in another order.
    pub(super) async fn all_acts(&self, lock: &LockKey) -> Result<Vec<Act>, StoreError> {
        let mut acts: Vec<Act> = Vec::new();
        let mut start = None;
        loop {
            let mut expression = Expression::default();
            let (of, which) = (expression.path(&["pk"]), expression.path(&["sk"]));
            let (name, of_acts) = (expression.text(lock.as_str()), expression.text(item::ACT));
            let (names, values) = expression.into_parts();
            let sent = self
                .client
                .query()
                .table_name(&self.table)
                .key_condition_expression(format!(
                    "{of} = {name} AND begins_with({which}, {of_acts})"
                ))
                .set_expression_attribute_names(names)
                .set_expression_attribute_values(values)
                .set_exclusive_start_key(start)
                .consistent_read(true)
                .send()
                .await;
            let page = sent.map_err(|failure| store_error(&failure))?;
            let read = page.items().iter();
            acts.extend(read.filter_map(|item| readable_act(lock, item)));
            start = page.last_evaluated_key.filter(|key| !key.is_empty());
            if start.is_none() {
                acts.sort_by_key(|act| act.version);
                return Ok(acts);
            }
        }
    }
}

/// Returns the run of an entry, or `None` for a damaged entry, which must not hide the others.
fn readable(lock: &LockKey, item: &Attributes) -> Option<Run> {
    let run = token(lock, item).and_then(|token| decode::run(lock, &RunId::Token(token), item));
    log_damaged(lock, run)
}

/// Returns the act of an entry, or `None` for a damaged entry.
fn readable_act(lock: &LockKey, item: &Attributes) -> Option<Act> {
    let name = format!("{lock}/{}", item::ACT);
    let reader = Reader::new(&name, item);
    let version = reader.text("sk").and_then(|sort| {
        let number = sort.strip_prefix(item::ACT);
        let number = number.and_then(|number| number.parse().ok());
        number.ok_or_else(|| reader.corrupt("sk", "does not end with a version"))
    });
    let act = version.and_then(|version| decode::act(lock, version, item));
    log_damaged(lock, act)
}

/// Returns the entry. A damaged entry is logged and returns `None`.
fn log_damaged<T>(lock: &LockKey, entry: Result<T, StoreError>) -> Option<T> {
    if let Err(error) = &entry {
        tracing::error!(event = "history_entry_skipped", %lock, %error, "the history skips an entry that it cannot read");
    }
    entry.ok()
}

/// Returns the fencing token in the sort key of an entry.
fn token(lock: &LockKey, key: &Attributes) -> Result<FencingToken, StoreError> {
    let name = format!("{lock}/{}", item::RUN_OF_TOKEN);
    let reader = Reader::new(&name, key);
    let number = reader.text("sk")?.strip_prefix(item::RUN_OF_TOKEN);
    let number = number.and_then(|number| number.parse().ok());
    number
        .map(FencingToken::from_number)
        .ok_or_else(|| reader.corrupt("sk", "does not end with a fencing token"))
}
