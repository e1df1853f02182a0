//! The key that task tokens are sealed with.

use super::DynamoStore;
use super::error::store_error;
use super::item::{Attributes, text};
use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue};
use lockstep_core::store::StoreError;

/// The partition key of the item with the key. No lock can have this name, and the policies of containers
/// deny it.
pub(super) const PARTITION: &str = "#token-key";

/// The attribute that contains the key.
const KEY: &str = "tokenKey";

impl DynamoStore {
    /// Returns the key of this table. If the table has none, `fresh` becomes its key.
    ///
    /// # Errors
    /// [`StoreError`] if the table does not answer, or has a key of another length.
    pub async fn token_key<const N: usize>(&self, fresh: [u8; N]) -> Result<[u8; N], StoreError> {
        let there = self.get(item_key()).await?;
        let there = match there {
            Some(item) => item,
            None => self.keep(&fresh).await?,
        };
        key_in(&there)
    }

    /// Stores `fresh` unless the table has a key. If two functions do so at the same time, both get the key
    /// that was written first.
    async fn keep(&self, fresh: &[u8]) -> Result<Attributes, StoreError> {
        let fresh = AttributeValue::B(Blob::new(fresh));
        let sent = self
            .client
            .update_item()
            .table_name(&self.table)
            .set_key(Some(item_key()))
            .update_expression("SET #key = if_not_exists(#key, :fresh)")
            .expression_attribute_names("#key", KEY)
            .expression_attribute_values(":fresh", fresh)
            .return_values(ReturnValue::AllNew)
            .send()
            .await;
        let done = sent.map_err(|failure| store_error(&failure))?;
        Ok(done.attributes.unwrap_or_default())
    }
}

/// Returns the key in its item.
///
/// # Errors
/// [`StoreError::Corrupt`] if the item has no key, or one of another length.
pub(super) fn key_in<const N: usize>(item: &Attributes) -> Result<[u8; N], StoreError> {
    let key = item.get(KEY).and_then(|value| value.as_b().ok());
    let key = key.and_then(|key| <[u8; N]>::try_from(key.as_ref()).ok());
    key.ok_or_else(|| StoreError::Corrupt {
        item: format!("{PARTITION}/key"),
        attribute: KEY.to_owned(),
        problem: format!("is not a key of {N} bytes"),
    })
}

/// Returns the item with `key`, as [`DynamoStore::token_key`] writes it.
#[cfg(test)]
pub(super) fn item_of(key: &[u8]) -> Attributes {
    let key = AttributeValue::B(Blob::new(key));
    let values = [(KEY.to_owned(), key)];
    item_key().into_iter().chain(values).collect()
}

fn item_key() -> Attributes {
    [("pk", PARTITION), ("sk", "key")]
        .map(|(name, value)| (name.to_owned(), text(value)))
        .into()
}
