//! A soak test: hundreds of runs of mixed kinds, while executions, containers, tasks, functions,
//! events and the table fail at random. The test judges what the containers did, and that nothing
//! is left in the table.
//!
//! `LOCKSTEP_RUNS` sets how many runs there are (default 500), and `LOCKSTEP_SEED` the random
//! choices. A seed repeats the choices, but not the timing of the machine.

use crate::support::{alone, connect};
use fastrand::Rng;
use lockstep::config::variable;
use lockstep_tests::judge::Expected;
use lockstep_tests::stack::{
    BatchInput, Failure, Habit, Stack, TableAnswer, Turn, deadline, now, pause, unique,
};
use serde_json::json;
use std::collections::{BTreeMap, BTreeSet};

/// How many locks the runs share.
const LOCKS: usize = 20;

/// What all runs of one lock have in common.
#[derive(Clone, Debug)]
struct Kind {
    lock: String,
    permits: usize,
    stale: &'static str,
    /// Whether some of its runs replace others.
    replaces: bool,
}

struct Soak {
    stack: Stack,
    rng: Rng,
    prefix: String,
    kinds: Vec<Kind>,
    /// The state machine of workflows that call the functions themselves.
    own: String,
    started: Vec<String>,
    /// Holders whose work was stopped from outside.
    stopped: BTreeSet<String>,
    acts: BTreeMap<&'static str, usize>,
}

fn number(name: &str, default: u64) -> u64 {
    let given = variable(name).and_then(|text| text.parse().ok());
    given.unwrap_or(default)
}

#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes minutes, and all of the machine: make soak"]
async fn whatever_dies_no_work_overlaps_or_succeeds_twice_and_nothing_is_left() {
    let _room = alone().await;
    let (runs, seed) = (number("LOCKSTEP_RUNS", 500), number("LOCKSTEP_SEED", 1));
    println!("seed: LOCKSTEP_SEED={seed}, {runs} runs");
    let mut soak = Soak::new(seed).await;
    let began = now();
    for number in 0..runs {
        soak.start(number).await;
        if soak.rng.u8(..3) == 0 {
            soak.act().await;
        }
        pause(soak.rng.u64(50..400)).await;
    }
    soak.settle().await;
    soak.judge(now() - began).await;
}

impl Soak {
    async fn new(seed: u64) -> Self {
        let stack = connect().await;
        let prefix = unique("soak");
        let kinds = (0..LOCKS).map(|index| Kind {
            lock: format!("{prefix}/{index}"),
            permits: [1, 1, 1, 2, 3][index % 5],
            stale: if index % 7 == 6 { "yield" } else { "terminate" },
            replaces: index % 9 == 8,
        });
        let kinds = kinds.collect();
        for habit in [Habit::StoppedLate(3), Habit::DescribeLags(2)] {
            stack.switch_on(habit, &prefix).await;
        }
        let own = stack.small_machine(&stack.functions(), Turn::Queue).await;
        Self {
            rng: Rng::with_seed(seed),
            prefix,
            kinds,
            own,
            started: Vec::new(),
            stopped: BTreeSet::new(),
            acts: BTreeMap::new(),
            stack,
        }
    }

    async fn start(&mut self, number: u64) {
        let kind = self.kinds[self.rng.usize(..LOCKS)].clone();
        if self.rng.u8(..10) == 0 {
            let ask = json!({
                "lock": kind.lock, "permits": kind.permits, "overlap": "queue", "leaseSeconds": 20
            });
            self.started
                .push(self.stack.start_machine(&self.own, &ask).await);
            return;
        }
        let seconds = f64::from(self.rng.u8(5..60)) / 10.0;
        let mut input: BatchInput = self.stack.batch_input(&kind.lock).seconds(seconds);
        input = input
            .with("permits", kind.permits)
            .with("stalePolicy", kind.stale)
            .with("leaseSeconds", 8)
            .with("heartbeatSeconds", 2);
        let overlap = match self.rng.u8(..10) {
            0..6 => "queue",
            6 if kind.replaces => "replace",
            _ => "skip",
        };
        input = input.with("overlap", overlap);
        if overlap != "skip" {
            input = input.with("waitSeconds", 180);
        }
        if self.rng.u8(..3) == 0 {
            input = input.with("runKey", format!("{}-key-{}", kind.lock, number / 20));
        }
        if self.rng.u8(..10) == 0 {
            input = input.exit(3);
        }
        self.started.push(self.stack.start(&input).await);
    }

