//! One lock as plain items, and attempts that can be held up before any request.

use crate::domain::{
    Acquire, Command, FencingToken, HolderId, Order, Release, Renew, Run, RunId, RunOutcome,
    TaskToken, Timestamp,
};
use crate::protocol::{Attempt, Done, Next, ProtocolError, Reply, Request};
use crate::store::Commit;
use crate::store::memory::LockItems;
use crate::testing;
pub(super) use crate::testing::{holder, run_key};

/// One lock.
#[derive(Default)]
pub(super) struct Bench {
    pub(super) items: LockItems,
}

pub(super) type Answer = Result<Done, ProtocolError>;

impl Bench {
    /// Carries `command` out with nothing in between.
    pub(super) fn run(&mut self, command: Command, second: u64) -> Answer {
        self.finish(Attempt::new(command, at(second)), second)
    }

    pub(super) fn finish(&mut self, mut attempt: Attempt, second: u64) -> Answer {
        for _ in 0..100 {
            let reply = attempt.request().to(&mut self.items);
            match attempt.reply(reply, at(second)) {
                Next::Ask(next) => attempt = next,
                Next::Over(answer) => return *answer,
            }
        }
        panic!("the attempt has no end");
    }

    /// Carries `command` out up to the write that was decided on the record, which is not sent.
    pub(super) fn decided(&mut self, command: Command, second: u64) -> Attempt {
        let mut attempt = Attempt::new(command, at(second));
        let mut conflicts = 0;
        loop {
            let request = attempt.request();
            let reads = matches!(request, Request::Load | Request::LoadRun(_));
            if matches!(request, Request::Commit(_)) && conflicts > 0 {
                return attempt;
            }
            let reply = request.to(&mut self.items);
            let conflict = matches!(reply, Reply::Commit(Commit::Conflict(_)));
            conflicts += u32::from(conflict || reads);
            match attempt.reply(reply, at(second)) {
                Next::Ask(next) => attempt = next,
                Next::Over(answer) => panic!("it decided no write: {answer:?}"),
            }
        }
    }

    /// Carries `command` out up to the read of a run, which is not sent.
    pub(super) fn before_the_run(&mut self, command: Command, second: u64) -> Attempt {
        let mut attempt = Attempt::new(command, at(second));
        while !matches!(attempt.request(), Request::LoadRun(_)) {
            let reply = attempt.request().to(&mut self.items);
            match attempt.reply(reply, at(second)) {
                Next::Ask(next) => attempt = next,
                Next::Over(answer) => panic!("it read no run: {answer:?}"),
            }
        }
        attempt
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

/// A run of the key `tick` with a heartbeat state, found dead at second 5.
pub(super) fn dead() -> (Bench, FencingToken) {
    let mut bench = Bench::default();
    let mut take = acquire("a");
    take.terms.run_key = Some(run_key("tick"));
    bench.run(Command::Acquire(take), 0).expect("a grant");
    let token = bench.token("a");
    bench.run(renew("a", token), 1).expect("a renewal");
    let lease = bench.items.record.as_ref().expect("a record").holders[&holder("a")].clone();
    let recover = Command::Recover(testing::recover(holder("a"), token, lease.version()));
    bench.run(recover, 5).expect("a recovery");
    (bench, token)
}

pub(super) fn acquire(name: &str) -> Acquire {
    testing::acquire(testing::terms(holder(name)))
}

pub(super) fn renew(name: &str, token: FencingToken) -> Command {
    progress(name, token, None)
}

/// A heartbeat that reports how far the work has come, which has no fast path.
pub(super) fn progress(name: &str, token: FencingToken, row: Option<&str>) -> Command {
    Command::Renew(Renew {
        beat: TaskToken::new("beat").ok(),
        progress: row.map(str::to_owned),
        ..testing::renew(holder(name), token)
    })
}

pub(super) fn release(name: &str, token: FencingToken) -> Command {
    Command::Release(Release {
        run_key: Some(run_key("tick")),
        ..testing::release(holder(name), token)
    })
}

pub(super) fn order(note: &str) -> Order {
    testing::order(holder("operator"), note)
}

pub(super) fn at(second: u64) -> Timestamp {
    Timestamp::from_millis(1_000_000 + second * 1000)
}
