//! The port of the worker to its SQS queue.

mod sqs;

pub(crate) use sqs::Sqs;

use crate::platform::clock::Instant;
use lockstep::domain::Timestamp;
use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

/// Longest time after its receive for which SQS hides a message, however often its visibility timeout is
/// extended
/// (<https://docs.aws.amazon.com/AWSSimpleQueueService/latest/SQSDeveloperGuide/sqs-visibility-timeout.html>).
pub(crate) const CEILING: Duration = Duration::from_secs(43_200);

/// A message in flight in this worker.
#[derive(Clone)]
pub(crate) struct Message {
    /// Its id, the same in every receive.
    pub(crate) id: String,
    /// The receipt handle of this receive.
    pub(crate) receipt: String,
    /// Its body.
    pub(crate) body: Vec<u8>,
    /// Its attributes of type String or Number.
    pub(crate) attributes: BTreeMap<String, String>,
    /// Number of receives, including this one.
    pub(crate) receive_count: u32,
    /// When the message was sent, if the response contains that.
    pub(crate) sent: Option<Timestamp>,
    /// When the ReceiveMessage request was sent.
    pub(crate) received: Instant,
}

/// Omits the body, which no log line may contain.
impl fmt::Debug for Message {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Message")
            .field("id", &self.id)
            .field("receive_count", &self.receive_count)
            .finish_non_exhaustive()
    }
}

/// Why a call to the queue failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum QueueError {
    /// The queue does not exist.
    #[error("there is no such queue ({0})")]
    Missing(String),
    /// The queue denies access, or a connection fails because of a setting, such as a certificate that is not
    /// trusted.
    #[error("the queue cannot be used ({0})")]
    Denied(String),
    /// The receipt handle is not valid any more: the message is visible again, or deleted.
    #[error("the message is no longer in flight in this worker ({0})")]
    Gone(String),
    /// Any other failure: the call may have succeeded.
    #[error("{0}")]
    Unclear(String),
}

/// A queue.
pub(crate) trait Queue: Send + Sync + 'static {
    /// Receives up to `most` (1 to 10) messages, each with the visibility timeout `hide`. Waits up
    /// to `wait` for the first one.
    fn receive(
        &self,
        most: u8,
        wait: Duration,
        hide: Duration,
    ) -> impl Future<Output = Result<Vec<Message>, QueueError>> + Send;

    /// Changes the visibility timeout of a message to `length` from now, in whole seconds; 0 makes the
    /// message visible at once.
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
    /// Returns a message that was received once, just now.
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
