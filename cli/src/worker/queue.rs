//! A queue, as the worker sees it.

mod sqs;

pub(crate) use sqs::Sqs;

use crate::platform::clock::Instant;
use lockstep::domain::Timestamp;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// SQS shows a message again at the latest that long after it was received, however often its
/// visibility is extended
/// (<https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-visibility-timeout.html>).
pub(crate) const CEILING: Duration = Duration::from_secs(43_200);

/// A message that is in flight here.
#[derive(Clone)]
pub(crate) struct Message {
    /// Its id: the same in every receive.
    pub(crate) id: String,
    /// The receipt of this receive.
    pub(crate) receipt: String,
    /// What it says.
    pub(crate) body: Vec<u8>,
    /// Its attributes that are texts or numbers.
    pub(crate) attributes: BTreeMap<String, String>,
    /// How often it was received, this time counted.
    pub(crate) receive_count: u32,
    /// When it was sent, if the queue says so.
    pub(crate) sent: Option<Timestamp>,
    /// When the request was sent that it came with.
    pub(crate) received: Instant,
}

/// Without the body: what is logged never shows it.
impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Message")
            .field("id", &self.id)
            .field("receive_count", &self.receive_count)
            .finish_non_exhaustive()
    }
}

/// Why a queue did not do what it was asked.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum QueueError {
    /// There is no such queue.
    #[error("there is no such queue ({0})")]
    Missing(String),
    /// This task may not use it.
    #[error("the queue may not be used ({0})")]
    Denied(String),
    /// The receipt is good for nothing any more: the message is visible again, or gone.
    #[error("the message is no longer in flight here ({0})")]
    Gone(String),
    /// There was no clear answer.
    #[error("{0}")]
    Unclear(String),
}

/// A queue.
pub(crate) trait Queue: Send + Sync + 'static {
    /// Up to `most` (1 to 10) messages, each hidden from others for `hide`. Waits up to `wait` for
    /// the first one.
    fn receive(
        &self,
        most: u8,
        wait: Duration,
        hide: Duration,
    ) -> impl Future<Output = Result<Vec<Message>, QueueError>> + Send;

    /// Hides a message from others for `length` from now, in whole seconds; 0 gives it back.
    fn hide(
        &self,
        message: &Message,
        length: Duration,
    ) -> impl Future<Output = Result<(), QueueError>> + Send;

    /// Deletes a message.
    fn delete(&self, message: &Message) -> impl Future<Output = Result<(), QueueError>> + Send;
}

#[cfg(test)]
impl Message {
    /// A message that was received once, just now.
    pub(crate) fn sample(body: &str) -> Self {
        Self {
            id: "id-1".into(),
            receipt: "receipt-1".into(),
            body: body.into(),
            attributes: BTreeMap::new(),
            receive_count: 1,
            sent: None,
            received: Instant::now(),
        }
    }
}
