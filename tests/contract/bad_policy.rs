//! What acquire-lock refuses of the fields for stale runs and tasks.

use crate::bad_input::{Case, assert_acquire_refuses};
use crate::bad_waiting::base;
use serde_json::json;

#[tokio::test]
async fn a_stale_policy_is_one_of_three() {
    let named = |given| vec!["stalePolicy", given, "terminate", "yield", "hold"];
    let cases = vec![
        ("stalePolicy", json!("kill"), named("kill")),
        ("stalePolicy", json!("Terminate"), named("Terminate")),
        ("stalePolicy", json!(""), named("``")),
        ("stalePolicy", json!(1), vec!["stalePolicy"]),
    ];

    assert_acquire_refuses(&base("skip"), cases).await;
}

#[tokio::test]
async fn a_time_without_progress_is_a_second_to_a_year() {
    let range = "from 1 to 31536000";
    let field = "noProgressSeconds";
    let cases = vec![
        (field, json!(0), vec![field, "is 0", range]),
        (field, json!(-1), vec![field, "is -1", range]),
        (field, json!(31_536_001), vec![field, "31536001", range]),
        (field, json!(0.5), vec![field, "0.5"]),
        (field, json!("60"), vec![field, "string \"60\""]),
    ];

    assert_acquire_refuses(&base("skip"), cases).await;
}

#[tokio::test]
async fn a_place_of_work_has_names_that_ecs_would_take() {
    let cluster = || vec!["work.cluster", "1 to 512"];
    let family = || vec!["work.family", "1 to 255"];
    let cases: Vec<Case<'_>> = vec![
        ("work", json!("batch"), vec!["work", "string \"batch\""]),
        ("work", json!([]), vec!["work"]),
        (
            "work.cluster",
            json!(null),
            vec!["work", "missing field `cluster`"],
        ),
        ("work.cluster", json!(""), cluster()),
        (
            "work.cluster",
            json!("my batch"),
            vec!["work.cluster", "my batch", "1 to 512"],
        ),
        (
            "work.cluster",
            json!("bätch"),
            vec!["work.cluster", "b\\u{e4}tch"],
        ),
        ("work.cluster", json!("x".repeat(513)), cluster()),
        (
            "work.cluster",
            json!(7),
            vec!["work.cluster", "integer `7`"],
        ),
        ("work.family", json!(""), family()),
        (
            "work.family",
            json!("a\nb"),
            vec!["work.family", "a\\nb", "1 to 255"],
        ),
        ("work.family", json!("x".repeat(256)), family()),
        (
            "work.service",
            json!("api"),
            vec!["work", "unknown field `service`"],
        ),
    ];

    assert_acquire_refuses(&base("skip"), cases).await;
}
