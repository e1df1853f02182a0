//! A waiting state that has its place in the queue, while a check of the holder gets no response.

use crate::faulty::Faulty;
use crate::functions::Functions;
use crate::scene::{LATE, status_of, waiting};

/// A caller that is in the queue needs no other decision. A second one costs a write, and fails the call if it gets no
/// response.
#[tokio::test]
async fn a_waiting_state_is_decided_once_although_a_check_gets_no_response() {
    let (functions, _) = Functions::at_work(&["a", "b"]).await;
    let table = Faulty::silent_after(&functions, u32::MAX);
    let answer = functions.acquire_on(&table, waiting("b", "token-b")).await;
    assert_eq!(status_of(&answer), "queued");
    // The heartbeat of `a` is not late yet, so these are the requests of one decision.
    let decision = table.asked();

    let (functions, _) = Functions::at_work(&["a", "b"]).await;
    functions.wait(LATE);
    functions.tasks.silence();
    let table = Faulty::silent_after(&functions, decision);

    let answer = functions.acquire_on(&table, waiting("b", "token-b")).await;

    assert_eq!(status_of(&answer), "queued");
    assert_eq!(table.asked(), decision);
}
