//! Request units of DynamoDB, computed by its rules, because DynamoDB Local counts none
//! (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/DynamoDBLocal.UsageNotes.html>).
//!
//! - A write costs one unit for each KB of the larger of the item before and after it, and twice as much
//!   in a transaction. A write whose condition does not hold costs the units of the item that is there, or
//!   one unit
//!   (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/read-write-operations.html>).
//! - An index costs one unit for an entry that is added or removed, and two for an entry that moves
//!   (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/GSI.html>).
//! - A strongly consistent read costs one unit for each 4 KB.

use aws_sdk_dynamodb::types::AttributeValue;
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// The attributes of an item.
pub type Item = HashMap<String, AttributeValue>;

/// The items of a lock, by their sort keys.
pub type Items = BTreeMap<String, Item>;

/// The keys of the two indexes of the table.
const INDEXES: [[&str; 2]; 2] = [["shard", "dueAt"], ["lockShard", "pk"]];

/// Returns the size of an item in bytes, by the rules of DynamoDB
/// (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html>).
#[must_use]
pub fn size(item: &Item) -> usize {
    item.iter()
        .map(|(name, value)| name.len() + size_of(value))
        .sum()
}

fn size_of(value: &AttributeValue) -> usize {
    match value {
        AttributeValue::S(text) => text.len(),
        AttributeValue::N(number) => {
            let digits = number.trim_start_matches('-').trim_matches('0').len();
            digits.div_ceil(2) + 1 + usize::from(number.starts_with('-'))
        }
        AttributeValue::M(map) => {
            let inside = map
                .iter()
                .map(|(name, value)| 1 + name.len() + size_of(value));
            3 + inside.sum::<usize>()
        }
        AttributeValue::L(list) => 3 + list.iter().map(|value| 1 + size_of(value)).sum::<usize>(),
        AttributeValue::B(bytes) => bytes.as_ref().len(),
        _ => 1,
    }
}

/// Returns the write units between two states of a lock's items, with those of the table `factor`
/// times.
#[must_use]
pub fn written(before: &Items, after: &Items, factor: u64) -> u64 {
    let units =
        changed(before, after).map(|name| factor * largest(before.get(name), after.get(name)));
    units.sum::<u64>() + of_indexes(before, after)
}

/// Returns the write units of the indexes between two states of a lock's items.
#[must_use]
pub fn of_indexes(before: &Items, after: &Items) -> u64 {
    let units = changed(before, after).flat_map(|name| {
        let (earlier, now) = (before.get(name), after.get(name));
        INDEXES
            .iter()
            .map(move |keys| index_units(earlier, now, keys))
    });
    units.sum()
}

fn changed<'a>(before: &'a Items, after: &'a Items) -> impl Iterator<Item = &'a String> {
    let names: BTreeSet<_> = before.keys().chain(after.keys()).collect();
    let differs = |name: &&String| before.get(*name) != after.get(*name);
    names.into_iter().filter(differs)
}

/// Returns the units of one item in a write: at least one.
#[must_use]
pub fn largest(earlier: Option<&Item>, now: Option<&Item>) -> u64 {
    let size = earlier.map_or(0, size).max(now.map_or(0, size));
    size.div_ceil(1024).max(1) as u64
}

/// Returns the units of a strongly consistent read of one item: at least one.
#[must_use]
pub fn read(item: Option<&Item>) -> u64 {
    item.map_or(0, size).div_ceil(4096).max(1) as u64
}

fn index_units(before: Option<&Item>, after: Option<&Item>, keys: &[&str; 2]) -> u64 {
    let entry = |item: &Item| Some((item.get(keys[0])?.clone(), item.get(keys[1])?.clone()));
    match (before.and_then(entry), after.and_then(entry)) {
        (None, None) => 0,
        (Some(earlier), Some(now)) if earlier == now => 0,
        (Some(_), Some(_)) => 2,
        _ => 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn item(due: Option<u64>) -> Items {
        let mut item = Item::from([("pk".into(), AttributeValue::S("a".into()))]);
        if let Some(due) = due {
            item.insert("shard".into(), AttributeValue::S("1".into()));
            item.insert("dueAt".into(), AttributeValue::N(due.to_string()));
        }
        Items::from([("lock".into(), item)])
    }

    #[test]
    fn an_index_entry_costs_a_unit_or_two_when_it_moves() {
        for (before, after, expected) in [
            (None, Some(7), 2),
            (Some(7), None, 2),
            (Some(7), Some(8), 3),
            (Some(7), Some(7), 0),
        ] {
            assert_eq!(written(&item(before), &item(after), 1), expected);
        }
    }

    #[test]
    fn an_item_that_is_deleted_costs_what_it_was() {
        let text = AttributeValue::S("x".repeat(1500));
        let before = Items::from([("waiter".into(), Item::from([("terms".into(), text)]))]);

        assert_eq!(written(&before, &Items::new(), 2), 4);
    }
}
