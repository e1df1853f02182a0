//! Runs the command of a message under its grant, releases the lock and acknowledges the message.
//!
//! The visibility timeout and the lease are renewed together. If the visibility timeout ends first, another
//! worker may receive the message: it finds a live lease and skips the message, or a dead one and takes the
//! lock over.

use super::MessageProcessor;
use super::environment::variables;
use crate::exec::supervise::StopCause;
use crate::exec::{ChildExit, GuardedCommand, Spec};
use crate::lease::held::Held;
use crate::lease::renewer::LeaseRenewer;
use crate::platform::clock::Instant;
use crate::worker::decide::{Disposition, Kind, decide_on_end};
use crate::worker::extend::extend;
use crate::worker::poll::HealthSignal;
use crate::worker::queue::{Message, Queue};
use crate::worker::shutdown::ShutdownWatch;
use lockstep::contract::ReleaseOutcome;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// Most attempts to release a lease that is still held.
const RELEASE_TRIES: u32 = 5;
/// Longest wait for the release before a message is acknowledged at shutdown.
const RELEASE_WITHIN: Duration = Duration::from_secs(2);

impl<Q: Queue> MessageProcessor<Q> {
    /// Runs the command under its grant. If no process can be started, the message is deferred, because every
    /// other message would fail in the same way.
    pub(super) async fn work(
        &self,
        message: &Message,
        held: &Held,
        shutdown: ShutdownWatch,
        health: HealthSignal,
    ) -> Kind {
        let (id, grant) = (&message.id, &held.grant);
        // The signal came while the lock was being acquired. A command that starts now would be stopped at
        // once.
        if shutdown.is_stopping() {
            tracing::info!(
                event = "message_given_back",
                id,
                "message given back to the queue: the worker is shutting down"
            );
            let (outcome, by) = (ReleaseOutcome::Failed, Instant::now() + RELEASE_WITHIN);
            self.finish(message, held, outcome, Disposition::GIVE_BACK, by)
                .await;
            self.metrics.count(Kind::GivenBack, None);
            return Kind::GivenBack;
        }
        // Waits until the orphans of another command are killed: a new process might be taken for one of
        // them.
        let running = self.running_commands.begin().await;
        let mut command = match self.start(message, held) {
            Ok(command) => command,
            Err(error) => {
                let end = (ReleaseOutcome::Failed, None);
                held.release(&*self.locks, end, RELEASE_TRIES).await;
                let why = format!("no process can be started: {error}");
                return self.defer(message, &why, &shutdown, health).await;
            }
        };
        health.ok();
        tracing::info!(
            event = "command_started",
            id,
            lock = grant.lock,
            key = grant.run_key,
            token = grant.token,
            receive_count = message.receive_count,
            "command started"
        );
        let begun = Instant::now();
        let run = self.run(message, held, shutdown.clone(), &mut command);
        let (cause, lease_end) = run.await;
        drop(running);
        // While other commands run, an orphan without a mark may belong to one of them. No command starts
        // while `idle` is held.
        let idle = self.running_commands.try_idle();
        let end = command.end(idle.is_some()).await;
        drop(idle);
        let took = Duration::from_millis(Instant::now().millis().saturating_sub(begun.millis()));
        let (outcome, disposition, kind) = decide_on_end(end, cause, self.backoff(message));
        log_end(&message.id, took, kind, (end, cause), disposition);
        let by = if shutdown.is_stopping() {
            // The container has to end within its `stopTimeout`. If the release fails, the lock is free when
            // its lease ends.
            lease_end.min(Instant::now() + RELEASE_WITHIN)
        } else {
            lease_end
        };
        self.finish(message, held, outcome, disposition, by).await;
        self.metrics.count(kind, Some(took));
        kind
    }

    /// Supervises the command. Returns why it was stopped, if it was, and when it has to be dead unless
    /// another renewal comes.
    async fn run(
        &self,
        message: &Message,
        held: &Held,
        shutdown: ShutdownWatch,
        command: &mut GuardedCommand,
    ) -> (Option<StopCause>, Instant) {
        let (on_renewed, renewed) = watch::channel(held.sent);
        let renewer = LeaseRenewer {
            locks: Arc::clone(&self.locks),
            held: held.clone(),
            progress: command.progress(),
            written: None,
            guarded: Some(command.guarded()),
        };
        let renewing = renewer.renew_and_notify(on_renewed);
        let extending = extend(&*self.queue, message, self.hide, renewed.clone());
        // When the lease is lost, the visibility timeout is not extended any more either.
        let both = async {
            tokio::select! {
                lost = renewing => lost,
                never = extending => never,
            }
        };
        let cause = command.supervise(both, shutdown).await;
        let renewed = *renewed.borrow();
        (cause, held.times.kill_at(renewed))
    }

    fn start(&self, message: &Message, held: &Held) -> std::io::Result<GuardedCommand> {
        let mut environment = held.environment.clone();
        environment.extend(variables(message));
        let spec = Spec {
            command: self.command.clone(),
            environment,
            input: Some(message.body.clone()),
            is_alone: self.is_alone,
            scope: self.scope,
            ..Spec::default()
        };
        let guards = (&self.subreaper, &self.watchdog);
        GuardedCommand::start(&message.id, guards, self.limits, spec)
    }

    /// Releases the lock, then acknowledges the message. If this process dies in between, the message is
    /// received again, and the table has its outcome. If the table has not answered by `by`, the message is
    /// acknowledged before the release is done.
    async fn finish(
        &self,
        message: &Message,
        held: &Held,
        outcome: ReleaseOutcome,
        disposition: Disposition,
        by: Instant,
    ) {
        // A message with this disposition has lost its lease, so a release can only report that.
        let tries = if disposition == Disposition::Leave {
            1
        } else {
            RELEASE_TRIES
        };
        // People get no message on a failure: SQS delivers a failed message again, and the dead-letter queue
        // has an alarm.
        let end = (outcome, None);
        let mut releasing = pin!(held.release(&*self.locks, end, tries));
        tokio::select! {
            biased;
            () = &mut releasing => self.ack(message, disposition).await,
            () = by.reached() => {
                self.ack(message, disposition).await;
                releasing.await;
            }
        }
    }
}

/// Logs the end of a command.
fn log_end(
    id: &str,
    took: Duration,
    kind: Kind,
    (end, cause): (ChildExit, Option<StopCause>),
    disposition: Disposition,
) {
    let seconds = took.as_secs_f64();
    match kind {
        Kind::Succeeded => {
            tracing::info!(event = "command_ended", id, seconds, "command succeeded");
        }
        Kind::GivenBack => {
            tracing::info!(
                event = "message_given_back",
                id,
                seconds,
                "message given back to the queue: the worker is shutting down"
            );
        }
        _ => {
            tracing::error!(
                event = "command_ended",
                id,
                seconds,
                %end,
                ?cause,
                ?disposition,
                "command failed"
            );
        }
    }
}
