//! One client's way through a storm: in, its turn, and out.

use super::crowd::{Crowd, Stay};
use super::of_permits;
use crate::fixture::{Ask, acquire, holder, release, wait};
use lockstep::clock::{Clock, SystemClock};
use lockstep::domain::{Acquire, Command, Effect, FencingToken, HolderId, Outcome, WhenFull};
use lockstep::protocol::ProtocolError;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::sync::oneshot;

/// How long a client keeps its permit.
const STAY: Duration = Duration::from_millis(2);

/// A turn that has not come by then will not come.
const TOO_LONG: Duration = Duration::from_secs(240);

impl Crowd {
    /// One client: it asks, waits for its turn if it has to, stays a moment and leaves.
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
                () = SystemClock.sleep(TOO_LONG) => panic!("{name} waits for ever"),
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

    /// As a workflow does it: a plain request, and a waiting state if that was refused.
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

    /// Gives the permit back and does what is left to do.
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
