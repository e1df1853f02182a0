//! Follows the stack while the scenes run, and reports every event in one line.

use super::journal::Journal;
use super::layout::seconds;
use super::{Execution, Fate, Millis, Scene, Timeline};
use crate::stack::{BatchInput, Item, Run, Stack, now, pause, runs};
use serde_json::json;

/// No wait of a scene takes longer.
const PATIENCE: Millis = 60_000;
const PAUSE: u64 = 100;

/// Where lines of progress go. It takes the time since the start and what happened.
pub type Tell = fn(&str, &str);

/// A demo that is being played.
#[derive(Debug)]
pub struct Watch {
    stack: Stack,
    begin: Millis,
    tell: Tell,
    timeline: Timeline,
    /// The ARNs of the executions that have not ended.
    running: Vec<String>,
    lease: Option<Lease>,
    waiting: usize,
}

/// The lease in the record of the lock.
#[derive(Clone, Debug)]
struct Lease {
    holder: String,
    token: String,
    expires_at: String,
}

impl Watch {
    /// Begins to follow `lock`, which has to be new.
    pub fn new(stack: Stack, lock: String, lease_seconds: u32, tell: Tell) -> Self {
        Self {
            stack,
            begin: now(),
            tell,
            timeline: Timeline {
                lock,
                lease_seconds,
                executions: Vec::new(),
                journal: Journal::default(),
                containers: Vec::new(),
                evictions: Vec::new(),
                kills: Vec::new(),
            },
            running: Vec::new(),
            lease: None,
            waiting: 0,
        }
    }

    /// Returns the stack.
    pub fn stack(&self) -> &Stack {
        &self.stack
    }

    /// Returns the lock.
    pub fn lock(&self) -> &str {
        &self.timeline.lock
    }

    /// Reports something to the user.
    pub fn say(&self, what: &str) {
        (self.tell)(&seconds(now().saturating_sub(self.begin)), what);
    }

    /// Starts `count` executions at once. Returns the names of all.
    pub async fn start(&mut self, scene: Scene, count: usize, input: &BatchInput) -> Vec<String> {
        let first = self.timeline.of_scene(scene).count() + 1;
        let arns = self.stack.start_all(&vec![input.clone(); count]).await;
        self.running.extend(arns.iter().cloned());
        let executions = arns.into_iter().enumerate().map(|(index, arn)| Execution {
            scene,
            name: format!("{}{}", scene.letter(), first + index),
            arn,
            started: now(),
            ended: now(),
            fate: Fate::Succeeded,
        });
        let executions: Vec<_> = executions.collect();
        let names = executions.iter().map(|known| known.name.clone()).collect();
        self.timeline.executions.extend(executions);
        names
    }

    /// Waits until no execution runs.
    pub async fn until_all_ended(&mut self) {
        let done = |watch: &Self| watch.running.is_empty().then_some(());
        self.until("the end of all executions", done).await;
    }

    /// Waits until the named execution has ended.
    pub async fn until_ended(&mut self, name: &str) {
        let arn = self.arn(name);
        let done = |watch: &Self| (!watch.running.contains(&arn)).then_some(());
        self.until("the end of an execution", done).await;
    }

    /// Waits until the container of one of `names` has worked for `length` milliseconds. Returns
    /// the ARN of its holder.
    pub async fn until_works(&mut self, names: &[String], length: Millis) -> String {
        let arns: Vec<_> = names.iter().map(|name| self.arn(name)).collect();
        let working = |watch: &Self| {
            let known = arns.iter().find_map(|arn| watch.timeline.container(arn))?;
            (now() >= known.start + length).then(|| known.holder().to_owned())
        };
        self.until("a container at work", working).await
    }

    /// Waits until `count` runs wait in the queue.
    pub async fn until_waiting(&mut self, count: usize) {
        let done = |watch: &Self| (watch.waiting == count).then_some(());
        self.until("a place in the queue", done).await;
    }

    /// Evicts a holder.
    pub async fn evict(&mut self, holder: &str) {
        self.stack.evict(self.lock(), holder, "demo").await;
        self.timeline.evictions.push((holder.to_owned(), now()));
        self.say(&format!("{} is evicted from the table", self.name(holder)));
    }

    /// Stops an execution from outside.
    pub async fn kill(&mut self, holder: &str) {
        self.timeline.kills.push((holder.to_owned(), now()));
        self.say(&format!("{} is killed: StopExecution", self.name(holder)));
        self.stack.abort(holder).await;
    }

