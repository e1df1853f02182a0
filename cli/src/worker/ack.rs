//! Acknowledges a message: deletes it, or changes its visibility timeout.

use super::decide::Disposition;
use super::queue::{Message, Queue, QueueError};
use crate::platform::clock::sleep;
use std::time::Duration;

/// Attempts to acknowledge a message.
const TRIES: u32 = 4;

/// Carries out the disposition of a message.
///
/// A failure does no harm: a message that was not deleted is received again and skipped, and one
/// that was not hidden becomes visible when its visibility timeout ends.
pub(crate) async fn ack(queue: &impl Queue, message: &Message, disposition: Disposition) {
    let id = &message.id;
    for attempt in 1.. {
        let result = match disposition {
            Disposition::Leave => return,
            Disposition::Delete => queue.delete(message).await,
            Disposition::Hide(length) => queue.hide(message, length).await,
        };
        match result {
            Ok(()) => return,
            Err(error @ QueueError::Gone(_)) => {
                tracing::warn!(
                    event = "receipt_expired",
                    id,
                    ?disposition,
                    "{error}: its next receiver decides"
                );
                return;
            }
            Err(error) if attempt == TRIES => {
                tracing::error!(
                    event = "ack_failed",
                    id,
                    ?disposition,
                    %error,
                    "message not deleted or hidden: it becomes visible when its visibility timeout ends"
                );
                return;
            }
            Err(error) => {
                tracing::warn!(
                    event = "ack_retried",
                    id,
                    ?disposition,
                    %error,
                    "retrying DeleteMessage or ChangeMessageVisibility"
                );
                sleep(Duration::from_millis(250 << attempt)).await;
            }
        }
    }
}
