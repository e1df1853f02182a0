//! How long one call of acquire-lock takes, whatever does not respond.

use crate::faulty::Faulty;
use crate::functions::Functions;
use crate::scene::{ask, ask_with, waiting};
use futures_util::FutureExt;
use lockstep::domain::ExecutionEnd;
use serde_json::json;

#[tokio::test]
async fn the_checks_of_one_call_end_after_five_seconds() {
    let functions = Functions::new();
    functions.start(&["a", "b"]);
    functions.granted_with(ask("a")).await;
    functions.end("a", ExecutionEnd::Aborted);
    functions.wait(62);
    // The decision on the request takes one write.
    let table = Faulty::silent_after(&functions, 1);
    let start = functions.now();

    let answer = functions.acquire_on(&table, ask("b")).await.unwrap();

    assert_eq!(answer["status"], "skipped");
    assert_eq!(functions.now().millis_since(start), 5_000);
}

/// Lambda ends a call after ten seconds. On the clock of these tests, time passes only in pauses and
/// time limits.
#[tokio::test]
async fn a_call_ends_in_time_whichever_request_gets_no_response() {
    let replace = ask_with("b", json!({ "overlap": "replace", "taskToken": "token-1" }));
    let redrive = ask_with("b", json!({ "redriveCount": 1 }));
    for (request, least) in [
        (ask("b"), 3),
        (waiting("b", "token-1"), 5),
        (replace, 5),
        (redrive, 3),
    ] {
        for answered in 0.. {
            let functions = Functions::new();
            functions.start(&["a", "b"]);
            functions.granted_with(ask("a")).await;
            functions.end("a", ExecutionEnd::Aborted);
            functions.wait(62);
            let table = Faulty::silent_after(&functions, answered);
            let start = functions.now();

            let call = functions.acquire_on(&table, request.clone());
            let response = call.now_or_never();

            let case = format!("{request} with {answered} responses");
            let response = response.unwrap_or_else(|| panic!("{case}: no end"));
            let took = functions.now().millis_since(start);
            assert!(took <= 8_000, "{case}: {took} ms");
            if let Err(error) = response {
                assert_eq!(error.name().as_str(), "Lockstep.Unavailable", "{case}");
            }
            if !table.is_silent() {
                assert!(answered >= least, "{case}");
                break;
            }
        }
    }
}
