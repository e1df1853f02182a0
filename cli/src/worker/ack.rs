//! Tells the queue what becomes of a message.

use super::decide::Disposition;
use super::queue::{Message, Queue, QueueError};
use crate::platform::clock::sleep;
use std::time::Duration;

/// How often the queue is told.
const TRIES: u32 = 4;

/// Deletes a message, or says when it comes back.
///
/// What cannot be told does no harm: a message that was not deleted comes back and is skipped, and
/// one that was not hidden comes back when its visibility ends.
pub(crate) async fn ack(queue: &impl Queue, message: &Message, fate: Disposition) {
    let id = &message.id;
    for again in 1.. {
        let told = match fate {
            Disposition::Leave => return,
            Disposition::Delete => queue.delete(message).await,
            Disposition::Hide(length) => queue.hide(message, length).await,
        };
        match told {
            Ok(()) => return,
            Err(error @ QueueError::Gone(_)) => {
                tracing::warn!(id, ?fate, "{error}: whoever receives it next decides");
                return;
            }
            Err(error) if again == TRIES => {
                tracing::error!(id, ?fate, %error, "the queue was not told; the message comes back when its visibility ends");
                return;
            }
            Err(error) => {
                tracing::warn!(id, ?fate, %error, "telling the queue again");
                sleep(Duration::from_millis(250 << again)).await;
            }
        }
    }
}
