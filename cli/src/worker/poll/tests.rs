//! The loop over a scripted queue, with work whose end the tests control.

use super::*;
use lockstep::backoff::Backoff;
use std::collections::VecDeque;
use std::sync::Mutex;
use tokio::sync::Notify;
use tokio::time::timeout;

type Received = Result<Vec<Message>, QueueError>;

/// A queue that returns its `answers`, one for each receive, and after them nothing until `empty` is
/// notified.
#[derive(Default)]
struct Script {
    answers: Mutex<VecDeque<Received>>,
    /// How many messages each receive requested.
    asked: Mutex<Vec<u8>>,
    /// Ends a receive for which no answer is left.
    empty: Notify,
}

impl Queue for Script {
    async fn receive(&self, most: u8, _: Duration, _: Duration) -> Received {
        self.asked.lock().unwrap().push(most);
        let next = self.answers.lock().unwrap().pop_front();
        if next.is_none() {
            self.empty.notified().await;
        }
        next.unwrap_or_else(|| Ok(messages(1, "late")))
    }

    async fn hide(&self, _: &Message, _: Duration) -> Result<(), QueueError> {
        unreachable!("only the work calls it")
    }

    async fn delete(&self, _: &Message) -> Result<(), QueueError> {
        unreachable!("only the work calls it")
    }
}

/// Work that records its messages. The id of a message determines its end: `panic`; `malformed`,
/// which sends no health signal; `failing`, which fails at once; `slow failing`, which fails on
/// `fail`; all others get through, and end on `go` or when they are stopped.
#[derive(Default)]
struct Notes {
    begun: Mutex<Vec<String>>,
    given_back: Mutex<Vec<String>>,
    go: Notify,
    fail: Notify,
    /// The results of the next probes. All later probes succeed.
    probes: Mutex<VecDeque<Probed>>,
    /// Whether probes never return.
    is_silent: bool,
}

impl Notes {
    fn with_probes(probes: impl IntoIterator<Item = Probed>) -> Self {
        let notes = Self::default();
        notes.probes.lock().unwrap().extend(probes);
        notes
    }
}

impl Work for Notes {
    async fn handle(
        self: Arc<Self>,
        message: Message,
        mut shutdown: ShutdownWatch,
        health: HealthSignal,
    ) -> Done {
        self.begun.lock().unwrap().push(message.id.clone());
        match message.id.as_str() {
            "panic" => panic!("in the middle of it"),
            "malformed" => return done(Kind::Malformed),
            "failing" | "slow failing" => {
                if message.id == "slow failing" {
                    self.fail.notified().await;
                }
                health.failing();
                return done(Kind::GivenBack);
            }
            _ => health.ok(),
        }
        let stopped = async { while shutdown.next_phase().await < ShutdownPhase::Stop {} };
        tokio::select! {
            () = self.go.notified() => done(Kind::Succeeded),
            () = stopped => done(Kind::GivenBack),
        }
    }

    async fn give_back(self: Arc<Self>, message: Message) -> Done {
        self.given_back.lock().unwrap().push(message.id);
        done(Kind::GivenBack)
    }

    async fn probe(self: Arc<Self>) -> Probed {
        if self.is_silent {
            pending::<()>().await;
        }
        self.probes.lock().unwrap().pop_front().unwrap_or(Ok(()))
    }
}

fn done(kind: Kind) -> Done {
    let in_flight = None;
    Done { kind, in_flight }
}

fn messages(count: usize, id: &str) -> Vec<Message> {
    let message = Message {
        id: id.into(),
        ..Message::sample("body")
    };
    vec![message; count]
}

type End = tokio::task::JoinHandle<Result<(Ended, Tally), Unusable>>;

/// A running loop.
struct Scene {
    queue: Arc<Script>,
    work: Arc<Notes>,
    signals: mpsc::UnboundedSender<Signal>,
    replace: Arc<Notify>,
    ended: End,
}

/// Starts a loop with room for this many messages, over these counts of messages with one id.
fn begin<const N: usize>(room: u8, received: [(usize, &str); N]) -> Scene {
    let answers = received.map(|(count, id)| Ok(messages(count, id)));
    begin_with(room, answers, Notes::default())
}

