//! The lock table behind a network, on a loaded service.

use crate::engine::locked;
use crate::pairs::Event;
use crate::trial::Trial;
use crate::weather::Trouble;
use crate::world::World;
use crate::{audit, bill, witness};
use lockstep::domain::{
    Act, Change, FencingToken, LockKey, LockRecord, Mode, Run, RunId, Timestamp, Waiter, WaiterId,
};
use lockstep::store::{
    Commit, DueLock, DuePage, HistoryPage, LockIndex, LockStore, LocksPage, StoreError,
};
use std::sync::Arc;

/// The table in memory, behind faults.
pub(crate) struct SimStore(pub(crate) Arc<World>);

impl SimStore {
    /// Brings a request to the table: takes some time, and sometimes fails before anything is done.
    async fn reach(&self, lock: Option<&LockKey>) -> Result<(), StoreError> {
        let world = &self.0;
        world.count(bill::REQUESTS);
        match world.weather.of_table(world.now()) {
            Some(Trouble::TableAway) => {
                world.has_fault();
                world.count("requests to a table that is away");
                world.happens(Event::TableOutage, lock);
                world.linger(5..=3000).await;
                return Err(StoreError::Unavailable("the table is away".into()));
            }
            Some(_) => {
                world.has_fault();
                world.count("throttled");
                return Err(StoreError::Throttled("simulated".into()));
            }
            None => {}
        }
        if world.fault(10) {
            world.count("slow requests");
            world.linger(200..=4000).await;
        } else {
            world.linger(1..=8).await;
        }
        if world.fault(10) {
            world.count("throttled");
            return Err(StoreError::Throttled("simulated".into()));
        }
        if world.fault(10) {
            world.happens(Event::LostRequest, lock);
            return Err(StoreError::Unavailable("lost on the way there".into()));
        }
        Ok(())
    }

    /// Brings an answer back: takes some time, and sometimes loses the answer.
    async fn come_back<T>(&self, lock: Option<&LockKey>, answer: T) -> Result<T, StoreError> {
        let world = &self.0;
        world.linger(1..=8).await;
        if world.fault(10) {
            world.count("lost answers");
            world.happens(Event::LostResponse, lock);
            return Err(StoreError::Unavailable("lost on the way back".into()));
        }
        Ok(answer)
    }
}

impl LockStore for SimStore {
    async fn commit(&self, lock: &LockKey, change: &Change) -> Result<Commit, StoreError> {
        self.reach(Some(lock)).await?;
        if self.0.fault(10) {
            self.0.count("busy");
            return Ok(Commit::Busy);
        }
        if self.0.fault(8) {
            self.0.happens(Event::LateRequest, Some(lock));
            write_late(&self.0, lock.clone(), change.clone());
            return Err(StoreError::Unavailable("no answer in time".into()));
        }
        // The SDK got no answer and sends the write again: the first one arrives after the second.
        // A transaction has a token of its own, and is done once.
        let once = !change.runs.is_empty() || change.waiter.is_some() || change.act.is_some();
        if !once && self.0.tries(Trial::LateWrites) && self.0.fault(8) {
            self.0.count("writes sent twice");
            self.0.happens(Event::LateRequest, Some(lock));
            write_late(&self.0, lock.clone(), change.clone());
        }
        let answer = write(&self.0, lock, change).await?;
        self.come_back(Some(lock), answer).await
    }

    async fn load(&self, lock: &LockKey) -> Result<Option<LockRecord>, StoreError> {
        self.reach(Some(lock)).await?;
        let record = self.0.store.load(lock).await?;
        self.come_back(Some(lock), record).await
    }

    /// Answers at once, so that this read changes nothing in a world without a pause of all locks.
    async fn new_locks(&self) -> Result<Option<Mode>, StoreError> {
        self.0.store.new_locks().await
    }

    async fn load_run(&self, lock: &LockKey, run: &RunId) -> Result<Option<Run>, StoreError> {
        self.reach(Some(lock)).await?;
        let run = self.0.store.load_run(lock, run).await?;
        self.come_back(Some(lock), run).await
    }

    async fn history(
        &self,
        lock: &LockKey,
        after: Option<FencingToken>,
        most: usize,
    ) -> Result<HistoryPage, StoreError> {
        self.reach(Some(lock)).await?;
        let page = self.0.store.history(lock, after, most).await?;
        self.come_back(Some(lock), page).await
    }

