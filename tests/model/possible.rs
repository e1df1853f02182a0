//! The actions that are possible in a state. Their order is fixed, because a trace is a list of indices.

use crate::action::Action;
use crate::inspect::Doing;
use crate::services::{News, Sighting, describes};
use crate::state::{End, Execution, Phase, Slot, Stage, State, Who, Work};
use crate::watch::{queued, successes};
use crate::world::{World, at};
use lockstep::domain::{Command, Lease, LockRecord, Mode, Opening, Timestamp};
use lockstep::recovery::LIST_LAG;

impl World {
    pub(crate) fn possible(&self, state: &State) -> Vec<Action> {
        let mut actions = Vec::new();
        for (slot, call) in &state.calls {
            self.of_call(state, *slot, &call.stage, &mut actions);
        }
        actions.extend((0..state.wire.len()).map(Action::Arrive));
        for who in 0..self.plans.len() {
            self.of_execution(state, who, &mut actions);
        }
        self.of_reaper(state, &mut actions);
        if let Some(record) = state.record() {
            self.of_checks(state, record, &mut actions);
            self.of_sweep(state, record, &mut actions);
            self.of_operator(state, record, &mut actions);
        }
        if state.tick < self.ticks && !state.is_over() {
            actions.push(Action::Tick);
        }
        if state.left.leaps > 0 && !state.is_over() {
            actions.extend(self.next_time(state).map(Action::Leap));
        }
        if actions.is_empty() {
            actions.extend(self.next_time(state).map(Action::WaitUntil));
        }
        actions
    }

    /// Returns whether nothing is under way and no action is possible.
    pub(crate) fn at_rest(&self, state: &State) -> bool {
        state.is_quiet() && self.possible(state).is_empty()
    }

    fn of_call(&self, state: &State, slot: Slot, stage: &Stage, actions: &mut Vec<Action>) {
        let clocks: &[bool] = match stage {
            Stage::Begin | Stage::Asks(_) if self.skew => &[false, true],
            _ => &[false],
        };
        actions.extend(clocks.iter().map(|slow| Action::Step(slot, *slow)));
        if let Slot::Own(who) = slot
            && *stage == Stage::Begin
            && state.left.copies > 0
            && state.late_slot(who).is_some()
        {
            actions.push(Action::Copy(slot));
        }
        if state.left.losses > 0 {
            actions.extend(clocks.iter().map(|slow| Action::Lose(slot, *slow)));
        }
        if state.left.resends > 0 {
            actions.push(Action::Resend(slot));
        }
        if state.left.lates > 0 && *stage == Stage::Begin {
            actions.extend(clocks.iter().map(|slow| Action::Send(slot, *slow)));
        }
        if state.left.strays > 0 && !matches!(stage, Stage::Acts(_)) {
            actions.extend(clocks.iter().map(|slow| Action::Stray(slot, *slow)));
            actions.extend(clocks.iter().map(|slow| Action::Abandon(slot, *slow)));
        }
    }

