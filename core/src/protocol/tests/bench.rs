//! One lock in memory, and attempts that can be held before any request.

use crate::domain::{
    Acquire, AuditNote, Command, FencingToken, HolderId, Outcome, Release, Renew, Run, RunId,
    RunOutcome, TaskToken, Timestamp, WhenFull, WhenPaused,
};
use crate::protocol::{Attempt, AttemptStep, Done, ProtocolError, Reply, Request};
use crate::store::memory::LockItems;
use crate::testing;
pub(super) use crate::testing::{holder, run_key};
use std::ops::ControlFlow;

/// One lock.
#[derive(Default)]
pub(super) struct Bench {
    pub(super) items: LockItems,
}

pub(super) type Answer = Result<Done, ProtocolError>;

/// Executes an attempt with the replies of `reply`, up to a request for which `reply` returns `None`.
pub(super) fn drive(
    mut attempt: Attempt,
    second: u64,
    mut reply: impl FnMut(&Attempt) -> Option<Reply>,
) -> ControlFlow<Attempt, Answer> {
    for _ in 0..100 {
        let Some(reply) = reply(&attempt) else {
            return ControlFlow::Break(attempt);
        };
        match attempt.reply(reply, at(second)) {
            AttemptStep::Ask(next) => attempt = next,
            AttemptStep::Over(answer) => return ControlFlow::Continue(*answer),
        }
    }
    panic!("the attempt has no end");
}

/// Returns the result of an attempt all of whose requests got replies.
pub(super) fn answer(driven: ControlFlow<Attempt, Answer>) -> Answer {
    driven.continue_value().expect("an end")
}

impl Bench {
    /// Returns a lock that `name` acquired at `second`.
    pub(super) fn held_by(name: &str, second: u64) -> Self {
        let mut bench = Self::default();
        bench.done(Command::Acquire(acquire(name)), second);
        bench
    }

    /// Executes `command` without any write in between.
    pub(super) fn run(&mut self, command: Command, second: u64) -> Answer {
        self.finish(Attempt::new(command, at(second)), second)
    }

    /// Executes `command` as [`Bench::run`] does, and returns its outcome. Panics if it is refused.
    pub(super) fn done(&mut self, command: Command, second: u64) -> Outcome {
        self.run(command, second).expect("no refusal").outcome
    }

    pub(super) fn finish(&mut self, attempt: Attempt, second: u64) -> Answer {
        answer(drive(attempt, second, |attempt| {
            Some(attempt.request().to(&mut self.items))
        }))
    }

    /// Executes `command` up to the first request for which `stops` returns `true`. That request is not
    /// sent.
    pub(super) fn until(
        &mut self,
        command: Command,
        second: u64,
        mut stops: impl FnMut(&Request<'_>) -> bool,
    ) -> Attempt {
        let attempt = Attempt::new(command, at(second));
        let driven = drive(attempt, second, |attempt| {
            let request = attempt.request();
            (!stops(&request)).then(|| request.to(&mut self.items))
        });
        driven.break_value().expect("an attempt without an end")
    }

    /// Executes `command` up to the write that was decided on the record. That write is not sent.
    pub(super) fn decided(&mut self, command: Command, second: u64) -> Attempt {
        let mut requests = 0;
        self.until(command, second, |request| {
            requests += 1;
            requests > 1 && matches!(request, Request::Commit(_))
        })
    }

    pub(super) fn token(&self, name: &str) -> FencingToken {
        let record = self.items.record.as_ref().expect("a record");
        record.holders[&holder(name)].token
    }

    pub(super) fn entry(&self, token: FencingToken) -> Option<RunOutcome> {
        self.items.runs.get(&RunId::Token(token))?.outcome()
    }

    pub(super) fn marker(&self, key: &str) -> Option<&Run> {
        self.items.runs.get(&RunId::Key(run_key(key)))
    }

    pub(super) fn holders(&self) -> Vec<&str> {
        let record = self.items.record.iter();
        let holders = record.flat_map(|record| record.holders.keys());
        holders.map(HolderId::as_str).collect()
    }
}

/// Returns a run of the key `tick` with a heartbeat state, found dead at second 5.
pub(super) fn dead() -> (Bench, FencingToken) {
    let mut bench = Bench::default();
    let mut take = acquire("a");
    take.terms.run_key = Some(run_key("tick"));
    bench.done(Command::Acquire(take), 0);
    let token = bench.token("a");
    bench.done(renew("a", token), 1);
    let lease = bench.items.record.as_ref().expect("a record").holders[&holder("a")].clone();
    let recover = Command::Recover(testing::recover(holder("a"), token, lease.version()));
    bench.done(recover, 5);
    (bench, token)
}

pub(super) fn acquire(name: &str) -> Acquire {
    testing::acquire(testing::terms(holder(name)))
}

pub(super) fn queue(name: &str) -> Acquire {
    Acquire {
        when_full: WhenFull::Queue { most: 5 },
        when_paused: WhenPaused::Queue { most: 5 },
        ..acquire(name)
    }
}

pub(super) fn renew(name: &str, token: FencingToken) -> Command {
    Command::Renew(Renew {
        beat: TaskToken::new("beat").ok(),
        ..testing::renew(holder(name), token)
    })
}

pub(super) fn release(name: &str, token: FencingToken) -> Command {
    Command::Release(Release {
        run_key: Some(run_key("tick")),
        ..testing::release(holder(name), token)
    })
}

pub(super) fn audit_note(note: &str) -> AuditNote {
    testing::audit_note(holder("operator"), note)
}

pub(super) fn at(second: u64) -> Timestamp {
    Timestamp::from_millis(1_000_000 + second * 1000)
}
