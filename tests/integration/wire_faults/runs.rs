//! Which runs are under way, as Step Functions would know it, and what has gone wrong so far.

use lockstep::contract::ErrorName;
use lockstep::domain::{FencingToken, HolderId};
use std::collections::BTreeMap;
use std::sync::Mutex;
use tokio::sync::oneshot;

/// The runs under way, each with the state that waits for its turn.
#[derive(Debug, Default)]
pub(super) struct Runs {
    running: Mutex<BTreeMap<HolderId, Option<oneshot::Sender<FencingToken>>>>,
    failures: Mutex<BTreeMap<ErrorName, u32>>,
    recovered: Mutex<u32>,
}

impl Runs {
    /// A run begins. Its turn comes to the receiver.
    pub(super) fn begin(&self, holder: &HolderId) -> oneshot::Receiver<FencingToken> {
        let (turn, called) = oneshot::channel();
        self.running
            .lock()
            .unwrap()
            .insert(holder.clone(), Some(turn));
        called
    }

    pub(super) fn end(&self, holder: &HolderId) {
        self.running.lock().unwrap().remove(holder);
    }

    /// Ends the waiting state of a run, if it is under way.
    pub(super) fn wake(&self, holder: &HolderId, token: FencingToken) {
        let mut running = self.running.lock().unwrap();
        let turn = running.get_mut(holder).and_then(Option::take);
        // A state that has gone on already has found its grant by itself.
        turn.map(|turn| turn.send(token));
    }

    pub(super) fn is_running(&self, holder: &HolderId) -> bool {
        self.running.lock().unwrap().contains_key(holder)
    }

    pub(super) fn failed(&self, name: ErrorName) {
        *self.failures.lock().unwrap().entry(name).or_default() += 1;
    }

    pub(super) fn recovered(&self) {
        *self.recovered.lock().unwrap() += 1;
    }

    pub(super) fn figures(&self) -> String {
        let (failures, recovered) = (&self.failures, self.recovered.lock().unwrap());
        format!(
            "commands that failed and were tried again: {:?}; grants of runs that were over, \
             recovered: {recovered}",
            failures.lock().unwrap()
        )
    }
}
