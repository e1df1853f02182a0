//! The names of a type's fields, as serde reads them.

use serde::de::{DeserializeOwned, Deserializer, Error, Visitor};
use serde::forward_to_deserialize_any;
use std::fmt;

/// Returns the names of the fields that `T` is read from, in their order. Returns none if `T` is not a
/// struct.
///
/// A derived `Deserialize` names them to its deserializer, so no list is kept by hand.
#[must_use]
pub fn fields_of<T: DeserializeOwned>() -> &'static [&'static str] {
    match T::deserialize(Asked) {
        Err(Answer(fields)) => fields,
        Ok(_) => &[],
    }
}

/// A deserializer without a value. It fails with the fields that the type asks for.
struct Asked;

/// The fields, as the error of [`Asked`].
#[derive(Debug)]
struct Answer(&'static [&'static str]);

impl fmt::Display for Answer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "fields {:?}", self.0)
    }
}

impl std::error::Error for Answer {}

impl Error for Answer {
    fn custom<T: fmt::Display>(_: T) -> Self {
        Self(&[])
    }
}

impl<'de> Deserializer<'de> for Asked {
    type Error = Answer;

    fn deserialize_any<V: Visitor<'de>>(self, _: V) -> Result<V::Value, Answer> {
        Err(Answer(&[]))
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        _: V,
    ) -> Result<V::Value, Answer> {
        Err(Answer(fields))
    }

    forward_to_deserialize_any! {
        bool i8 i16 i32 i64 i128 u8 u16 u32 u64 u128 f32 f64 char str string bytes byte_buf option unit
        unit_struct newtype_struct seq tuple tuple_struct map enum identifier ignored_any
    }
}

#[cfg(test)]
mod tests {
    use super::fields_of;
    use serde::Deserialize;

    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    #[expect(dead_code, reason = "only the names are read")]
    struct Sample {
        first_one: u8,
        #[serde(rename = "OTHER")]
        second: Option<String>,
        #[serde(skip_deserializing)]
        hidden: u8,
    }

    #[test]
    fn the_fields_of_a_struct_are_the_names_in_its_json() {
        assert_eq!(fields_of::<Sample>(), ["firstOne", "OTHER"]);
        assert!(fields_of::<Vec<u8>>().is_empty() && fields_of::<u8>().is_empty());
    }
}
