//! What show says of a holder over its limit of a lock that is frozen for another holder.

use super::replace_after_rest::sweep_until;
use crate::functions::Functions;
use crate::scene::{ask_with, execution, merged};
use lockstep::domain::Mode;
use serde_json::{Value, json};

/// The limits of a frozen lock do not make it due, so no sweep comes before the end of a lease.
#[tokio::test]
async fn a_run_over_its_time_in_a_frozen_lock_is_stopped_by_the_shown_time() {
    let functions = Functions::running(&["a", "b"]);
    let of_two = |name: &str, more: Value| {
        let terms = json!({ "permits": 2, "leaseSeconds": 3600 });
        functions.granted_with(ask_with(name, merged(terms, &more)))
    };
    let holds = json!({ "stalePolicy": "hold", "maxRunSeconds": 100 });
    let grant = of_two("a", holds).await;
    of_two("b", json!({ "maxRunSeconds": 400 })).await;
    functions.wait(101);
    functions.renew(&grant).await;
    let mode = functions.record("nightly").await.unwrap().gate.mode;
    assert!(matches!(mode, Mode::Frozen { .. }), "{mode:?}");

    let shown = functions.shown().await;
    let view = &shown["holders"][1];
    sweep_until(&functions, view["next"]["by"].as_str().unwrap()).await;

    assert_eq!(view["holder"], execution("b"), "{shown}");
    assert_eq!(view["next"]["action"], "stop", "{shown}");
    assert!(!functions.executions.stops().is_empty(), "{view}");
}
