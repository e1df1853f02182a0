//! Many clients that ask at once, wait for their turn and give it back.

use super::of_permits;
use super::tally::{Attempts, Counted, Tally};
use crate::fixture::{Ask, acquire, holder};
use aws_sdk_dynamodb::Client;
use lockstep::clock::{Clock, SystemClock};
use lockstep::domain::{Acquire, Command, FencingToken, HolderId, LockKey, LockRecord, Ticket};
use lockstep::protocol::{Done, Protocol, ProtocolError};
use lockstep::store::LockStore;
use lockstep::store::dynamodb::DynamoStore;
use lockstep_tests::dynamodb_local::Table;
use std::collections::BTreeMap;
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{Barrier, oneshot};
use tokio::task::JoinSet;

/// How often a command is tried again that met too many others; a workflow does so by its Retry.
const TRIES: usize = 50;

pub(crate) type Answer = Result<Done, ProtocolError>;
type OneClient = Protocol<Counted, SystemClock>;

/// Clients of one lock.
pub(crate) struct Crowd {
    pub(crate) tally: Arc<Tally>,
    lock: LockKey,
    pub(super) permits: usize,
    pub(super) clients: Vec<Arc<OneClient>>,
    /// The waiters that are to be woken.
    pub(super) turns: Mutex<BTreeMap<HolderId, oneshot::Sender<FencingToken>>>,
    pub(super) inside: AtomicUsize,
}

/// One client's time with the permit.
#[derive(Debug)]
pub(crate) struct Stay {
    pub(crate) token: FencingToken,
    /// Its place in the queue; none where the permit was free.
    pub(crate) ticket: Option<Ticket>,
    /// How many were in, itself counted.
    pub(crate) inside: usize,
}

impl Crowd {
    pub(crate) async fn new(test: &str, permits: usize, clients: usize) -> Arc<Self> {
        let table = Table::new(test).await;
        let tally = Arc::<Tally>::default();
        let direct = table.client().await;
        let config = direct.config().to_builder();
        let config = config.interceptor(Attempts(Arc::clone(&tally)));
        let client = Client::from_conf(config.build());
        let protocol = |seed| {
            let store = DynamoStore::new(client.clone(), table.name.clone());
            let store = Counted::new(store, Arc::clone(&tally));
            Arc::new(Protocol::new(store, SystemClock, seed))
        };
        // One more: who holds the lock while the others come.
        let clients = (0..=clients as u64).map(protocol).collect();
        Arc::new(Self {
            tally,
            lock: LockKey::new("nightly-report").unwrap(),
            permits,
            clients,
            turns: Mutex::default(),
            inside: AtomicUsize::default(),
        })
    }

    /// Takes a permit by the spare client, without a word.
    pub(crate) async fn hold(&self, name: &str) -> FencingToken {
        let held = self.ask(&of_permits(acquire(name), self.permits)).await;
        held.unwrap().outcome.token().expect("a free permit")
    }

    pub(crate) async fn ask(&self, acquire: &Acquire) -> Answer {
        let spare = self.clients.last().unwrap();
        spare.execute(&self.lock, &acquire.clone().ask()).await
    }

    pub(crate) async fn record(&self) -> LockRecord {
        let spare = self.clients.last().unwrap();
        spare.store().load(&self.lock).await.unwrap().unwrap()
    }

    pub(crate) async fn assert_idle(&self) {
        let record = self.record().await;
        assert!(record.is_idle() && record.due.is_none(), "{record:?}");
    }

    /// Lets `clients` ask at the same moment.
    pub(crate) async fn together(
        self: &Arc<Self>,
        clients: usize,
        wanted: fn(&str) -> Acquire,
    ) -> Vec<Answer> {
        let start = Arc::new(Barrier::new(clients));
        let mut running = JoinSet::new();
        for number in 0..clients {
            let (crowd, start) = (Arc::clone(self), Arc::clone(&start));
            running.spawn(async move {
                let asked = wanted(&format!("client-{number}")).ask();
                start.wait().await;
                crowd.patiently(number, &asked).await
            });
        }
        running.join_all().await
    }

    /// All clients come at once to a lock that is held. Once the first of them waits, the holders
    /// leave, and each client after them as its turn comes.
    pub(crate) async fn storm(self: &Arc<Self>, clients: usize) -> Vec<Stay> {
        let names: Vec<_> = (0..self.permits).map(|n| format!("first-{n}")).collect();
        let mut held = Vec::new();
        for name in &names {
            held.push((holder(name), self.hold(name).await));
        }
        let start = Arc::new(Barrier::new(clients));
        let mut running = JoinSet::new();
        for number in 0..clients {
            let (crowd, start) = (Arc::clone(self), Arc::clone(&start));
            running.spawn(async move {
                start.wait().await;
                crowd.visit(number).await
            });
        }
        while self.record().await.queue.is_empty() {
            SystemClock.sleep(Duration::from_millis(1)).await;
        }
        let spare = self.clients.len() - 1;
        for (holder, token) in held {
            self.leave(spare, &holder, token).await;
        }
        running.join_all().await
    }

    /// Tries a command again that met too many others.
    pub(super) async fn patiently(&self, number: usize, command: &Command) -> Answer {
        for _ in 0..TRIES {
            match self.clients[number].execute(&self.lock, command).await {
                Err(ProtocolError::Contended) => self.tally.met_contention(),
                answer => return answer,
            }
        }
        Err(ProtocolError::Contended)
    }
}