    fn of_execution(&self, state: &State, who: Who, actions: &mut Vec<Action>) {
        let execution = &state.executions[who];
        let calls = state.calls.contains_key(&Slot::Own(who));
        match execution.phase {
            Phase::Idle => {
                // Executions start in order, because their names make no difference.
                let before = who.checked_sub(1).map(|other| &state.executions[other]);
                if before.is_none_or(|before| before.phase != Phase::Idle) {
                    actions.push(Action::Start(who));
                }
            }
            Phase::Working(_) => {
                if state.left.beats > 0 && (!calls || self.overlaps(state, who)) {
                    actions.push(Action::Beat(who));
                }
                let room = !calls || state.late_slot(who).is_some();
                if execution.work == Work::Runs && !execution.resuming && room {
                    actions.push(Action::Finish(who));
                    if state.left.cuts > 0 {
                        actions.push(Action::CutOff(who));
                    }
                }
                if execution.resuming && !execution.works() && !calls {
                    actions.push(Action::GoOn(who));
                }
            }
            Phase::Waiting if self.may_time_out(state, who) => actions.push(Action::TimeOut(who)),
            Phase::Over(End::Died) if state.left.redrives > 0 && execution.had.is_some() => {
                // After one second, and after a time at which no earlier heartbeat can be under way.
                actions.extend([1, 16].map(|later| Action::Redrive(who, later)));
            }
            _ => {}
        }
        if state.left.settles > 0 && self.is_open(state, who) {
            actions.push(Action::Settle(who, Sighting::Clear));
            let dim = [Sighting::Late, Sighting::Blind];
            let dim = dim.into_iter().filter(|_| state.left.dims > 0);
            actions.extend(dim.map(|sight| Action::Settle(who, sight)));
        }
        self.of_work(execution, who, actions);
        let lives = !matches!(execution.phase, Phase::Idle | Phase::Over(_));
        if lives && state.left.crashes > 0 {
            actions.push(Action::Crash(who));
        }
    }

    /// Returns whether the heartbeat state of `who` may time out while its heartbeat is under way, and be
    /// entered again.
    fn overlaps(&self, state: &State, who: Who) -> bool {
        let own = state.command(Slot::Own(who));
        let beats = own.is_some_and(|command| matches!(*command, Command::Renew(_)));
        self.travels() && beats && state.late_slot(who).is_some()
    }

    /// Adds the ends of work that is being stopped, or for which its execution does not wait.
    fn of_work(&self, execution: &Execution, who: Who, actions: &mut Vec<Action>) {
        let alone = matches!(execution.phase, Phase::Over(_)) || execution.resuming;
        if execution.work == Work::Stopping || (execution.work == Work::Runs && alone) {
            actions.push(Action::WorkEnds(who, Work::Stopped));
        }
        if execution.work == Work::Runs && alone && self.own_ends {
            let own = [Work::Failed, Work::Succeeded];
            actions.extend(own.map(|end| Action::WorkEnds(who, end)));
        }
    }

    /// Returns whether a waiting state may time out. While the budget lasts, it may at any time. After that
    /// it may only when nothing else can end it: the wake-up or its own call was lost, or its wait is over.
    fn may_time_out(&self, state: &State, who: Who) -> bool {
        let (holder, id) = &self.names[who];
        let until = self.plans[who].waits_until;
        let is_over = until.is_some_and(|until| until <= state.tick);
        let stuck = state.calls.is_empty()
            && (state.token_of(holder).is_some() || !queued(state, id) || is_over);
        stuck || (state.left.timeouts > 0 && state.late_slot(who).is_some())
    }

    /// Adds the checks of holders that would change something. A check that would change nothing is left out,
    /// because `WaitUntil` lets time pass only if no other action is possible.
    fn of_checks(&self, state: &State, record: &LockRecord, actions: &mut Vec<Action>) {
        for (holder, lease) in &record.holders {
            let who = self.who(holder).expect("a known holder");
            if state.checks.contains_key(&who) {
                continue;
            }
            let early = state.left.early > 0;
            if early || self.is_worth_a_check(state, who, lease.clone()) {
                actions.push(Action::Check(who));
            }
            let all = [News::ExecutionEnded, News::TaskStopped];
            for news in all.into_iter().filter(|_| state.left.news > 0) {
                if self.hint(state, who, news).is_some() {
                    actions.push(Action::CheckOnNews(who, news));
                }
            }
        }
    }

    fn of_reaper(&self, state: &State, actions: &mut Vec<Action>) {
        for (who, inspecting) in &state.checks {
            actions.push(Action::CheckOn(*who, false));
            let asks = match &inspecting.doing {
                Doing::Asks(request) => describes(request),
                Doing::Executes(_) | Doing::Acts(_) => false,
            };
            if self.skew && !asks {
                actions.push(Action::CheckOn(*who, true));
            }
            if state.left.dims > 0 && asks {
                let dim = [Sighting::Late, Sighting::Blind];
                actions.extend(dim.map(|sight| Action::CheckDimly(*who, sight)));
            }
            if state.left.losses > 0 {
                actions.push(Action::CheckDies(*who));
            }
        }
    }