fn begin_with(room: u8, answers: impl IntoIterator<Item = Received>, work: Notes) -> Scene {
    let (queue, work) = (Arc::new(Script::default()), Arc::new(work));
    queue.answers.lock().unwrap().extend(answers);
    let (signals, receiver) = mpsc::unbounded_channel();
    let visibility = Duration::from_secs(61);
    let mut poll = Poll::new(Arc::clone(&queue), Arc::clone(&work), room, visibility);
    poll.breaker = CircuitBreaker::with(Backoff::new(Duration::ZERO, Duration::ZERO, 7));
    let replace = Arc::new(Notify::new());
    let own = Arc::clone(&replace);
    let replaced = async move {
        own.notified().await;
        "orders:8".to_owned()
    };
    let ended = tokio::spawn(poll.serve(receiver, Duration::from_secs(2), replaced));
    Scene {
        queue,
        work,
        signals,
        replace,
        ended,
    }
}

impl Scene {
    async fn until(&self, is_so: impl Fn(&Self) -> bool) {
        while !is_so(self) {
            assert!(!self.ended.is_finished(), "the loop has ended before");
            tokio::task::yield_now().await;
        }
    }

    /// Lets all other tasks run until they wait.
    async fn settled(&self) {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    }

    fn asked(&self) -> Vec<u8> {
        self.queue.asked.lock().unwrap().clone()
    }

    /// Waits until this many receives were requested, and returns how many messages each did.
    async fn receives(&self, count: usize) -> Vec<u8> {
        self.until(|scene| scene.asked().len() >= count).await;
        self.asked()
    }

    /// Waits until the work on this many messages has begun.
    async fn begun(&self, count: usize) {
        let begun = |scene: &Self| scene.work.begun.lock().unwrap().len();
        self.until(|scene| begun(scene) == count).await;
    }

    fn probes_left(&self) -> usize {
        self.work.probes.lock().unwrap().len()
    }

    fn signal(&self, signal: Signal) {
        self.signals.send(signal).unwrap();
    }

    /// Returns the signal that ended the loop, and the numbers of messages of these kinds.
    async fn end<const N: usize>(self, kinds: [Kind; N]) -> (Signal, [u64; N]) {
        let (ended, tally) = self.ended.await.unwrap().unwrap();
        let Ended::Signal(signal) = ended else {
            panic!("{ended:?}");
        };
        (signal, kinds.map(|kind| tally.of(kind)))
    }
}

#[tokio::test]
async fn a_receive_requests_at_most_ten_messages_and_what_fits() {
    let scene = begin(12, [(9, "m")]);

    assert_eq!(scene.receives(2).await, [10, 3]);
}

#[tokio::test]
async fn nothing_is_received_while_there_is_no_room() {
    let scene = begin(2, [(2, "m")]);
    scene.begun(2).await;
    tokio::task::yield_now().await;
    let full = scene.asked();

    scene.work.go.notify_one();

    assert_eq!((full, scene.receives(2).await), (vec![2], vec![2, 1]));
}

#[tokio::test]
async fn a_worker_that_is_replaced_finishes_its_messages_and_receives_no_more() {
    let scene = begin(2, [(1, "first")]);
    scene.begun(1).await;
    scene.receives(2).await;

    scene.replace.notify_one();
    scene.settled().await;
    scene.work.go.notify_one();
    scene.settled().await;
    // The receive that was under way brings another message.
    scene.queue.empty.notify_one();
    scene.begun(2).await;
    scene.work.go.notify_one();

    let (ended, tally) = scene.ended.await.unwrap().unwrap();
    assert_eq!((ended, tally.of(Kind::Succeeded)), (Ended::Replaced, 2));
    assert_eq!(*scene.queue.asked.lock().unwrap(), [2, 1]);
}

#[tokio::test]
async fn a_message_that_panics_does_not_stop_the_others() {
    let scene = begin(1, [(1, "panic"), (1, "good")]);

    scene.begun(2).await;
    scene.work.go.notify_one();
    scene.receives(3).await;
    scene.signal(Signal::SIGTERM);

    let (_, counts) = scene.end([Kind::Failed, Kind::Succeeded]).await;
    assert_eq!(counts, [1, 1]);
}

#[tokio::test]
async fn a_missing_queue_ends_the_worker_only_before_its_first_answer() {
    let missing = || Err(QueueError::Missing("x".into()));

    let first = begin_with(1, [missing()], Notes::default());
    let later = begin_with(1, [Ok(vec![]), missing()], Notes::default());
    later.receives(3).await;
    later.signal(Signal::SIGINT);

    let unusable = first.ended.await.unwrap().unwrap_err();
    assert_eq!(unusable, Unusable::Queue(QueueError::Missing("x".into())));
    assert_eq!(later.end([]).await.0, Signal::SIGINT);
}

