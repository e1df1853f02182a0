//! The health of the dependencies that all messages share: the lock table, the lock of a message, the
//! protection of the task, and the start of a process.

use tokio::sync::mpsc::UnboundedSender;

/// The health that a message observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Health {
    /// All of them work: the command has started, or the lock table has answered that the message is not to
    /// run.
    Ok,
    /// One of them fails, and another message would fail on it too.
    Failing,
    /// The message ended before it used them.
    Unknown,
}

/// Sends the [`Health`] that one message observed, once. Sends [`Health::Unknown`] if it is dropped before,
/// also by a panic of the message's task.
#[derive(Debug)]
pub(crate) struct HealthSignal(Option<UnboundedSender<Health>>);

impl HealthSignal {
    /// Creates a signal that is sent to `sender`.
    pub(super) fn new(sender: &UnboundedSender<Health>) -> Self {
        Self(Some(sender.clone()))
    }

    /// Sends [`Health::Ok`].
    pub(crate) fn ok(mut self) {
        self.send(Health::Ok);
    }

    /// Sends [`Health::Failing`].
    pub(crate) fn failing(mut self) {
        self.send(Health::Failing);
    }

    fn send(&mut self, health: Health) {
        if let Some(sender) = self.0.take() {
            // The channel is closed if the worker has ended.
            sender.send(health).ok();
        }
    }
}

impl Drop for HealthSignal {
    fn drop(&mut self) {
        self.send(Health::Unknown);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::mpsc::unbounded_channel;

    #[tokio::test]
    async fn a_dropped_signal_or_a_panic_is_sent_once_as_unknown() {
        let (sender, mut receiver) = unbounded_channel();
        let [ok, failing, dropped, panics] = [(); 4].map(|()| HealthSignal::new(&sender));

        ok.ok();
        failing.failing();
        drop(dropped);
        let task = tokio::spawn(async move {
            let _panics = panics;
            panic!("in the middle of it");
        });
        task.await.unwrap_err();
        drop(sender);

        let mut all = Vec::new();
        receiver.recv_many(&mut all, 10).await;
        let unknown = Health::Unknown;
        assert_eq!(all, [Health::Ok, Health::Failing, unknown, unknown]);
    }
}
