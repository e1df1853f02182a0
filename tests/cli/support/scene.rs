//! A lock of a test's own: commands under it, its record, and what the scripts under it write to.

use super::{FencedResource, Inside, Started, lock, output, scratch};
use lockstep::domain::{LockRecord, RunOutcome};
use lockstep_tests::stack::until;
use std::fs;
use std::ops::Deref;
use std::path::PathBuf;
use tokio::process::Command;

/// A lock that no other test uses. A script under it has the port of a resource in `$LEDGER` and the
/// path of a file in `$NOTES`.
pub(crate) struct Scene {
    inside: Inside,
    /// The name of the lock.
    pub(crate) lock: String,
    /// The resource that `$LEDGER` leads to.
    pub(crate) resource: FencedResource,
    /// The file that `$NOTES` names.
    pub(crate) notes: PathBuf,
}

impl Deref for Scene {
    type Target = Inside;

    fn deref(&self) -> &Inside {
        &self.inside
    }
}

impl Scene {
    /// Connects to the stack, with a lock that has no record yet.
    pub(crate) async fn open(test: &str) -> Self {
        Self {
            inside: Inside::open().await,
            lock: lock(test),
            resource: FencedResource::open().await,
            notes: scratch(test),
        }
    }

    /// Connects to the stack, with a lock that has a record: one request takes a permit.
    pub(crate) async fn with_record(test: &str) -> Self {
        let scene = Self::open(test).await;
        output(scene.run(&[], &["true"])).await;
        scene
    }

    /// Returns `lockstep run --lock LOCK FLAGS -- COMMAND`.
    pub(crate) fn run(&self, flags: &[&str], command: &[&str]) -> Command {
        let mut run = self.inside.run(&self.lock, flags, command);
        run.envs([self.resource.variable()]);
        run.env("NOTES", &self.notes);
        run
    }

    /// Returns the same command for a script of bash.
    pub(crate) fn bash(&self, flags: &[&str], script: &str) -> Command {
        self.run(flags, &["bash", "-c", script])
    }

    /// Starts a script of bash under the lock.
    pub(crate) fn start(&self, flags: &[&str], script: &str) -> Started {
        Started::of(self.bash(flags, script))
    }

    /// Runs `echo ran` under the lock to its end. Returns exit code, stdout and stderr.
    pub(crate) async fn echo(&self, flags: &[&str]) -> (i32, String, String) {
        output(self.run(flags, &["echo", "ran"])).await
    }

    /// Starts a run that holds the lock until it is stopped.
    pub(crate) async fn holder(&self) -> Started {
        let run = Started::of(self.run(&[], &["sleep", "300"]));
        self.until_held(1, 10).await;
        run
    }

    /// Returns the record of the lock, which must have one.
    pub(crate) async fn record(&self) -> LockRecord {
        self.inside.record(&self.lock).await.expect("a record")
    }

    /// Returns the name of the lock's first holder.
    pub(crate) async fn holder_name(&self) -> String {
        self.holders(&self.lock).await.remove(0)
    }

    /// Returns how many runs hold the lock.
    pub(crate) async fn held(&self) -> usize {
        self.inside.held(&self.lock).await
    }

    /// Returns how many runs wait for the lock.
    pub(crate) async fn waiting(&self) -> usize {
        self.inside.waiting(&self.lock).await
    }

    /// Waits until `count` runs hold the lock.
    pub(crate) async fn until_held(&self, count: usize, seconds: u64) {
        self.inside.until_held(&self.lock, count, seconds).await;
    }

    /// Waits until `count` runs wait for the lock.
    pub(crate) async fn until_waiting(&self, count: usize, seconds: u64) {
        self.inside.until_waiting(&self.lock, count, seconds).await;
    }

    /// Returns [`Inside::lease_end`] of the lock.
    pub(crate) async fn lease_end(&self) -> u64 {
        self.inside.lease_end(&self.lock).await
    }

    /// Returns [`Inside::outcome`] of the lock.
    pub(crate) async fn outcome(&self) -> Option<RunOutcome> {
        self.inside.outcome(&self.lock).await
    }

    /// Returns what scripts have written to `$NOTES`.
    pub(crate) fn noted(&self) -> String {
        fs::read_to_string(&self.notes).unwrap_or_default()
    }

    /// Waits until scripts have written `count` process ids to `$NOTES`, and returns them.
    pub(crate) async fn ids(&self, count: usize) -> Vec<u32> {
        let read = || -> Vec<u32> {
            let noted = self.noted();
            let whole = noted.rsplit_once('\n').map_or("", |(lines, _)| lines);
            let ids = whole.split_whitespace();
            ids.map(|id| id.parse().expect("an id")).collect()
        };
        until("ids of processes", 20, async || read().len() == count).await;
        read()
    }
}