    fn of_sweep(&self, state: &State, record: &LockRecord, actions: &mut Vec<Action>) {
        let now = at(state.tick);
        if record.due.is_none_or(|due| due > now) || state.calls.contains_key(&Slot::Sweep(0)) {
            return;
        }
        if record.gate.mode.pause_end().is_some_and(|end| end <= now) {
            actions.push(Action::Sweep(
                Command::Open(Opening::PauseEnd, self.audit_note()).into(),
            ));
        } else if record.can_grant(now) && !record.queue.is_empty() {
            actions.push(Action::Sweep(Command::HandOver.into()));
        } else if state.left.idle_sweeps > 0 {
            actions.push(Action::Sweep(Command::Reschedule.into()));
        }
    }

    fn of_operator(&self, state: &State, record: &LockRecord, actions: &mut Vec<Action>) {
        if state.calls.contains_key(&Slot::Operator) {
            return;
        }
        // The operator opens a closed lock in the end. If the pause has an end, the sweep opens the lock.
        let closed = record.gate.mode != Mode::Open && self.pauses_until.is_none();
        let mut order = |command: Command| actions.push(Action::Order(command.into()));
        if closed && (state.left.orders > 0 || state.calls.is_empty()) {
            order(Command::Open(Opening::Resume, self.audit_note()));
        }
        if state.left.orders == 0 {
            return;
        }
        if self.clears {
            if record.gate.not_before > at(state.tick) {
                order(Command::Open(Opening::Rest, self.audit_note()));
            }
            if successes(&state.table) > 0 {
                order(self.forget());
            }
            return;
        }
        order(Command::Pause(self.audit_note(), self.pauses_until.map(at)));
        for (who, (holder, id)) in self.names.iter().enumerate() {
            let lease = record.holders.get(holder);
            if let Some(lease) = lease.filter(|_| self.stops_evicted) {
                order(self.stop_evicted(who, lease.token));
            } else if lease.is_some() || record.queue.contains_key(id) {
                order(self.evict(record, who));
            }
        }
    }

    /// Returns the next time at which something becomes due, if the sweep still has to check the lock.
    fn next_time(&self, state: &State) -> Option<u64> {
        let record = state.record().filter(|record| !is_done(record))?;
        let dead = |lease: &Lease| {
            let end = lease.expires_at.millis();
            let mut later = (0..).map(|seconds| end + seconds * 1000);
            later.find(|time| lease.is_dead(Timestamp::from_millis(*time)))
        };
        let ends = record.holders.values().filter_map(dead);
        let marked = |lease: &Lease| Some(lease.suspicion_ends(lease.exit.suspect?).millis());
        let marks = record.holders.values().filter_map(marked);
        let waits = self.plans.iter().filter_map(|plan| plan.waits_until);
        let executions = state.executions.iter();
        let died = executions.filter_map(|execution| execution.died_at);
        let listed = died.map(|tick| at(tick).plus(LIST_LAG).millis());
        let times = ends
            .chain(marks)
            .chain(listed)
            .chain([record.gate.not_before.millis()])
            .chain(record.due.map(|due| due.millis()))
            .chain(record.gate.mode.pause_end().map(|end| end.millis()))
            .chain(waits.map(|until| at(until).millis()));
        let ticks = times.map(|millis| millis.saturating_sub(at(0).millis()).div_ceil(1000));
        ticks.filter(|tick| *tick > state.tick).min()
    }
}

/// Returns whether the sweep need not check the lock any more.
fn is_done(record: &LockRecord) -> bool {
    record.is_idle() && record.gate.mode.pause_end().is_none()
}
