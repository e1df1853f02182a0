//! A waiter that confirms its hand-over by asking again, after the first lease of the grant has ended.

use crate::functions::Functions;
use crate::scene::{ask, merged, waiting};
use lockstep::domain::Seconds;
use lockstep::executions::memory::ExecutionsCall;
use serde_json::json;

/// The wake-up was lost, and the sweep sent it again. The time before the confirmation is no run time, whether the
/// lease was live or not.
#[tokio::test]
async fn the_limit_of_a_run_counts_from_a_late_confirmation() {
    for late in [50, 100] {
        let (functions, grant) = Functions::held(&["a", "b"]).await;
        let limit = json!({ "maxRunSeconds": 1000 });
        let waits = merged(waiting("b", "token-b"), &limit);
        assert_eq!(functions.status(waits).await, "queued");
        functions.lose_next(ExecutionsCall::EndState);
        functions.succeed(&grant).await;
        functions.wait(late);

        let status = functions.status(merged(ask("b"), &limit)).await;

        assert_eq!(status, "alreadyHeld");
        let record = functions.record("nightly").await.unwrap();
        let lease = record.holders.values().next().expect("a holder");
        let end = functions.now().plus(Seconds::of(1000));
        assert_eq!(lease.run_until, Some(end), "after {late} s");
    }
}