    async fn register(&self, lock: &LockKey, waiter: &Waiter) -> Result<(), StoreError> {
        self.reach(Some(lock)).await?;
        if self.0.fault(8) {
            register_late(&self.0, lock.clone(), waiter.clone());
            return Err(StoreError::Unavailable("no answer in time".into()));
        }
        self.0.store.register(lock, waiter).await?;
        self.come_back(Some(lock), ()).await
    }

    async fn load_waiter(
        &self,
        lock: &LockKey,
        waiter: &WaiterId,
    ) -> Result<Option<Waiter>, StoreError> {
        self.reach(Some(lock)).await?;
        let waiter = self.0.store.load_waiter(lock, waiter).await?;
        self.come_back(Some(lock), waiter).await
    }

    /// The index lags behind the table, and may not show a lock yet.
    async fn due(
        &self,
        shard: u8,
        until: Timestamp,
        after: Option<&DueLock>,
    ) -> Result<DuePage, StoreError> {
        self.reach(None).await?;
        let mut page = self.0.store.due(shard, until, after).await?;
        page.locks.retain(|_| !self.0.fault(100));
        self.come_back(None, page).await
    }
}

impl LockIndex for SimStore {
    async fn locks(
        &self,
        prefix: &str,
        after: Option<&LockKey>,
        most: usize,
    ) -> Result<LocksPage, StoreError> {
        self.reach(None).await?;
        let page = self.0.store.locks(prefix, after, most).await?;
        self.come_back(None, page).await
    }

    async fn close_new_locks(&self, mode: Option<&Mode>) -> Result<Option<Mode>, StoreError> {
        self.0.store.close_new_locks(mode).await
    }

    async fn acts(&self, lock: &LockKey) -> Result<Vec<Act>, StoreError> {
        self.reach(Some(lock)).await?;
        let acts = self.0.store.acts(lock).await?;
        self.come_back(Some(lock), acts).await
    }
}

/// Applies a write to the table, and has it judged. Nothing else runs meanwhile.
async fn write(world: &Arc<World>, lock: &LockKey, change: &Change) -> Result<Commit, StoreError> {
    let before = world.store.load(lock).await?;
    let answer = world.store.commit(lock, change).await?;
    if matches!(answer, Commit::Committed(_)) {
        let after = world.store.load(lock).await?;
        audit::committed(world, lock, change, before.as_ref(), after.as_ref());
        witness::commits(world, before.as_ref(), after.as_ref());
        tell(world, lock, before.as_ref(), after.as_ref());
    }
    Ok(answer)
}

/// Notes a change of a lock's mode.
fn tell(world: &World, lock: &LockKey, before: Option<&LockRecord>, after: Option<&LockRecord>) {
    let mode = |record: Option<&LockRecord>| record.map_or(Mode::Open, |it| it.gate.mode.clone());
    let (before, after) = (mode(before), mode(after));
    if before == after {
        return;
    }
    witness::turns(world, lock, &after);
    world.happens(
        match after {
            Mode::Open => Event::Resume,
            Mode::Frozen { .. } => Event::Freeze,
            Mode::Paused { until: None, .. } => Event::Pause,
            Mode::Paused { .. } => Event::PauseWithEnd,
        },
        Some(lock),
    );
}

/// Delivers a write later that its sender has given up.
fn write_late(world: &Arc<World>, lock: LockKey, change: Change) {
    let sender = Arc::clone(world);
    world.spawn(async move {
        let most = if sender.tries(Trial::LateWrites) {
            20_000
        } else {
            5000
        };
        sender.linger(0..=most).await;
        let answer = write(&sender, &lock, &change).await;
        if matches!(answer, Ok(Commit::Committed(_))) {
            sender.count("late writes");
            sender.note("table", format_args!("{lock}: a late write arrived"));
            witness::beats_late(&sender, &change);
        }
    });
}

fn register_late(world: &Arc<World>, lock: LockKey, waiter: Waiter) {
    let late = waiter.terms.holder.clone();
    locked(&world.audit).late_registrations.insert(late);
    let sender = Arc::clone(world);
    world.spawn(async move {
        sender.linger(0..=5000).await;
        let _ = sender.store.register(&lock, &waiter).await;
    });
}
