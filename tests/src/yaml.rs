//! Reads YAML as JSON, with another parser than the one in weave.

use saphyr::{LoadableYamlNode, Scalar, Yaml};
use serde_json::{Map, Number, Value, json};

/// Returns the JSON value of a text in JSON, or of the first document of a text in YAML.
///
/// # Panics
/// If the text is neither JSON nor YAML, or has a value that JSON lacks.
pub fn to_json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| {
        let documents = Yaml::load_from_str(text).expect("YAML");
        json_of(&documents[0])
    })
}

fn json_of(yaml: &Yaml) -> Value {
    match yaml {
        Yaml::Mapping(fields) => {
            let name = |name: &Yaml| name.as_str().expect("a key that is text").to_owned();
            let fields = fields
                .iter()
                .map(|(key, value)| (name(key), json_of(value)));
            Value::Object(fields.collect::<Map<_, _>>())
        }
        Yaml::Sequence(items) => items.iter().map(json_of).collect(),
        Yaml::Value(Scalar::Null) => Value::Null,
        Yaml::Value(Scalar::Boolean(value)) => json!(value),
        Yaml::Value(Scalar::Integer(value)) => json!(value),
        Yaml::Value(Scalar::FloatingPoint(value)) => {
            Number::from_f64(value.into_inner()).map_or(Value::Null, Value::Number)
        }
        Yaml::Value(Scalar::String(text)) => json!(text),
        other => panic!("no JSON: {other:?}"),
    }
}