    /// Makes one thing go wrong, chosen at random.
    async fn act(&mut self) {
        let lock = self.kinds[self.rng.usize(..LOCKS)].lock.clone();
        let functions = [
            "AcquireLockFunctionArn",
            "HeartbeatFunctionArn",
            "ReleaseLockFunctionArn",
            "ReaperFunctionArn",
        ];
        let function = functions[self.rng.usize(..functions.len())];
        let function = self.stack.output(function).to_owned();
        let act = match self.rng.u8(..20) {
            0..5 => {
                let recent = self.started.len().saturating_sub(25);
                let arn = self.started[self.rng.usize(recent..self.started.len())].clone();
                self.stack.abort_if_running(&arn).await;
                self.stopped.insert(arn);
                "executions aborted"
            }
            5..8 => {
                let Some(task) = self.running_task(&lock).await else {
                    return;
                };
                // A task that has ended meanwhile has no container to kill.
                let killed = self.stack.try_kill_container(&task.0).await;
                if killed {
                    "containers killed"
                } else {
                    "containers gone"
                }
            }
            8..10 => {
                let Some((task, holder)) = self.running_task(&lock).await else {
                    return;
                };
                self.stack.stop_task(&task).await;
                self.stopped.insert(holder);
                "tasks stopped"
            }
            10..14 => {
                self.stack.kill_after(&function, "write", &lock).await;
                "functions killed after a write"
            }
            14..17 => {
                let failure = [Failure::Panic, Failure::Throttle, Failure::Service];
                let failure = failure[self.rng.usize(..3)];
                self.stack.fail_next(&function, 2, failure, &lock).await;
                "functions failed"
            }
            17 => {
                let away = Habit::TableAway(TableAnswer::Fail, 4);
                self.stack.switch_on(away, &self.prefix).await;
                "outages of the table"
            }
            _ => {
                self.stack.drop_events(&lock).await;
                "locks whose events are lost"
            }
        };
        *self.acts.entry(act).or_default() += 1;
    }

    /// Returns a running task of `lock`, and its holder.
    async fn running_task(&mut self, lock: &str) -> Option<(String, String)> {
        let tasks = self.stack.tasks(&format!("\"{lock}\"")).await;
        let running: Vec<_> = tasks
            .into_iter()
            .filter(|task| task["lastStatus"] == "RUNNING")
            .collect();
        let task = self.rng.choice(&running)?;
        let overrides = &task["overrides"]["containerOverrides"][0]["environment"];
        let holder = overrides
            .as_array()?
            .iter()
            .find(|one| one["name"] == "LOCKSTEP_HOLDER")?;
        let arn = task["taskArn"].as_str()?.to_owned();
        Some((arn, holder["value"].as_str()?.to_owned()))
    }

    /// Removes all faults, waits for every execution, and sweeps until no lock is held or waited
    /// for.
    async fn settle(&self) {
        self.stack.clear_faults().await;
        self.stack.wait_all(&self.started, 240).await;
        let reaper = self.stack.output("ReaperFunctionArn");
        let deadline = deadline(60);
        for Kind { lock, .. } in &self.kinds {
            while self.stack.held(lock).await + self.stack.waiting(lock).await > 0 {
                assert!(now() < deadline, "{lock} is left held or waited for");
                let _swept = self.stack.invoke(reaper, &json!({ "sweep": true })).await;
                pause(1_000).await;
            }
        }
    }

    async fn judge(&self, millis: u64) {
        let (mut containers, mut succeeded) = (0, 0);
        for kind in &self.kinds {
            let mut expected = Expected::permits(kind.permits);
            for holder in &self.stopped {
                expected = expected.stops(holder);
            }
            if kind.replaces {
                for holder in &self.started {
                    expected = expected.stops(holder);
                }
            }
            if kind.stale == "yield" {
                for holder in &self.started {
                    expected = expected.runs_beside(holder);
                }
            }
            let of_lock = self.stack.judge(&kind.lock, &expected).await;
            containers += of_lock.len();
            succeeded += of_lock.iter().filter(|one| one.succeeded()).count();
            let items = self.stack.items(&kind.lock).await;
            let side_items = items.iter().filter(|item| {
                item["sk"]
                    .as_s()
                    .is_ok_and(|sort| sort.starts_with("waiter#"))
            });
            assert_eq!(
                side_items.count(),
                0,
                "side items of {} are left",
                kind.lock
            );
        }
        let ended = self.stack.wait_all(&self.started, 5).await;
        let mut statuses: BTreeMap<String, usize> = BTreeMap::new();
        for one in &ended {
            let status = format!("{} {}", one.status, one.error);
            *statuses.entry(status.trim_end().into()).or_default() += 1;
        }
        let refused = statuses
            .keys()
            .any(|status| status.contains("InvalidRequest"));
        assert!(!refused, "an invalid request was sent: {statuses:?}");
        eprintln!(
            "figure: soak of {} runs in {} s: {containers} containers, {succeeded} succeeded; \
             executions {statuses:?}; {:?}; overlaps, second successes, live runs stopped, locks and side \
             items left: 0",
            self.started.len(),
            millis / 1000,
            self.acts,
        );
    }
}
