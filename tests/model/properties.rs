//! The properties that must hold, and the model as the checker sees it.

use crate::action::Action;
use crate::state::{End, Execution, Phase, State, Taken};
use crate::watch::{Rule, forgotten};
use crate::world::{Plan, World, at};
use lockstep::domain::{CLOCK_SKEW, LockRecord, Mode};
use stateright::{Model, Property};

impl Model for World {
    type State = State;
    type Action = Action;

    fn init_states(&self) -> Vec<State> {
        vec![self.start()]
    }

    fn actions(&self, state: &State, actions: &mut Vec<Action>) {
        actions.extend(self.possible(state));
    }

    fn next_state(&self, state: &State, action: Action) -> Option<State> {
        let mut next = state.clone();
        self.act(&mut next, action).then_some(next)
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(BELIEVERS, |world, state| {
                world.believers(state) <= usize::from(world.permits)
            }),
            Property::always(WORKERS, |world, state| {
                workers(state) <= usize::from(world.permits)
            }),
            Property::always(TOKENS, |_, state| kept(state, Rule::TokensGrow)),
            Property::always(LEASES, |_, state| kept(state, Rule::LeaseTaken)),
            Property::always(ENDS_STAY, |_, state| kept(state, Rule::EndMovedBack)),
            Property::always(GREEN, |_: &World, state: &State| {
                let worked = |it: &&Execution| it.phase == Phase::Over(End::Worked);
                state
                    .executions
                    .iter()
                    .filter(worked)
                    .all(Execution::succeeded)
            }),
            Property::always(TICKETS, |_, state| kept(state, Rule::TicketLost)),
            Property::always(TURNS, |_, state| kept(state, Rule::OutOfTurn)),
            Property::always(TICKET_ONCE, |_, state| kept(state, Rule::TicketTwice)),
            Property::always(RECORD, |_, state| kept(state, Rule::Record)),
            Property::always(DUE, |_, state| kept(state, Rule::NotDue)),
            Property::always(SUCCESS_ONCE, |_, state| kept(state, Rule::SuccessTwice)),
            Property::always(ANSWERED, |_, state| kept(state, Rule::Failed)),
            Property::always(ANSWERED_SO, |_, state| kept(state, Rule::GrantDenied)),
            Property::always(LIVE, |_, state| kept(state, Rule::LiveStopped)),
            Property::always(WORK_ONCE, |world: &World, state: &State| {
                let all = world.plans.iter().zip(&state.executions);
                let keyed = all.filter(|(plan, _)| plan.run_key.is_some());
                let done: u8 = keyed.map(|(_, execution)| execution.done).sum();
                usize::from(done) <= 1 + forgotten(&state.table)
            }),
            Property::always(AT_WORK, |_, state| kept(state, Rule::FreedAtWork)),
            Property::always(PASSED_ON, |_, state| kept(state, Rule::PassedOnAtWork)),
            Property::always(TRUE_SUCCESS, |_, state| kept(state, Rule::FalseSuccess)),
            Property::always(SUCCESS_SEEN, |_, state| kept(state, Rule::SuccessDropped)),
            Property::always(STRANDED, |world, state| !world.strands(state)),
            Property::always(FREE, |world, state| !world.at_rest(state) || is_free(state)),
            Property::always(SERVED, |world, state| {
                !world.at_rest(state) || world.served(state)
            }),
            Property::always(TIDY, |world, state| !world.at_rest(state) || is_tidy(state)),
            Property::sometimes(ENDS, World::at_rest),
        ]
    }
}

pub(crate) const BELIEVERS: &str = "no more holders believe in a live lease than there are permits";
pub(crate) const WORKERS: &str = "no more runs work than there are permits";
pub(crate) const TOKENS: &str = "every grant has a larger token than all before";
pub(crate) const LEASES: &str = "a lease ends by its holder, true evidence or an operator";
pub(crate) const ENDS_STAY: &str = "the end of a lease never moves back";
pub(crate) const GREEN: &str = "an execution succeeds only if its work has";
pub(crate) const TICKETS: &str = "a waiter keeps its ticket until its turn";
pub(crate) const TURNS: &str = "waiters are granted permits by ticket, and no run passes the queue";
pub(crate) const TICKET_ONCE: &str = "no ticket is given out twice";
pub(crate) const RECORD: &str = "every record keeps its invariants";
pub(crate) const DUE: &str = "a lock with a holder or a waiter is due for the sweep in time";
pub(crate) const SUCCESS_ONCE: &str = "a run key has one success";
pub(crate) const ANSWERED: &str = "every call comes to an outcome or a refusal";
pub(crate) const ANSWERED_SO: &str = "a grant that a call makes is answered as one";
pub(crate) const LIVE: &str =
    "no work is stopped under a live lease, except by a replacement or an eviction";
