//! The actions and their effects on the state.

use crate::action::Action;
use crate::call::{cut_off, leave_alone};
use crate::services::Sighting;
use crate::state::{Phase, Slot, State, Who, Work};
use crate::watch::Rule;
use crate::world::{World, at};
use lockstep::domain::{Command, FencingToken, Lease, Outcome, RunOutcome, Timestamp};
use lockstep::protocol::Done;
use std::sync::Arc;

impl World {
    /// Carries out an action. Returns `false` if it was not possible.
    pub(crate) fn act(&self, state: &mut State, action: Action) -> bool {
        match action {
            Action::Tick => state.tick += 1,
            Action::WaitUntil(tick) => state.tick = tick,
            Action::Start(who) => self.ask(state, who),
            Action::Step(slot, slow) => {
                let now = own_clock(state, slot, slow);
                self.step(state, slot, now);
            }
            Action::Copy(slot) => {
                state.left.copies -= 1;
                copy(state, slot);
            }
            Action::Lose(slot, slow) => {
                state.left.losses -= 1;
                let now = clock(state, slow);
                self.lose(state, slot, now);
            }
            Action::Resend(_)
            | Action::Send(..)
            | Action::Stray(..)
            | Action::Abandon(..)
            | Action::Arrive(_)
            | Action::Settle(..) => return self.act_on_wire(state, action),
            Action::Crash(who) => {
                state.left.crashes -= 1;
                self.die(state, who);
            }
            Action::Leap(tick) => {
                state.left.leaps -= 1;
                state.tick = tick;
            }
            Action::WorkEnds(who, end) => self.work_ends(state, who, end),
            Action::CutOff(who) => self.cut_off(state, who),
            Action::Beat(who) => {
                state.left.beats -= 1;
                self.beat(state, who);
            }
            Action::Finish(who) => {
                leave_alone(state, who);
                if let Phase::Working(token) = state.executions[who].phase {
                    self.give_back(state, who, token, RunOutcome::Succeeded);
                }
            }
            Action::TimeOut(who) => {
                state.left.timeouts = state.left.timeouts.saturating_sub(1);
                leave_alone(state, who);
                self.wait(state, who);
            }
            Action::Check(_)
            | Action::CheckOnNews(..)
            | Action::CheckOn(..)
            | Action::CheckDimly(..)
            | Action::CheckDies(_) => return self.act_as_reaper(state, action),
            Action::Sweep(command) => {
                state.left.idle_sweeps -= u8::from(*command == Command::Reschedule);
                Self::make(state, Slot::Sweep(0), command);
            }
            Action::Order(command) => {
                state.left.orders = state.left.orders.saturating_sub(1);
                Self::make(state, Slot::Operator, command);
            }
            Action::Redrive(who, later) => self.redrive(state, who, later),
            Action::GoOn(who) => {
                state.tick += 1;
                self.beat(state, who);
            }
        }
        true
    }

    fn act_as_reaper(&self, state: &mut State, action: Action) -> bool {
        match action {
            Action::Check(who) => self.check(state, who),
            Action::CheckOnNews(who, news) => {
                state.left.news -= 1;
                let hint = self.hint(state, who, news);
                if let Some(lease) = self.lease(state, who) {
                    self.inspect(state, who, lease, hint);
                }
            }
            Action::CheckOn(who, slow) => {
                let now = clock(state, slow);
                return self.check_on(state, who, now, Sighting::Clear);
            }
            Action::CheckDimly(who, sight) => {
                state.left.dims -= 1;
                return self.check_on(state, who, at(state.tick), sight);
            }
            Action::CheckDies(who) => {
                state.left.losses -= 1;
                self.check_on(state, who, at(state.tick), Sighting::Clear);
                state.checks.remove(&who);
            }
            _ => return false,
        }
        true
    }

    fn step(&self, state: &mut State, slot: Slot, now: Timestamp) {
        let Some(command) = state.command(slot) else {
            return;
        };
        let mut answer = self.advance(state, slot, now);
        while self.quick_calls && answer.is_none() {
            answer = self.advance(state, slot, now);
        }
        if let Some(answer) = answer {
            self.deliver(state, slot, &command, answer);
        }
    }

