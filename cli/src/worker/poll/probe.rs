//! What a message shows of that which all messages need: the lock table, its lock, the protection of
//! the task, a process.

use tokio::sync::mpsc::UnboundedSender;

/// What a message has shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    /// All of it works: the message has begun its work, or its lock said that it need not.
    Works,
    /// Some of it does not, and another message would meet the same.
    Trouble,
    /// The message ended before it came to it.
    Nothing,
}

/// What one message has to show. Dropped, it has shown nothing: also where its work panics.
#[derive(Debug)]
pub(crate) struct Probe(Option<UnboundedSender<Shown>>);

impl Probe {
    /// Tells once.
    pub(super) fn new(tell: &UnboundedSender<Shown>) -> Self {
        Self(Some(tell.clone()))
    }

    /// Has shown that all works.
    pub(crate) fn works(mut self) {
        self.show(Shown::Works);
    }

    /// Has met trouble.
    pub(crate) fn trouble(mut self) {
        self.show(Shown::Trouble);
    }

    fn show(&mut self, shown: Shown) {
        if let Some(tell) = self.0.take() {
            // Nobody listens any more when the worker has given up.
            tell.send(shown).ok();
        }
    }
}

impl Drop for Probe {
    fn drop(&mut self) {
        self.show(Shown::Nothing);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokio::sync::mpsc::unbounded_channel;

    #[tokio::test]
    async fn a_probe_shows_one_thing_and_nothing_where_it_is_dropped_or_its_work_panics() {
        let (tell, mut told) = unbounded_channel();
        let [works, trouble, dropped, panics] = [(); 4].map(|()| Probe::new(&tell));

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
        let nothing = Shown::Nothing;
        assert_eq!(all, [Shown::Works, Shown::Trouble, nothing, nothing]);
    }
}
