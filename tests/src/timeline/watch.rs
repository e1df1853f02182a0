//! Looks at the stack while the scenes run, and tells every event in a line.

use super::containers::Container;
use super::feed::{Lease, Result, Stack};
use super::journal::Journal;
use super::layout::seconds;
use super::{Execution, Fate, Millis, Scene, Timeline};
use lockstep::clock::{Clock, SystemClock};
use serde_json::Value;
use std::time::Duration;

mod look;

/// No scene takes longer.
const PATIENCE: Millis = 60_000;
const PAUSE: Duration = Duration::from_millis(100);

/// Where lines of progress go: when it was since the start, and what happened.
pub type Tell = fn(&str, &str);

/// The demo under way.
#[derive(Debug)]
pub struct Watch {
    stack: Stack,
    lock: String,
    lease_seconds: u32,
    begin: Millis,
    tell: Tell,
    executions: Vec<Execution>,
    running: Vec<String>,
    containers: Vec<Container>,
    lease: Option<Lease>,
    waiting: usize,
    evictions: Vec<(String, Millis)>,
    kills: Vec<(String, Millis)>,
}

impl Watch {
    /// Begins to look at `lock`, which nobody has used before.
    #[must_use]
    pub fn new(stack: Stack, lock: String, lease_seconds: u32, tell: Tell) -> Self {
        Self {
            stack,
            lock,
            lease_seconds,
            begin: SystemClock.now().millis(),
            tell,
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

    /// Tells the user something.
    pub fn say(&self, what: &str) {
        let since = SystemClock.now().millis().saturating_sub(self.begin);
        (self.tell)(&seconds(since), what);
    }

    /// Starts `count` executions at once; the names of all.
    ///
    /// # Errors
    /// When one does not start.
    pub async fn start(
        &mut self,
        scene: Scene,
        count: usize,
        input: &Value,
    ) -> Result<Vec<String>> {
        let before = self.executions.iter().filter(|known| known.scene == scene);
        let first = before.count() + 1;
        // Sent together, awaited in turn: the requests are under way at the same time.
        let calls = (0..count).map(|_| self.stack.start(input));
        let started = together(calls.collect()).await;
        let mut names = Vec::new();
        for (index, started) in started.into_iter().enumerate() {
            let (arn, started) = started?;
            let name = format!("{}{}", scene.letter(), first + index);
            self.running.push(arn.clone());
            self.executions.push(Execution {
                scene,
                name: name.clone(),
                arn,
                started,
                ended: started,
                fate: Fate::Succeeded,
            });
            names.push(name);
        }
        Ok(names)
    }

    /// Waits until no execution runs.
    ///
    /// # Errors
    /// When one takes too long, or the stack does not answer.
    pub async fn until_all_ended(&mut self) -> Result<()> {
        self.until("the end of all executions", |watch| {
            watch.running.is_empty()
        })
        .await
    }

    /// Waits until the named execution ended.
    ///
    /// # Errors
    /// As [`Self::until_all_ended`].
    pub async fn until_ended(&mut self, name: &str) -> Result<()> {
        let arn = self.arn(name);
        self.until("the end of an execution", |watch| {
            !watch.running.contains(&arn)
        })
        .await
    }

    /// Waits until the container of one of `names` has worked for `length`; its holder's ARN.
    ///
    /// # Errors
    /// As [`Self::until_all_ended`].
    pub async fn until_works(&mut self, names: &[String], length: Millis) -> Result<String> {
        let arns: Vec<_> = names.iter().map(|name| self.arn(name)).collect();
        let working = |watch: &Self| {
            let now = SystemClock.now().millis();
            let mut containers = watch.containers.iter();
            let of_it = containers.find(|known| arns.contains(&known.holder))?;
            (now >= of_it.started + length).then(|| of_it.holder.clone())
        };
        self.until("a container at work", |watch| working(watch).is_some())
            .await?;
        working(self).ok_or_else(|| "the container is gone".into())
    }

    /// Takes the permit of a holder away.
    ///
    /// # Errors
    /// When it holds none.
    pub async fn evict(&mut self, holder: &str) -> Result<()> {
        self.stack.evict(&self.lock, holder).await?;
        let now = SystemClock.now().millis();
        self.evictions.push((holder.to_owned(), now));
        self.say(&format!("{} is evicted from the table", self.name(holder)));
        Ok(())
    }

    /// Stops an execution from outside.
    ///
    /// # Errors
    /// When it cannot be stopped.
    pub async fn kill(&mut self, holder: &str) -> Result<()> {
        self.kills
            .push((holder.to_owned(), SystemClock.now().millis()));
        self.say(&format!("{} is killed: StopExecution", self.name(holder)));
        self.stack.stop(holder).await
    }

    /// Waits until so many wait in the queue.
    ///
    /// # Errors
    /// As [`Self::until_all_ended`].
    pub async fn until_waiting(&mut self, count: usize) -> Result<()> {
        self.until("a place in the queue", |watch| watch.waiting == count)
            .await
    }

    /// What happened, with all that is logged about it.
    ///
    /// # Errors
    /// When the logs cannot be read.
    pub async fn timeline(mut self) -> Result<Timeline> {
        // A container's last line may come a moment after its execution ended.
        let told = |watch: &Self| {
            watch
                .containers
                .iter()
                .all(|known| known.stopped().is_some())
        };
        for _ in 0..20 {
            self.look().await?;
            if told(&self) {
                break;
            }
            SystemClock.sleep(PAUSE).await;
        }
        let lines = self.stack.function_lines(self.begin).await?;
        Ok(Timeline {
            journal: Journal::read(lines.iter().map(String::as_str), &self.lock),
            lock: self.lock,
            lease_seconds: self.lease_seconds,
            executions: self.executions,
            containers: self.containers,
            evictions: self.evictions,
            kills: self.kills,
        })
    }

    async fn until(&mut self, what: &str, done: impl Fn(&Self) -> bool) -> Result<()> {
        let deadline = SystemClock.now().millis() + PATIENCE;
        loop {
            self.look().await?;
            if done(self) {
                return Ok(());
            }
            if SystemClock.now().millis() > deadline {
                return Err(format!("{what} did not come within {}", seconds(PATIENCE)));
            }
            SystemClock.sleep(PAUSE).await;
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

/// Polls all of `calls` until each is done.
async fn together<F: Future>(calls: Vec<F>) -> Vec<F::Output> {
    let mut calls: Vec<_> = calls.into_iter().map(Box::pin).collect();
    let mut done: Vec<Option<F::Output>> = calls.iter().map(|_| None).collect();
    std::future::poll_fn(move |context| {
        for (call, done) in calls.iter_mut().zip(&mut done) {
            if done.is_none()
                && let std::task::Poll::Ready(output) = call.as_mut().poll(context)
            {
                *done = Some(output);
            }
        }
        if done.iter().all(Option::is_some) {
            return std::task::Poll::Ready(done.drain(..).flatten().collect());
        }
        std::task::Poll::Pending
    })
    .await
}
