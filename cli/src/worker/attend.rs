//! The command of one message at work: what ends it, and why.

use super::decide::Cause;
use super::queue::{CEILING, Message, Queue};
use super::stopping::{Order, Orders};
use crate::child::{Child, ChildEnd};
use crate::keeper::Lost;
use crate::sys::clock::Instant;
use nix::sys::signal::Signal;
use std::future::pending;
use std::pin::pin;
use std::time::Duration;
use tokio::sync::watch;

/// What is kept below [`CEILING`], so that SQS does not refuse the last extension.
const CEILING_MARGIN: Duration = Duration::from_secs(30);
/// How old a message may be when its command starts without an extension for it.
const FRESH: Duration = Duration::from_millis(500);

/// How long a command may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// In all.
    pub(crate) max_run: Option<Duration>,
    /// Without a change in its progress.
    pub(crate) no_progress: Option<Duration>,
    /// From SIGTERM to SIGKILL.
    pub(crate) grace: Duration,
}

/// Waits for the end of the command, and sees to it that it comes when it has to.
pub(crate) async fn attend(
    id: &str,
    mut child: Child,
    (keeping, extending): (impl Future<Output = Lost>, impl Future<Output = ()>),
    mut progress: watch::Receiver<Option<String>>,
    mut orders: Orders,
    limits: Limits,
) -> (ChildEnd, Option<Cause>) {
    let (mut keeping, mut extending) = (pin!(keeping), pin!(extending));
    let begun = Instant::now();
    let over = limits.max_run.map(|most| begun + most);
    let mut stalled = limits.no_progress.map(|most| begun + most);
    let mut cause = None;
    let mut dead_by = None;
    loop {
        tokio::select! {
            biased;
            end = child.ended() => return (end, cause),
            // Whoever has lost the lease does not extend the visibility either.
            lost = &mut keeping, if cause != Some(Cause::Lost) => {
                let Lost { why, kill_at } = lost;
                tracing::error!(id, "the lease is lost, the command is stopped: {why}");
                cause = Some(Cause::Lost);
                dead_by = Some(dead_by.map_or(kill_at, |by: Instant| by.min(kill_at)));
                child.signal(Signal::SIGTERM);
            }
            () = &mut extending, if cause != Some(Cause::Lost) => {}
            order = orders.next() => match order {
                Order::Work | Order::Drain => {}
                Order::Stop => {
                    cause = cause.or(Some(Cause::Shutdown));
                    child.signal(Signal::SIGTERM);
                }
                Order::Kill => {
                    cause = cause.or(Some(Cause::Shutdown));
                    child.signal(Signal::SIGKILL);
                }
            },
            Ok(()) = progress.changed(), if stalled.is_some() => {
                stalled = limits.no_progress.map(|most| Instant::now() + most);
            }
            () = reached(earlier(over, stalled)), if cause.is_none() => {
                let is_over = over.is_some_and(|over| over.left().is_zero());
                let why = if is_over { "--max-run is over" } else { "no progress within --no-progress" };
                tracing::error!(id, "{why}: the command is stopped");
                cause = Some(Cause::TimedOut);
                dead_by = Some(Instant::now() + limits.grace);
                child.signal(Signal::SIGTERM);
            }
            () = reached(dead_by) => {
                dead_by = None;
                tracing::warn!(id, "the command did not stop in time and is killed");
                child.signal(Signal::SIGKILL);
            }
        }
    }
}

/// Extends the visibility of `message` by `hide` with every renewal of its lease. Never returns.
pub(crate) async fn extend(
    queue: &impl Queue,
    message: &Message,
    hide: Duration,
    mut renewed: watch::Receiver<Instant>,
) {
    let ceiling = message.received + CEILING.saturating_sub(CEILING_MARGIN);
    let mut told = false;
    if (message.received + FRESH).left().is_zero() {
        // The lease began later than the visibility.
        renewed.mark_changed();
    }
    while renewed.changed().await.is_ok() {
        let length = hide.min(ceiling.left());
        if length < hide && !told {
            told = true;
            let id = &message.id;
            tracing::warn!(
                id,
                "the message is near the 12 hours that SQS can hide it: it is shown again \
                                while its command runs; others leave it alone as long as the lease lives"
            );
        }
        if length.is_zero() {
            continue;
        }
        if let Err(error) = queue.hide(message, length).await {
            tracing::warn!(id = message.id, %error, "the visibility was not extended");
        }
    }
    pending().await
}

/// Returns at `time`, if there is one.
pub(crate) async fn reached(time: Option<Instant>) {
    match time {
        Some(time) => time.reached().await,
        None => pending().await,
    }
}

/// The earlier of two times.
pub(crate) fn earlier(one: Option<Instant>, other: Option<Instant>) -> Option<Instant> {
    one.into_iter().chain(other).min()
}
