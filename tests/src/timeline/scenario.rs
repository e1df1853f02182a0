//! The seven scenes of the demo, played on a deployed stack.

use super::Scene;
use super::feed::{Batch, Result};
use super::watch::Watch;
use serde_json::{Value, json};

/// Length of the leases in the demo: as short as they may be, so that a short batch outlives some.
pub const LEASE_SECONDS: u32 = 3;
/// How long the first batch works: three leases.
const LONG: u32 = 9;

/// Plays all scenes, one after the other.
///
/// # Errors
/// When the stack does not answer or an execution does not end. What came of the executions is not
/// judged here.
pub async fn play(watch: &mut Watch) -> Result<()> {
    let tick = Tick(1);
    burst_and_overlap(watch, tick).await?;
    title(watch, Scene::Redelivery);
    run(
        watch,
        Scene::Redelivery,
        tick,
        Batch {
            seconds: 1,
            exit: 0,
        },
    )
    .await?;
    title(watch, Scene::Next);
    run(
        watch,
        Scene::Next,
        Tick(3),
        Batch {
            seconds: 2,
            exit: 0,
        },
    )
    .await?;
    title(watch, Scene::Failure);
    run(
        watch,
        Scene::Failure,
        Tick(4),
        Batch {
            seconds: 1,
            exit: 1,
        },
    )
    .await?;
    run(
        watch,
        Scene::Failure,
        Tick(5),
        Batch {
            seconds: 1,
            exit: 0,
        },
    )
    .await?;
    eviction(watch).await?;
    kill(watch).await
}

/// A delivery of the schedule.
#[derive(Clone, Copy, Debug)]
struct Tick(u32);

async fn burst_and_overlap(watch: &mut Watch, tick: Tick) -> Result<()> {
    title(watch, Scene::Burst);
    let long = Batch {
        seconds: LONG,
        exit: 0,
    };
    let input = input(watch, tick, long);
    let names = watch.start(Scene::Burst, 10, &input).await?;
    watch.until_works(&names, 4_000).await?;
    title(watch, Scene::Overlap);
    let second = Batch {
        seconds: 1,
        exit: 0,
    };
    let input = self::input(watch, Tick(2), second);
    let overlap = watch.start(Scene::Overlap, 1, &input).await?;
    watch.until_ended(&overlap[0]).await?;
    watch.until_all_ended().await
}

async fn eviction(watch: &mut Watch) -> Result<()> {
    title(watch, Scene::Eviction);
    let long = Batch {
        seconds: 20,
        exit: 0,
    };
    let input = input(watch, Tick(6), long);
    let names = watch.start(Scene::Eviction, 1, &input).await?;
    let holder = watch.until_works(&names, 2_000).await?;
    watch.evict(&holder).await?;
    watch.until_all_ended().await?;
    run(
        watch,
        Scene::Eviction,
        Tick(7),
        Batch {
            seconds: 2,
            exit: 0,
        },
    )
    .await
}

/// Nothing of the killed execution runs any more that could release its permit.
async fn kill(watch: &mut Watch) -> Result<()> {
    title(watch, Scene::Kill);
    let long = Batch {
        seconds: 20,
        exit: 0,
    };
    let first = input(watch, Tick(8), long);
    let names = watch.start(Scene::Kill, 1, &first).await?;
    watch.until_works(&names, 1_000).await?;
    for (waiting, tick) in [(1, Tick(9)), (2, Tick(10))] {
        let short = Batch {
            seconds: 2,
            exit: 0,
        };
        let mut queued = input(watch, tick, short);
        queued["overlap"] = "queue".into();
        watch.start(Scene::Kill, 1, &queued).await?;
        watch.until_waiting(waiting).await?;
    }
    let holder = watch.until_works(&names, 5_000).await?;
    watch.kill(&holder).await?;
    watch.until_all_ended().await
}

async fn run(watch: &mut Watch, scene: Scene, tick: Tick, batch: Batch) -> Result<()> {
    let input = input(watch, tick, batch);
    watch.start(scene, 1, &input).await?;
    watch.until_all_ended().await
}

fn title(watch: &Watch, scene: Scene) {
    watch.say(&format!("{}  {}", scene.letter(), scene.title()));
}

/// The input of an execution, as a schedule would give it.
fn input(watch: &Watch, tick: Tick, batch: Batch) -> Value {
    json!({
        "lock": watch.lock(),
        "runKey": format!("nightly-report@2026-03-01T{:02}:00:00Z", tick.0),
        "leaseSeconds": watch.lease_seconds(),
        "heartbeatSeconds": 1,
        "work": watch.stack().work(batch),
    })
}
