use super::*;
use std::collections::HashSet;

fn key(expression: Option<&str>, body: &str) -> Result<String, Malformed> {
    let expression = expression.map(|text| OnceKey::compile(text).unwrap());
    once_key(expression.as_ref(), "id-1", body.as_bytes())
}

#[test]
fn without_an_expression_the_message_id_is_the_key() {
    assert_eq!(key(None, "\u{1}no JSON"), Ok("id-1".into()));
}

#[test]
fn a_string_or_a_whole_number_is_a_key() {
    let body = r#"{"order": {"id": "A-7", "number": 12}}"#;

    assert_eq!(key(Some("order.id"), body), Ok("A-7".into()));
    assert_eq!(key(Some("order.number"), body), Ok("12".into()));
    let both = "join('/', [order.id, to_string(order.number)])";
    assert_eq!(key(Some(both), body), Ok("A-7/12".into()));
}

#[test]
fn every_whole_number_of_64_bits_is_a_key_of_its_own() {
    let numbers = "0 -1 9007199254740993 -9223372036854775808 18446744073709551614 \
                   18446744073709551615";
    for number in numbers.split(' ') {
        let body = format!(r#"{{"id": {number}, "text": ""}}"#);
        for expression in ["id", "join('', [to_string(id), text])"] {
            assert_eq!(key(Some(expression), &body), Ok(number.into()));
        }
    }
}

#[test]
fn a_number_that_would_be_rounded_is_malformed_in_any_part_of_the_key() {
    let numbers = "12345678901234567890123 12345678901234567890124 18446744073709551616 \
                   -9223372036854775809 1700000000.123456789 1.5 100.0 1e2";
    for number in numbers.split(' ') {
        let body = format!(r#"{{"id": {number}, "kind": "refund"}}"#);
        let expressions = "id|join('/', [kind, to_string(id)])|to_string(@)|sum([id])";
        for expression in expressions.split('|') {
            let problem = key(Some(expression), &body).unwrap_err().0;

            assert!(problem.contains("whole number of 64 bits"), "{problem}");
            let is_quoted = problem.contains("refund") || problem.contains(number);
            assert!(!is_quoted, "{problem}");
        }
    }
}

#[test]
fn a_number_outside_the_key_may_have_any_value() {
    let body = r#"{"id": 7, "price": 9.99, "big": 12345678901234567890123}"#;

    for expression in ["id", "[@][?price > `1.5`].id | [0]"] {
        assert_eq!(key(Some(expression), body), Ok("7".into()));
    }
}

#[test]
fn a_key_that_is_not_a_valid_run_key_is_hashed_and_stays_the_same() {
    let long = format!(r#"{{"id": "{}"}}"#, "x".repeat(513));
    for body in [r#"{"id": "größe 7"}"#, r#"{"id": "a b"}"#, &long] {
        let found = key(Some("id"), body).unwrap();

        assert!(found.starts_with("sha256:") && found.len() == 71, "{found}");
        assert_eq!(Ok(found), key(Some("id"), body));
    }
}

#[test]
fn the_error_of_a_malformed_message_names_its_place_and_hides_its_body() {
    for (expression, body, wrong) in [
        ("id", "secret", "is not valid JSON at line 1, column 1"),
        ("id", "{\"secret\": [1,", "ends too early at line 1"),
        ("id", "", "ends too early at line 1, column 0"),
        ("id", r#"{"secret": 1}"#, "finds nothing"),
        ("id", r#"{"id": ""}"#, "finds an empty string"),
        ("id", r#"{"id": ["secret"]}"#, "finds an array"),
        ("id", r#"{"id": {"secret": 1}}"#, "finds an object"),
        ("id", r#"{"id": true}"#, "finds a boolean"),
        ("length(id)", r#"{"id": 5}"#, "expects type"),
    ] {
        let Malformed(problem) = key(Some(expression), body).unwrap_err();

        assert!(problem.contains(wrong), "{body}: {problem}");
        assert!(!problem.contains("secret"), "{body}: {problem}");
    }
}

#[test]
fn an_invalid_expression_is_reported_with_its_place_in_one_line() {
    let problem = OnceKey::compile("order.[").unwrap_err();

    assert!(problem.contains("character"), "{problem}");
    assert_eq!(problem.lines().count(), 1, "{problem}");
}

#[test]
fn keys_are_spread_over_all_shards_and_each_key_stays_on_one() {
    let locks = (0..2_000).map(|n| lock("orders", &format!("k{n}")));
    let locks: HashSet<_> = locks.collect();

    assert_eq!(locks.len(), usize::from(SHARDS));
    assert_eq!(lock("orders", "k1"), lock("orders", "k1"));
    assert!(locks.contains("orders/00") && locks.contains("orders/3f"));
}

#[test]
fn an_expression_that_is_nested_too_deep_is_rejected_in_one_line() {
    let parts = ["[", "(", "{a:", "!", "a[?", "&"];
    let too_deep = parts.map(|part| part.repeat(70)).into_iter();

    for text in too_deep.chain(["[".repeat(3_000), "a.".repeat(3_000)]) {
        let problem = OnceKey::compile(&text).unwrap_err();

        assert!(problem.starts_with("is "), "{problem}");
    }
    // The command compiles the expression on its main thread, whose stack is 8 MiB. The stack of a test
    // thread has a quarter of that.
    let longest = || OnceKey::compile(&format!("{}a", "a.".repeat(500))).is_ok();
    let main = std::thread::Builder::new().stack_size(8 << 20);
    assert!(main.spawn(longest).unwrap().join().unwrap());
    assert!(OnceKey::compile("join('-', [tenant, to_string(items[0].id)])").is_ok());
}
