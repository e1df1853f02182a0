//! Keeps a message hidden while its lease is renewed.
//!
//! A message should stay hidden for as long as its lease may be live. If its visibility timeout ends first,
//! the message uses up a receive, but does not run twice, because of its lock.

use super::queue::{CEILING, Message, Queue};
use crate::exec::supervise::LeaseLost;
use crate::platform::clock::Instant;
use std::future::pending;
use std::time::Duration;
use tokio::sync::watch;

/// Margin below [`CEILING`], so that SQS does not refuse the last extension.
const CEILING_MARGIN: Duration = Duration::from_secs(30);
/// Longest time between the receive of a message and the start of its command without an extension in
/// between.
const START_WITHOUT_EXTENSION: Duration = Duration::from_millis(500);

/// Extends the visibility timeout of `message` to `hide` at every renewal of its lease. Never returns.
pub(crate) async fn extend(
    queue: &impl Queue,
    message: &Message,
    hide: Duration,
    mut renewed: watch::Receiver<Instant>,
) -> LeaseLost {
    if (message.received + START_WITHOUT_EXTENSION)
        .left()
        .is_zero()
    {
        // The lease began later than the visibility timeout, so the timeout is extended at once.
        renewed.mark_changed();
    }
    let ceiling = message.received + CEILING.saturating_sub(CEILING_MARGIN);
    extend_up_to(ceiling, queue, message, hide, renewed).await
}

async fn extend_up_to(
    ceiling: Instant,
    queue: &impl Queue,
    message: &Message,
    hide: Duration,
    mut renewed: watch::Receiver<Instant>,
) -> LeaseLost {
    let mut warned = false;
    while renewed.changed().await.is_ok() {
        let length = hide.min(ceiling.left());
        if length < hide && !warned {
            warned = true;
            let id = &message.id;
            tracing::warn!(
                event = "visibility_ceiling_reached",
                id,
                "SQS hides a message at most 12 hours after its receive: this message becomes visible while \
                 its command runs; other workers skip it while its lease is renewed"
            );
        }
        if length.is_zero() {
            continue;
        }
        if let Err(error) = queue.hide(message, length).await {
            tracing::warn!(
                event = "visibility_extension_failed",
                id = message.id,
                %error,
                "ChangeMessageVisibility failed: the visibility timeout was not extended; the next renewal retries"
            );
        }
    }
    pending().await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker::queue::QueueError;
    use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
    use tokio::time::timeout;

    const HIDE: Duration = Duration::from_secs(60);

    type Received = Result<Vec<Message>, QueueError>;

    /// Rejects each call of `hide`, and sends its length.
    struct Rejecting(UnboundedSender<Duration>);

    impl Queue for Rejecting {
        async fn receive(&self, _: u8, _: Duration, _: Duration) -> Received {
            unreachable!("the message is in flight")
        }

        async fn hide(&self, _: &Message, length: Duration) -> Result<(), QueueError> {
            self.0.send(length).unwrap();
            Err(QueueError::Unclear("no".into()))
        }

        async fn delete(&self, _: &Message) -> Result<(), QueueError> {
            unreachable!("extend does not delete")
        }
    }

    fn message(received: Instant) -> Message {
        Message {
            received,
            ..Message::sample("")
        }
    }

    /// Returns the length of the next extension, if there is one.
    async fn next_length(
        extending: impl Future<Output = LeaseLost>,
        asked: &mut UnboundedReceiver<Duration>,
    ) -> Option<Duration> {
        tokio::select! {
            length = timeout(Duration::from_millis(20), asked.recv()) => length.ok().flatten(),
            _ = extending => unreachable!("it never returns"),
        }
    }

    #[tokio::test]
    async fn every_renewal_extends_the_visibility_timeout_also_after_an_error() {
        let (sender, mut asked) = unbounded_channel();
        let (queue, message) = (Rejecting(sender), message(Instant::now()));
        let (renew, renewed) = watch::channel(Instant::now());
        let mut extending = std::pin::pin!(extend(&queue, &message, HIDE, renewed));

        let fresh = next_length(&mut extending, &mut asked).await;
        assert_eq!(fresh, None);
        for _ in 0..2 {
            renew.send_replace(Instant::now());
            assert_eq!(next_length(&mut extending, &mut asked).await, Some(HIDE));
        }
    }

    #[tokio::test]
    async fn a_message_whose_command_starts_late_is_extended_at_once() {
        let (sender, mut asked) = unbounded_channel();
        let a_second_ago = Instant::from_millis(Instant::now().millis() - 1_000);
        let (queue, message) = (Rejecting(sender), message(a_second_ago));
        let (_renew, renewed) = watch::channel(Instant::now());

        let first = next_length(extend(&queue, &message, HIDE, renewed), &mut asked).await;

        assert_eq!(first, Some(HIDE));
    }

    #[tokio::test]
    async fn the_visibility_timeout_is_extended_up_to_its_ceiling_and_no_further() {
        let (sender, mut asked) = unbounded_channel();
        let (queue, message) = (Rejecting(sender), message(Instant::now()));
        let (near, past) = (Instant::now() + HIDE / 2, Instant::now());
        for (ceiling, is_extended) in [(near, true), (past, false)] {
            let (renew, renewed) = watch::channel(Instant::now());
            renew.send_replace(Instant::now());
            let extending = extend_up_to(ceiling, &queue, &message, HIDE, renewed);

            let length = next_length(extending, &mut asked).await;

            assert_eq!(length.is_some(), is_extended, "{length:?}");
            assert!(length.is_none_or(|length| length <= HIDE / 2), "{length:?}");
        }
    }
}
