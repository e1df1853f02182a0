//! heartbeat: move the end of a lease forward, or say that it is lost.

use lockstep::alerts::About;
use lockstep::clock::Clock;
use lockstep::contract::{CheckedHeartbeat, HeartbeatRequest, HeartbeatResponse, rfc3339};
use lockstep::domain::{HolderId, LockKey, Outcome, Renew, TaskToken, Timestamp};
use lockstep::error::Error;
use lockstep::events::{Event, Events};
use lockstep::executions::Executions;
use lockstep::followup::FollowUp;
use lockstep::protection;
use lockstep::protocol::ProtocolError;
use lockstep::store::LockStore;
use lockstep::tasks::Tasks;
use lockstep::telemetry::{Metric, MetricSink, Metrics};
use serde_json::Value;

/// What the handler works with, built once before the first event.
#[derive(Debug)]
pub struct Deps<S, C, E, T, V, K> {
    /// The protocol, and what is done after a commit.
    pub follow: FollowUp<S, C, E, V>,
    /// Where a task is protected.
    pub tasks: T,
    /// Where metrics go.
    pub metrics: Metrics<K>,
}

/// Answers one request.
///
/// # Errors
/// `Lockstep.LeaseLost` when the lease is gone, or the run is stale and its policy is to terminate;
/// `InvalidRequest`, `Contended`, `Unavailable`, `Denied`, `Corrupt`.
pub async fn handle<S: LockStore, C: Clock, E: Executions, T: Tasks, V: Events, K: MetricSink>(
    deps: &Deps<S, C, E, T, V, K>,
    event: Value,
) -> Result<HeartbeatResponse, Error> {
    let follow = &deps.follow;
    let mut beat = HeartbeatRequest::read(event, follow.retention)?;
    if let Some(token) = &mut beat.renew.beat {
        *token = follow.executions.seal(&beat.lock, token).await?;
    }
    let CheckedHeartbeat { lock, renew, .. } = &beat;
    let command = renew.clone().into();
    let result = follow.protocol.execute(lock, &command).await;
    let now = follow.protocol.clock().now();
    let done = match result {
        Ok(done) => done,
        Err(error) => {
            let refused = matches!(error, ProtocolError::Refused(_));
            let error = Error::of_command(lock, error);
            if refused {
                deps.lost(lock, renew, error.message(), now).await;
            }
            return Err(error);
        }
    };
    follow.perform(lock, done.effects).await;
    let (holder, token) = (&renew.holder, renew.token);
    match done.outcome {
        Outcome::Renewed { expires_at } => Ok(deps.renewed(&beat, expires_at, now).await),
        Outcome::Reinstated { expires_at } => {
            tracing::warn!(%lock, %holder, %token, "the execution goes on after its end: its grant is back");
            Ok(deps.renewed(&beat, expires_at, now).await)
        }
        Outcome::Frozen { note, expires_at } => {
            deps.tell(about(lock, renew, now).frozen(&note)).await;
            Ok(deps.renewed(&beat, expires_at, now).await)
        }
        Outcome::Yielded { evidence } => {
            deps.lost(lock, renew, &evidence, now).await;
            Ok(HeartbeatResponse::Ended)
        }
        Outcome::Ended => {
            tracing::info!(%lock, %holder, %token, "nothing left to renew");
            end_own_state(&follow.executions, lock, renew.beat.as_ref()).await?;
            Ok(HeartbeatResponse::Ended)
        }
        other => unreachable!("a heartbeat never comes to {other:?}"),
    }
}

impl<S: LockStore, C: Clock, E: Executions, T: Tasks, V: Events, K: MetricSink>
    Deps<S, C, E, T, V, K>
{
    /// The lease is kept by now: what is left is to have the task spared that long.
    async fn renewed(
        &self,
        beat: &CheckedHeartbeat,
        end: Timestamp,
        now: Timestamp,
    ) -> HeartbeatResponse {
        let CheckedHeartbeat { lock, renew, .. } = beat;
        let Renew { holder, token, .. } = renew;
        let expires_at = rfc3339(end);
        self.metrics.report(lock, now, &[(Metric::Renewed, 1.0)]);
        tracing::info!(%lock, %holder, %token, expires_at, "renewed");
        let protection = match &beat.protect {
            Some(task) => Some(protection::protect(&self.tasks, lock, task, end, now).await),
            None => None,
        };
        HeartbeatResponse::Renewed {
            expires_at,
            protection,
        }
    }

    async fn lost(&self, lock: &LockKey, renew: &Renew, reason: &str, now: Timestamp) {
        let holder: &HolderId = &renew.holder;
        self.metrics.report(lock, now, &[(Metric::LeaseLost, 1.0)]);
        tracing::warn!(%lock, %holder, token = %renew.token, reason, "lease lost");
        self.tell(about(lock, renew, now).lease_lost(reason)).await;
    }

    async fn tell(&self, event: Event) {
        self.follow.events.publish(vec![event]).await;
    }
}

fn about<'a>(lock: &'a LockKey, renew: &'a Renew, at: Timestamp) -> About<'a> {
    About {
        lock,
        holder: &renew.holder,
        token: Some(renew.token),
        at,
    }
}

/// A beat that was under way while the run was released began a state that the release could not
/// know of. It ends that state itself, or the workflow would wait for one more interval.
async fn end_own_state<E: Executions>(
    executions: &E,
    lock: &LockKey,
    beat: Option<&TaskToken>,
) -> Result<(), Error> {
    let Some(beat) = beat else { return Ok(()) };
    executions.end_state(lock, beat, "{}").await?;
    Ok(())
}
