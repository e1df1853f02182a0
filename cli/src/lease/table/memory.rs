//! A lock table in memory: locks without a clock, with faults that tests inject.

use super::LockTable;
use crate::platform::clock::{Instant, sleep};
use lockstep::contract::{
    AcquireRequest, AcquireResponse, Grant, Granted, HeartbeatResponse, Oldest, Overlap,
    ReleaseOutcome, ReleaseResponse, Skipped,
};
use lockstep::domain::{LockKey, Permits, Refusal};
use lockstep::error::Error;
use lockstep::store::StoreError;
use std::collections::{HashMap, VecDeque};
use std::future::pending;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The fault of a request.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Fault {
    /// None.
    None,
    /// Its answer takes a second.
    Slow,
    /// Its answer comes after the end of the lease.
    Late,
    /// It is carried out, and its answer is lost.
    AnswerLost,
    /// It is not carried out, and fails.
    Silence,
    /// It is never answered.
    Hangs,
    /// It panics.
    Panics,
}

/// The table. Clones share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct MemoryTable(Arc<Mutex<Inside>>);

#[derive(Debug, Default)]
struct Inside {
    held: HashMap<String, Grant>,
    last_token: i64,
    acquires: VecDeque<Fault>,
    /// How many more releases fail.
    lost_releases: usize,
    asked: Vec<AcquireRequest>,
    released: Vec<(String, ReleaseOutcome)>,
    failures: Vec<String>,
}

impl MemoryTable {
    /// A table whose first requests for a permit have these faults.
    pub(crate) fn faulty(faults: impl IntoIterator<Item = Fault>) -> Self {
        let table = Self::default();
        table.inside(|inside| inside.acquires.extend(faults));
        table
    }

    /// The next `count` releases fail.
    pub(crate) fn lose_releases(&self, count: usize) {
        self.inside(|inside| inside.lost_releases = count);
    }

    /// How many injected faults are left.
    pub(crate) fn faults(&self) -> usize {
        self.inside(|inside| inside.acquires.len())
    }

    /// The requests for a permit so far.
    pub(crate) fn asked(&self) -> Vec<AcquireRequest> {
        self.inside(|inside| inside.asked.clone())
    }

    /// The released locks, with their outcomes.
    pub(crate) fn released(&self) -> Vec<(String, ReleaseOutcome)> {
        self.inside(|inside| inside.released.clone())
    }

    /// Why released runs failed, where people get a message.
    pub(crate) fn failures(&self) -> Vec<String> {
        self.inside(|inside| inside.failures.clone())
    }

    fn inside<T>(&self, change: impl FnOnce(&mut Inside) -> T) -> T {
        change(&mut self.0.lock().unwrap())
    }
}

impl Inside {
    fn acquire(&mut self, request: &AcquireRequest) -> AcquireResponse {
        self.asked.push(request.clone());
        let (lock, holder) = (request.lock.clone(), request.holder.clone());
        match self.held.get(&lock) {
            Some(grant) if grant.holder == holder => {
                return AcquireResponse::AlreadyHeld(permit(grant.clone()));
            }
            Some(grant) => return skipped(grant),
            None => {}
        }
        self.last_token += 1;
        let grant = Grant {
            lock: lock.clone(),
            holder,
            token: self.last_token,
            run_key: request.run_key.clone(),
            expect_every_seconds: request.expect_every_seconds,
            no_progress_seconds: request.no_progress_seconds,
        };
        self.held.insert(lock, grant.clone());
        AcquireResponse::Granted(permit(grant))
    }

    fn release(&mut self, grant: &Grant, outcome: ReleaseOutcome) -> ReleaseResponse {
        if self.held.get(&grant.lock) == Some(grant) {
            self.held.remove(&grant.lock);
            self.released.push((grant.lock.clone(), outcome));
        }
        ReleaseResponse::Released {
            held_seconds: 1.0,
            already_released: false,
            protection: None,
        }
    }
}

impl LockTable for MemoryTable {
    async fn acquire(&self, request: &AcquireRequest) -> Result<(AcquireResponse, Instant), Error> {
        let sent = Instant::now();
        match self.inside(|inside| inside.acquires.pop_front().unwrap_or(Fault::None)) {
            Fault::None => match self.inside(|inside| inside.acquire(request)) {
                AcquireResponse::Skipped(_) if request.overlap == Overlap::Fail => {
                    Err(held(&request.lock))
                }
                answer => Ok((answer, sent)),
            },
            Fault::Slow => {
                let answer = self.inside(|inside| inside.acquire(request));
                sleep(Duration::from_secs(1)).await;
                Ok((answer, sent))
            }
            // Sent when the machine started.
            Fault::Late => {
                let answer = self.inside(|inside| inside.acquire(request));
                Ok((answer, Instant::default()))
            }
            Fault::AnswerLost => {
                self.inside(|inside| inside.acquire(request));
                Err(unavailable())
            }
            Fault::Silence => Err(unavailable()),
            Fault::Hangs => pending().await,
            Fault::Panics => panic!("injected fault"),
        }
    }

    async fn acquire_again(
        &self,
        request: &AcquireRequest,
    ) -> Result<(AcquireResponse, Instant), Error> {
        self.acquire(request).await
    }

    async fn renew(&self, _: &Grant, _: Option<String>) -> Result<HeartbeatResponse, Error> {
        Ok(HeartbeatResponse::Ended)
    }

    async fn release(
        &self,
        grant: &Grant,
        outcome: ReleaseOutcome,
        failure: Option<&str>,
    ) -> Result<ReleaseResponse, Error> {
        self.inside(|inside| {
            if inside.lost_releases > 0 {
                inside.lost_releases -= 1;
                return Err(unavailable());
            }
            inside.failures.extend(failure.map(str::to_owned));
            Ok(inside.release(grant, outcome))
        })
    }
}

fn unavailable() -> Error {
    StoreError::Unavailable("injected fault".into()).into()
}

fn held(lock: &str) -> Error {
    let refusal = Refusal::Held {
        holders: vec![],
        permits: Permits::ONE,
        waiting: 0,
    };
    Error::of_refusal(&LockKey::new(lock).unwrap(), refusal)
}

fn permit(grant: Grant) -> Granted {
    Granted {
        grant,
        expires_at: "2026-03-01T00:00:00.000Z".into(),
        lease_seconds: 60,
        heartbeat_seconds: 1,
        task_group: String::new(),
        execution_arn: None,
        environment: Vec::new(),
        taken_from: None,
    }
}

fn skipped(by: &Grant) -> AcquireResponse {
    AcquireResponse::Skipped(Skipped {
        lock: by.lock.clone(),
        oldest: Oldest {
            holder: Some(by.holder.clone()),
            ..Oldest::default()
        },
        held: 1,
        queue_length: 0,
        ending: false,
        paused: false,
        not_before: None,
        message: format!("held by {}", by.holder),
    })
}
