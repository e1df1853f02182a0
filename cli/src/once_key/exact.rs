//! Numbers that are not rounded.
//!
//! JSON integers of 64 bits are parsed exactly: ids of that size are common. All other numbers
//! become floating point, where `12345678901234567890123` and the number after it are equal, and so
//! are two times in seconds with nine decimals. Two messages with equal keys are the same work, and
//! the second would be deleted without a run. So such a number is not accepted in a key, neither as
//! a number nor converted to a string. A rounding by the sender cannot be detected: JavaScript has
//! no exact number above 2^53 either.

use jmespath::functions::{ArgumentType, CustomFunction, Function, Signature, ToStringFn};
use jmespath::{Context, ErrorReason, JmespathError, Rcvar, Runtime, RuntimeError, Variable};
use std::sync::LazyLock;

/// The numbers that a key may contain.
pub(super) const RULE: &str = "a whole number of 64 bits";

/// The functions of JMESPath, with a `to_string` that rejects numbers that may have been rounded, and `from_json`.
pub(super) static FUNCTIONS: LazyLock<Runtime> = LazyLock::new(|| {
    let mut functions = Runtime::new();
    functions.register_builtin_functions();
    functions.register_function("to_string", Box::new(ExactText(ToStringFn::new())));
    let text = Signature::new(vec![ArgumentType::String], None);
    let from_json = CustomFunction::new(text, Box::new(from_json));
    functions.register_function("from_json", Box::new(from_json));
    functions
});

/// The value of the JSON in a string. Its error has no part of that.
fn from_json(arguments: &[Rcvar], context: &mut Context<'_>) -> Result<Rcvar, JmespathError> {
    let text = arguments[0].as_string().map_or("", String::as_str);
    let value = serde_json::from_str::<Variable>(text).map(Rcvar::new);
    value.map_err(|error| {
        let (line, column) = (error.line(), error.column());
        let wrong = format!("from_json: no valid JSON at line {line}, column {column}");
        JmespathError::from_ctx(context, ErrorReason::Parse(wrong))
    })
}

/// Returns whether no number in `found` may have been rounded.
pub(super) fn is_exact(found: &Variable) -> bool {
    match found {
        Variable::Number(number) => !number.is_f64(),
        Variable::Array(parts) => parts.iter().all(|part| is_exact(part)),
        Variable::Object(parts) => parts.values().all(|part| is_exact(part)),
        Variable::Null | Variable::String(_) | Variable::Bool(_) | Variable::Expref(_) => true,
    }
}

/// `to_string`, the only function that converts numbers to strings.
struct ExactText(ToStringFn);

impl Function for ExactText {
    fn evaluate(
        &self,
        arguments: &[Rcvar],
        context: &mut Context<'_>,
    ) -> Result<Rcvar, JmespathError> {
        if arguments.iter().all(|argument| is_exact(argument)) {
            return self.0.evaluate(arguments, context);
        }
        let rejected = RuntimeError::InvalidType {
            expected: RULE.into(),
            actual: "a number that may have been rounded".into(),
            position: 0,
        };
        let rejected = ErrorReason::Runtime(rejected);
        Err(JmespathError::from_ctx(context, rejected))
    }
}
