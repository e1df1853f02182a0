//! The seven scenes of the demo, played on a deployed stack.

use super::Scene;
use super::watch::Watch;
use crate::stack::BatchInput;

/// Length of the leases in the demo: as short as they may be, so that a short batch outlives some.
pub const LEASE_SECONDS: u32 = 3;
/// How long the first batch works: three leases.
const LONG: u32 = 9;

/// Plays all scenes, one after the other. What came of the executions is not judged here.
pub async fn play(watch: &mut Watch) {
    burst_and_overlap(watch).await;
    for (scene, runs) in [
        (Scene::Redelivery, &[(1, 1, 0)][..]),
        (Scene::Next, &[(3, 2, 0)]),
        (Scene::Failure, &[(4, 1, 1), (5, 1, 0)]),
    ] {
        title(watch, scene);
        for (tick, seconds, exit) in runs {
            let input = input(watch, *tick, *seconds).exit(*exit);
            run(watch, scene, &input).await;
        }
    }
    eviction(watch).await;
    kill(watch).await;
}

async fn burst_and_overlap(watch: &mut Watch) {
    title(watch, Scene::Burst);
    let first = input(watch, 1, LONG);
    let names = watch.start(Scene::Burst, 10, &first).await;
    watch.until_works(&names, 4_000).await;
    title(watch, Scene::Overlap);
    let second = input(watch, 2, 1);
    let overlap = watch.start(Scene::Overlap, 1, &second).await;
    watch.until_ended(&overlap[0]).await;
    watch.until_all_ended().await;
}

async fn eviction(watch: &mut Watch) {
    title(watch, Scene::Eviction);
    let long = input(watch, 6, 20);
    let names = watch.start(Scene::Eviction, 1, &long).await;
    let holder = watch.until_works(&names, 2_000).await;
    watch.evict(&holder).await;
    watch.until_all_ended().await;
    run(watch, Scene::Eviction, &input(watch, 7, 2)).await;
}

/// Nothing of the killed execution runs any more that could release its permit.
async fn kill(watch: &mut Watch) {
    title(watch, Scene::Kill);
    let long = input(watch, 8, 20);
    let names = watch.start(Scene::Kill, 1, &long).await;
    watch.until_works(&names, 1_000).await;
    for (waiting, tick) in [(1, 9), (2, 10)] {
        let queued = input(watch, tick, 2).queued();
        watch.start(Scene::Kill, 1, &queued).await;
        watch.until_waiting(waiting).await;
    }
    let holder = watch.until_works(&names, 5_000).await;
    watch.kill(&holder).await;
    watch.until_all_ended().await;
}

async fn run(watch: &mut Watch, scene: Scene, input: &BatchInput) {
    watch.start(scene, 1, input).await;
    watch.until_all_ended().await;
}

fn title(watch: &Watch, scene: Scene) {
    watch.say(&format!("{}  {}", scene.letter(), scene.title()));
}

/// The input of an execution, as a schedule would give it for this tick.
fn input(watch: &Watch, tick: u32, seconds: u32) -> BatchInput {
    let input = watch.stack().batch_input(watch.lock());
    input
        .with(
            "runKey",
            format!("nightly-report@2026-03-01T{tick:02}:00:00Z"),
        )
        .with("leaseSeconds", watch.lease_seconds())
        .with("heartbeatSeconds", 1)
        .seconds(seconds.into())
}
