//! The state of the world between two steps.

use crate::inspect::Doing;
use crate::watch::Rule;
use lockstep::domain::{Change, Command, FencingToken, HolderId, LockRecord, Timestamp};
use lockstep::protocol::{Attempt, Done, ProtocolError};
use lockstep::recovery::Check;
use lockstep::store::memory::LockItems;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// Which execution: an index.
pub(crate) type Who = usize;

/// The table, the executions, the calls under way, and what may still go wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct State {
    /// True time, in seconds.
    pub(crate) tick: u64,
    pub(crate) table: LockItems,
    pub(crate) executions: Vec<Execution>,
    pub(crate) calls: BTreeMap<Slot, Call>,
    /// The reaper's check of each holder.
    pub(crate) checks: BTreeMap<Who, Inspecting>,
    /// Writes that no call waits for any more, and that may still arrive.
    pub(crate) wire: Vec<Sent>,
    pub(crate) left: Budget,
    /// How many calls of waiting states were cut off behind one of their requests.
    pub(crate) cut_off: u8,
    /// The latest grant that the table has ever seen.
    pub(crate) last_grant: Option<(HolderId, FencingToken)>,
    pub(crate) broken: BTreeSet<Rule>,
}

/// One execution, as an onlooker sees it who knows everything.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Execution {
    pub(crate) phase: Phase,
    /// How often its waiting state was entered: each time has a task token of its own.
    pub(crate) attempt: u8,
    /// The grant that it works under, or worked under when it died.
    pub(crate) had: Option<FencingToken>,
    /// The lease that it believes to have.
    pub(crate) belief: Option<(FencingToken, Timestamp)>,
    /// The latest copy of its work.
    pub(crate) work: Work,
    /// How many copies of its work have begun: a redrive begins another.
    pub(crate) copies: u8,
    /// How often it was started again, which its heartbeats report.
    pub(crate) redrives: u8,
    /// How often it had been when the latest copy of its work began.
    pub(crate) begun_in: u8,
    /// How often its work has succeeded, whatever is recorded of it.
    pub(crate) done: u8,
    /// The same, after an operator took its permit.
    pub(crate) done_evicted: u8,
    /// Whether it was started again and has not begun its work anew.
    pub(crate) resuming: bool,
    /// Whether it had a permit when it last died: `stopDate` is after the time of the grant.
    pub(crate) died_granted: bool,
    /// When it last died, where an event may report it.
    pub(crate) died_at: Option<u64>,
    /// The grant whose stop was committed while there was a reason for it.
    pub(crate) sentenced: Option<FencingToken>,
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
    /// Its own heartbeat: it runs on without its permit, as its stale policy says.
    Yielded,
    /// The function that handed the permit over to it, and did not learn that it took it up.
    Unconfirmed,
}

/// What an execution's lock guards: a task that runs and ends by itself, or is stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Work {
    #[default]
    None,
    Runs,
    /// It was ordered to stop, and goes on.
    Stopping,
    Stopped,
    /// It failed by itself.
    Failed,
    Succeeded,
}

impl Work {
    pub(crate) const fn ended(self) -> bool {
        matches!(self, Self::Stopped | Self::Failed | Self::Succeeded)
    }
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Phase {
    #[default]
    Idle,
    Asking,
    Waiting,
    Working(FencingToken),
    Releasing(FencingToken),
    /// It reports that its work is being stopped.
    Reporting,
    Over(End),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum End {
    Worked,
    /// Its work failed, or was cut off, and it says so.
    Failed,
    /// It never got a place.
    Refused,
    /// It had a place and left it.
    TurnedAway,
    Died,
}

/// How many calls of one execution may be late at once.
const LATE: u8 = 1;

/// Who made a call. There is at most one of each.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Slot {
    /// The call that an execution waits for.
    Own(Who),
    /// A call that no execution waits for any more: the caller timed out, ended, or a copy was delivered.
    Late(Who, u8),
    /// The sweep's, or what an earlier call left to do.
    Sweep(u8),
    Operator,
    /// That of a run that asks for the key of one that yielded.
    Settler,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Call {
    pub(crate) command: Arc<Command>,
    pub(crate) stage: Stage,
}

/// A write on its way to the table.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Sent {
    pub(crate) command: Arc<Command>,
    pub(crate) change: Change,
}

/// A check of a holder, and what it does next.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Inspecting {
    pub(crate) check: Check,
    pub(crate) doing: Doing,
}

