//! JSONata expressions, on virtual time and without randomness, and JSON that contains expressions.

use jsonata_core::ast::AstNode;
use jsonata_core::evaluator::{Context, Evaluator, EvaluatorError};
use jsonata_core::parser;
use jsonata_core::value::JValue;
use serde::Deserialize;
use serde_json::{Map, Number, Value};
use std::cell::RefCell;
use std::collections::HashMap;
use std::rc::Rc;

/// Largest whole number that a JSONata number represents exactly.
const EXACT: f64 = 9_007_199_254_740_992.0;

thread_local! {
    /// The compiled expressions by text. Syntax trees are not `Send`: each thread compiles an
    /// expression once.
    static COMPILED: RefCell<HashMap<String, Rc<AstNode>>> = RefCell::default();
}

/// An expression whose syntax is checked.
#[derive(Clone, Debug)]
pub(crate) struct Expression {
    text: String,
    /// Every `$name` in the text, functions and local variables included.
    names: Vec<String>,
    /// The variable and the fields, if the expression is nothing but a path.
    path: Option<Vec<String>>,
}

impl Expression {
    /// Checks the syntax.
    pub(crate) fn new(text: &str) -> Result<Self, String> {
        compile(text)?;
        let mut names: Vec<String> = text
            .split('$')
            .skip(1)
            .map(|rest| {
                let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_'));
                rest[..end.unwrap_or(rest.len())].to_owned()
            })
            .filter(|name| !name.is_empty())
            .collect();
        names.sort();
        names.dedup();
        Ok(Self {
            text: text.to_owned(),
            names,
            path: path(text.trim()),
        })
    }

    /// Returns the variable and the fields, if the expression is nothing but a path, as most are.
    pub(crate) fn path(&self) -> Option<(&str, &[String])> {
        let (name, fields) = self.path.as_ref()?.split_first()?;
        Some((name, fields))
    }

    /// Returns whether `text` occurs in the expression. What does not occur need not be bound.
    pub(crate) fn mentions(&self, text: &str) -> bool {
        self.text.contains(text)
    }

    /// Returns the value of the expression at `now`, with the variables that `bind` knows. As in
    /// Step Functions, an expression that evaluates to nothing is an error.
    pub(crate) fn evaluate(
        &self,
        now: u64,
        bind: impl Fn(&str) -> Option<Value>,
    ) -> Result<Value, String> {
        let mut context = Context::new();
        for name in &self.names {
            if let Some(value) = bind(name) {
                context.bind(name.clone(), JValue::from(value));
            }
        }
        let mut evaluator = Evaluator::with_context(context);
        restrain(&mut evaluator, now).map_err(|error| error.message().to_owned())?;
        let tree = compile(&self.text)?;
        let value = evaluator.evaluate(&tree, &JValue::Null);
        let value = value.map_err(|error| error.message().to_owned())?;
        json(&value).ok_or_else(|| format!("{} returned nothing that is JSON", self.text))
    }
}

/// Returns the value at the end of a path through objects. Returns `None` for an array, for which
/// the interpreter has rules of its own.
pub(crate) fn follow(value: &Value, fields: &[String]) -> Option<Value> {
    let mut value = value;
    for field in fields {
        value = value.as_object()?.get(field)?;
    }
    (!value.is_array()).then(|| value.clone())
}

fn path(text: &str) -> Option<Vec<String>> {
    let names = text.strip_prefix('$')?.split('.').map(|name| {
        let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        (plain && name.starts_with(|c: char| c.is_ascii_alphabetic())).then(|| name.to_owned())
    });
    names.collect()
}

fn compile(text: &str) -> Result<Rc<AstNode>, String> {
    let known = COMPILED.with_borrow(|compiled| compiled.get(text).map(Rc::clone));
    if let Some(tree) = known {
        return Ok(tree);
    }
    let tree = parser::parse(text).map_err(|error| format!("{text}: {error}"))?;
    let tree = Rc::new(tree);
    COMPILED.with_borrow_mut(|compiled| compiled.insert(text.to_owned(), Rc::clone(&tree)));
    Ok(tree)
}

/// Replaces the functions of time and chance: time is virtual, and a world's chance comes from its
/// seed alone.
fn restrain(evaluator: &mut Evaluator, now: u64) -> Result<(), EvaluatorError> {
    let millis = JValue::from(json_number(now));
    evaluator.register_fn_override("millis", move |_: &[JValue]| Ok(millis.clone()))?;
    // A function of Step Functions: returns JSON text as a value.
    evaluator.register_fn_override("parse", |arguments: &[JValue]| {
        let text = arguments
            .first()
            .and_then(JValue::as_str)
            .unwrap_or_default();
        let value = serde_json::from_str::<Value>(text);
        let value = value.map_err(|error| EvaluatorError::EvaluationError(error.to_string()))?;
        Ok(JValue::from(value))
    })?;
    for name in ["now", "random", "uuid", "eval"] {
        let refused = format!("the simulation does not know ${name}");
        evaluator.register_fn_override(name, move |_: &[JValue]| {
            Err(EvaluatorError::EvaluationError(refused.clone()))
        })?;
    }
    Ok(())
}

fn json_number(number: u64) -> Value {
    Value::Number(Number::from(number))
}

/// Returns a result as JSON; `None` for nothing and for functions.
fn json(value: &JValue) -> Option<Value> {
    Some(match value {
        JValue::Null => Value::Null,
        JValue::Bool(bool) => Value::Bool(*bool),
        JValue::Number(number) => Value::Number(whole(*number)?),
        JValue::String(text) => Value::String(text.to_string()),
        JValue::Array(items) => Value::Array(items.iter().map(json).collect::<Option<_>>()?),
        JValue::Object(fields) => {
            let fields = fields.iter();
            let fields = fields.map(|(name, value)| Some((name.clone(), json(value)?)));
            Value::Object(fields.collect::<Option<Map<_, _>>>()?)
        }
        _ => return None,
    })
}

/// Returns a whole number as an integer. JSONata has one kind of number; fencing tokens and seconds
/// are whole.
fn whole(number: f64) -> Option<Number> {
    if number.fract() == 0.0 && number.abs() < EXACT {
        return number
            .to_string()
            .parse()
            .ok()
            .map(|whole: i64| Number::from(whole));
    }
    Number::from_f64(number)
}

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
    /// Returns the JSON of the template, with each expression in it evaluated by `evaluate`.
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

/// Returns the text between the marks of an expression.
fn expression(text: &str) -> Option<&str> {
    text.strip_prefix("{%")?.strip_suffix("%}")
}
