//! The state of the world between two steps.

use crate::inspect::Doing;
use crate::watch::Rule;
use lockstep::domain::{Change, Command, FencingToken, HolderId, LockRecord, Timestamp};
use lockstep::protocol::{Attempt, Done, ProtocolError};
use lockstep::recovery::Check;
use lockstep::store::memory::LockItems;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The index of an execution.
pub(crate) type Who = usize;

/// The table, the executions, the calls under way, and the remaining budget.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct State {
    /// True time, in seconds.
    pub(crate) tick: u64,
    pub(crate) table: LockItems,
    pub(crate) executions: Vec<Execution>,
    pub(crate) calls: BTreeMap<Slot, Call>,
    /// The reaper's check of each holder.
    pub(crate) checks: BTreeMap<Who, Inspecting>,
    /// Writes on their way for which no call waits any more.
    pub(crate) wire: Vec<Sent>,
    pub(crate) left: Budget,
    /// The number of calls of waiting states that were cut off after one of their requests.
    pub(crate) cut_off: u8,
    /// The latest grant.
    pub(crate) last_grant: Option<(HolderId, FencingToken)>,
    pub(crate) broken: BTreeSet<Rule>,
}

/// One execution, as an onlooker who knows everything sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Execution {
    pub(crate) phase: Phase,
    /// The number of times that its waiting state was entered. Each time has its own task token.
    pub(crate) attempt: u8,
    /// The grant that it works under, or worked under when it died.
    pub(crate) had: Option<FencingToken>,
    /// The token and the end of the lease that it believes it has.
    pub(crate) belief: Option<(FencingToken, Timestamp)>,
    /// The state of the latest copy of its work.
    pub(crate) work: Work,
    /// The number of copies of its work that have begun. A redrive begins another one.
    pub(crate) copies: u8,
    /// The number of its redrives, which its heartbeats report.
    pub(crate) redrives: u8,
    /// The number of its redrives when the latest copy of its work began.
    pub(crate) begun_in: u8,
    /// The number of times that its work has succeeded, recorded or not.
    pub(crate) done: u8,
    /// The number of times that its work has succeeded after an operator took its permit.
    pub(crate) done_evicted: u8,
    /// Whether it was redriven and has not begun its work again yet.
    pub(crate) resuming: bool,
    /// Whether it had a permit when it last died. Its `stopDate` is then after the time of the grant.
    pub(crate) died_granted: bool,
    /// When it last died. It is kept only if the budget has events.
    pub(crate) died_at: Option<u64>,
    /// The grant whose stop was committed for a valid reason.
    pub(crate) sentenced: Option<FencingToken>,
    /// The grant that was taken from it, and by whom. It may work on without a permit.
    pub(crate) taken: Option<(FencingToken, Taken)>,
}

/// Who or what took the permit of a holder whose work may go on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Taken {
    /// An operator.
    ByOperator,
    /// The end of its lease.
    ByTime,
    /// Its stale policy `yield`: it continues without its permit.
    Yielded,
    /// A recovery that saw no confirmation of its hand-over.
    Unconfirmed,
}

/// The work of an execution, which ends by itself or is stopped.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) enum Work {
    #[default]
    None,
    Runs,
    /// It is being stopped, and still runs.
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
    /// It reports that its work is stopping.
    Reporting,
    Over(End),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum End {
    Worked,
    /// Its work failed or was stopped, and it released its permit with that outcome.
    Failed,
    /// Its acquire was refused.
    Refused,
    /// It waited, and ended without a grant.
    TurnedAway,
    Died,
}

/// The number of late calls that one execution may have at once.
const LATE: u8 = 1;

/// Who made a call. Each slot has at most one call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Slot {
    /// The call that an execution waits for.
    Own(Who),
    /// A call that no execution waits for any more: its caller timed out or ended, or it is a second
    /// delivery.
    Late(Who, u8),
    /// A call of the sweep, or an effect of an earlier call.
    Sweep(u8),
    Operator,
    /// The call of a run that asks for the run key of a run that yielded.
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

