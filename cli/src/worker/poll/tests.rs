//! The loop over a scripted queue, with work that takes as long as a test wants it to.

mod ends;
mod trouble;

use super::*;
use lockstep::backoff::Backoff;
use std::sync::Mutex;
use tokio::sync::Notify;

/// A queue that hands out what it was given, one answer a receive, and then nothing.
#[derive(Default)]
struct Script {
    answers: Mutex<Vec<Result<Vec<Message>, QueueError>>>,
    /// How many each receive asked for.
    asked: Mutex<Vec<u8>>,
    /// A receive without an answer ends when this is told.
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
        unreachable!("the loop leaves that to its work")
    }

    async fn delete(&self, _: &Message) -> Result<(), QueueError> {
        unreachable!("the loop leaves that to its work")
    }
}

/// Work that notes what it gets. The id of a message says what becomes of it: `panic`; `malformed`,
/// which shows nothing; `trouble`, which is met at once; `slow trouble`, which is met when that is
/// told; all others come through, and end when they are told or stopped.
#[derive(Default)]
struct Notes {
    begun: Mutex<Vec<String>>,
    given_back: Mutex<Vec<String>>,
    go: Notify,
    trouble: Notify,
    /// What looks at the table show, one after the other, and then that it answers.
    looks: Mutex<Vec<Looked>>,
    /// The table says nothing at all.
    is_silent: bool,
}

impl Notes {
    fn with_looks(mut looks: Vec<Looked>) -> Self {
        looks.reverse();
        Self {
            looks: looks.into(),
            ..Self::default()
        }
    }

    fn looks_left(&self) -> usize {
        self.looks.lock().unwrap().len()
    }

    fn count(&self) -> usize {
        self.begun.lock().unwrap().len()
    }
}

impl Work for Notes {
    async fn handle(
        self: Arc<Self>,
        message: Message,
        mut orders: ShutdownWatch,
        probe: HealthSignal,
    ) -> Done {
        self.begun.lock().unwrap().push(message.id.clone());
        match message.id.as_str() {
            "panic" => panic!("in the middle of it"),
            "malformed" => return done(Kind::Malformed),
            "trouble" | "slow trouble" => {
                if message.id == "slow trouble" {
                    self.trouble.notified().await;
                }
                probe.trouble();
                return done(Kind::GivenBack);
            }
            _ => probe.works(),
        }
        let stopped = async { while orders.next_order().await < ShutdownPhase::Stop {} };
        tokio::select! {
            () = self.go.notified() => done(Kind::Succeeded),
            () = stopped => done(Kind::GivenBack),
        }
    }

    async fn give_back(self: Arc<Self>, message: Message) -> Done {
        self.given_back.lock().unwrap().push(message.id);
        done(Kind::GivenBack)
    }

    async fn look(self: Arc<Self>) -> Looked {
        if self.is_silent {
            pending::<()>().await;
        }
        self.looks.lock().unwrap().pop().unwrap_or(Ok(()))
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

/// A loop at work.
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
    let (signals, told) = mpsc::unbounded_channel();
    let mut poll = Poll::new(
        Arc::clone(&queue),
        Arc::clone(&work),
        concurrency,
        Duration::from_secs(61),
    );
    poll.breaker = CircuitBreaker::with(Backoff::new(Duration::ZERO, Duration::ZERO, 7));
    let ended = tokio::spawn(poll.serve(told, Duration::from_secs(2)));
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

    /// Lets everybody do all that can be done.
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
async fn a_receive_asks_for_as_many_messages_as_there_is_room_for_and_ten_at_most() {
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
async fn a_message_that_panics_stops_nobody_else() {
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
async fn a_queue_that_is_not_there_ends_the_worker_only_before_its_first_answer() {
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
