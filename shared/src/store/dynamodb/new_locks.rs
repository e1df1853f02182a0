//! The pause of all locks, as it applies to locks that have no record yet.
//!
//! The first acquire of a lock reads it, before it writes the record. No other request reads it.

use super::error::store_error;
use super::item::{self, Attributes, PAUSED_UNTIL, SCHEMA, number, text};
use super::reader::Reader;
use super::{DynamoStore, decode};
use aws_sdk_dynamodb::types::ReturnValue;
use lockstep_core::domain::Mode;
use lockstep_core::store::StoreError;

/// The partition key of the item. No lock can have this name.
pub(super) const PARTITION: &str = "#new-locks";

/// The sort key of the item.
const SORT: &str = "gate";

impl DynamoStore {
    /// Returns the mode that new locks begin with. Returns `None` if no pause of all locks is set, or if the
    /// caller's policy allows only its own locks.
    pub(super) async fn mode_of_new_locks(&self) -> Result<Option<Mode>, StoreError> {
        match self.get(key()).await {
            Ok(item) => item.map(|item| mode_in(&item)).transpose(),
            Err(StoreError::Denied(why)) => {
                tracing::warn!(
                    event = "new_locks_not_read",
                    why,
                    "whether new locks are paused is not known; the lock begins open"
                );
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Sets the mode that new locks begin with, or removes it. Returns the mode from before.
    pub(super) async fn set_mode_of_new_locks(
        &self,
        mode: Option<&Mode>,
    ) -> Result<Option<Mode>, StoreError> {
        let before = match mode {
            Some(mode) => {
                let put = self.client.put_item().table_name(&self.table);
                let put = put.set_item(Some(item_of(mode)));
                let sent = put.return_values(ReturnValue::AllOld).send().await;
                sent.map_err(|failure| store_error(&failure))?.attributes
            }
            None => {
                let delete = self.client.delete_item().table_name(&self.table);
                let delete = delete.set_key(Some(key()));
                let sent = delete.return_values(ReturnValue::AllOld).send().await;
                sent.map_err(|failure| store_error(&failure))?.attributes
            }
        };
        let before = before.filter(|item| !item.is_empty());
        before.map(|item| mode_in(&item)).transpose()
    }
}

fn key() -> Attributes {
    [("pk", PARTITION), ("sk", SORT)]
        .map(|(name, value)| (name.to_owned(), text(value)))
        .into()
}

pub(super) fn item_of(mode: &Mode) -> Attributes {
    let (word, note) = item::mode_words(mode);
    let until = mode.pause_end().map(|end| number(end.millis()));
    let given = [("note", note.map(text)), (PAUSED_UNTIL, until)];
    let given = given
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)));
    let fixed = [("mode", text(word)), ("schema", number(SCHEMA))];
    let values = fixed.into_iter().chain(given);
    key()
        .into_iter()
        .chain(values.map(|(name, value)| (name.to_owned(), value)))
        .collect()
}

pub(super) fn mode_in(item: &Attributes) -> Result<Mode, StoreError> {
    let name = format!("{PARTITION}/{SORT}");
    let reader = Reader::new(&name, item);
    decode::check_schema(&reader)?;
    decode::mode(&reader)
}
