//! Items as each version wrote them (`tests/golden`), and what it read in them. This version reads the same in each, and
//! writes it back unchanged. It also reads items of a later version, which have attributes that it does not know.

mod reading;

use super::item::{self, Attributes, RECORD};
use super::{decode, new_locks, token_key};
use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;
use aws_smithy_types::base64;
use lockstep_core::domain::{LockKey, RunId, RunKey, WaiterId};
use lockstep_core::testing::token;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// The golden files, which the contract level keeps.
const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/golden");

/// The items, one on each line.
const ITEMS: &str = "items.jsonl";
/// What a version read in them, in the same lines.
const READINGS: &str = "readings.jsonl";

/// Returns the values on the lines of this file of each version.
fn lines_of(file: &str) -> BTreeMap<String, Vec<Value>> {
    let folders = fs::read_dir(FOLDER).expect("the golden files");
    let folders = folders.map(|entry| entry.expect("a folder"));
    let folders = folders.filter(|entry| entry.path().join(file).is_file());
    let read = folders.map(|entry| {
        let path = entry.path().join(file);
        let text =
            fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let values = text
            .lines()
            .map(|line| serde_json::from_str(line).expect("JSON"));
        (
            entry.file_name().to_string_lossy().into_owned(),
            values.collect(),
        )
    });
    read.collect()
}

/// Returns the items of each version.
fn releases() -> BTreeMap<String, Vec<Attributes>> {
    let lines = lines_of(ITEMS).into_iter();
    lines
        .map(|(version, items)| (version, items.iter().map(attributes).collect()))
        .collect()
}

fn attributes(json: &Value) -> Attributes {
    let fields = json.as_object().expect("an object").iter();
    fields
        .map(|(name, json)| (name.clone(), value(json)))
        .collect()
}

