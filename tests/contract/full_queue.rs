//! A full queue with a dead waiter, at which runs arrive once a minute.

use crate::functions::Functions;
use crate::scene::{merged, waiting_alone};
use lockstep::domain::ExecutionEnd;
use serde_json::json;

/// The calls come in different seconds. The length of the queue divides the time between them.
#[tokio::test]
async fn acquires_a_minute_apart_find_every_dead_waiter_of_a_long_queue() {
    let names = ["b", "c", "d", "e", "f"];
    for dead in names {
        let long = json!({ "leaseSeconds": 86_400 });
        let all = ["a", "b", "c", "d", "e", "f", "g"];
        let (functions, _) = Functions::held_with(&all, long).await;
        functions.queue(&names).await;
        functions.wait(5);
        functions.end(dead, ExecutionEnd::Aborted);
        let most = json!({ "maxQueue": names.len() });
        let ask = merged(waiting_alone("g", "token-g"), &most);

        let mut has_place = false;
        for _ in 0..20 {
            functions.wait(60);
            has_place |= functions.acquire(ask.clone()).await.is_ok();
        }

        assert!(has_place, "{dead}");
    }
}
