//! Polls the stack while the scenes run, and prints every event in a line.

use super::containers::Container;
use super::feed::Lease;
use super::journal::Journal;
use super::layout::seconds;
use super::{Execution, Fate, Millis, Scene, Timeline};
use crate::stack::{BatchInput, Stack, now, pause};

mod poll;

/// No scene takes longer.
const PATIENCE: Millis = 60_000;
const PAUSE: Millis = 100;

/// Prints a line of progress: when it was since the start, and what happened.
pub type Print = fn(&str, &str);

/// The demo under way.
#[derive(Debug)]
pub struct Watch {
    stack: Stack,
    lock: String,
    lease_seconds: u32,
    begin: Millis,
    print: Print,
    executions: Vec<Execution>,
    running: Vec<String>,
    containers: Vec<Container>,
    lease: Option<Lease>,
    waiting: usize,
    evictions: Vec<(String, Millis)>,
    kills: Vec<(String, Millis)>,
}

impl Watch {
    /// Begins to poll `lock`, which is new.
    #[must_use]
    pub fn new(stack: Stack, lock: String, lease_seconds: u32, print: Print) -> Self {
        Self {
            stack,
            lock,
            lease_seconds,
            begin: now(),
            print,
            executions: Vec::new(),
            running: Vec::new(),
            containers: Vec::new(),
            lease: None,
            waiting: 0,
            evictions: Vec::new(),
            kills: Vec::new(),
        }
    }

    /// The stack.
    #[must_use]
    pub fn stack(&self) -> &Stack {
        &self.stack
    }

    /// The lock.
    #[must_use]
    pub fn lock(&self) -> &str {
        &self.lock
    }

    /// Length of a lease in seconds.
    #[must_use]
    pub fn lease_seconds(&self) -> u32 {
        self.lease_seconds
    }

    /// Prints a line of progress.
    pub fn say(&self, what: &str) {
        let since = now().saturating_sub(self.begin);
        (self.print)(&seconds(since), what);
    }

    /// Starts `count` executions at once; the names of all.
    pub async fn start(&mut self, scene: Scene, count: usize, input: &BatchInput) -> Vec<String> {
        let before = self.executions.iter().filter(|known| known.scene == scene);
        let first = before.count() + 1;
        let started = now();
        let arns = self.stack.start_all(&vec![input.clone(); count]).await;
        let numbered = arns.into_iter().zip(first..);
        let named = numbered.map(|(arn, number)| (arn, format!("{}{number}", scene.letter())));
        let named: Vec<_> = named.collect();
        self.running
            .extend(named.iter().map(|(arn, _)| arn.clone()));
        let executions = named.iter().map(|(arn, name)| Execution {
            scene,
            name: name.clone(),
            arn: arn.clone(),
            started,
            ended: started,
            fate: Fate::Succeeded,
        });
        self.executions.extend(executions);
        named.into_iter().map(|(_, name)| name).collect()
    }

    /// Waits until no execution runs.
    pub async fn until_all_ended(&mut self) {
        self.until("end of all executions", |watch| watch.running.is_empty())
            .await
    }

    /// Waits until the named execution ended.
    pub async fn until_ended(&mut self, name: &str) {
        let arn = self.arn(name);
        self.until("end of an execution", |watch| !watch.running.contains(&arn))
            .await
    }

    /// Waits until the container of one of `names` has worked for `length`; its holder's ARN.
    pub async fn until_works(&mut self, names: &[String], length: Millis) -> String {
        let arns: Vec<_> = names.iter().map(|name| self.arn(name)).collect();
        let working = |watch: &Self| {
            let mut containers = watch.containers.iter();
            let of_it = containers.find(|known| arns.contains(&known.holder))?;
            (now() >= of_it.started + length).then(|| of_it.holder.clone())
        };
        self.until("container at work", |watch| working(watch).is_some())
            .await;
        working(self).expect("the container that was just at work")
    }

    /// Takes the permit of a holder away.
    pub async fn evict(&mut self, holder: &str) {
        self.stack.evict(&self.lock, holder, "demo").await;
        self.evictions.push((holder.to_owned(), now()));
        self.say(&format!("{} is evicted by an operator", self.name(holder)));
    }

    /// Stops an execution from outside.
    pub async fn kill(&mut self, holder: &str) {
        self.kills.push((holder.to_owned(), now()));
        self.say(&format!("{} is killed: StopExecution", self.name(holder)));
        self.stack.abort(holder).await;
    }

    /// Waits until so many wait in the queue.
    pub async fn until_waiting(&mut self, count: usize) {
        self.until("place in the queue", |watch| watch.waiting == count)
            .await
    }

    /// What happened, with all that is logged about it.
    pub async fn timeline(mut self) -> Timeline {
        // A container's last line may come a moment after its execution ended.
        for _ in 0..20 {
            self.poll().await;
            if self
                .containers
                .iter()
                .all(|known| known.stopped().is_some())
            {
                break;
            }
            pause(PAUSE).await;
        }
        let lines = self.stack.function_lines(self.begin).await;
        Timeline {
            journal: Journal::read(lines.iter().map(String::as_str), &self.lock),
            lock: self.lock,
            lease_seconds: self.lease_seconds,
            executions: self.executions,
            containers: self.containers,
            evictions: self.evictions,
            kills: self.kills,
        }
    }

    async fn until(&mut self, what: &str, done: impl Fn(&Self) -> bool) {
        let deadline = now() + PATIENCE;
        loop {
            self.poll().await;
            if done(self) {
                return;
            }
            assert!(now() < deadline, "no {what} in {}", seconds(PATIENCE));
            pause(PAUSE).await;
        }
    }

    fn name(&self, arn: &str) -> String {
        let known = self.executions.iter().find(|known| known.arn == arn);
        known.map_or_else(|| arn.to_owned(), |execution| execution.name.clone())
    }

    fn arn(&self, name: &str) -> String {
        let known = self.executions.iter().find(|known| known.name == name);
        known.map_or_else(String::new, |execution| execution.arn.clone())
    }
}