    /// Makes a write twice. The call gets only the reply to the second one.
    pub(crate) fn resend(&self, state: &mut State, slot: Slot) -> bool {
        let (now, last) = (clock(state, false), last_token(state));
        if !self.write_unheard(state, slot, now) {
            return false;
        }
        let granted = last_token(state) != last;
        let Some(command) = state.command(slot) else {
            return false;
        };
        if let Some(answer) = self.advance(state, slot, now) {
            let denied = |done: &Done| matches!(done.outcome, Outcome::AlreadyHeld { .. });
            if granted && answer.as_ref().is_ok_and(denied) {
                state.broken.insert(Rule::GrantDenied);
            }
            self.deliver(state, slot, &command, answer);
        }
        true
    }

    /// Makes the next request of a call, and lets its function die. A caller that waits for the answer calls
    /// again.
    fn lose(&self, state: &mut State, slot: Slot, now: Timestamp) {
        let Some(command) = state.command(slot) else {
            return;
        };
        let before = state.calls.get(&slot).cloned();
        self.advance(state, slot, now);
        state.calls.extend(before.map(|call| (slot, call)));
        cut_off(state, slot);
        self.call_again(state, slot, Some(command));
    }

    /// Repeats the call of a function that has died, if the caller waits for an answer.
    pub(crate) fn call_again(&self, state: &mut State, slot: Slot, command: Option<Arc<Command>>) {
        let (Slot::Own(who), Some(command)) = (slot, command) else {
            return;
        };
        let phase = state.executions[who].phase;
        if matches!(
            phase,
            Phase::Asking | Phase::Releasing(_) | Phase::Reporting
        ) {
            Self::make(state, slot, command);
        }
    }

    fn beat(&self, state: &mut State, who: Who) {
        if let Phase::Working(token) = state.executions[who].phase {
            leave_alone(state, who);
            let command = self.renew(who, token, state.executions[who].redrives);
            Self::make(state, Slot::Own(who), command);
        }
    }

    fn lease(&self, state: &State, who: Who) -> Option<Lease> {
        let record = state.record()?;
        record.holders.get(self.holder(who)).cloned()
    }

    fn check(&self, state: &mut State, who: Who) {
        if let Some(lease) = self.lease(state, who) {
            let early = !self.is_worth_a_check(state, who, lease.clone());
            state.left.early -= u8::from(early);
            self.inspect(state, who, lease, None);
        }
    }

    /// Ends work for which its execution does not wait. A working execution releases its permit with
    /// `failed`.
    fn work_ends(&self, state: &mut State, who: Who, end: Work) {
        let execution = &mut state.executions[who];
        execution.end_work(end);
        if let (Phase::Working(token), false) = (execution.phase, execution.resuming) {
            leave_alone(state, who);
            self.give_back(state, who, token, RunOutcome::Failed);
        }
    }

    fn cut_off(&self, state: &mut State, who: Who) {
        state.left.cuts -= 1;
        leave_alone(state, who);
        let execution = &mut state.executions[who];
        if let Phase::Working(token) = execution.phase {
            execution.phase = Phase::Reporting;
            execution.belief = None;
            execution.work = Work::Stopping;
            let command = self.stopping(who, token);
            Self::make(state, Slot::Own(who), command);
        }
    }

    /// Redrives an execution at its work. Its first call is a heartbeat.
    fn redrive(&self, state: &mut State, who: Who, later: u64) {
        let Some(token) = state.executions[who].had else {
            return;
        };
        state.left.redrives -= 1;
        state.tick += later;
        leave_alone(state, who);
        let execution = &mut state.executions[who];
        execution.phase = Phase::Working(token);
        execution.redrives += 1;
        execution.resuming = true;
        self.beat(state, who);
    }
}

fn last_token(state: &State) -> Option<FencingToken> {
    state.record().map(|record| record.last_token)
}

fn copy(state: &mut State, slot: Slot) {
    let Slot::Own(who) = slot else {
        return;
    };
    if let (Some(free), Some(call)) = (state.late_slot(who), state.calls.get(&slot).cloned()) {
        state.calls.insert(free, call);
    }
}

/// Returns what the clock of a call shows. Each redrive adds a millisecond, so that no heartbeat after a
/// redrive has the millisecond of one before it.
pub(crate) fn own_clock(state: &State, slot: Slot, slow: bool) -> Timestamp {
    let redrives = match slot {
        Slot::Own(who) => state.executions[who].redrives,
        Slot::Late(..) | Slot::Sweep(_) | Slot::Operator | Slot::Settler => 0,
    };
    Timestamp::from_millis(clock(state, slow).millis() + u64::from(redrives))
}

/// Returns what a clock shows: the true time, or one second less if `slow`.
pub(crate) fn clock(state: &State, slow: bool) -> Timestamp {
    Timestamp::from_millis(at(state.tick).millis() - u64::from(slow) * 1000)
}
