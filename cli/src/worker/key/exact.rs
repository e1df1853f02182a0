//! Numbers that are what the sender wrote.
//!
//! JSON numbers are read as whole numbers of 64 bits where they are such, which is exact: ids of that
//! size are common. All others become floating point, where `12345678901234567890123` and the number
//! after it are one, and so are two times in seconds with nine decimals. Two messages with one key
//! are one piece of work, and the second would be deleted without having been run. So such a number
//! is no part of a key, neither by itself nor made into text. A rounding by the sender cannot be seen
//! here: JavaScript has no exact number above 2^53 either.

use jmespath::functions::{Function, ToStringFn};
use jmespath::{Context, ErrorReason, JmespathError, Rcvar, Runtime, RuntimeError, Variable};
use std::sync::LazyLock;

/// What a number has to be.
pub(super) const RULE: &str = "a whole number of 64 bits";

/// The functions of JMESPath, of which `to_string` refuses numbers that may have been rounded.
pub(super) static FUNCTIONS: LazyLock<Runtime> = LazyLock::new(|| {
    let mut functions = Runtime::new();
    functions.register_builtin_functions();
    functions.register_function("to_string", Box::new(ExactText(ToStringFn::new())));
    functions
});

/// Whether all numbers in `found` are those that were sent.
pub(super) fn is_exact(found: &Variable) -> bool {
    match found {
        Variable::Number(number) => !number.is_f64(),
        Variable::Array(parts) => parts.iter().all(|part| is_exact(part)),
        Variable::Object(parts) => parts.values().all(|part| is_exact(part)),
        Variable::Null | Variable::String(_) | Variable::Bool(_) | Variable::Expref(_) => true,
    }
}

/// The one function that makes text of numbers.
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
        let refused = RuntimeError::InvalidType {
            expected: RULE.into(),
            actual: "a number that may have been rounded".into(),
            position: 0,
        };
        let refused = ErrorReason::Runtime(refused);
        Err(JmespathError::from_ctx(context, refused))
    }
}
