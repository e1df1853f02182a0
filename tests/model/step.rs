//! What an action does.

use crate::action::Action;
use crate::effect::leave_alone;
use crate::state::{LATE, Phase, Slot, State, Who};
use crate::world::{World, at};
use lockstep::domain::{Command, Death, Freeze, RunOutcome, Seconds, Timestamp};

impl World {
    /// Says whether anything has changed.
    pub(crate) fn act(&self, state: &mut State, action: Action) -> bool {
        match action {
            Action::Tick => state.tick += 1,
            Action::WaitUntil(tick) => state.tick = tick,
            Action::Start(who) => self.ask(state, who),
            Action::Step(slot, slow) => {
                let now = clock(state, slow);
                self.step(state, slot, now);
            }
            Action::Copy(slot) => {
                state.left.copies -= 1;
                copy(state, slot);
            }
            Action::Lose(slot, slow) => {
                state.left.losses -= 1;
                let now = clock(state, slow);
                return self.lose(state, slot, now);
            }
            Action::Crash(who) => {
                state.left.crashes -= 1;
                self.die(state, who);
            }
            Action::WorkStops(who) => state.executions[who].works = false,
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
            Action::Reap(who) => self.reap(state, who, Death::Seen),
            Action::Expire(who) => self.reap(state, who, Death::Expired),
            Action::Freeze(who) => {
                state.left.looks -= 1;
                self.freeze(state, who);
            }
            Action::Sweep => self.make(state, Slot::Sweep(0), Command::HandOver),
            Action::LookAgain => {
                state.left.looks -= 1;
                self.make(state, Slot::Sweep(0), Command::Reschedule);
            }
            Action::Pause | Action::Resume | Action::Evict(_) => {
                state.left.orders = state.left.orders.saturating_sub(1);
                let command = match action {
                    Action::Pause => Command::Pause(self.order()),
                    Action::Evict(who) => self.evict(who),
                    _ => Command::Resume(self.order()),
                };
                self.make(state, Slot::Operator, command);
            }
            Action::Redrive(who, later) => self.redrive(state, who, later),
        }
        true
    }

    fn step(&self, state: &mut State, slot: Slot, now: Timestamp) {
        let Some(command) = state.calls.get(&slot).map(|call| call.command.clone()) else {
            return;
        };
        if let Some(answer) = self.advance(state, slot, now) {
            self.deliver(state, slot, &command, answer);
        }
    }

    /// The last step of the call is done and nobody hears of it. Who waits for it calls again.
    fn lose(&self, state: &mut State, slot: Slot, now: Timestamp) -> bool {
        let Some(command) = state.calls.get(&slot).map(|call| call.command.clone()) else {
            return false;
        };
        if self.advance(state, slot, now).is_none() {
            return false;
        }
        if let Slot::Own(who) = slot
            && matches!(
                state.executions[who].phase,
                Phase::Asking | Phase::Releasing(_)
            )
        {
            self.make(state, slot, command);
        }
        true
    }

    fn beat(&self, state: &mut State, who: Who) {
        if let Phase::Working(token) = state.executions[who].phase {
            let command = self.renew(who, token);
            self.make(state, Slot::Own(who), command);
        }
    }

    fn reap(&self, state: &mut State, who: Who, death: Death) {
        let lease = state
            .record()
            .and_then(|record| record.holders.get(self.holder(who)));
        if let Some(lease) = lease.cloned() {
            let command = self.recover(who, &lease, death);
            self.make(state, Slot::Reaper(who), command);
        }
    }

    fn freeze(&self, state: &mut State, who: Who) {
        if let Some(token) = state.token_of(self.holder(who)) {
            let command = Command::Freeze(Freeze {
                holder: self.holder(who).clone(),
                token,
                note: "stale".into(),
                retention: Seconds::of(1000),
            });
            self.make(state, Slot::Reaper(who), command);
        }
    }

    /// The execution goes on where it was: with its work, and with a heartbeat first.
    fn redrive(&self, state: &mut State, who: Who, later: u64) {
        let Some(token) = state.executions[who].had else {
            return;
        };
        state.left.redrives -= 1;
        state.tick += later;
        leave_alone(state, who);
        state.executions[who].phase = Phase::Working(token);
        self.beat(state, who);
    }
}

fn copy(state: &mut State, slot: Slot) {
    let Slot::Own(who) = slot else {
        return;
    };
    let free = (0..LATE).map(|n| Slot::Late(who, n));
    let free = free
        .into_iter()
        .find(|slot| !state.calls.contains_key(slot));
    if let (Some(free), Some(call)) = (free, state.calls.get(&slot).cloned()) {
        state.calls.insert(free, call);
    }
}

/// What a clock shows: the true time, or a second less.
fn clock(state: &State, slow: bool) -> Timestamp {
    Timestamp::from_millis(at(state.tick).millis() - u64::from(slow) * 1000)
}
