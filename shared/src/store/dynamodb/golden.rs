//! Items that an earlier version wrote, before the exit of a holder became one value. This version reads each
//! of them, and writes it back unchanged.

use super::decode;
use super::item::{self, Attributes, RECORD};
use aws_sdk_dynamodb::types::AttributeValue;
use lockstep_core::domain::{LockKey, RunId, RunKey, WaiterId};
use lockstep_core::testing::token;
use serde_json::Value;

const ITEMS: &str = include_str!("golden.jsonl");

fn attributes(json: &Value) -> Attributes {
    let fields = json.as_object().expect("an object").iter();
    fields
        .map(|(name, json)| (name.clone(), value(json)))
        .collect()
}

fn value(json: &Value) -> AttributeValue {
    let text = |kind: &str| json[kind].as_str().map(str::to_owned);
    match (text("S"), text("N")) {
        (Some(text), _) => AttributeValue::S(text),
        (None, Some(number)) => AttributeValue::N(number),
        (None, None) => AttributeValue::M(attributes(&json["M"])),
    }
}

/// Returns the attributes of an item with this key and these values.
fn written<'a>(
    key: Attributes,
    values: impl IntoIterator<Item = (&'a str, AttributeValue)>,
) -> Attributes {
    let values = values.into_iter();
    let values = values.map(|(name, value)| (name.to_owned(), value));
    key.into_iter().chain(values).collect()
}

fn run_id(sort: &str) -> RunId {
    if let Some(text) = sort.strip_prefix(item::RUN_OF_TOKEN) {
        return RunId::Token(token(text.parse().expect("a number")));
    }
    let key = sort.strip_prefix("run#key/").expect("the key of a run");
    RunId::Key(RunKey::new(key).expect("a run key"))
}

/// Reads an item, and returns it as this version writes it.
fn read_and_written(item: &Attributes) -> Attributes {
    let text = |name: &str| item[name].as_s().expect("a text").clone();
    let (lock, sort) = (LockKey::new(text("pk")).expect("a lock"), text("sk"));
    if sort == RECORD {
        let record = decode::record(&lock, item).expect("a record");
        return item::record_item(&lock, &record);
    }
    if let Some(id) = sort.strip_prefix("waiter#") {
        let id = WaiterId::new(id).expect("the name of a waiter");
        let waiter = decode::waiter(&lock, &id, item).expect("a waiter");
        let values = item::waiter_values(&waiter).into_iter();
        let values = values.filter_map(|(name, value)| Some((name, value?)));
        return written(item::waiter_key(&lock, &id), values);
    }
    if let Some(version) = sort.strip_prefix(item::ACT) {
        let version = version.parse().expect("a version");
        let act = decode::act(&lock, version, item).expect("an act");
        return written(item::act_key(&lock, version), item::act_values(&act));
    }
    let id = run_id(&sort);
    let run = decode::run(&lock, &id, item).expect("a run");
    written(item::run_key(&lock, &id), item::run_values(&run).0)
}

#[test]
fn an_item_of_an_earlier_version_is_written_back_as_it_was() {
    let mut kinds = [0; 3];
    for line in ITEMS.lines() {
        let item = attributes(&serde_json::from_str(line).expect("JSON"));

        assert_eq!(read_and_written(&item), item);

        let sort = item["sk"].as_s().expect("a text");
        kinds[usize::from(sort != RECORD) + usize::from(sort.starts_with("waiter#"))] += 1;
    }
    assert!(kinds.iter().all(|count| *count >= 2), "{kinds:?}");
}
