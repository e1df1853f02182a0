//! What must hold, and the checker's view of the model.

use crate::action::Action;
use crate::state::{End, Phase, State, Taken};
use crate::watch::Rule;
use crate::world::{Plan, World, at};
use lockstep::domain::{CLOCK_SKEW, LockRecord};
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
            Property::always(TICKETS, |_, state| kept(state, Rule::TicketLost)),
            Property::always(TURNS, |_, state| kept(state, Rule::OutOfTurn)),
            Property::always(TICKET_ONCE, |_, state| kept(state, Rule::TicketTwice)),
            Property::always(RECORD, |_, state| kept(state, Rule::Record)),
            Property::always(DUE, |_, state| kept(state, Rule::NotDue)),
            Property::always(SUCCESS_ONCE, |_, state| kept(state, Rule::SuccessTwice)),
            // Both hold at the end of a run only: two paths that meet cannot hide a failure.
            Property::eventually(FREE, |_, state: &State| {
                state.is_over() && state.record().is_some_and(LockRecord::is_idle)
            }),
            Property::eventually(SERVED, |world: &World, state: &State| {
                state.is_over() && world.served(state)
            }),
        ]
    }
}

pub(crate) const BELIEVERS: &str = "no more believe in a live lease than there are permits";
pub(crate) const WORKERS: &str = "no more work goes on than there are permits";
pub(crate) const TOKENS: &str = "every grant has a larger token than all before";
pub(crate) const LEASES: &str = "a lease ends by its holder, true evidence or an operator";
pub(crate) const TICKETS: &str = "who waits keeps its ticket until its turn";
pub(crate) const TURNS: &str = "turns come by ticket, and nobody goes past the queue";
pub(crate) const TICKET_ONCE: &str = "no ticket is given out twice";
pub(crate) const RECORD: &str = "every record keeps its rules";
pub(crate) const DUE: &str = "the sweep looks in time while somebody holds or waits";
pub(crate) const SUCCESS_ONCE: &str = "a run key has one success";
pub(crate) const FREE: &str = "the lock becomes free";
pub(crate) const SERVED: &str = "whoever waits and lives gets its turn";

impl World {
    /// A holder relies on its lease by its own clock, which may be slow.
    fn believers(&self, state: &State) -> usize {
        let counted = state.executions.iter();
        let counted = counted.filter(|execution| execution.lost_to() != Some(Taken::ByOperator));
        let beliefs = counted.filter_map(|execution| execution.belief);
        beliefs
            .filter(|(_, end)| at(state.tick) < end.plus(CLOCK_SKEW))
            .count()
    }

    fn served(&self, state: &State) -> bool {
        let all = self.plans.iter().zip(&state.executions);
        let waits =
            |plan: &Plan| plan.waits() && plan.waits_until.is_none() && plan.run_key.is_none();
        let mut patient = all.filter(|(plan, _)| waits(plan) && self.budget.orders == 0);
        patient.all(|(_, execution)| {
            matches!(
                execution.phase,
                Phase::Over(End::Worked | End::Refused | End::Died)
            )
        })
    }
}

fn workers(state: &State) -> usize {
    let executions = state.executions.iter();
    executions
        .filter(|execution| execution.works && execution.lost_to().is_none())
        .count()
}

fn kept(state: &State, rule: Rule) -> bool {
    !state.broken.contains(&rule)
}
