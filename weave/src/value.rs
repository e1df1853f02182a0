//! The values that weaving writes.
//!
//! Fields keep their order, because people read the woven states and compare them with those of the previous
//! version. A map of `serde_json` would not keep the order.

use crate::document::{Kind, Node};

/// A value to be written.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Value {
    Map(Vec<(String, Value)>),
    List(Vec<Value>),
    Text(String),
    /// A number, `true`, `false` or `null`.
    Literal(String),
    /// A scalar as the definition writes it, with its quotes.
    Verbatim(String),
    /// The states of the definition that are the work.
    Work,
}

impl Value {
    /// Creates a text.
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    /// Creates a map of these fields.
    pub(crate) fn map<const N: usize>(fields: [(&str, Self); N]) -> Self {
        Self::from_fields(fields)
    }

    /// Creates a map of these fields.
    pub(crate) fn from_fields<'a>(fields: impl IntoIterator<Item = (&'a str, Self)>) -> Self {
        let fields = fields.into_iter();
        Self::Map(
            fields
                .map(|(name, value)| (name.to_owned(), value))
                .collect(),
        )
    }

    /// Returns the field `name` of a map.
    pub(crate) fn get(&self, name: &str) -> Option<&Self> {
        let Self::Map(fields) = self else { return None };
        let field = fields.iter().find(|(field, _)| field == name);
        field.map(|(_, value)| value)
    }

    /// Returns the field `name` of a map, to change it.
    pub(crate) fn get_mut(&mut self, name: &str) -> Option<&mut Self> {
        let Self::Map(fields) = self else { return None };
        let field = fields.iter_mut().find(|(field, _)| field == name);
        field.map(|(_, value)| value)
    }

    /// Returns the fields of a map; empty for any other value.
    pub(crate) fn fields(&self) -> &[(String, Self)] {
        match self {
            Self::Map(fields) => fields,
            _ => &[],
        }
    }

    /// Converts a map into its fields; empty for any other value.
    pub(crate) fn into_fields(self) -> Vec<(String, Self)> {
        match self {
            Self::Map(fields) => fields,
            _ => Vec::new(),
        }
    }

    /// Replaces the field `old` by the field `new`, if the map has `old`.
    pub(crate) fn replace(&mut self, old: &str, new: &str, value: Self) {
        if let Self::Map(fields) = self
            && let Some(field) = fields.iter_mut().find(|(name, _)| name == old)
        {
            *field = (new.to_owned(), value);
        }
    }

    /// Returns the items of a list; empty for any other value.
    pub(crate) fn items(&self) -> &[Self] {
        match self {
            Self::List(items) => items,
            _ => &[],
        }
    }

    /// Returns the text of a [`Value::Text`]; `None` for any other value.
    pub(crate) fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Calls `change` with this value and every value inside it, outer values first.
    pub(crate) fn change(&mut self, change: &mut impl FnMut(&mut Self)) {
        change(self);
        match self {
            Self::Map(fields) => {
                for (_, value) in fields {
                    value.change(change);
                }
            }
            Self::List(items) => {
                for value in items {
                    value.change(change);
                }
            }
            _ => {}
        }
    }
}

impl From<&Node> for Value {
    fn from(node: &Node) -> Self {
        match &node.kind {
            Kind::Map { entries, .. } => {
                let fields = entries.iter();
                let fields = fields.map(|entry| (entry.name.clone(), Self::from(&entry.value)));
                Self::Map(fields.collect())
            }
            Kind::List(items) => Self::List(items.iter().map(Self::from).collect()),
            Kind::Scalar { text, quoted: true } => Self::Text(text.clone()),
            Kind::Scalar { text, .. } => Self::Literal(text.clone()),
        }
    }
}
