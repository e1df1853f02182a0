//! What closes locks that have no record yet: the pause of all locks.
//!
//! Their first acquire reads it, before it writes the record. No other request does.

use super::error::store_error;
use super::item::{self, Attributes, PAUSED_UNTIL, SCHEMA, number, text};
use super::reader::Reader;
use super::{DynamoStore, decode};
use aws_sdk_dynamodb::types::ReturnValue;
use lockstep_core::domain::Mode;
use lockstep_core::store::StoreError;

/// Its partition key, which no lock can have.
const PARTITION: &str = "#new-locks";

/// Its sort key.
const SORT: &str = "gate";

impl DynamoStore {
    /// What closes new locks; `None` if nothing does, and for a caller whose policy has its own locks only.
    pub(super) async fn mode_of_new_locks(&self) -> Result<Option<Mode>, StoreError> {
        match self.get(key()).await {
            Ok(item) => item.map(|item| mode_in(&item)).transpose(),
            Err(StoreError::Denied(why)) => {
                tracing::warn!(
                    event = "new_locks_not_read",
                    why,
                    "whether new locks are paused is not known"
                );
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    /// Closes new locks, or opens them. Returns what closed them before.
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

fn item_of(mode: &Mode) -> Attributes {
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

fn mode_in(item: &Attributes) -> Result<Mode, StoreError> {
    let name = format!("{PARTITION}/{SORT}");
    let reader = Reader::new(&name, item);
    decode::check_schema(&reader)?;
    decode::mode(&reader)
}
