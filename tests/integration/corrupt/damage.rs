//! Ways to damage an attribute.

use aws_sdk_dynamodb::types::AttributeValue;
use std::collections::HashMap;

/// Attributes that hold text; all others hold numbers or maps.
const TEXTS: [&str; 13] = [
    "mode",
    "holder",
    "outcome",
    "runKey",
    "taskToken",
    "progress",
    "stale",
    "cluster",
    "family",
    "replacedBy",
    "evidence",
    "taskArn",
    "note",
];

pub(crate) type Item = HashMap<String, AttributeValue>;

/// One attribute of an item, and what it is damaged to: `None` is missing.
pub(crate) struct Damage {
    pub(crate) path: Vec<String>,
    pub(crate) to: Option<AttributeValue>,
}

impl Damage {
    pub(crate) fn new(path: &[&str], to: Option<AttributeValue>) -> Self {
        let path = path.iter().map(ToString::to_string).collect();
        Self { path, to }
    }

    pub(crate) fn done_to(&self, item: &Item) -> Item {
        let mut damaged = item.clone();
        let (last, outer) = self.path.split_last().unwrap();
        let mut map = &mut damaged;
        for name in outer {
            let Some(AttributeValue::M(inner)) = map.get_mut(name) else {
                panic!("{name} is no map");
            };
            map = inner;
        }
        match &self.to {
            Some(value) => map.insert(last.clone(), value.clone()),
            None => map.remove(last),
        };
        damaged
    }
}

/// The attribute missing, and of three wrong types.
pub(crate) fn every_damage(path: &[&str]) -> Vec<Damage> {
    let other = match path.last() {
        Some(name) if TEXTS.contains(name) => number("7"),
        _ => text("7"),
    };
    let values = [
        None,
        Some(other),
        Some(AttributeValue::Null(true)),
        Some(AttributeValue::L(Vec::new())),
    ];
    values.into_iter().map(|to| Damage::new(path, to)).collect()
}

/// The attribute of three wrong types: it may be missing.
pub(crate) fn every_wrong_type(path: &[&str]) -> Vec<Damage> {
    let damages = every_damage(path).into_iter();
    damages.filter(|damage| damage.to.is_some()).collect()
}

pub(crate) fn number(number: &str) -> AttributeValue {
    AttributeValue::N(number.into())
}

pub(crate) fn text(text: &str) -> AttributeValue {
    AttributeValue::S(text.into())
}
