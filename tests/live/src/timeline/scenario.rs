//! The seven scenes of the demo, played on a deployed stack.

use super::Scene;
use super::watch::Watch;
use crate::stack::BatchInput;

/// The length of the leases in the demo: the shortest, so that a short batch outlives some.
pub const LEASE_SECONDS: u32 = 3;

/// Plays all scenes, one after the other. Does not judge how the executions ended.
pub async fn play(watch: &mut Watch) {
    burst_and_overlap(watch).await;
    title(watch, Scene::Redelivery);
    run(watch, Scene::Redelivery, 1, 1.0, 0).await;
    title(watch, Scene::Next);
    run(watch, Scene::Next, 3, 2.0, 0).await;
    title(watch, Scene::Failure);
    run(watch, Scene::Failure, 4, 1.0, 1).await;
    run(watch, Scene::Failure, 5, 1.0, 0).await;
    eviction(watch).await;
    kill(watch).await;
}

async fn burst_and_overlap(watch: &mut Watch) {
    title(watch, Scene::Burst);
    // The batch works for three leases.
    let names = watch
        .start(Scene::Burst, 10, &input(watch, 1, 9.0, 0))
        .await;
    watch.until_works(&names, 4_000).await;
    title(watch, Scene::Overlap);
    let overlap = watch
        .start(Scene::Overlap, 1, &input(watch, 2, 1.0, 0))
        .await;
    watch.until_ended(&overlap[0]).await;
    watch.until_all_ended().await;
}

async fn eviction(watch: &mut Watch) {
    title(watch, Scene::Eviction);
    let names = watch
        .start(Scene::Eviction, 1, &input(watch, 6, 20.0, 0))
        .await;
    let holder = watch.until_works(&names, 2_000).await;
    watch.evict(&holder).await;
    watch.until_all_ended().await;
    run(watch, Scene::Eviction, 7, 2.0, 0).await;
}

/// Kills a run, while two others wait. No part of the killed execution that could release its
/// permit runs any more.
async fn kill(watch: &mut Watch) {
    title(watch, Scene::Kill);
    let names = watch.start(Scene::Kill, 1, &input(watch, 8, 20.0, 0)).await;
    watch.until_works(&names, 1_000).await;
    for (waiting, tick) in [(1, 9), (2, 10)] {
        let queued = input(watch, tick, 2.0, 0).queued();
        watch.start(Scene::Kill, 1, &queued).await;
        watch.until_waiting(waiting).await;
    }
    let holder = watch.until_works(&names, 5_000).await;
    watch.kill(&holder).await;
    watch.until_all_ended().await;
}

async fn run(watch: &mut Watch, scene: Scene, tick: u32, seconds: f64, exit: u8) {
    watch
        .start(scene, 1, &input(watch, tick, seconds, exit))
        .await;
    watch.until_all_ended().await;
}

fn title(watch: &Watch, scene: Scene) {
    watch.say(&format!("{}  {}", scene.letter(), scene.title()));
}

/// Returns the input of an execution, as a schedule would give it at its delivery `tick`.
fn input(watch: &Watch, tick: u32, seconds: f64, exit: u8) -> BatchInput {
    let batch = watch
        .stack()
        .batch_input(watch.lock())
        .seconds(seconds)
        .exit(exit);
    let key = format!("nightly-report@2026-03-01T{tick:02}:00:00Z");
    batch.with("runKey", key).short_lease()
}
