//! Reads an item strictly: no value is guessed, and every error names its attribute.

use super::item::Attributes;
use aws_sdk_dynamodb::types::AttributeValue;
use lockstep_core::domain::{Seconds, Timestamp};
use lockstep_core::store::StoreError;

/// The attributes of an item, or of a map inside it.
pub(super) struct Reader<'a> {
    item: &'a str,
    path: String,
    map: &'a Attributes,
}

impl<'a> Reader<'a> {
    /// Creates a reader of `map`, the attributes of an item. `item` is the name of the item in errors: its
    /// partition key and sort key.
    pub(super) fn new(item: &'a str, map: &'a Attributes) -> Self {
        let path = String::new();
        Self { item, path, map }
    }

    /// Returns the error for one attribute. A `problem` never quotes the value, which may be a secret.
    pub(super) fn corrupt(&self, attribute: &str, problem: impl Into<String>) -> StoreError {
        StoreError::Corrupt {
            item: self.item.to_owned(),
            attribute: format!("{}{attribute}", self.path),
            problem: problem.into(),
        }
    }

    /// Returns the names of the attributes.
    pub(super) fn names(&self) -> impl Iterator<Item = &'a String> + use<'a> {
        self.map.keys()
    }

    /// Returns whether the attribute exists.
    pub(super) fn has(&self, name: &str) -> bool {
        self.map.contains_key(name)
    }

    /// Reads a whole number.
    pub(super) fn number(&self, name: &str) -> Result<u64, StoreError> {
        let AttributeValue::N(number) = self.value(name)? else {
            return Err(self.corrupt(name, "is not a number"));
        };
        number
            .parse()
            .map_err(|_| self.corrupt(name, "is not a whole number from 0 up"))
    }

    /// Reads a whole number that may be below 0.
    pub(super) fn integer(&self, name: &str) -> Result<i64, StoreError> {
        let AttributeValue::N(number) = self.value(name)? else {
            return Err(self.corrupt(name, "is not a number"));
        };
        number
            .parse()
            .map_err(|_| self.corrupt(name, "is not a whole number"))
    }

    /// Reads a whole number that may be below 0, if the attribute exists.
    pub(super) fn integer_if_any(&self, name: &str) -> Result<Option<i64>, StoreError> {
        self.has(name).then(|| self.integer(name)).transpose()
    }

    /// Reads a length of time: whole seconds, in milliseconds.
    pub(super) fn length(&self, name: &str) -> Result<Seconds, StoreError> {
        let millis = self.number(name)?;
        let seconds = u32::try_from(millis / 1000)
            .ok()
            .filter(|_| millis.is_multiple_of(1000));
        seconds
            .map(Seconds::of)
            .ok_or_else(|| self.corrupt(name, "is not a number of whole seconds"))
    }

    /// Reads a length of time, if the attribute exists.
    pub(super) fn length_if_any(&self, name: &str) -> Result<Option<Seconds>, StoreError> {
        self.has(name).then(|| self.length(name)).transpose()
    }

    /// Reads a point in time, if the attribute exists.
    pub(super) fn time_if_any(&self, name: &str) -> Result<Option<Timestamp>, StoreError> {
        self.has(name).then(|| self.time(name)).transpose()
    }

    /// Reads a point in time.
    pub(super) fn time(&self, name: &str) -> Result<Timestamp, StoreError> {
        let millis = self.number(name)?;
        if millis > Timestamp::MAX.millis() {
            return Err(self.corrupt(name, "is after the year 9999"));
        }
        Ok(Timestamp::from_millis(millis))
    }

    /// Reads a text.
    pub(super) fn text(&self, name: &str) -> Result<&'a str, StoreError> {
        match self.value(name)? {
            AttributeValue::S(text) => Ok(text),
            _ => Err(self.corrupt(name, "is not text")),
        }
    }

    /// Reads a text, if the attribute exists.
    pub(super) fn text_if_any(&self, name: &str) -> Result<Option<&'a str>, StoreError> {
        self.has(name).then(|| self.text(name)).transpose()
    }

    /// Returns a reader of the attributes in a map.
    pub(super) fn map(&self, name: &str) -> Result<Self, StoreError> {
        match self.value(name)? {
            AttributeValue::M(map) => Ok(Self {
                item: self.item,
                path: format!("{}{name}.", self.path),
                map,
            }),
            _ => Err(self.corrupt(name, "is not a map")),
        }
    }

    fn value(&self, name: &str) -> Result<&'a AttributeValue, StoreError> {
        self.map
            .get(name)
            .ok_or_else(|| self.corrupt(name, "is missing"))
    }
}
