//! A run that loses its permit under `yield` between two reads of a request with the same run key.

use crate::ending::run_of;
use crate::faulty::{Call, Faulty};
use crate::functions::Functions;
use crate::scene::{merged, status_of, task};
use serde_json::json;

/// The request reads the marker of the run key before the record. The run is in neither then: its marker had no lease yet,
/// and the record has it no more.
#[tokio::test]
async fn no_run_takes_the_key_of_a_run_that_yields_whenever_that_yields() {
    let mut late = 0;
    for request in 1..=6 {
        let functions = Functions::running(&["a", "b"]);
        let of_two = json!({ "permits": 2, "runKey": "tick", "stalePolicy": "yield" });
        let limited = merged(of_two.clone(), &json!({ "maxRunSeconds": 50 }));
        let grant = functions.granted_with(run_of("a", limited)).await;
        functions.put_task("a", task("t", 1, false));
        functions.wait(55);
        let yields = Call::Heartbeat(json!({ "grant": grant }));
        let table = Faulty::with_a_call_before(&functions, request, yields);

        let answer = functions.acquire_on(&table, run_of("b", of_two)).await;

        assert_eq!(status_of(&answer), "duplicate", "before request {request}");
        late += u32::from(table.asked() >= request);
    }
    assert!(late >= 2, "the run yields in {late} cases");
}
