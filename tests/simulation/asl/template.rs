//! JSON with expressions in it.

use super::jsonata::Expression;
use serde::Deserialize;
use serde_json::{Map, Value};

/// A field of a definition: JSON in which each string `{% … %}` is an expression.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "Value")]
pub(crate) enum Template {
    Literal(Value),
    Expression(Expression),
    List(Vec<Template>),
    Object(Vec<(String, Template)>),
}

impl TryFrom<Value> for Template {
    type Error = String;

    fn try_from(value: Value) -> Result<Self, String> {
        Ok(match value {
            Value::String(text) => match expression(&text) {
                Some(text) => Self::Expression(Expression::new(text)?),
                None => Self::Literal(Value::String(text)),
            },
            Value::Array(items) => {
                let items = items.into_iter().map(Self::try_from);
                Self::List(items.collect::<Result<_, _>>()?)
            }
            Value::Object(fields) => {
                let fields = fields.into_iter();
                let fields = fields.map(|(name, value)| Ok((name, Self::try_from(value)?)));
                Self::Object(fields.collect::<Result<_, String>>()?)
            }
            other => Self::Literal(other),
        })
    }
}

impl Template {
    /// The JSON that the template gives, each expression in it by `evaluate`.
    pub(crate) fn fill<E>(
        &self,
        evaluate: &impl Fn(&Expression) -> Result<Value, E>,
    ) -> Result<Value, E> {
        match self {
            Self::Literal(value) => Ok(value.clone()),
            Self::Expression(expression) => evaluate(expression),
            Self::List(items) => {
                let items = items.iter().map(|item| item.fill(evaluate));
                Ok(Value::Array(items.collect::<Result<_, _>>()?))
            }
            Self::Object(fields) => {
                let fields = fields.iter();
                let fields = fields.map(|(name, value)| Ok((name.clone(), value.fill(evaluate)?)));
                Ok(Value::Object(fields.collect::<Result<Map<_, _>, E>>()?))
            }
        }
    }
}

/// The text between the marks of an expression.
fn expression(text: &str) -> Option<&str> {
    text.strip_prefix("{%")?.strip_suffix("%}")
}
