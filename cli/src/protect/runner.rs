//! Makes the calls of the plan and says what came of them.

use super::counter::Counter;
use super::endpoint::Agent;
use super::plan::{Answer, Event, Next, Put};
use super::reason::Refused;
use std::sync::Arc;
use tracing::{debug, info, warn};

/// Does what the plan says, as long as the runtime lives.
pub(super) async fn keep<A: Agent>(counter: Arc<Counter>, agent: Arc<A>) {
    loop {
        match counter.next() {
            Next::Put(put) => call(&counter, &*agent, put).await,
            Next::Lapsed => warn!(
                "task protection has run out while work is in flight: ECS may stop this task; \
                 it is asked for again"
            ),
            Next::Wait(until) => counter.woken(Some(until)).await,
            Next::Nothing => counter.woken(None).await,
        }
    }
}

async fn call<A: Agent>(counter: &Counter, agent: &A, put: Put) {
    let (answer, until) = match agent.put(put.minutes).await {
        Ok(state) if put.minutes.is_some() => (Answer::Protected(state.left), state.until),
        Ok(_) => (Answer::Cleared, None),
        Err(refused) => (Answer::Refused(refused), None),
    };
    let event = counter.answered(put, answer);
    tell(&event, &until.unwrap_or_default());
}

fn tell(event: &Event, until: &str) {
    match event {
        Event::Protected => info!(until, "the task is protected"),
        Event::Renewed => debug!(until, "task protection is renewed"),
        Event::Cleared => info!("the task is no longer protected"),
        Event::Refused(Refused { reason, detail }) => {
            warn!(%reason, detail, advice = reason.advice(), "task protection is refused");
        }
        Event::LeftToExpire(Refused { reason, detail }) => {
            warn!(%reason, detail, "task protection cannot be cleared and is left to expire");
        }
        Event::Nothing => {}
    }
}

/// Says what protection there was before: another process of the task may have set it.
pub(super) async fn tell_state<A: Agent>(agent: Arc<A>) {
    match agent.get().await {
        Ok(state) if state.enabled => {
            let until = state.until.unwrap_or_default();
            info!(
                until,
                "the task was protected before this process asked for it"
            );
        }
        Ok(_) => debug!("the task is not protected"),
        Err(refused) => debug!(%refused, "the state of task protection cannot be read"),
    }
}