/// A check of a holder, and its next step.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Inspecting {
    pub(crate) check: Check,
    pub(crate) doing: Doing,
}

/// How far a call is. Other calls make steps in between.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Stage {
    /// The call is delivered, and the function begins with the next step.
    Begin,
    /// A request to the table is under way.
    Asks(Attempt),
    /// The requests to the table are over. The next step carries out the effects and answers.
    Acts(Box<Answer>),
}

/// The result of a call.
pub(crate) type Answer = Result<Done, ProtocolError>;

/// How often each of these may still happen. The counts keep the number of states finite.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Budget {
    /// A function or the reaper dies after one of its requests.
    pub(crate) losses: u8,
    /// The reply to a write is lost on the wire, and the SDK sends the write again.
    pub(crate) resends: u8,
    /// A call is delivered twice.
    pub(crate) copies: u8,
    /// An execution dies without a release.
    pub(crate) crashes: u8,
    /// Heartbeats, of all executions together.
    pub(crate) beats: u8,
    /// Waiting states that time out although nothing was lost.
    pub(crate) timeouts: u8,
    /// Commands of an operator.
    pub(crate) orders: u8,
    /// Sweeps of a lock that find nothing to do and only set the time of the next one.
    pub(crate) idle_sweeps: u8,
    /// Time passes to the next moment at which something is due, although other steps are possible.
    pub(crate) leaps: u8,
    /// The evidence that a check or a run reads is late by one change, or hidden.
    pub(crate) dims: u8,
    /// Events of an end, each at any time after it.
    pub(crate) news: u8,
    /// Checks that begin although they would change nothing.
    pub(crate) early: u8,
    /// An execution cuts its work off.
    pub(crate) cuts: u8,
    /// An execution that died is redriven.
    pub(crate) redrives: u8,
    /// Functions that read their clock, and whose first request arrives at any later time.
    pub(crate) lates: u8,
    /// Writes that arrive a second time, or after their function has died.
    pub(crate) strays: u8,
    /// Reads of the evidence about a run that yielded, by another run that asks for its run key.
    pub(crate) settles: u8,
}

impl Execution {
    /// Returns whether its work goes on.
    pub(crate) fn works(&self) -> bool {
        matches!(self.work, Work::Runs | Work::Stopping)
    }

    /// Begins a new copy of its work, unless one goes on.
    pub(crate) fn begin_work(&mut self) {
        if !self.works() {
            self.work = Work::Runs;
            self.copies += 1;
            self.begun_in = self.redrives;
        }
    }

    /// Ends its work with `end`, and counts a success.
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

    /// Returns who took the permit that it works under.
    pub(crate) fn lost_to(&self) -> Option<Taken> {
        let (token, by) = self.taken?;
        (self.had == Some(token)).then_some(by)
    }
}

impl State {
    pub(crate) fn record(&self) -> Option<&LockRecord> {
        self.table.record.as_ref()
    }

    /// Returns the token under which `holder` has a lease.
    pub(crate) fn token_of(&self, holder: &HolderId) -> Option<FencingToken> {
        self.record()?.holders.get(holder).map(|lease| lease.token)
    }

    /// Returns a free slot for a late call of `who`.
    pub(crate) fn late_slot(&self, who: Who) -> Option<Slot> {
        let mut slots = (0..LATE).map(|n| Slot::Late(who, n));
        slots.find(|slot| !self.calls.contains_key(slot))
    }

    /// Returns the command of the call in `slot`.
    pub(crate) fn command(&self, slot: Slot) -> Option<Arc<Command>> {
        self.calls.get(&slot).map(|call| Arc::clone(&call.command))
    }

    /// Returns whether nothing is under way and all executions are over.
    pub(crate) fn is_over(&self) -> bool {
        let ended = |execution: &Execution| matches!(execution.phase, Phase::Over(_));
        self.is_quiet() && self.executions.iter().all(ended)
    }

    /// Returns whether no call, check or write is under way.
    pub(crate) fn is_quiet(&self) -> bool {
        self.calls.is_empty() && self.checks.is_empty() && self.wire.is_empty()
    }
}
