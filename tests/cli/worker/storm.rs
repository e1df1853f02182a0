//! A thousand messages, some of them twice, some of them poison, on workers that are killed and
//! stopped all the time.

use super::queue::Queue;
use crate::support::{Inside, Started, scratch, serve_lines};
use lockstep::config::variable;
use lockstep_tests::stack::{now, pause};
use std::collections::{BTreeSet, HashMap};
use std::fs::{File, OpenOptions};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use tokio::process::Command;

const MESSAGES: usize = 1_000;
const DUPLICATES: usize = 200;
const FAILING: usize = 12;
const MALFORMED: usize = 8;
const WORKERS: usize = 4;
/// No message is hit by as many kills; a poison one has had as many tries.
const MOST_RECEIVES: u32 = 10;

/// Works for a moment, and pays.
const WORK: &str = "body=$(cat); exec 3<>/dev/tcp/127.0.0.1/$TILL; \
    say() { echo \"$LOCKSTEP_RUN_KEY $LOCKSTEP_FENCING_TOKEN $1\" >&3; read -r answer <&3; }; \
    say begin; [ \"$answer\" = ok ] || exit 3; sleep 0.$((RANDOM % 4)); \
    case $body in *poison*) exit 1;; esac; \
    say pay; [ \"$answer\" != stale ]";

/// What is sent.
struct Load {
    bodies: Vec<String>,
    /// Which of them no worker can process.
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
        let poison = bodies
            .iter()
            .enumerate()
            .filter(|(_, (is_poison, _))| *is_poison);
        Self {
            poison: poison.map(|(n, _)| n).collect(),
            bodies: bodies.into_iter().map(|(_, body)| body).collect(),
            keys: keys.into_iter().collect(),
        }
    }
}

struct Storm {
    inside: Inside,
    queue: Queue,
    sink: PaymentSink,
    log: PathBuf,
}

impl Storm {
    fn worker(&self) -> Started {
        let flags = [
            "worker",
            "--queue-url",
            &self.queue.url,
            "--once-key",
            "id",
            "--concurrency",
            "8",
            "--lease",
            "6s",
            "--grace",
            "4s",
            "--backoff-max",
            "1s",
            "--",
            "bash",
            "-c",
            WORK,
        ];
        let mut command: Command = self.inside.command(&flags);
        let log = OpenOptions::new().append(true).open(&self.log);
        command
            .envs([self.sink.variable()])
            .stderr(log.expect("a log"));
        Started::of(command)
    }

    async fn left(&self) -> u64 {
        self.queue.depth(&self.inside.stack, &self.queue.url).await
    }
}

fn seed() -> u64 {
    let seed = variable("LOCKSTEP_SEED").and_then(|seed| seed.parse().ok());
    let seed = seed.unwrap_or_else(now);
    println!("seed: LOCKSTEP_SEED={seed}");
    seed
}

/// Kills or stops a random worker every second or two, and starts another one for it, as long as
/// there are many messages left. Answers how many were killed.
async fn rage(storm: &Storm, random: &mut fastrand::Rng) -> (Vec<Started>, u32) {
    let mut workers: Vec<_> = (0..WORKERS).map(|_| storm.worker()).collect();
    let mut killed = 0;
    while storm.left().await > (FAILING + MALFORMED + 40) as u64 {
        pause(random.u64(700..2_000)).await;
        let next = storm.worker();
        let mut worker = std::mem::replace(&mut workers[random.usize(..WORKERS)], next);
        let is_kill = random.bool();
        killed += u32::from(is_kill);
        worker.signal(if is_kill { "KILL" } else { "TERM" }).await;
        let code = worker.code().await;
        assert_eq!(code, if is_kill { 137 } else { 143 });
    }
    (workers, killed)
}

