//! The type, its schema, acquire-lock and the reference have the same options of a lock.

use crate::bad_input::{ARN, Case, assert_acquire_refuses, with};
use lockstep::contract::{
    AcquireRequest, ExclusiveRunInput, LockOptions, Range, WorkInput, fields_of,
};
use lockstep::domain::{Retention, Seconds};
use lockstep_tests::repository;
use schemars::schema_for;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// Returns the ranges in a schema by field.
fn ranges(schema: &Value) -> BTreeMap<&str, Range> {
    let fields = schema["properties"].as_object().unwrap().iter();
    let end = |field: &Value, name: &str| u32::try_from(field[name].as_u64()?).ok();
    let ranged = fields.filter_map(|(name, field)| {
        let range = Range::new(end(field, "minimum")?, end(field, "maximum")?);
        Some((name.as_str(), range))
    });
    ranged.collect()
}

fn numbers() -> BTreeMap<&'static str, Range> {
    let numbers = LockOptions::default().numbers().into_iter();
    numbers.map(|(field, range, _)| (field, range)).collect()
}

#[test]
fn every_number_is_in_the_schema_with_its_range() {
    let schema = schema_for!(LockOptions).to_value();
    assert_eq!(ranges(&schema), numbers());
}

#[test]
fn a_request_and_an_input_have_every_option() {
    let [request, input] = [
        schema_for!(AcquireRequest).to_value(),
        schema_for!(ExclusiveRunInput).to_value(),
    ];
    for schema in [request, input] {
        for field in fields_of::<LockOptions>() {
            assert!(schema["properties"].get(field).is_some(), "{field}");
        }
        assert_eq!(schema["additionalProperties"], false);
    }
}

/// Returns a request in which every number may be at either end of its range.
fn roomy() -> Value {
    json!({ "lock": "nightly", "holder": ARN, "overlap": "queue", "leaseSeconds": 86_400 })
}

#[tokio::test]
async fn acquire_lock_takes_a_number_in_its_range_and_no_other() {
    for (field, range) in numbers() {
        let (least, most) = range.values().into_inner();
        for value in [least, most] {
            let request = with(&roomy(), field, json!(value));
            let read = AcquireRequest::read(request, Retention::both(Seconds::of(1)));
            assert!(read.is_ok(), "{field} {value}: {read:?}");
        }
        let case =
            |value: i64| -> Case<'_> { (field, json!(value), vec![field, "a whole number"]) };
        assert_acquire_refuses(&roomy(), vec![case(least - 1), case(most + 1)]).await;
    }
}

/// Returns `number` with a comma before each group of three digits.
fn grouped(number: u32) -> String {
    match number / 1000 {
        0 => number.to_string(),
        thousands => format!("{},{:03}", grouped(thousands), number % 1000),
    }
}

#[test]
fn the_reference_has_each_field_of_an_input_with_its_range() {
    let reference = fs::read_to_string(repository().join("docs/reference.md")).unwrap();
    let (_, section) = reference
        .split_once("\n## Input of exclusive-run\n")
        .unwrap();
    let (section, _) = section.split_once("\n## ").unwrap();
    let rows = section.lines().filter_map(|line| {
        let (field, rest) = line.strip_prefix("| `")?.split_once("` |")?;
        Some((field.to_owned(), rest))
    });
    let rows: BTreeMap<_, _> = rows.collect();

    let own = fields_of::<ExclusiveRunInput>().iter();
    let own = own.chain(fields_of::<LockOptions>());
    let own = own.filter(|field| **field != "work");
    let fields = own.map(|field| (*field).to_owned());
    let work = fields_of::<WorkInput>().iter();
    let fields = fields.chain(work.map(|field| format!("work.{field}")));
    let in_table: BTreeSet<_> = rows.keys().cloned().collect();
    assert_eq!(in_table, fields.collect());
    let schema = schema_for!(ExclusiveRunInput).to_value();
    for (field, Range { least, most }) in ranges(&schema) {
        let range = format!("{} to {}", grouped(least), grouped(most));
        assert!(
            rows[field].contains(&range),
            "{field} {range}: {}",
            rows[field]
        );
    }
}
