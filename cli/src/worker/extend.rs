//! Keeps a message hidden for as long as its lease is renewed.

use super::queue::{CEILING, Message, Queue};
use crate::lease::renewer::LeaseLost;
use crate::platform::clock::Instant;
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
) -> LeaseLost {
    if (message.received + FRESH).left().is_zero() {
        // The lease began later than the visibility.
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
    let mut told = false;
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::worker::queue::QueueError;
    use std::collections::BTreeMap;
    use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
    use tokio::time::timeout;

    const HIDE: Duration = Duration::from_secs(60);

    /// Tells for how long it was asked to hide the message, and refuses it.
    struct Refusing(UnboundedSender<Duration>);

    impl Queue for Refusing {
        async fn receive(
            &self,
            _: u8,
            _: Duration,
            _: Duration,
        ) -> Result<Vec<Message>, QueueError> {
            unreachable!("it is received already")
        }

        async fn hide(&self, _: &Message, length: Duration) -> Result<(), QueueError> {
            self.0.send(length).unwrap();
            Err(QueueError::Unclear("no".into()))
        }

        async fn delete(&self, _: &Message) -> Result<(), QueueError> {
            unreachable!("that comes after its command")
        }
    }

    fn message(received: Instant) -> Message {
        Message {
            id: "m".into(),
            receipt: "r".into(),
            body: Vec::new(),
            attributes: BTreeMap::new(),
            receive_count: 1,
            sent: None,
            received,
        }
    }

    /// The next wish of `extending`, if it has one.
    async fn wish(
        extending: impl Future<Output = LeaseLost>,
        asked: &mut UnboundedReceiver<Duration>,
    ) -> Option<Duration> {
        tokio::select! {
            wish = timeout(Duration::from_millis(20), asked.recv()) => wish.ok().flatten(),
            _ = extending => unreachable!("it never returns"),
        }
    }

    #[tokio::test]
    async fn every_renewal_hides_the_message_again_also_after_a_refusal() {
        let (tell, mut asked) = unbounded_channel();
        let (queue, message) = (Refusing(tell), message(Instant::now()));
        let (renew, renewed) = watch::channel(Instant::now());
        let mut extending = std::pin::pin!(extend(&queue, &message, HIDE, renewed));

        assert_eq!(wish(&mut extending, &mut asked).await, None, "it is fresh");
        for _ in 0..2 {
            renew.send_replace(Instant::now());
            assert_eq!(wish(&mut extending, &mut asked).await, Some(HIDE));
        }
    }

    #[tokio::test]
    async fn a_message_whose_command_starts_late_is_hidden_again_at_once() {
        let (tell, mut asked) = unbounded_channel();
        let a_second_ago = Instant::from_millis(Instant::now().millis() - 1_000);
        let (queue, message) = (Refusing(tell), message(a_second_ago));
        let (_renew, renewed) = watch::channel(Instant::now());

        let first = wish(extend(&queue, &message, HIDE, renewed), &mut asked).await;

        assert_eq!(first, Some(HIDE));
    }

    #[tokio::test]
    async fn near_the_ceiling_a_message_is_hidden_up_to_it_and_then_no_more() {
        let (tell, mut asked) = unbounded_channel();
        let (queue, message) = (Refusing(tell), message(Instant::now()));
        let (near, past) = (Instant::now() + HIDE / 2, Instant::now());
        for (ceiling, is_asked) in [(near, true), (past, false)] {
            let (renew, renewed) = watch::channel(Instant::now());
            renew.send_replace(Instant::now());
            let extending = extend_up_to(ceiling, &queue, &message, HIDE, renewed);

            let wish = wish(extending, &mut asked).await;

            assert_eq!(wish.is_some(), is_asked, "{wish:?}");
            assert!(wish.is_none_or(|wish| wish <= HIDE / 2), "{wish:?}");
        }
    }
}
