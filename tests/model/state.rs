//! What the world looks like between two steps.

use crate::watch::Rule;
use lockstep::domain::{
    Change, Command, Effect, Fast, FencingToken, HolderId, LockRecord, Outcome, Refusal, Run,
    RunId, Timestamp,
};
use lockstep::store::memory::LockItems;
use std::collections::{BTreeMap, BTreeSet};

/// Which execution: an index.
pub(crate) type Who = usize;

/// The table, the executions, the calls under way, and what may still go wrong.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct State {
    /// True time, in seconds.
    pub(crate) tick: u64,
    pub(crate) table: LockItems,
    pub(crate) executions: Vec<Execution>,
    pub(crate) calls: BTreeMap<Slot, Call>,
    pub(crate) left: Budget,
    /// The latest grant that the table has ever seen.
    pub(crate) last_grant: Option<(HolderId, FencingToken)>,
    pub(crate) broken: BTreeSet<Rule>,
}

/// One execution, as an onlooker sees it who knows everything.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Execution {
    pub(crate) phase: Phase,
    /// How often its waiting state was entered: each time has a task token of its own.
    pub(crate) attempt: u8,
    /// The grant that it works under, or worked under when it died.
    pub(crate) had: Option<FencingToken>,
    /// The lease that it believes to have.
    pub(crate) belief: Option<(FencingToken, Timestamp)>,
    /// Whether its work goes on.
    pub(crate) works: bool,
    /// The grant that an operator or a policy took from it: it may work on without a permit.
    pub(crate) taken: Option<(FencingToken, Taken)>,
}

/// Who took a permit from a holder that may live and work on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Taken {
    /// An operator, whatever the holder believes.
    ByOperator,
    /// The end of its lease.
    ByTime,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Phase {
    Idle,
    Asking,
    Waiting,
    Working(FencingToken),
    Releasing(FencingToken),
    Over(End),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum End {
    Worked,
    /// It never got a place.
    Refused,
    /// It had a place and left it.
    TurnedAway,
    Died,
}

/// How many calls of one execution may be late at once.
pub(crate) const LATE: u8 = 1;

/// Who made a call. There is at most one of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Slot {
    /// The call that an execution waits for.
    Own(Who),
    /// A call that nobody waits for any more: the caller timed out, ended, or a copy was delivered.
    Late(Who, u8),
    /// The reaper's, about one holder.
    Reaper(Who),
    /// The sweep's, or what an earlier call left to do.
    Sweep(u8),
    Operator,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Call {
    pub(crate) command: Command,
    pub(crate) stage: Stage,
}

/// How far a call is: other calls come in between.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Stage {
    /// About to write the side item.
    Register,
    /// About to write without a look.
    Fast,
    /// About to read the record; what is known of runs.
    Load(BTreeMap<RunId, Option<Run>>),
    /// Has seen the record; about to read the rest and to decide.
    Look(Box<Seen>),
    /// Has decided; about to write.
    Write(Box<Decided>),
    /// Written; about to do what is left and to answer.
    Answer(Box<Answer>),
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Seen {
    pub(crate) record: Option<LockRecord>,
    pub(crate) runs: BTreeMap<RunId, Option<Run>>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Decided {
    pub(crate) change: Change,
    pub(crate) blind: Option<Fast>,
    pub(crate) answer: Answer,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Answer {
    pub(crate) result: Result<Outcome, Refusal>,
    pub(crate) effects: Vec<Effect>,
}

/// What may still happen. Each count keeps the number of states finite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Budget {
    /// A caller stops waiting for its call, or a function dies behind its write.
    pub(crate) losses: u8,
    /// A call is delivered twice.
    pub(crate) copies: u8,
    /// An execution ends without a word.
    pub(crate) crashes: u8,
    /// Heartbeats, of all executions together.
    pub(crate) beats: u8,
    /// Waiting states that time out although nothing was lost.
    pub(crate) timeouts: u8,
    /// Words of an operator.
    pub(crate) orders: u8,
    /// The sweep finds nothing to do and looks again later, or freezes the lock.
    pub(crate) looks: u8,
    /// An execution that is over goes on.
    pub(crate) redrives: u8,
}

impl Execution {
    /// Who took the permit that it works under.
    pub(crate) fn lost_to(&self) -> Option<Taken> {
        let (token, by) = self.taken?;
        (self.had == Some(token)).then_some(by)
    }
}

impl State {
    pub(crate) fn record(&self) -> Option<&LockRecord> {
        self.table.record.as_ref()
    }

    /// The token under which `holder` has a lease.
    pub(crate) fn token_of(&self, holder: &HolderId) -> Option<FencingToken> {
        self.record()?.holders.get(holder).map(|lease| lease.token)
    }

    /// Whether nothing is left to happen that somebody asked for.
    pub(crate) fn is_over(&self) -> bool {
        let ended = |execution: &Execution| matches!(execution.phase, Phase::Over(_));
        self.calls.is_empty() && self.executions.iter().all(ended)
    }
}
