//! The requests that operate and view refuse.

use crate::bad_input::{NULL, cases};
use crate::functions::Functions;
use serde_json::json;

#[tokio::test]
async fn an_act_names_field_value_and_rule() {
    let functions = Functions::new();
    functions.granted("nightly", "a").await;
    let list = json!({ "act": "list", "prefix": "team/" });
    let long = "x".repeat(129);
    let list_cases = cases! {
        "act", NULL => "act", "missing", "one of list, show, history";
        "act", "destroy" => "act", "\"destroy\"", "one of list, show";
        "act", 7 => "act", "is 7", "one of list";
        "prefix", "" => "prefix", "\"\"", "1 to 128";
        "prefix", long => "prefix", "1 to 128";
        "state", json!({ "held": null }) => "state", "{\"held\":null}", "frozen";
        "state", "busy" => "state", "busy", "frozen";
        "limit", 0 => "limit", "is 0", "from 1 to 100";
        "limit", 101 => "limit", "is 101", "from 1 to 100";
        "limit", "5" => "limit", "string \"5\"";
        "next", "other/a" => "next", "other/a", "the same request";
        "next", "a b" => "next", "a b", "the same request";
        "lock", "nightly" => "unknown field `lock`";
    };
    functions.assert_refused(&list, list_cases).await;

    let show = json!({ "act": "show", "lock": "nightly" });
    let show_cases = cases! {
        "lock", NULL => "missing field `lock`";
        "lock", "a b" => "lock", "a b", "no spaces";
        "lock", "nightl" => "lock", "\"nightl\"", "acquired or paused before";
        "prefix", "n" => "unknown field `prefix`";
    };
    functions.assert_refused(&show, show_cases).await;

    let history = json!({ "act": "history", "lock": "nightly", "from": "2026-03-01T06:00:00Z" });
    let history_cases = cases! {
        "lock", NULL => "lock", "missing", "unless `prefix` or `all` is";
        "prefix", "n" => "prefix", "\"n\"", "left out where `lock` or `all` is given";
        "from", "monday" => "from", "monday", "RFC 3339";
        "to", 5 => "to", "integer";
        "to", "2026-02-01T06:00:00Z" => "from", "2026-03-01", "not later than `to`";
        "limit", 0 => "limit", "is 0", "from 1 to 100";
        "next", "nightly" => "next", "nightly", "the same request";
        "next", "7@other" => "next", "7@other", "the same request";
        "next", "x@nightly" => "next", "x@nightly", "the same request";
        "last", 5 => "unknown field `last`";
    };
    functions.assert_refused(&history, history_cases).await;
}
