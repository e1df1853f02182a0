//! Finds mistakes in an expression that would affect every message, before the first message is received.
//!
//! An expression that compiles may still call a function that does not exist. Every message would then count
//! as malformed, and the queue would move good messages to its dead-letter queue.

use super::exact::FUNCTIONS;
use jmespath::ast::Ast;
use jmespath::{Context, ErrorReason, Rcvar, RuntimeError, Variable};

/// Checks that `ast`
/// - calls functions that exist, with the right number of arguments
/// - has no slice with step 0
/// - may find a string or a number
/// - depends on the body of the message
///
/// # Errors
/// Describes the first mistake, in one line.
pub(super) fn check(ast: &Ast) -> Result<(), String> {
    check_calls(ast)?;
    if let Some(found) = type_that_is_no_key(ast) {
        return Err(format!(
            "always finds {found}, but a key is a string or a number"
        ));
    }
    if !reads_the_body(ast) {
        return Err("is the same for every message: it names no field of the body".into());
    }
    Ok(())
}

fn check_calls(ast: &Ast) -> Result<(), String> {
    match ast {
        Ast::Function { name, args, .. } => check_call(name, args.len())?,
        Ast::Slice { step: 0, .. } => return Err("has a slice with step 0".into()),
        _ => {}
    }
    children(ast).into_iter().try_for_each(check_calls)
}

/// Checks that the function `name` exists and takes `count` arguments. Calls it with `count` nulls: a
/// function checks the number of its arguments before their types.
fn check_call(name: &str, count: usize) -> Result<(), String> {
    let Some(function) = FUNCTIONS.get_function(name) else {
        return Err(format!("calls {name}(), which is not a function"));
    };
    let nulls = vec![Rcvar::new(Variable::Null); count];
    let called = function.evaluate(&nulls, &mut Context::new("", &FUNCTIONS));
    match called.map_err(|error| error.reason) {
        Err(ErrorReason::Runtime(
            RuntimeError::NotEnoughArguments { expected, actual }
            | RuntimeError::TooManyArguments { expected, actual },
        )) => Err(format!(
            "calls {name}() with {actual} arguments, but it takes {expected}"
        )),
        _ => Ok(()),
    }
}

/// Returns the type of value that an expression finds in every message, if that type cannot be a key.
fn type_that_is_no_key(ast: &Ast) -> Option<&'static str> {
    match ast {
        Ast::Comparison { .. } | Ast::Not { .. } => Some("a boolean"),
        Ast::MultiList { .. } | Ast::Projection { .. } | Ast::Flatten { .. } => Some("an array"),
        Ast::MultiHash { .. } => Some("an object"),
        Ast::Subexpr { rhs, .. } => type_that_is_no_key(rhs),
        Ast::Function { name, .. } => match name.as_str() {
            "contains" | "ends_with" | "starts_with" => Some("a boolean"),
            "keys" | "map" | "sort" | "sort_by" | "to_array" | "values" => Some("an array"),
            "merge" => Some("an object"),
            _ => None,
        },
        _ => None,
    }
}

fn reads_the_body(ast: &Ast) -> bool {
    matches!(
        ast,
        Ast::Field { .. } | Ast::Identity { .. } | Ast::Index { .. } | Ast::Slice { .. }
    ) || children(ast).into_iter().any(reads_the_body)
}

fn children(ast: &Ast) -> Vec<&Ast> {
    match ast {
        Ast::Comparison { lhs, rhs, .. }
        | Ast::Projection { lhs, rhs, .. }
        | Ast::And { lhs, rhs, .. }
        | Ast::Or { lhs, rhs, .. }
        | Ast::Subexpr { lhs, rhs, .. } => vec![lhs, rhs],
        Ast::Condition {
            predicate, then, ..
        } => vec![predicate, then],
        Ast::Expref { ast: node, .. }
        | Ast::Flatten { node, .. }
        | Ast::Not { node, .. }
        | Ast::ObjectValues { node, .. } => vec![node],
        Ast::Function { args, .. } => args.iter().collect(),
        Ast::MultiList { elements, .. } => elements.iter().collect(),
        Ast::MultiHash { elements, .. } => elements.iter().map(|pair| &pair.value).collect(),
        Ast::Identity { .. }
        | Ast::Field { .. }
        | Ast::Index { .. }
        | Ast::Literal { .. }
        | Ast::Slice { .. } => vec![],
    }
}

#[cfg(test)]
mod tests {
    use crate::once_key::OnceKey;

    #[test]
    fn an_expression_that_can_find_no_key_in_any_message_is_refused() {
        for (expression, problem) in [
            (
                "from_jso(Message).id",
                "calls from_jso(), which is not a function",
            ),
            ("items[*].nope(@) | [0]", "calls nope()"),
            ("id || nope(id)", "calls nope()"),
            (
                "to_string()",
                "calls to_string() with 0 arguments, but it takes 1",
            ),
            ("join('/', [a, b], c)", "with 3 arguments, but it takes 2"),
            ("from_json(Message, id)", "with 2 arguments, but it takes 1"),
            ("not_null()", "with 0 arguments"),
            ("map(&nope(@), items) | [0]", "calls nope()"),
            ("id[::0] | [0]", "step 0"),
            ("'orderId'", "is the same for every message"),
            ("`7`", "is the same for every message"),
            ("join('/', ['a', 'b'])", "is the same for every message"),
            ("{id: id}", "always finds an object"),
            ("[id]", "always finds an array"),
            ("items[*].id", "always finds an array"),
            ("id == other", "always finds a boolean"),
            ("order.[id]", "always finds an array"),
            ("keys(@)", "always finds an array"),
            ("merge(a, b)", "always finds an object"),
            ("starts_with(id, 'a')", "always finds a boolean"),
            ("id || 'none'", "finds \"none\" in every message"),
            ("'order-' || id", "finds \"order-\" in every message"),
            ("not_null('x', id)", "finds \"x\" in every message"),
            ("to_string(id)", "finds \"null\" in every message"),
            ("join('-', [type(id)])", "finds \"null\" in every message"),
        ] {
            let refused = OnceKey::compile(expression).unwrap_err();
            assert!(refused.contains(problem), "{expression}: {refused}");
        }
    }

    #[test]
    fn an_expression_that_may_find_a_key_is_accepted() {
        for expression in [
            "id",
            "@",
            "to_string(@)",
            "[0]",
            "items[*].id | [0]",
            "join('/', [kind, to_string(id)])",
            "max_by(items, &at).id",
            "sort_by(items, &to_number(at))[-1].id",
            "not_null(a, b, c)",
            "from_json(Message).order.id",
            "keys(@) | [0]",
            "*|[0]",
            "items[?kind == 'a'] | [0].id",
        ] {
            assert!(OnceKey::compile(expression).is_ok(), "{expression}");
        }
    }
}
