//! The record of a lock in the table.

use super::{Result, Stack, told};
use crate::timeline::Millis;
use aws_sdk_dynamodb::types::AttributeValue;
use std::collections::HashMap;

/// The lease in the record of a lock.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Who holds it.
    pub holder: String,
    /// Its fencing token.
    pub token: u64,
    /// When it ends unless it is renewed.
    pub expires_at: Millis,
}

impl Stack {
    /// The lease in the record of `lock`, none while it is free, and how many wait for it.
    ///
    /// # Errors
    /// When the table cannot be read.
    pub async fn lock(&self, lock: &str) -> Result<(Option<Lease>, usize)> {
        let request = self
            .dynamodb
            .get_item()
            .table_name(self.output("LockTableName")?);
        let request = request.set_key(Some(key(lock))).consistent_read(true);
        let answer = request
            .send()
            .await
            .map_err(|error| told("GetItem", &error))?;
        let item = answer.item.unwrap_or_default();
        let map = |name: &str| item.get(name).and_then(|map| map.as_m().ok());
        let waiting = map("queue").map_or(0, HashMap::len);
        let lease = map("holders").and_then(|holders| {
            let (holder, lease) = holders.iter().next()?;
            let number = |name: &str| lease.as_m().ok()?.get(name)?.as_n().ok()?.parse().ok();
            Some(Lease {
                holder: holder.clone(),
                token: number("token")?,
                expires_at: number("expiresAt")?,
            })
        });
        Ok((lease, waiting))
    }

    /// Takes the permit of `holder` away, as an operator could by hand.
    ///
    /// # Errors
    /// When it holds none, or the table does not answer.
    pub async fn evict(&self, lock: &str, holder: &str) -> Result<()> {
        let request = self
            .dynamodb
            .update_item()
            .table_name(self.output("LockTableName")?);
        let request = request
            .set_key(Some(key(lock)))
            .update_expression("REMOVE holders.#holder ADD version :one")
            .condition_expression("attribute_exists(holders.#holder)")
            .expression_attribute_names("#holder", holder)
            .expression_attribute_values(":one", AttributeValue::N("1".into()));
        let sent = request.send().await;
        sent.map(|_| ()).map_err(|error| told("UpdateItem", &error))
    }
}

fn key(lock: &str) -> HashMap<String, AttributeValue> {
    let text = |text: &str| AttributeValue::S(text.into());
    HashMap::from([("pk".into(), text(lock)), ("sk".into(), text("lock"))])
}
