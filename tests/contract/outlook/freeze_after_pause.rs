//! What show says of a silent holder under `hold` of a lock that is paused and rests.

use crate::functions::Functions;
use lockstep::domain::Mode;
use serde_json::json;

/// The rest ends after the pause. A freeze needs the end of the pause only.
#[tokio::test]
async fn show_names_the_end_of_the_pause_as_the_time_of_a_freeze() {
    let holds = json!({ "stalePolicy": "hold", "minIntervalSeconds": 600 });
    let (functions, _) = Functions::held_with(&["a"], holds).await;
    let until = functions.time_in(150);
    functions
        .order("pause", json!({ "lock": "nightly", "until": until }))
        .await;
    functions.silent_for_long(60).await;

    let shown = functions.shown().await;
    functions.wait(70);
    functions.sweep().await;

    let mode = functions.record("nightly").await.unwrap().gate.mode;
    assert!(matches!(mode, Mode::Frozen { .. }), "{mode:?}");
    let next = &shown["holders"][0]["next"];
    assert_eq!(next["action"], "freeze", "{shown}");
    assert_eq!(next["from"], json!(until), "{shown}");
}
