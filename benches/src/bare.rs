//! The pair that a user would write by hand: two conditional UpdateItem.
//!
//! Its two extras are what Lockstep's table keeps besides. They show how much of a difference the table makes.

use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::types::{AttributeValue, Put, TransactWriteItem, Update};
use lockstep::clock::{Clock, SystemClock};

const FREE: &str = "attribute_not_exists(#owner) OR expiresAt < :now OR #owner = :me";
const TAKE: &str = "SET #owner = :me, expiresAt = :end ADD fence :one";
const TAKE_INDEXED: &str =
    "SET #owner = :me, expiresAt = :end, #shard = :me, dueAt = :end ADD fence :one";
const OWNED: &str = "#owner = :me";
const FREE_AGAIN: &str = "REMOVE #owner, expiresAt";
const FREE_AGAIN_INDEXED: &str = "REMOVE #owner, expiresAt, #shard, dueAt";
const LEASE_MILLIS: u64 = 60_000;

/// What a pair keeps besides the owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extras {
    /// Nothing.
    None,
    /// An item for each run, which the release writes in one transaction.
    History,
    /// The same, and an entry in an index while the lock is held.
    HistoryAndIndex,
}

/// One item for each lock: owner, expiry and a fencing token.
#[derive(Debug)]
pub struct Bare {
    client: Client,
    table: String,
    extras: Extras,
}

impl Bare {
    /// Pairs on `table`.
    #[must_use]
    pub fn new(client: Client, table: &str, extras: Extras) -> Self {
        Self {
            client,
            table: table.into(),
            extras,
        }
    }

    /// Acquires the lock, unless it is held.
    ///
    /// # Panics
    /// When DynamoDB fails for another reason than the condition.
    pub async fn acquire(&self, lock: &str, owner: &str) -> bool {
        let answer = self.try_acquire(lock, owner).await;
        answer.unwrap_or_else(|error| panic!("UpdateItem: {error}"))
    }

    /// As [`Self::acquire`], where DynamoDB may fail.
    ///
    /// # Errors
    /// The name of the error.
    pub async fn try_acquire(&self, lock: &str, owner: &str) -> Result<bool, String> {
        let now = SystemClock.now().millis();
        let (update, shard) = match self.extras {
            Extras::HistoryAndIndex => (TAKE_INDEXED, Some("#shard")),
            _ => (TAKE, None),
        };
        let names = shard.map(|name| (name.to_owned(), "shard".to_owned()));
        let owner_name = ("#owner".to_owned(), "owner".to_owned());
        let sent = self
            .client
            .update_item()
            .table_name(&self.table)
            .key("pk", text(lock))
            .key("sk", text("bare"))
            .condition_expression(FREE)
            .update_expression(update)
            .set_expression_attribute_names(Some(names.into_iter().chain([owner_name]).collect()))
            .expression_attribute_values(":me", text(owner))
            .expression_attribute_values(":now", number(now))
            .expression_attribute_values(":end", number(now + LEASE_MILLIS))
            .expression_attribute_values(":one", number(1))
            .send()
            .await;
        let Err(failure) = sent else { return Ok(true) };
        let service = failure.as_service_error();
        match service.is_some_and(|error| error.is_conditional_check_failed_exception()) {
            true => Ok(false),
            false => Err(name(&failure)),
        }
    }

    /// Releases the lock.
    ///
    /// # Panics
    /// When DynamoDB fails.
    pub async fn release(&self, lock: &str, owner: &str) {
        if self.extras != Extras::None {
            return self.release_with_history(lock, owner).await;
        }
        let sent = self.try_release(lock, owner).await;
        sent.expect("UpdateItem");
    }

    /// Releases the lock without a history, where DynamoDB may fail.
    ///
    /// # Errors
    /// The name of the error.
    pub async fn try_release(&self, lock: &str, owner: &str) -> Result<(), String> {
        let sent = self
            .client
            .update_item()
            .table_name(&self.table)
            .key("pk", text(lock))
            .key("sk", text("bare"))
            .condition_expression(OWNED)
            .update_expression(FREE_AGAIN)
            .expression_attribute_names("#owner", "owner")
            .expression_attribute_values(":me", text(owner))
            .send()
            .await;
        sent.map(drop).map_err(|failure| name(&failure))
    }

    async fn release_with_history(&self, lock: &str, owner: &str) {
        let now = SystemClock.now().millis();
        let update = Update::builder()
            .table_name(&self.table)
            .key("pk", text(lock))
            .key("sk", text("bare"))
            .condition_expression(OWNED)
            .expression_attribute_names("#owner", "owner")
            .expression_attribute_values(":me", text(owner));
        let update = match self.extras {
            Extras::HistoryAndIndex => update
                .update_expression(FREE_AGAIN_INDEXED)
                .expression_attribute_names("#shard", "shard"),
            _ => update.update_expression(FREE_AGAIN),
        };
        let put = Put::builder()
            .table_name(&self.table)
            .item("pk", text(lock))
            .item("sk", text(&format!("bare-run#{now}")))
            .item("owner", text(owner))
            .item("endedAt", number(now));
        let update = update.build().expect("all is set");
        let put = put.build().expect("all is set");
        let sent = self
            .client
            .transact_write_items()
            .transact_items(TransactWriteItem::builder().update(update).build())
            .transact_items(TransactWriteItem::builder().put(put).build())
            .send()
            .await;
        sent.expect("TransactWriteItems");
    }

    /// Acquires a free lock and releases it.
    ///
    /// # Panics
    /// When the lock is held.
    pub async fn pair(&self, lock: &str) {
        assert!(self.acquire(lock, "owner-1").await, "{lock} is held");
        self.release(lock, "owner-1").await;
    }
}

/// The name of an error as DynamoDB sends it, or what failed before it could.
fn name<E: ProvideErrorMetadata, R>(failure: &SdkError<E, R>) -> String {
    let code = failure.code().map(str::to_owned);
    code.unwrap_or_else(|| failure.to_string())
}

fn text(text: &str) -> AttributeValue {
    AttributeValue::S(text.into())
}

fn number(number: u64) -> AttributeValue {
    AttributeValue::N(number.to_string())
}
