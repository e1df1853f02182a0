//! Numbers that are not rounded.
//!
//! Integers of 64 bits in JSON are parsed exactly, because ids of that size are common. All other numbers
//! become floating point, where different numbers may be equal: `12345678901234567890123` and the number
//! after it, or two times in seconds with nine decimals. Messages with equal keys count as the same work, so
//! the second one would be deleted without a run. Therefore a key must not contain such a number, neither as
//! a number nor converted to a string. A number that the sender has rounded cannot be detected: JavaScript
//! itself has no exact integers above 2^53.

use jmespath::functions::{ArgumentType, CustomFunction, Function, Signature, ToStringFn};
use jmespath::{Context, ErrorReason, JmespathError, Rcvar, Runtime, RuntimeError, Variable};
use std::sync::LazyLock;

/// The numbers that a key may contain.
pub(super) const RULE: &str = "a whole number of 64 bits";

/// The functions of JMESPath. `to_string` is replaced by one that rejects numbers that may have been rounded,
/// and `from_json` is added.
pub(super) static FUNCTIONS: LazyLock<Runtime> = LazyLock::new(|| {
    let mut functions = Runtime::new();
    functions.register_builtin_functions();
    functions.register_function("to_string", Box::new(ExactText(ToStringFn::new())));
    let text = Signature::new(vec![ArgumentType::String], None);
    let from_json = CustomFunction::new(text, Box::new(from_json));
    functions.register_function("from_json", Box::new(from_json));
    functions
});

/// Returns the value of the JSON in a string. Its error names line and column, but no part of the string.
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

/// The function `to_string`, the only one that converts numbers to strings.
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