#[tokio::test]
async fn every_key_is_worked_on_with_success_once_none_is_lost_and_only_poison_is_dead() {
    let mut random = fastrand::Rng::with_seed(seed());
    let inside = Inside::open().await;
    let queue = Queue::create(&inside.stack, "storm", MOST_RECEIVES).await;
    let log = scratch("storm-log");
    File::create(&log).expect("a file for the log");
    let sink = PaymentSink::open().await;
    let storm = Storm {
        inside,
        queue,
        sink,
        log,
    };
    let load = Load::random(&mut random);
    let mut ids = Vec::new();
    for ten in load.bodies.chunks(10) {
        ids.extend(storm.queue.send_ten(&storm.inside.stack, ten).await);
    }

    let begin = now();
    let (mut workers, killed) = rage(&storm, &mut random).await;
    while storm.left().await > 0 {
        assert!(
            now() < begin + 600_000,
            "{} messages are left",
            storm.left().await
        );
        pause(200).await;
    }
    for worker in &mut workers {
        worker.signal("TERM").await;
        assert_eq!(worker.code().await, 143);
    }

    let accounts = storm.sink.accounts();
    let count = |of: fn(&Account) -> u32| accounts.values().map(of).sum::<u32>();
    let (again, seconds) = (count(|account| account.again), (now() - begin) / 1000);
    println!("{MESSAGES} messages in {seconds} s: {killed} workers killed, {again} paid again");
    let paid = accounts.iter().filter(|(_, account)| account.paid == 1);
    assert_eq!(
        paid.map(|(key, _)| key.clone()).collect::<BTreeSet<_>>(),
        load.keys
    );
    assert_eq!(
        count(|account| account.stale),
        0,
        "an old run wrote after a new one had begun"
    );
    // Between the write and the release of a run that is killed, its success is unknown.
    assert!(
        again <= killed * 8,
        "{again} runs after a success, {killed} workers killed"
    );
    let dead: BTreeSet<_> = storm
        .queue
        .dead(&storm.inside.stack)
        .await
        .into_iter()
        .collect();
    assert_eq!(dead, load.poison.iter().map(|n| ids[*n].clone()).collect());
    for shard in 0..64 {
        let lock = format!("{}/{shard:02x}", storm.queue.name);
        assert_eq!(storm.inside.held(&lock).await, 0, "{lock}");
    }
    std::fs::remove_file(&storm.log).ok();
}

/// What is known of a key.
#[derive(Clone, Debug, Default)]
pub(super) struct Account {
    /// Largest token that was seen.
    pub(super) newest: u64,
    /// Payments that were taken.
    pub(super) paid: u32,
    /// Payments that were refused because one was taken before.
    pub(super) again: u32,
    /// Writes that were refused because a larger token had been seen.
    pub(super) stale: u32,
}

/// The resource: takes lines `KEY TOKEN begin` and `KEY TOKEN pay`.
#[derive(Clone, Debug)]
pub(super) struct PaymentSink {
    port: u16,
    accounts: Arc<Mutex<HashMap<String, Account>>>,
}

impl PaymentSink {
    /// Opens it on a port of its own.
    pub(super) async fn open() -> Self {
        let accounts = Arc::<Mutex<HashMap<String, Account>>>::default();
        let own = Arc::clone(&accounts);
        let port = serve_lines(move |line| take(&mut lock(&own), line)).await;
        Self { port, accounts }
    }

    /// The variable that a client needs.
    pub(super) fn variable(&self) -> (String, String) {
        ("TILL".into(), self.port.to_string())
    }

    /// All accounts.
    pub(super) fn accounts(&self) -> HashMap<String, Account> {
        lock(&self.accounts).clone()
    }
}

fn take(accounts: &mut HashMap<String, Account>, line: &str) -> &'static str {
    let words: Vec<_> = line.split(' ').collect();
    let [key, token, what] = words[..] else {
        panic!("the sink takes KEY TOKEN WHAT, not {line:?}");
    };
    let token: u64 = token.parse().expect("a token");
    let account = accounts.entry(key.into()).or_default();
    if token < account.newest {
        account.stale += 1;
        return "stale\n";
    }
    account.newest = token;
    if what == "pay" && account.paid > 0 {
        account.again += 1;
        return "again\n";
    }
    account.paid += u32::from(what == "pay");
    "ok\n"
}

fn lock(accounts: &Mutex<HashMap<String, Account>>) -> MutexGuard<'_, HashMap<String, Account>> {
    accounts.lock().unwrap_or_else(PoisonError::into_inner)
}
