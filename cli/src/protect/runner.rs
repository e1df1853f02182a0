//! Makes the calls of the plan, and logs their results.
//!
//! This is the only loop that calls the agent. Everything else changes the plan and wakes the loop, so calls
//! never overlap.

use super::counter::Counter;
use super::endpoint::Agent;
use super::plan::{PlanStep, ProtectionEvent, Put, PutResult};
use super::reason::Refused;
use std::sync::Arc;

/// Carries out the steps of the plan, until the runtime ends.
pub(super) async fn keep<A: Agent>(counter: Arc<Counter>, agent: Arc<A>) {
    loop {
        match counter.next() {
            PlanStep::Put(put) => call(&counter, &*agent, put).await,
            PlanStep::Lapsed => tracing::warn!(
                event = "protection_expired",
                "task protection has expired while work is in flight: ECS may stop this task; \
                 retrying"
            ),
            PlanStep::Wait(until) => counter.woken(Some(until)).await,
            PlanStep::Nothing => counter.woken(None).await,
        }
    }
}

/// Makes one call and records its answer. A lost answer counts as a refusal whose outcome is unknown.
async fn call<A: Agent>(counter: &Counter, agent: &A, put: Put) {
    let (answer, until) = match agent.put(put.minutes).await {
        Ok(state) if put.minutes.is_some() => (PutResult::Protected(state.left), state.until),
        Ok(_) => (PutResult::Cleared, None),
        Err(refused) => (PutResult::Refused(refused), None),
    };
    let event = counter.answered(put, answer);
    log(&event, &until.unwrap_or_default());
}

fn log(event: &ProtectionEvent, until: &str) {
    match event {
        ProtectionEvent::Protected => {
            tracing::info!(event = "protection_set", until, "the task is protected")
        }
        ProtectionEvent::Renewed => tracing::debug!(
            event = "protection_renewed",
            until,
            "task protection renewed"
        ),
        ProtectionEvent::Cleared => tracing::info!(
            event = "protection_cleared",
            "the task is no longer protected"
        ),
        ProtectionEvent::Refused(Refused { reason, detail }) => {
            tracing::warn!(
                event = "protection_refused",
                %reason,
                detail,
                advice = reason.advice(),
                "task protection could not be set or renewed"
            );
        }
        ProtectionEvent::LeftToExpire(Refused { reason, detail }) => {
            tracing::warn!(
                event = "protection_clear_failed",
                %reason,
                detail,
                "task protection could not be cleared: it ends when it expires"
            );
        }
        ProtectionEvent::Nothing => {}
    }
}

/// Logs the protection that the task has before the first call: another process of the task may have set it.
pub(super) async fn log_state<A: Agent>(agent: Arc<A>) {
    match agent.get().await {
        Ok(state) if state.enabled => {
            let until = state.until.unwrap_or_default();
            tracing::info!(
                event = "protection_found",
                until,
                "the task was already protected when this process started"
            );
        }
        Ok(_) => tracing::debug!(event = "protection_not_found", "the task is not protected"),
        Err(refused) => {
            tracing::debug!(event = "protection_read_failed", %refused, "the current task protection could not be read");
        }
    }
}
