//! The command of a message: started under its grant, attended, settled.

use super::MessageProcessor;
use super::about::about;
use crate::exec::progress::Progress;
use crate::exec::supervise::{StopCause, supervise};
use crate::exec::{Child, ChildExit, Spec, kill_orphans};
use crate::lease::renewer::LeaseRenewer;
use crate::platform::clock::Instant;
use crate::run::{OF_A_GRANT, release};
use crate::worker::decide::{Disposition, Kind, after_end};
use crate::worker::extend::extend;
use crate::worker::poll::HealthSignal;
use crate::worker::queue::{Message, Queue};
use crate::worker::shutdown::ShutdownWatch;
use lockstep::contract::{Granted, ReleaseOutcome};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;

/// How often the release of a lease is tried that is ours.
const RELEASE_TRIES: u32 = 5;
/// Longest wait for the lock table before a message is given back at the end of the worker.
const RELEASE_WITHIN: Duration = Duration::from_secs(2);

impl<Q: Queue> MessageProcessor<Q> {
    /// The command under its grant. A machine that cannot start it is trouble, not a failure of the
    /// message: it would meet every one.
    pub(super) async fn work(
        &self,
        message: &Message,
        granted: &Granted,
        sent: Instant,
        orders: ShutdownWatch,
        probe: HealthSignal,
    ) -> Kind {
        let (id, grant) = (&message.id, &granted.grant);
        if orders.is_stopping() {
            tracing::info!(id, "given back: the worker shuts down");
            let (outcome, by) = (ReleaseOutcome::Failed, Instant::now() + RELEASE_WITHIN);
            self.finish(message, granted, outcome, Disposition::GIVE_BACK, by)
                .await;
            self.report.count(Kind::GivenBack, None);
            return Kind::GivenBack;
        }
        let at_work = self.at_work.begin().await;
        let started = match self.start(message, granted) {
            Ok(started) => started,
            Err(error) => {
                release(&self.locks, grant, ReleaseOutcome::Failed, RELEASE_TRIES).await;
                let why = format!("no process can be started: {error}");
                return self.not_begun(message, &why, &orders, probe).await;
            }
        };
        probe.works();
        tracing::info!(
            id,
            lock = grant.lock,
            key = grant.run_key,
            token = grant.token,
            receive_count = message.receive_count,
            "started"
        );
        let (begun, family) = (Instant::now(), started.0.family().clone());
        let run = self.run(message, granted, sent, orders.clone(), started);
        let (end, cause, ends) = run.await;
        drop(at_work);
        // While others are at work, a orphan without a mark may be theirs. None begins meanwhile.
        let nothing = self.at_work.nothing();
        kill_orphans(&family, || nothing.as_ref().map(|_| self.watchdog.pid())).await;
        drop(nothing);
        let took = Duration::from_millis(Instant::now().millis().saturating_sub(begun.millis()));
        let (outcome, fate, kind) = after_end(end, cause, self.backoff(message));
        let seconds = took.as_secs_f64();
        match kind {
            Kind::Succeeded => tracing::info!(id, seconds, "finished"),
            Kind::GivenBack => tracing::info!(id, seconds, "given back: the worker shuts down"),
            _ => tracing::error!(id, seconds, %end, ?cause, ?fate, "failed"),
        }
        let by = if orders.is_stopping() {
            ends.min(Instant::now() + RELEASE_WITHIN)
        } else {
            ends
        };
        self.finish(message, granted, outcome, fate, by).await;
        self.report.count(kind, Some(took));
        kind
    }

    /// How the command ended, why it was stopped, and when its lease ends.
    async fn run(
        &self,
        message: &Message,
        granted: &Granted,
        sent: Instant,
        orders: ShutdownWatch,
        (child, progress): (Child, Option<Progress>),
    ) -> (ChildExit, Option<StopCause>, Instant) {
        let family = child.family().clone();
        let said = progress.as_ref().map(Progress::latest);
        let said = said.unwrap_or_else(|| watch::channel(None).1);
        let (tell, renewed) = watch::channel(sent);
        let keeper = LeaseRenewer {
            locks: Arc::clone(&self.locks),
            grant: granted.grant.clone(),
            times: self.times,
            sent,
            progress: said.clone(),
            guarded: Some((self.watchdog.clone(), family.clone())),
        };
        let keeping = keeper.keep_and_tell(tell);
        let extending = extend(&*self.queue, message, self.hide, renewed.clone());
        // Whoever has lost the lease does not extend the visibility either.
        let both = async {
            tokio::select! {
                lost = keeping => lost,
                never = extending => never,
            }
        };
        let (end, cause) = supervise(&message.id, child, both, said, orders, self.limits).await;
        self.watchdog.drop(family.group);
        let renewed = *renewed.borrow();
        (end, cause, self.times.kill_at(renewed))
    }

    fn start(
        &self,
        message: &Message,
        granted: &Granted,
    ) -> Result<(Child, Option<Progress>), std::io::Error> {
        let progress = match Progress::open() {
            Ok(progress) => Some(progress),
            Err(error) if self.limits.no_progress.is_some() => return Err(error),
            Err(error) => {
                tracing::warn!(id = message.id, %error, "there is no FIFO for the command's progress");
                None
            }
        };
        let pairs = granted.environment.iter();
        let mut environment: Vec<_> = pairs.map(|p| (p.name.clone(), p.value.clone())).collect();
        environment.extend(progress.as_ref().map(Progress::variable));
        environment.extend(about(message));
        let spec = Spec {
            command: self.command.clone(),
            without: OF_A_GRANT,
            environment,
            input: Some(message.body.clone()),
        };
        Ok((Child::start(&self.reaper, &spec)?, progress))
    }

    /// Releases, and settles the message after that: if this process dies in between, what is left is
    /// a message whose work is known to be done. Only a table that gives no answer until the lease
    /// ends, `by`, is not waited for.
    async fn finish(
        &self,
        message: &Message,
        granted: &Granted,
        outcome: ReleaseOutcome,
        fate: Disposition,
        by: Instant,
    ) {
        let tries = if fate == Disposition::Leave {
            1
        } else {
            RELEASE_TRIES
        };
        let mut releasing = pin!(release(&self.locks, &granted.grant, outcome, tries));
        tokio::select! {
            biased;
            () = &mut releasing => self.ack(message, fate).await,
            () = by.reached() => {
                self.ack(message, fate).await;
                releasing.await;
            }
        }
    }
}
