//! Acknowledges a message: deletes it, or changes its visibility timeout.

use super::decide::Disposition;
use super::queue::{Message, Queue, QueueError};
use crate::platform::retry::retry_if;
use std::time::Duration;

/// Most attempts to acknowledge a message.
const TRIES: u32 = 4;

/// Carries out the disposition of a message.
///
/// If all attempts fail, no work is lost: a message that was not deleted is received again and skipped, and a
/// message that was not hidden becomes visible when its visibility timeout ends.
pub(crate) async fn ack(queue: &impl Queue, message: &Message, disposition: Disposition) {
    let id = &message.id;
    let attempt = || async {
        match disposition {
            Disposition::Leave => Ok(()),
            Disposition::Delete => queue.delete(message).await,
            Disposition::Hide(length) => queue.hide(message, length).await,
        }
    };
    let again = |error: &QueueError, attempts| {
        if matches!(error, QueueError::Gone(_)) || attempts == TRIES {
            return None;
        }
        tracing::warn!(
            event = "ack_retried",
            id,
            ?disposition,
            %error,
            "retrying DeleteMessage or ChangeMessageVisibility"
        );
        Some(Duration::from_millis(250_u64 << attempts))
    };
    match retry_if(attempt, again).await {
        Ok(()) => {}
        Err(error @ QueueError::Gone(_)) => {
            tracing::warn!(
                event = "receipt_expired",
                id,
                ?disposition,
                "{error}: the worker that receives the message next decides about it"
            );
        }
        Err(error) => {
            tracing::error!(
                event = "ack_failed",
                id,
                ?disposition,
                %error,
                "message not deleted or hidden: it becomes visible when its visibility timeout ends"
            );
        }
    }
}
