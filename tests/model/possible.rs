//! What can happen next. The order is fixed: a trace is a list of indices.

use crate::action::Action;
use crate::state::{LATE, Phase, Slot, Stage, State, Who};
use crate::watch_queue::queued;
use crate::world::{World, at};
use lockstep::domain::{Lease, LockRecord, Mode, StalePolicy, Timestamp};

impl World {
    pub(crate) fn possible(&self, state: &State) -> Vec<Action> {
        let mut actions = Vec::new();
        for (slot, call) in &state.calls {
            self.of_call(state, *slot, &call.stage, &mut actions);
        }
        for who in 0..self.plans.len() {
            self.of_execution(state, who, &mut actions);
        }
        if let Some(record) = state.record() {
            self.of_reaper(state, record, &mut actions);
            self.of_operator(state, record, &mut actions);
        }
        if state.tick < self.ticks && !state.is_over() {
            actions.push(Action::Tick);
        }
        if actions.is_empty() {
            actions.extend(self.next_time(state).map(Action::WaitUntil));
        }
        actions
    }

    fn of_call(&self, state: &State, slot: Slot, stage: &Stage, actions: &mut Vec<Action>) {
        actions.push(Action::Step(slot, false));
        let reads_clock = matches!(stage, Stage::Register | Stage::Fast | Stage::Look(_));
        if self.skew && reads_clock {
            actions.push(Action::Step(slot, true));
        }
        let begins = matches!(stage, Stage::Register | Stage::Fast);
        if let Slot::Own(who) = slot
            && begins
            && state.left.copies > 0
            && has_room(state, who)
        {
            actions.push(Action::Copy(slot));
        }
        let may_end = matches!(stage, Stage::Fast | Stage::Write(_) | Stage::Answer(_));
        if state.left.losses > 0 && may_end {
            actions.push(Action::Lose(slot, false));
            if self.skew && reads_clock {
                actions.push(Action::Lose(slot, true));
            }
        }
    }

    fn of_execution(&self, state: &State, who: Who, actions: &mut Vec<Action>) {
        let execution = &state.executions[who];
        let calls = state.calls.contains_key(&Slot::Own(who));
        match execution.phase {
            Phase::Idle => {
                // Executions of the same plan start in order: their names mean nothing.
                let before = who
                    .checked_sub(1)
                    .map(|other| state.executions[other].phase);
                if before != Some(Phase::Idle) {
                    actions.push(Action::Start(who));
                }
            }
            Phase::Working(_) => {
                if state.left.beats > 0 && !calls {
                    actions.push(Action::Beat(who));
                }
                if execution.works && (!calls || has_room(state, who)) {
                    actions.push(Action::Finish(who));
                }
            }
            Phase::Waiting if self.may_time_out(state, who) => actions.push(Action::TimeOut(who)),
            Phase::Over(_) if execution.works => actions.push(Action::WorkStops(who)),
            Phase::Over(_) if state.left.redrives > 0 && execution.had.is_some() => {
                // At once, and when no heartbeat from before can be under way.
                actions.extend([1, 16].map(|later| Action::Redrive(who, later)));
            }
            _ => {}
        }
        let lives = !matches!(execution.phase, Phase::Idle | Phase::Over(_));
        if lives && state.left.crashes > 0 {
            actions.push(Action::Crash(who));
        }
    }

    /// A waiting state times out at any time while the budget lasts, and after that when nothing
    /// else can bring its turn: the wake-up, or its own call, was lost, or its time is over.
    fn may_time_out(&self, state: &State, who: Who) -> bool {
        let (holder, id) = &self.names[who];
        let stuck = state.calls.is_empty()
            && (state.token_of(holder).is_some()
                || !queued(state, id)
                || self.plans[who]
                    .waits_until
                    .is_some_and(|until| until <= state.tick));
        stuck || (state.left.timeouts > 0 && has_room(state, who))
    }

    fn of_reaper(&self, state: &State, record: &LockRecord, actions: &mut Vec<Action>) {
        let now = at(state.tick);
        for (holder, lease) in &record.holders {
            let who = self.who(holder).expect("a known holder");
            if state.calls.contains_key(&Slot::Reaper(who)) {
                continue;
            }
            let execution = &state.executions[who];
            let over = matches!(execution.phase, Phase::Over(_));
            let visible = self.plans[who].visible;
            if visible && over && !execution.works {
                actions.push(Action::Reap(who));
            } else if lease.is_dead(now) && (!visible || lease.stale == StalePolicy::Yield) {
                actions.push(Action::Expire(who));
            } else if !over
                && lease.stale == StalePolicy::Hold
                && lease.staleness(now).is_some()
                && record.mode == Mode::Open
                && state.left.looks > 0
            {
                actions.push(Action::Freeze(who));
            }
        }
        if record.due.is_none_or(|due| due > now) || state.calls.contains_key(&Slot::Sweep(0)) {
            return;
        }
        if record.can_grant(now) && !record.queue.is_empty() {
            actions.push(Action::Sweep);
        } else if state.left.looks > 0 {
            actions.push(Action::LookAgain);
        }
    }

    fn of_operator(&self, state: &State, record: &LockRecord, actions: &mut Vec<Action>) {
        if state.calls.contains_key(&Slot::Operator) {
            return;
        }
        // A closed lock is opened at last.
        let closed = record.mode != Mode::Open;
        if closed && (state.left.orders > 0 || state.calls.is_empty()) {
            actions.push(Action::Resume);
        }
        if state.left.orders == 0 {
            return;
        }
        actions.push(Action::Pause);
        for (who, (holder, id)) in self.names.iter().enumerate() {
            if record.holders.contains_key(holder) || record.queue.contains_key(id) {
                actions.push(Action::Evict(who));
            }
        }
    }

    /// When something can happen by itself, if the lock is not at rest.
    fn next_time(&self, state: &State) -> Option<u64> {
        let record = state.record().filter(|record| !record.is_idle())?;
        let dead = |lease: &Lease| {
            let end = lease.expires_at.millis();
            let mut later = (0..).map(|seconds| end + seconds * 1000);
            later.find(|time| lease.is_dead(Timestamp::from_millis(*time)))
        };
        let ends = record.holders.values().filter_map(dead);
        let waits = self.plans.iter().filter_map(|plan| plan.waits_until);
        let times = ends
            .chain([record.not_before.millis()])
            .chain(record.due.map(|due| due.millis()))
            .chain(waits.map(|until| at(until).millis()));
        let ticks = times.map(|millis| millis.saturating_sub(at(0).millis()).div_ceil(1000));
        ticks.filter(|tick| *tick > state.tick).min()
    }
}

fn has_room(state: &State, who: Who) -> bool {
    (0..LATE).any(|n| !state.calls.contains_key(&Slot::Late(who, n)))
}