#[tokio::test]
async fn after_the_signal_commands_finish_and_late_messages_are_given_back() {
    let scene = begin(2, [(1, "early")]);
    scene.receives(2).await;

    scene.signal(Signal::SIGTERM);
    tokio::task::yield_now().await;
    scene.queue.empty.notify_one();
    let given_back = |scene: &Scene| scene.work.given_back.lock().unwrap().clone();
    scene.until(|scene| !given_back(scene).is_empty()).await;
    scene.work.go.notify_one();
    let work = Arc::clone(&scene.work);
    let (_, counts) = scene.end([Kind::Succeeded, Kind::GivenBack]).await;

    assert_eq!(*work.begun.lock().unwrap(), ["early"]);
    assert_eq!(*work.given_back.lock().unwrap(), ["late"]);
    assert_eq!(counts, [1, 1]);
}

#[tokio::test]
async fn commands_are_stopped_within_the_grace_even_during_a_receive() {
    let scene = begin(2, [(1, "slow")]);
    scene.receives(2).await;

    scene.signal(Signal::SIGTERM);

    assert_eq!(scene.end([Kind::GivenBack]).await.1, [1]);
}

#[tokio::test]
async fn a_second_signal_stops_commands_at_once() {
    let scene = begin(1, [(1, "slow")]);
    scene.begun(1).await;

    scene.signal(Signal::SIGTERM);
    scene.signal(Signal::SIGINT);

    assert_eq!(scene.end([Kind::GivenBack]).await, (Signal::SIGTERM, [1]));
}

fn denied() -> StoreError {
    StoreError::Denied("x".into())
}

#[tokio::test]
async fn a_table_that_denies_access_ends_the_worker_before_its_first_receive() {
    let silent = StoreError::Unavailable("x".into());
    for probes in [vec![Err(denied())], vec![Err(silent), Err(denied())]] {
        let scene = begin_with(3, [], Notes::with_probes(probes));

        let is_over = |scene: &Scene| scene.ended.is_finished() || !scene.asked().is_empty();
        scene.until(is_over).await;

        assert!(scene.asked().is_empty());
        let ended = scene.ended.await.unwrap();
        assert_eq!(ended.unwrap_err(), Unusable::Table(denied()));
    }
}

#[tokio::test]
async fn after_a_table_without_an_answer_at_first_one_message_is_received() {
    let silent = [(); 3].map(|()| Err(StoreError::Unavailable("x".into())));
    let scene = begin_with(3, [Ok(messages(1, "good"))], Notes::with_probes(silent));

    scene.receives(1).await;
    let probes_left = scene.probes_left();

    assert_eq!((probes_left, scene.receives(2).await), (0, vec![1, 2]));
}

#[tokio::test]
async fn a_table_that_denies_access_later_uses_up_no_receives() {
    let work = Notes::with_probes([Ok(()), Err(denied()), Err(denied())]);
    let answers = [Ok(messages(3, "failing")), Ok(messages(1, "good"))];
    let scene = begin_with(3, answers, work);

    let receives = scene.receives(3).await;

    assert_eq!((scene.probes_left(), receives), (0, vec![3, 1, 2]));
}

#[tokio::test]
async fn a_pending_probe_does_not_delay_the_shutdown() {
    let work = Notes {
        is_silent: true,
        ..Notes::default()
    };
    let scene = begin_with(3, [], work);
    scene.settled().await;

    scene.signal(Signal::SIGTERM);
    let queue = Arc::clone(&scene.queue);
    let end = timeout(Duration::from_secs(1), scene.end([])).await;

    assert!(end.is_ok(), "it waited for the probe");
    assert!(queue.asked.lock().unwrap().is_empty());
}

/// Returns a loop with room for three messages that has failed, and has received one message after that.
async fn half_open(id: &str) -> Scene {
    let scene = begin(3, [(3, "failing"), (1, id)]);
    scene.begun(4).await;
    scene
}

#[tokio::test]
async fn a_half_open_breaker_waits_for_the_health_signal_of_its_message() {
    let scene = half_open("slow failing").await;
    scene.settled().await;
    let undecided = scene.asked();

    scene.work.fail.notify_one();

    assert_eq!(undecided, [3, 1]);
    assert_eq!(scene.receives(3).await, [3, 1, 1]);
}

#[tokio::test]
async fn a_message_closes_the_breaker_when_its_work_begins() {
    for (id, next) in [("good", 2), ("malformed", 1), ("panic", 1)] {
        let scene = half_open(id).await;

        assert_eq!(scene.receives(3).await, [3, 1, next], "{id}");
    }
}
