//! Keeps a message hidden for as long as its lease is renewed.

use super::queue::{CEILING, Message, Queue};
use crate::keeper::Lost;
use crate::sys::clock::Instant;
use std::future::pending;
use std::time::Duration;
use tokio::sync::watch;

/// What is kept below [`CEILING`], so that SQS does not refuse the last extension.
const CEILING_MARGIN: Duration = Duration::from_secs(30);
/// How old a message may be when its command starts without an extension for it.
const FRESH: Duration = Duration::from_millis(500);

/// Extends the visibility of `message` by `hide` with every renewal of its lease. Never returns.
pub(crate) async fn extend(
    queue: &impl Queue,
    message: &Message,
    hide: Duration,
    mut renewed: watch::Receiver<Instant>,
) -> Lost {
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
