//! The loop over a scripted queue, with work whose end the tests control.

mod dependency_failures;
mod ends;

use super::*;
use lockstep::backoff::Backoff;
use std::sync::Mutex;
use tokio::sync::Notify;

/// A queue that returns its `answers`, one for each receive, and then nothing.
#[derive(Default)]
struct Script {
    answers: Mutex<Vec<Result<Vec<Message>, QueueError>>>,
    /// How many messages each receive requested.
    asked: Mutex<Vec<u8>>,
    /// Ends a receive for which there is no answer.
    empty: Notify,
}

impl Queue for Script {
    async fn receive(
        &self,
        most: u8,
        _: Duration,
        _: Duration,
    ) -> Result<Vec<Message>, QueueError> {
        self.asked.lock().unwrap().push(most);
        let next = self.answers.lock().unwrap().pop();
        match next {
            Some(answer) => answer,
            None => {
                self.empty.notified().await;
                Ok(messages(1, "late"))
            }
        }
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
    /// The results of probes, one after the other. All later ones succeed.
    probes: Mutex<Vec<Probed>>,
    /// Whether probes never return.
    is_silent: bool,
}

impl Notes {
    fn with_probes(mut probes: Vec<Probed>) -> Self {
        probes.reverse();
        Self {
            probes: probes.into(),
            ..Self::default()
        }
    }

    fn probes_left(&self) -> usize {
        self.probes.lock().unwrap().len()
    }

    fn count(&self) -> usize {
        self.begun.lock().unwrap().len()
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
        self.probes.lock().unwrap().pop().unwrap_or(Ok(()))
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

type Ended = tokio::task::JoinHandle<Result<(Signal, Tally), Unusable>>;

/// A running loop.
struct Scene {
    queue: Arc<Script>,
    work: Arc<Notes>,
    signals: mpsc::UnboundedSender<Signal>,
    ended: Ended,
}

fn begin(
    concurrency: u8,
    mut answers: Vec<Result<Vec<Message>, QueueError>>,
    work: Notes,
) -> Scene {
    answers.reverse();
    let queue = Arc::new(Script {
        answers: answers.into(),
        ..Script::default()
    });
    let work = Arc::new(work);
    let (signals, receiver) = mpsc::unbounded_channel();
    let mut poll = Poll::new(
        Arc::clone(&queue),
        Arc::clone(&work),
        concurrency,
        Duration::from_secs(61),
    );
    poll.breaker = CircuitBreaker::with(Backoff::new(Duration::ZERO, Duration::ZERO, 7));
    let ended = tokio::spawn(poll.serve(receiver, Duration::from_secs(2)));
    Scene {
        queue,
        work,
        signals,
        ended,
    }
}

impl Scene {
    async fn until(&self, is_so: impl Fn(&Self) -> bool) {
        while !is_so(self) {
            tokio::task::yield_now().await;
        }
    }

    /// Runs all tasks as far as they get.
    async fn settled(&self) {
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
    }

    fn asked(&self) -> Vec<u8> {
        self.queue.asked.lock().unwrap().clone()
    }

    async fn end(self) -> Tally {
        self.ended.await.unwrap().unwrap().1
    }
}

#[tokio::test]
async fn a_receive_requests_as_many_messages_as_there_is_room_for_and_ten_at_most() {
    let scene = begin(12, vec![Ok(messages(9, "m"))], Notes::default());

    scene.until(|scene| scene.asked().len() == 2).await;

    assert_eq!(scene.asked(), [10, 3]);
}

#[tokio::test]
async fn nothing_is_received_while_there_is_no_room() {
    let scene = begin(2, vec![Ok(messages(2, "m"))], Notes::default());
    scene.until(|scene| scene.work.count() == 2).await;
    tokio::task::yield_now().await;
    let full = scene.asked();

    scene.work.go.notify_one();
    scene.until(|scene| scene.asked().len() == 2).await;

    assert_eq!((full, scene.asked()), (vec![2], vec![2, 1]));
}

#[tokio::test]
async fn a_message_that_panics_does_not_stop_the_others() {
    let answers = vec![Ok(messages(1, "panic")), Ok(messages(1, "good"))];
    let scene = begin(1, answers, Notes::default());

    scene.until(|scene| scene.work.count() == 2).await;
    scene.work.go.notify_one();
    scene.until(|scene| scene.asked().len() == 3).await;
    scene.signals.send(Signal::SIGTERM).unwrap();
    let tally = scene.end().await;

    assert_eq!((tally.of(Kind::Failed), tally.of(Kind::Succeeded)), (1, 1));
}

#[tokio::test]
async fn a_missing_queue_ends_the_worker_only_before_its_first_answer() {
    let missing = || Err(QueueError::Missing("x".into()));

    let first = begin(1, vec![missing()], Notes::default());
    let later = begin(1, vec![Ok(vec![]), missing()], Notes::default());
    later.until(|scene| scene.asked().len() > 2).await;
    later.signals.send(Signal::SIGINT).unwrap();

    assert_eq!(
        first.ended.await.unwrap().unwrap_err(),
        Unusable::Queue(QueueError::Missing("x".into()))
    );
    assert_eq!(later.ended.await.unwrap().unwrap().0, Signal::SIGINT);
}