pub(crate) const WORK_ONCE: &str = "the work of a run key succeeds once, whatever is recorded";
pub(crate) const AT_WORK: &str =
    "no permit is freed while its work goes on, except by policy, lease end or operator";
pub(crate) const PASSED_ON: &str =
    "an unconfirmed grant is passed on only if no work has begun under it";
pub(crate) const TRUE_SUCCESS: &str = "a run counts as succeeded only if its work has";
pub(crate) const SUCCESS_SEEN: &str = "recovery records work that succeeded as succeeded";
pub(crate) const STRANDED: &str = "no waiter is left beside a free permit";
pub(crate) const TIDY: &str = "no side item and no task token is left behind";
pub(crate) const ENDS: &str = "a path ends";
pub(crate) const FREE: &str = "the lock becomes free";
pub(crate) const SERVED: &str = "each waiter that lives is granted a permit";

impl World {
    /// Returns the number of holders that may still rely on their lease by their own clock, which may be
    /// slow.
    fn believers(&self, state: &State) -> usize {
        let counted = state.executions.iter();
        let by_time = |by| by == Taken::ByTime;
        let counted = counted.filter(|execution| execution.lost_to().is_none_or(by_time));
        let beliefs = counted.filter_map(|execution| execution.belief);
        let good = beliefs.filter(|(_, end)| at(state.tick) < end.plus(CLOCK_SKEW));
        good.count()
    }

    /// Returns whether a waiter is left beside a free permit: no call, check or write is under way, and no
    /// sweep is due. While a holder is ending, a waiter with its run key or its name still waits for it.
    fn strands(&self, state: &State) -> bool {
        let now = at(state.tick);
        let Some(record) = state.record().filter(|record| record.can_grant(now)) else {
            return false;
        };
        let due = record.due.is_some_and(|due| due <= now);
        let ending = record
            .holders
            .values()
            .any(|lease| lease.exit.ending.is_some());
        let waits = |(who, execution): (usize, &Execution)| {
            execution.phase == Phase::Waiting && record.queue.contains_key(&self.names[who].1)
        };
        state.is_quiet() && !due && !ending && state.executions.iter().enumerate().any(waits)
    }

    fn served(&self, state: &State) -> bool {
        let all = self.plans.iter().zip(&state.executions);
        let waits =
            |plan: &Plan| plan.waits() && plan.waits_until.is_none() && plan.run_key.is_none();
        let mut patient = all.filter(|(plan, _)| waits(plan) && self.budget.orders == 0);
        patient.all(|(_, execution)| match execution.phase {
            Phase::Over(end) => end != End::TurnedAway,
            _ => false,
        })
    }
}

fn is_free(state: &State) -> bool {
    let is_free = |record: &LockRecord| record.is_idle() && record.gate.mode == Mode::Open;
    state.is_over() && state.record().is_some_and(is_free)
}

fn workers(state: &State) -> usize {
    let counts = |execution: &&Execution| execution.works() && execution.lost_to().is_none();
    state.executions.iter().filter(counts).count()
}

/// Returns whether no run keeps a task token and no side item is left. Each call of a waiting state that was
/// cut off may leave one side item, which its TTL deletes.
fn is_tidy(state: &State) -> bool {
    let runs = state.table.runs.values();
    let mut leases = runs.filter_map(|run| run.lease.as_ref());
    state.table.waiters.len() <= usize::from(state.cut_off)
        && leases.all(|lease| lease.beat.is_none() && lease.call.is_none())
}

fn kept(state: &State, rule: Rule) -> bool {
    !state.broken.contains(&rule)
}