    /// Returns what happened, with everything that is logged about it.
    pub async fn timeline(mut self) -> Timeline {
        // A container's last line may arrive a moment after its execution ended.
        for _ in 0..20 {
            self.poll().await;
            if self
                .timeline
                .containers
                .iter()
                .all(|known| known.end.is_some())
            {
                break;
            }
            pause(PAUSE).await;
        }
        let mut events = Vec::new();
        for function in ["acquire-lock", "heartbeat", "release-lock", "reaper"] {
            let group = format!("/aws/lambda/lockstep-{function}");
            let ask = json!({ "logGroupName": group });
            events.extend(self.stack.log_events(ask).await);
        }
        let lines = events.iter().filter_map(|event| event["message"].as_str());
        self.timeline.journal = Journal::read(lines, &self.timeline.lock);
        self.timeline
    }

    async fn until<T>(&mut self, what: &str, done: impl Fn(&Self) -> Option<T>) -> T {
        let deadline = now() + PATIENCE;
        loop {
            self.poll().await;
            if let Some(done) = done(self) {
                return done;
            }
            let patience = seconds(PATIENCE);
            assert!(now() <= deadline, "{what} did not come within {patience}");
            pause(PAUSE).await;
        }
    }

    /// Reads the executions, the lock and the containers once, and reports what is new. The ends of
    /// executions are read first and reported last, after the events that led to them.
    async fn poll(&mut self) {
        let mut ended = Vec::new();
        for arn in &self.running {
            ended.extend(self.stack.ended(arn).await);
        }
        self.poll_lock().await;
        let seen = runs(&self.stack.records(self.lock()).await);
        self.compare(&seen);
        self.timeline.containers = seen;
        for end in ended {
            let fate = Fate::of(&end);
            self.running.retain(|running| *running != end.arn);
            self.say(&format!("{} {}", self.name(&end.arn), self.words(&fate)));
            let mut executions = self.timeline.executions.iter_mut();
            if let Some(execution) = executions.find(|known| known.arn == end.arn) {
                (execution.started, execution.ended) = (end.started, end.stopped);
                execution.fate = fate;
            }
        }
    }

    async fn poll_lock(&mut self) {
        let item = self.stack.lock_item(self.lock()).await.unwrap_or_default();
        let seen = lease(&item);
        match (&self.lease, &seen) {
            (Some(before), Some(now)) if before.token == now.token => {
                if before.expires_at != now.expires_at {
                    self.say(&format!("{} renewed its lease", self.name(&now.holder)));
                }
            }
            (_, Some(now)) => {
                let (name, token) = (self.name(&now.holder), &now.token);
                self.say(&format!("{name} holds the lock, fencing token {token}"));
            }
            (Some(_), None) => self.say("the lock is free"),
            (None, None) => {}
        }
        self.lease = seen;
        let queue = item.get("queue").and_then(|queue| queue.as_m().ok());
        let waiting = queue.map_or(0, |queue| queue.len());
        if waiting != self.waiting {
            self.say(&format!("{waiting} in the queue"));
            self.waiting = waiting;
        }
    }

    fn compare(&self, seen: &[Run]) {
        for run in seen {
            let mut known = self.timeline.containers.iter();
            let before = known.find(|known| known.id == run.id);
            let new = |what: fn(&Run) -> Option<u64>| {
                what(run).is_some() && before.and_then(what).is_none()
            };
            for (new, what) in [
                (before.is_none(), "starts to work"),
                (new(|run| run.sigterm), "gets SIGTERM"),
                (new(Run::done), "ends its work"),
            ] {
                if new {
                    self.say(&format!("{}'s container {what}", self.name(run.holder())));
                }
            }
        }
    }

    fn words(&self, fate: &Fate) -> String {
        match fate {
            Fate::Succeeded => "succeeded".into(),
            Fate::Failed { error, .. } => format!("failed: {error}"),
            Fate::Skipped { holder, .. } => {
                format!("skipped: {} holds the lock", self.name(holder))
            }
            Fate::Duplicate { holder, .. } => {
                format!("duplicate: {} has this tick", self.name(holder))
            }
        }
    }

    fn name<'a>(&'a self, arn: &'a str) -> &'a str {
        self.timeline.name_of(arn)
    }

    fn arn(&self, name: &str) -> String {
        let mut executions = self.timeline.executions.iter();
        let known = executions.find(|known| known.name == name);
        known.map_or_else(String::new, |execution| execution.arn.clone())
    }
}

/// Returns the first lease in the record of a lock.
fn lease(item: &Item) -> Option<Lease> {
    let (holder, lease) = item.get("holders")?.as_m().ok()?.iter().next()?;
    let number = |name: &str| lease.as_m().ok()?.get(name)?.as_n().ok().cloned();
    Some(Lease {
        holder: holder.clone(),
        token: number("token")?,
        expires_at: number("expiresAt")?,
    })
}
