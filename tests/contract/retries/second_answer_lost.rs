//! A call of acquire-lock that decides twice. Its first decision is `duplicate`, because an earlier attempt has the
//! run key. Its second decision is a grant, which the table writes, but the table's response is lost.

use crate::ending::run_of;
use crate::faulty::Faulty;
use crate::functions::Functions;
use crate::scene::{execution, merged, status_of, task};
use serde_json::json;

/// The earlier attempt `a` fails while the call of `b` waits for its end. The second decision grants to `b` the permit
/// and the run key that `a` had, and the function does not learn that the grant was written. If it answered with the
/// first decision, `duplicate`, the execution `b` would end while it holds the lock.
#[tokio::test]
async fn a_call_that_may_have_been_granted_does_not_answer_duplicate() {
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
