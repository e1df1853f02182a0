//! A retry of which one request to the table gets no response.

use crate::faulty::Faulty;
use crate::functions::Functions;
use crate::replace::replacing;
use crate::scene::{ask_with, execution, merged, status_of};
use lockstep::domain::ExecutionEnd;
use serde_json::json;

/// The table responds to the second decision, so only the doubt about the predecessor makes the answer an error. The
/// predecessor has been aborted, and DescribeExecution does not show that yet. Each of its checks takes some requests to
/// the table, because another run waits to replace it.
#[tokio::test]
async fn a_retry_is_in_doubt_whichever_request_gets_no_response() {
    for lost in 1..=10 {
        let functions = Functions::running(&["a", "b", "c"]);
        let parent = json!({ "parent": execution("caller") });
        let rests = merged(parent.clone(), &json!({ "minIntervalSeconds": 600 }));
        functions.granted_with(ask_with("a", rests)).await;
        functions.wait(5);
        let status = functions.status(replacing("c", "token-c")).await;
        assert_eq!(status, "queued");
        functions.end_late("a", ExecutionEnd::Aborted, 100);
        let table = Faulty::losing(&functions, lost);
        let retry = merged(parent, &json!({ "waitForEnding": true }));

        let answer = functions.acquire_on(&table, ask_with("b", retry)).await;

        assert!(table.is_silent(), "request {lost}");
        let status = status_of(&answer);
        assert_eq!(status, "Lockstep.Unavailable", "request {lost}");
    }
}
