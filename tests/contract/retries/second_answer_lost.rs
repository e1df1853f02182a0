//! A call whose second decision is written, while the response of the table is lost.

use crate::ending::run_of;
use crate::faulty::Faulty;
use crate::functions::Functions;
use crate::scene::{execution, merged, status_of, task};
use serde_json::json;

/// The earlier attempt fails while the call waits for it. The second decision grants its permit and its run key to
/// the caller, and the call does not learn of that. The answer of the first decision would end the caller's
/// execution, which holds the lock.
#[tokio::test]
async fn no_run_is_answered_duplicate_under_a_grant_of_the_same_call() {
    let functions = Functions::running(&["a", "b"]);
    let key = json!({ "runKey": "tick" });
    let grant = functions.granted_with(run_of("a", key.clone())).await;
    functions.put_task("a", task("t", 1, false));
    let table = Faulty::unanswered(&functions, grant, 2);
    let retry = merged(run_of("b", key), &json!({ "waitForEnding": true }));

    let answer = functions.acquire_on(&table, retry).await;

    let holders = functions.holders("nightly").await;
    assert_eq!(holders, [execution("b")], "the second decision is written");
    assert_eq!(status_of(&answer), "Lockstep.Unavailable");
}
