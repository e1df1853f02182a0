//! `lockstep worker`: real processes on queues of the emulator and the lock table.

mod descent;
mod duplicates;
mod ends;
mod failures;
mod passing;
mod protected;
mod queue;
mod rest;
mod storm;

use crate::support::{FaultProxy, FencedResource, Inside, Started, scratch};
use lockstep_tests::stack::until;
pub(crate) use passing::read_as;
use queue::Queue;
pub(crate) use queue::{depth, sqs};
use std::fs::{self, File};
use std::path::PathBuf;
use tokio::process::Command;

/// `say WHAT` in a script writes a line to the resource, under the once key and the fencing token.
const SAY: &str = "exec 3<>/dev/tcp/127.0.0.1/$LEDGER; \
    say() { echo \"$LOCKSTEP_RUN_KEY $LOCKSTEP_FENCING_TOKEN $1\" >&3; read -r answer <&3; }; ";

/// A message that fails is received again within a second.
const QUICK: [&str; 4] = ["--backoff-max", "1s", "--lease", "5s"];

/// A queue, a resource, and workers on them.
struct Scene {
    inside: Inside,
    queue: Queue,
    resource: FencedResource,
}

/// A worker that runs.
struct Worker {
    process: Started,
    log: Log,
}

/// What a worker writes to standard error. The file is removed with this value.
struct Log(PathBuf);

impl Scene {
    /// Makes a resource, and a queue whose messages are moved to the dead letters after
    /// `most_receives`.
    async fn new(test: &str, most_receives: u32) -> Self {
        let inside = Inside::open().await;
        let queue = Queue::create(&inside.stack, test, most_receives).await;
        let resource = FencedResource::open().await;
        Self {
            inside,
            queue,
            resource,
        }
    }

    /// Returns `lockstep worker` with `flags`, whose command is a script that may [`SAY`] things.
    fn command(&self, flags: &[&str], script: &str) -> (Command, Log) {
        let script = format!("{SAY}{script}");
        let queue = ["worker", "--queue-url", &self.queue.url];
        let script = ["--", "bash", "-c", &script];
        let mut command = self.inside.command(&[&queue, flags, &script].concat());
        let log = Log(scratch("worker-log"));
        let file = File::create(&log.0).expect("a file for the log");
        command.envs([self.resource.variable()]).stderr(file);
        (command, log)
    }

    fn worker(&self, flags: &[&str], script: &str) -> Worker {
        let (command, log) = self.command(flags, script);
        Worker::of(command, log)
    }

    /// Starts a worker with another variable in its environment.
    fn worker_with(&self, flags: &[&str], script: &str, (name, value): (&str, &str)) -> Worker {
        let (mut command, log) = self.command(flags, script);
        command.env(name, value);
        Worker::of(command, log)
    }

    /// Starts a worker that reaches the lock table through `proxy`.
    fn worker_behind(&self, proxy: &FaultProxy, script: &str) -> Worker {
        let (command, log) = self.command(&QUICK, script);
        Worker::of(proxy.before(command), log)
    }

    /// Checks that the one message was never received: a worker without a fault receives it for the
    /// first time.
    async fn assert_untouched(&self) {
        let script = "say \"done $LOCKSTEP_RECEIVE_COUNT\"";
        let right = self.worker(&QUICK, script);
        self.until_empty(30).await;
        right.end().await;
        assert_eq!(self.received(), ["done 1"]);
    }

    async fn send(&self, body: &str) -> String {
        self.queue.send(&self.inside.stack, body).await
    }

    /// Returns how many messages are left, visible or in flight.
    async fn depth(&self) -> u64 {
        depth(&self.inside.stack, &self.queue.url).await
    }

    /// Waits until no message is left.
    async fn until_empty(&self, seconds: u64) {
        until("empty queue", seconds, async || self.depth().await == 0).await;
    }

    /// Returns the ids of all dead letters, in order.
    async fn dead(&self) -> Vec<String> {
        let mut dead = self.queue.dead(&self.inside.stack).await;
        dead.sort();
        dead
    }

    /// Returns what the resource received, in order.
    fn received(&self) -> Vec<String> {
        let entries = self.resource.entries().into_iter();
        entries.map(|entry| entry.what).collect()
    }
}

impl Worker {
    fn of(command: Command, log: Log) -> Self {
        let process = Started::of(command);
        Self { process, log }
    }

    /// Waits until its log has a line with `part`.
    async fn until_logged(&self, part: &str, seconds: u64) {
        until(part, seconds, async || self.log.text().contains(part)).await;
    }

    /// Ends the worker by SIGTERM, and returns its log.
    async fn end(mut self) -> String {
        self.process.signal("TERM").await;
        assert_eq!(self.process.code().await, 143, "{}", self.log.text());
        self.log.text()
    }
}

impl Log {
    fn text(&self) -> String {
        fs::read_to_string(&self.0).expect("a log")
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        if std::thread::panicking() {
            println!("{}", self.text());
        }
        fs::remove_file(&self.0).ok();
    }
}

/// A file whose presence tells a script to go on.
struct Sign(PathBuf);

impl Sign {
    fn new() -> Self {
        Self(scratch("sign"))
    }

    /// Returns a script that waits for the file.
    fn wait(&self) -> String {
        format!("until [ -e {} ]; do sleep 0.05; done; ", self.0.display())
    }

    fn give(&self) {
        File::create(&self.0).expect("a file");
    }
}