/// How far a call is: other calls come in between.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Stage {
    /// Delivered; the function begins with its next step.
    Begin,
    /// A request to the table is under way.
    Asks(Attempt),
    /// Over at the table; about to do what is left and to answer.
    Acts(Box<Answer>),
}

/// What a call came to.
pub(crate) type Answer = Result<Done, ProtocolError>;

/// What may still happen. Each count keeps the number of states finite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Budget {
    /// A function dies behind one of its requests.
    pub(crate) losses: u8,
    /// The reply to a write is lost on the wire, and the SDK sends the write again.
    pub(crate) resends: u8,
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
    /// Sweeps of a lock that find nothing to do, which only set the time of the next one.
    pub(crate) idle_sweeps: u8,
    /// Time passes to the next moment at which something is due, although others could act.
    pub(crate) leaps: u8,
    /// What a check learns is late by one change, or nothing.
    pub(crate) dims: u8,
    /// Events of an end that come, at any time behind it.
    pub(crate) news: u8,
    /// Checks that begin before they have a reason.
    pub(crate) early: u8,
    /// An execution cuts its work off.
    pub(crate) cuts: u8,
    /// An execution that is over goes on.
    pub(crate) redrives: u8,
    /// Functions that read their clock, and whose first request arrives at any time behind that.
    pub(crate) lates: u8,
    /// Writes that arrive once more than they are answered, or after their function has died.
    pub(crate) strays: u8,
    /// Reads of the evidence about a run that yielded, by another that asks for its run key.
    pub(crate) settles: u8,
}

impl Execution {
    /// Whether its work goes on.
    pub(crate) fn works(&self) -> bool {
        matches!(self.work, Work::Runs | Work::Stopping)
    }

    /// Begins its work, unless it goes on.
    pub(crate) fn begin_work(&mut self) {
        if !self.works() {
            self.work = Work::Runs;
            self.copies += 1;
            self.begun_in = self.redrives;
        }
    }

    /// Its work comes to an end.
    pub(crate) fn end_work(&mut self, end: Work) {
        if !self.works() {
            return;
        }
        self.work = end;
        let count = match self.lost_to() {
            Some(Taken::ByOperator) => &mut self.done_evicted,
            _ => &mut self.done,
        };
        *count += u8::from(end == Work::Succeeded);
    }

    pub(crate) fn succeeded(&self) -> bool {
        self.done + self.done_evicted > 0
    }

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

    /// The slot for one more late call of `who`, if there is room.
    pub(crate) fn late_slot(&self, who: Who) -> Option<Slot> {
        let mut slots = (0..LATE).map(|n| Slot::Late(who, n));
        slots.find(|slot| !self.calls.contains_key(slot))
    }

    /// The command of the call in `slot`.
    pub(crate) fn command(&self, slot: Slot) -> Option<Arc<Command>> {
        self.calls.get(&slot).map(|call| Arc::clone(&call.command))
    }

    /// Whether nothing is left to happen that somebody asked for.
    pub(crate) fn is_over(&self) -> bool {
        let ended = |execution: &Execution| matches!(execution.phase, Phase::Over(_));
        self.is_quiet() && self.executions.iter().all(ended)
    }

    /// Whether nothing is under way.
    pub(crate) fn is_quiet(&self) -> bool {
        self.calls.is_empty() && self.checks.is_empty() && self.wire.is_empty()
    }
}
