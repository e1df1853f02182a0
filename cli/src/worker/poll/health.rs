//! What a message shows of that which all messages need: the lock table, its lock, the protection of
//! the task, a process.

use tokio::sync::mpsc::UnboundedSender;

/// What a message has shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Health {
    /// All of it works: the message has begun its work, or its lock said that it need not.
    Ok,
    /// Some of it does not, and another message would meet the same.
    Failing,
    /// The message ended before it came to it.
    Unknown,
}

/// What one message has to show. Dropped, it has shown nothing: also where its work panics.
#[derive(Debug)]
pub(crate) struct HealthSignal(Option<UnboundedSender<Health>>);

impl HealthSignal {
    /// Tells once.
    pub(super) fn new(tell: &UnboundedSender<Health>) -> Self {
        Self(Some(tell.clone()))
    }

    /// Has shown that all works.
    pub(crate) fn works(mut self) {
        self.show(Health::Ok);
    }

    /// Has met trouble.
    pub(crate) fn trouble(mut self) {
        self.show(Health::Failing);
    }

    fn show(&mut self, shown: Health) {
        if let Some(tell) = self.0.take() {
            // Nobody listens any more when the worker has given up.
            tell.send(shown).ok();
        }
    }
}

impl Drop for HealthSignal {
    fn drop(&mut self) {
        self.show(Health::Unknown);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::mpsc::unbounded_channel;

    #[tokio::test]
    async fn a_probe_shows_one_thing_and_nothing_where_it_is_dropped_or_its_work_panics() {
        let (tell, mut told) = unbounded_channel();
        let [works, trouble, dropped, panics] = [(); 4].map(|()| HealthSignal::new(&tell));

        works.works();
        trouble.trouble();
        drop(dropped);
        let task = tokio::spawn(async move {
            let _panics = panics;
            panic!("in the middle of it");
        });
        task.await.unwrap_err();
        drop(tell);

        let mut all = Vec::new();
        told.recv_many(&mut all, 10).await;
        let nothing = Health::Unknown;
        assert_eq!(all, [Health::Ok, Health::Failing, nothing, nothing]);
    }
}
