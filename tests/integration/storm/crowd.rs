//! Clients that ask at once, wait for their turn and release.

use super::of_permits;
use super::tally::{Attempts, Counted, Tally};
use crate::fixture::{Ask, acquire, holder, release, wait};
use aws_sdk_dynamodb::Client;
use lockstep::clock::{Clock, SystemClock};
use lockstep::domain::{
    Acquire, Command, Effect, FencingToken, HolderId, LockKey, LockRecord, Outcome, Ticket,
    WhenFull,
};
use lockstep::protocol::{Done, Protocol, ProtocolError};
use lockstep::store::LockStore;
use lockstep::store::dynamodb::DynamoStore;
use lockstep_tests::dynamodb_local::Table;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::{Barrier, oneshot};
use tokio::task::JoinSet;

/// How often a command that met contention is repeated; a workflow does so by its Retry.
const TRIES: usize = 50;

pub(crate) type Answer = Result<Done, ProtocolError>;
type OneClient = Protocol<Counted, SystemClock>;

/// Clients of one lock.
pub(crate) struct Crowd {
    pub(crate) tally: Arc<Tally>,
    lock: LockKey,
    pub(super) permits: usize,
    pub(super) clients: Vec<Arc<OneClient>>,
    /// The waiters that still have to be woken.
    pub(super) turns: Mutex<BTreeMap<HolderId, oneshot::Sender<FencingToken>>>,
    pub(super) inside: AtomicUsize,
}

/// One client's time with the permit.
#[derive(Debug)]
pub(crate) struct Stay {
    pub(crate) token: FencingToken,
    /// The ticket of its place in the queue; `None` if a permit was free.
    pub(crate) ticket: Option<Ticket>,
    /// How many clients had a permit then, this one included.
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
        // One client more than asked for: it holds the lock while the others arrive.
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

    /// Acquires a permit with the spare client. Returns its token.
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

    /// Lets all clients come at once to a lock that is held. The holders leave once the first
    /// client waits, and each client leaves after its turn. Returns the stays.
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

    /// Executes a command, and repeats it while it meets contention.
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

/// How long a client keeps its permit.
const STAY: Duration = Duration::from_millis(2);

/// How long a client waits for its turn before the test fails.
const TOO_LONG: Duration = Duration::from_secs(240);

impl Crowd {
    /// Plays one client: asks, waits for its turn if it has to, stays a moment and leaves.
    pub(super) async fn visit(&self, number: usize) -> Stay {
        let name = format!("client-{number}");
        let (who, me) = (holder(&name), &self.clients[number]);
        let (turn, called) = oneshot::channel();
        self.turns.lock().unwrap().insert(who.clone(), turn);
        let granted = self.enter(number, &name).await;
        self.tally.entered(me.store().requests());
        let token = match granted {
            Some(token) => token,
            None => tokio::select! {
                token = called => token.expect("somebody calls"),
                () = SystemClock.sleep(TOO_LONG) => panic!("{name} waits forever"),
            },
        };
        let inside = self.inside.fetch_add(1, Ordering::SeqCst) + 1;
        SystemClock.sleep(STAY).await;
        self.inside.fetch_sub(1, Ordering::SeqCst);
        self.leave(number, &who, token).await;
        let ticket = self.tally.ticket(&who);
        Stay {
            token,
            ticket,
            inside,
        }
    }

    /// Asks as a workflow does: by a plain request, and in a waiting state if that was refused.
    async fn enter(&self, number: usize, name: &str) -> Option<FencingToken> {
        let plain = of_permits(acquire(name), self.permits);
        let waiting = Acquire {
            when_full: WhenFull::Queue { most: 500 },
            ..of_permits(wait(name), self.permits)
        };
        let answer = match self.patiently(number, &plain.ask()).await {
            Err(ProtocolError::Refused(_)) => self.patiently(number, &waiting.ask()).await,
            answer => answer,
        };
        let outcome = answer.unwrap().outcome;
        assert!(
            matches!(outcome, Outcome::Granted { .. } | Outcome::Queued { .. }),
            "{outcome:?}"
        );
        outcome.token()
    }

    /// Gives the permit back, and runs the effects that remain.
    pub(super) async fn leave(&self, number: usize, who: &HolderId, token: FencingToken) {
        let mut release = release("", token);
        release.holder = who.clone();
        let mut left = vec![release.ask()];
        while let Some(command) = left.pop() {
            let done = self.patiently(number, &command).await.unwrap();
            assert!(!matches!(done.outcome, Outcome::Lost { .. }), "{done:?}");
            for effect in done.effects {
                match effect {
                    Effect::Wake(holder, lease) | Effect::WakeAgain(holder, lease) => {
                        self.call(&holder, lease.token);
                    }
                    Effect::HandOver => left.push(Command::HandOver),
                    other => panic!("{other:?}"),
                }
            }
        }
    }

    fn call(&self, holder: &HolderId, token: FencingToken) {
        let turn = self.turns.lock().unwrap().remove(holder);
        let called = turn.map(|turn| turn.send(token));
        assert!(called.is_some(), "{holder} is called twice");
    }
}