fn value(json: &Value) -> AttributeValue {
    let text = |kind: &str| json[kind].as_str().map(str::to_owned);
    if let Some(bytes) = text("B") {
        return AttributeValue::B(Blob::new(base64::decode(bytes).expect("base64")));
    }
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

/// Reads an item. Returns it as this version writes it, and what it means.
fn read(item: &Attributes) -> (Attributes, Value) {
    let text = |name: &str| item[name].as_s().expect("a text").clone();
    let (lock, sort) = (text("pk"), text("sk"));
    if lock == new_locks::PARTITION {
        let mode = new_locks::mode_in(item).expect("a mode");
        return (new_locks::item_of(&mode), reading::mode(&mode));
    }
    if lock == token_key::PARTITION {
        let key: [u8; 32] = token_key::key_in(item).expect("a key");
        return (token_key::item_of(&key), json!({ "tokenKey": key }));
    }
    let lock = LockKey::new(lock).expect("a lock");
    if sort == RECORD {
        let record = decode::record(&lock, item).expect("a record");
        return (item::record_item(&lock, &record), reading::record(&record));
    }
    if let Some(id) = sort.strip_prefix("waiter#") {
        let id = WaiterId::new(id).expect("the name of a waiter");
        let waiter = decode::waiter(&lock, &id, item).expect("a waiter");
        let values = item::waiter_values(&waiter).into_iter();
        let values = values.filter_map(|(name, value)| Some((name, value?)));
        let back = written(item::waiter_key(&lock, &id), values);
        return (back, reading::waiter(&waiter));
    }
    if let Some(version) = sort.strip_prefix(item::ACT) {
        let version = version.parse().expect("a version");
        let act = decode::act(&lock, version, item).expect("an act");
        let back = written(item::act_key(&lock, version), item::act_values(&act));
        return (back, reading::act(&act));
    }
    let id = run_id(&sort);
    let run = decode::run(&lock, &id, item).expect("a run");
    let back = written(item::run_key(&lock, &id), item::run_values(&run).0);
    (back, reading::run(&run))
}

/// Returns the item as a later version writes it: it and each of its maps have an attribute more, but for the
/// queue, whose entries are waiters.
fn of_the_next_version(item: &Attributes) -> Attributes {
    let unknown = AttributeValue::M([("since".to_owned(), item::number(2))].into());
    let values = item.iter().map(|(name, value)| {
        let value = match value {
            AttributeValue::M(holders) if name == "holders" => {
                let leases = holders.iter().map(|(holder, lease)| {
                    let lease = lease.as_m().expect("a lease");
                    (
                        holder.clone(),
                        AttributeValue::M(of_the_next_version(lease)),
                    )
                });
                AttributeValue::M(leases.collect())
            }
            AttributeValue::M(inner) if name != "queue" => {
                AttributeValue::M(of_the_next_version(inner))
            }
            value => value.clone(),
        };
        (name.clone(), value)
    });
    values
        .chain([("ofTheNextVersion".to_owned(), unknown)])
        .collect()
}

#[test]
fn an_item_of_an_earlier_version_is_written_back_as_it_was() {
    for (version, items) in releases() {
        let mut kinds = BTreeSet::new();
        for item in items {
            assert_eq!(read(&item).0, item, "{version}");

            let sort = item["sk"].as_s().expect("a text");
            kinds.insert(sort.split(['/', '#']).next().expect("a kind").to_owned());
        }
        let expected = ["gate", "key", "lock", "run", "waiter"].map(str::to_owned);
        assert_eq!(kinds, expected.into(), "{version}");
    }
}

#[test]
fn an_attribute_of_a_later_version_changes_nothing_that_is_read() {
    for (version, items) in releases() {
        for item in items {
            assert_eq!(read(&of_the_next_version(&item)), read(&item), "{version}");
        }
    }
}

/// Writes what this version reads in its items. A version without items takes over those of the version before it,
/// which it still writes.
fn write_readings() {
    let current = format!("{FOLDER}/{}", env!("CARGO_PKG_VERSION"));
    let items = format!("{current}/{ITEMS}");
    if !fs::exists(&items).expect("a folder") {
        let number = |version: &String| -> Vec<u32> {
            let parts = version
                .split('.')
                .map(|part| part.parse().expect("a version"));
            parts.collect()
        };
        let earlier = lines_of(ITEMS).into_keys().max_by_key(number);
        let earlier = earlier.expect("an earlier version");
        fs::create_dir_all(&current).expect("a folder");
        fs::copy(format!("{FOLDER}/{earlier}/{ITEMS}"), &items).expect("a golden file is written");
    }
    let items = &releases()[env!("CARGO_PKG_VERSION")];
    let lines = items.iter().map(|item| format!("{}\n", read(item).1));
    let text: String = lines.collect();
    fs::write(format!("{current}/{READINGS}"), text).expect("a golden file is written");
}

#[test]
fn an_item_of_an_earlier_version_means_what_it_did() {
    if std::env::var_os("LOCKSTEP_GOLDEN").is_some_and(|word| word == "accept") {
        write_readings();
    }
    let readings = lines_of(READINGS);
    for (version, items) in releases() {
        let known = &readings[&version];
        assert_eq!(
            known.len(),
            items.len(),
            "{READINGS} of {version}: run make golden before its release"
        );
        for (item, known) in items.iter().zip(known) {
            assert_has(&read(item).1, known, &format!("{item:?} of {version}"));
        }
    }
}

/// Checks that `found` has each field of `known`, at every depth, with its value.
fn assert_has(found: &Value, known: &Value, place: &str) {
    let (Value::Object(found), Value::Object(known)) = (found, known) else {
        return assert_eq!(found, known, "{place}");
    };
    for (field, value) in known {
        let own = found.get(field).unwrap_or(&Value::Null);
        assert_has(own, value, &format!("{field} in {place}"));
    }
}

/// Returns all attributes of `item`, and of the maps in it.
fn names_in(item: &Attributes, found: &mut BTreeSet<String>) {
    for (name, value) in item {
        found.insert(name.clone());
        for value in value.as_m().into_iter().flat_map(|inner| {
            let is_of_names = name == "holders" || name == "queue";
            if is_of_names {
                inner.values().collect()
            } else {
                vec![value]
            }
        }) {
            if let AttributeValue::M(inner) = value {
                names_in(inner, found);
            }
        }
    }
}

#[test]
fn the_items_of_this_version_have_each_attribute_that_it_writes() {
    let items = &releases()[env!("CARGO_PKG_VERSION")];
    let mut known = BTreeSet::new();
    let mut written: BTreeSet<&str> = BTreeSet::new();
    for item in items {
        names_in(item, &mut known);
        let sort = item["sk"].as_s().expect("a text");
        let lock = LockKey::new("nightly").expect("a lock");
        if sort == RECORD {
            let record = decode::record(&lock, item).expect("a record");
            let leases = record.holders.values();
            written
                .extend(leases.flat_map(|lease| item::lease_values(lease).map(|(name, _)| name)));
            written.extend(item::expectation_values(None).map(|(name, _)| name));
        } else if let Some(id) = sort.strip_prefix("waiter#") {
            let id = WaiterId::new(id).expect("the name of a waiter");
            let waiter = decode::waiter(&lock, &id, item).expect("a waiter");
            written.extend(
                item::waiter_values(&waiter)
                    .into_iter()
                    .map(|(name, _)| name),
            );
        } else if sort.starts_with("run#token/") {
            let run = decode::run(&lock, &run_id(sort), item).expect("a run");
            let (has, has_not) = item::run_values(&run);
            written.extend(has.into_iter().map(|(name, _)| name).chain(has_not));
        }
    }
    written.extend([
        "note",
        "pausedUntil",
        "dueAt",
        "shard",
        "lastSuccessAt",
        "lastFailureAt",
    ]);
    for name in written {
        let version = env!("CARGO_PKG_VERSION");
        assert!(
            known.contains(name),
            "tests/golden/{version}/items.jsonl has no item with {name}: add one, then run make golden"
        );
    }
}
