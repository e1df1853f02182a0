//! A thousand messages, some of them twice, some of them poison, on workers that are killed and
//! stopped all the time.

use super::{Scene, Worker};
use lockstep::config::variable;
use lockstep_tests::stack::{now, pause};
use std::collections::BTreeSet;

const MESSAGES: usize = 1_000;
const DUPLICATES: usize = 200;
const FAILING: usize = 12;
const MALFORMED: usize = 8;
const WORKERS: usize = 4;
/// More than the kills that hit any one message. A poison message uses up all of them.
const MOST_RECEIVES: u32 = 10;

/// Works for a moment, and pays.
const WORK: &str = "body=$(cat); say begin; [ \"$answer\" = ok ] || exit 3; sleep 0.$((RANDOM % 4)); \
    case $body in *poison*) exit 1;; esac; \
    say pay; [ \"$answer\" != refused ]";

/// The messages that are sent.
struct Load {
    bodies: Vec<String>,
    /// The messages that no worker can process.
    poison: BTreeSet<usize>,
    /// The once keys whose work succeeds.
    keys: BTreeSet<String>,
}

impl Load {
    fn random(random: &mut fastrand::Rng) -> Self {
        let unique = MESSAGES - DUPLICATES - FAILING - MALFORMED;
        let keys: Vec<_> = (0..unique).map(|n| format!("order-{n}")).collect();
        let again = (0..DUPLICATES).map(|_| keys[random.usize(..unique)].clone());
        let good = keys.iter().cloned().chain(again);
        let mut bodies: Vec<_> = good
            .map(|key| (false, format!(r#"{{"id":"{key}"}}"#)))
            .collect();
        bodies.extend((0..FAILING).map(|n| (true, format!(r#"{{"id":"poison-{n}"}}"#))));
        bodies.extend((0..MALFORMED).map(|n| (true, format!("not JSON {n}"))));
        random.shuffle(&mut bodies);
        let numbered = bodies.iter().enumerate();
        let poison = numbered.filter(|(_, (is_poison, _))| *is_poison);
        Self {
            poison: poison.map(|(n, _)| n).collect(),
            bodies: bodies.into_iter().map(|(_, body)| body).collect(),
            keys: keys.into_iter().collect(),
        }
    }
}

fn seed() -> u64 {
    let seed = variable("LOCKSTEP_SEED").and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(now);
    println!("seed: LOCKSTEP_SEED={seed}");
    seed
}

fn worker(scene: &Scene) -> Worker {
    let flags = "--once-key id --concurrency 8 --lease 6s --grace 4s --backoff-max 1s";
    scene.worker(&flags.split(' ').collect::<Vec<_>>(), WORK)
}

/// Kills or stops a random worker every second or two, and starts another one in its place, while
/// many messages are left. Returns the workers that work on, and those that were killed or stopped.
async fn rage(scene: &Scene, random: &mut fastrand::Rng) -> (Vec<Worker>, [Vec<Worker>; 2]) {
    let mut workers: Vec<_> = (0..WORKERS).map(|_| worker(scene)).collect();
    let (mut killed, mut stopped) = (Vec::new(), Vec::new());
    while scene.depth().await > (FAILING + MALFORMED + 40) as u64 {
        pause(random.u64(700..2_000)).await;
        let place = &mut workers[random.usize(..WORKERS)];
        let mut worker = std::mem::replace(place, worker(scene));
        let (signal, code, ended) = if random.bool() {
            ("KILL", 137, &mut killed)
        } else {
            ("TERM", 143, &mut stopped)
        };
        worker.process.signal(signal).await;
        assert_eq!(worker.process.code().await, code);
        ended.push(worker);
    }
    (workers, [killed, stopped])
}

#[tokio::test]
async fn every_key_succeeds_once_and_only_poison_messages_are_dead() {
    let mut random = fastrand::Rng::with_seed(seed());
    let scene = Scene::new("storm", MOST_RECEIVES).await;
    let load = Load::random(&mut random);
    let mut ids = Vec::new();
    for ten in load.bodies.chunks(10) {
        ids.extend(scene.queue.send_ten(&scene.inside.stack, ten).await);
    }

    let begin = now();
    let (workers, [killed, _stopped]) = rage(&scene, &mut random).await;
    let mut left = scene.depth().await;
    while left > 0 {
        assert!(now() < begin + 600_000, "{left} messages are left");
        pause(200).await;
        left = scene.depth().await;
    }
    for worker in workers {
        worker.end().await;
    }

    let entries = scene.resource.entries().into_iter();
    let (taken, stale): (Vec<_>, Vec<_>) = entries.partition(|entry| entry.taken);
    let payments = taken.into_iter().filter(|entry| entry.what == "pay");
    let payments: Vec<_> = payments.map(|entry| entry.key).collect();
    let paid: BTreeSet<_> = payments.iter().cloned().collect();
    let (again, seconds) = (payments.len() - paid.len(), (now() - begin) / 1000);
    let killed = killed.len();
    println!("{MESSAGES} messages in {seconds} s: {killed} workers killed, {again} paid again");
    assert_eq!(paid, load.keys);
    assert_eq!(stale, [], "an old run wrote after a new one had begun");
    // The success of a run that is killed between its write and its release is unknown.
    let most = killed * 8;
    assert!(again <= most, "{again} runs after a success, not {most}");
    let poison: BTreeSet<_> = load.poison.iter().map(|n| ids[*n].clone()).collect();
    assert_eq!(BTreeSet::from_iter(scene.dead().await), poison);
    for shard in 0..64 {
        let lock = format!("{}/{shard:02x}", scene.queue.name);
        // A worker that was killed at the last delivery of a poison message leaves a lock that
        // nobody acquires again. Its lease ends before a sweep frees it.
        scene.inside.until_held(&lock, 0, 150).await;
    }
}
