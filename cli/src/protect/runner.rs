//! Makes the calls of the plan, and logs their results.

use super::counter::Counter;
use super::endpoint::Agent;
use super::plan::{Answer, Event, Next, Put};
use super::reason::Refused;
use std::sync::Arc;

/// Follows the plan until the runtime ends.
pub(super) async fn keep<A: Agent>(counter: Arc<Counter>, agent: Arc<A>) {
    loop {
        match counter.next() {
            Next::Put(put) => call(&counter, &*agent, put).await,
            Next::Lapsed => tracing::warn!(
                event = "protection_expired",
                "task protection has expired while work is in flight: ECS may stop this task; \
                 retrying"
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
    log(&event, &until.unwrap_or_default());
}

fn log(event: &Event, until: &str) {
    match event {
        Event::Protected => {
            tracing::info!(event = "protection_set", until, "the task is protected")
        }
        Event::Renewed => tracing::debug!(
            event = "protection_renewed",
            until,
            "task protection renewed"
        ),
        Event::Cleared => tracing::info!(
            event = "protection_cleared",
            "the task is no longer protected"
        ),
        Event::Refused(Refused { reason, detail }) => {
            tracing::warn!(
                event = "protection_refused",
                %reason,
                detail,
                advice = reason.advice(),
                "task protection refused"
            );
        }
        Event::LeftToExpire(Refused { reason, detail }) => {
            tracing::warn!(
                event = "protection_clear_failed",
                %reason,
                detail,
                "task protection not cleared; it expires"
            );
        }
        Event::Nothing => {}
    }
}

/// Logs the protection before the first call: another process of the task may have set it.
pub(super) async fn log_state<A: Agent>(agent: Arc<A>) {
    match agent.get().await {
        Ok(state) if state.enabled => {
            let until = state.until.unwrap_or_default();
            tracing::info!(
                event = "protection_found",
                until,
                "the task was already protected at the start"
            );
        }
        Ok(_) => tracing::debug!(event = "protection_not_found", "the task is not protected"),
        Err(refused) => {
            tracing::debug!(event = "protection_read_failed", %refused, "task protection not read");
        }
    }
}
