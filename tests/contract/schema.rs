//! Checks the requests and answers of every test against the published schemas.

use jsonschema::Validator;
use lockstep_tests::schemas;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::LazyLock;

static VALIDATORS: LazyLock<BTreeMap<&str, Validator>> = LazyLock::new(|| {
    let all = schemas::all().into_iter();
    all.map(|(name, schema)| {
        let validator = jsonschema::validator_for(schema.as_value());
        (name, validator.expect("a schema is valid"))
    })
    .collect()
});

#[track_caller]
pub(crate) fn assert_keeps_schema(name: &str, value: &Value) {
    if let Err(error) = VALIDATORS[name].validate(value) {
        panic!("{name}: {error} in {value}");
    }
}
