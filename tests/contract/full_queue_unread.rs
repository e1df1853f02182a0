//! A full queue with a dead waiter, beside one whose side item cannot be read.

use crate::faulty::Faulty;
use crate::functions::Functions;
use crate::scene::{execution, merged, status_of, waiting_alone};
use lockstep::domain::{ExecutionEnd, HolderId, WaiterId};
use serde_json::json;

/// In some seconds the dead waiter is looked at first. Its place is free then, whatever comes after it.
#[tokio::test]
async fn a_run_takes_the_place_that_its_own_call_has_freed() {
    let id = |name: &str| WaiterId::of(&HolderId::new(execution(name)).unwrap());
    for second in 0..10 {
        let (functions, _) = Functions::held(&["a", "b", "c", "d"]).await;
        functions.queue(&["b", "c"]).await;
        functions.wait(5 + second);
        functions.end("b", ExecutionEnd::Aborted);
        let table = Faulty::damaged_waiter(&functions, id("c"));
        let ask = merged(waiting_alone("d", "token-d"), &json!({ "maxQueue": 2 }));

        let answer = functions.acquire_on(&table, ask).await;

        let queue = functions.record("nightly").await.unwrap().queue;
        let is_free = !queue.contains_key(&id("b"));
        let status = status_of(&answer);
        assert_eq!((is_free, status), (true, "queued"), "second {second}");
    }
}
