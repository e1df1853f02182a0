//! The queue on SQS. No other file of the worker uses the SQS client.

use super::{Message, Queue, QueueError};
use crate::platform::clock::Instant;
use crate::worker::settings::QueueSettings;
use aws_config::SdkConfig;
use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::retry::RetryConfig;
use aws_sdk_sqs::config::timeout::TimeoutConfig;
use aws_sdk_sqs::config::{Builder, Config};
use aws_sdk_sqs::error::{ProvideErrorMetadata, SdkError};
use aws_sdk_sqs::types::{
    Message as SqsMessage, MessageSystemAttributeName as Named, QueueAttributeName,
};
use lockstep::domain::Timestamp;
use serde_json::Value;
use std::error::Error;
use std::time::Duration;

/// Time for the response after the end of the long poll.
const MARGIN: Duration = Duration::from_secs(5);
/// Longest error text, in characters.
const TEXT_MAX: usize = 300;

/// A queue on SQS.
#[derive(Clone, Debug)]
pub(crate) struct Sqs {
    client: Client,
    url: String,
}

impl Sqs {
    /// Creates a client for the queue at `url`.
    pub(crate) fn new(sdk: &SdkConfig, url: String) -> Self {
        let client = Client::from_conf(Builder::from(sdk).build());
        Self { client, url }
    }

    /// Reads the settings of the queue.
    ///
    /// # Errors
    /// [`QueueError`]; `Denied` if the role lacks sqs:GetQueueAttributes.
    pub(crate) async fn settings(&self) -> Result<QueueSettings, QueueError> {
        use QueueAttributeName::{MessageRetentionPeriod, RedrivePolicy};
        let request = self.client.get_queue_attributes().queue_url(&self.url);
        let answer = request
            .attribute_names(RedrivePolicy)
            .attribute_names(MessageRetentionPeriod);
        let answer = answer.send().await.map_err(|error| queue_error(&error))?;
        let attributes = answer.attributes.unwrap_or_default();
        let retention = attributes.get(&MessageRetentionPeriod);
        let retention = retention.and_then(|text| text.parse().ok());
        Ok(QueueSettings {
            max_receives: attributes
                .get(&RedrivePolicy)
                .map(|text| max_receives(text)),
            retention: retention.map(Duration::from_secs),
        })
    }
}

impl Queue for Sqs {
    async fn receive(
        &self,
        most: u8,
        wait: Duration,
        hide: Duration,
    ) -> Result<Vec<Message>, QueueError> {
        let sent = Instant::now();
        // One attempt only: the response to an abandoned attempt may hide messages that no worker has
        // received.
        let limit = wait + MARGIN;
        let timeouts = TimeoutConfig::builder()
            .read_timeout(limit)
            .operation_attempt_timeout(limit)
            .operation_timeout(limit)
            .build();
        let config = Config::builder()
            .timeout_config(timeouts)
            .retry_config(RetryConfig::disabled());
        let request = self.client.receive_message().queue_url(&self.url);
        let answer = request
            .max_number_of_messages(most.into())
            .wait_time_seconds(seconds(wait))
            .visibility_timeout(seconds(hide))
            .message_system_attribute_names(Named::ApproximateReceiveCount)
            .message_system_attribute_names(Named::SentTimestamp)
            .message_attribute_names("All")
            .customize()
            .config_override(config)
            .send()
            .await
            .map_err(|error| queue_error(&error))?;
        let messages = answer.messages.unwrap_or_default().into_iter();
        Ok(messages.filter_map(|one| parse(one, sent)).collect())
    }

    // The time counts from this call, and replaces what was left of the visibility timeout.
    async fn hide(&self, message: &Message, length: Duration) -> Result<(), QueueError> {
        let request = self.client.change_message_visibility();
        let request = request
            .queue_url(&self.url)
            .receipt_handle(&message.receipt)
            .visibility_timeout(seconds(length));
        let answer = request.send().await;
        answer.map(|_| ()).map_err(|error| queue_error(&error))
    }

    async fn delete(&self, message: &Message) -> Result<(), QueueError> {
        let request = self.client.delete_message();
        let request = request
            .queue_url(&self.url)
            .receipt_handle(&message.receipt);
        let answer = request.send().await;
        answer.map(|_| ()).map_err(|error| queue_error(&error))
    }
}

/// Returns `maxReceiveCount` of a redrive policy, a number or a string. A policy without it counts as one
/// that never moves a message.
fn max_receives(policy: &str) -> u32 {
    let policy: Value = serde_json::from_str(policy).unwrap_or_default();
    let count = &policy["maxReceiveCount"];
    let number = count.as_u64().or_else(|| count.as_str()?.parse().ok());
    number.map_or(u32::MAX, |number| u32::try_from(number).unwrap_or(u32::MAX))
}

fn seconds(length: Duration) -> i32 {
    i32::try_from(length.as_secs()).unwrap_or(i32::MAX)
}

/// Converts a message of the SDK. Returns `None` for a message without an id or a receipt handle, because it
/// could be neither logged nor deleted. SQS sends no such message.
fn parse(message: SqsMessage, received: Instant) -> Option<Message> {
    let system = message.attributes.unwrap_or_default();
    let number = |name| system.get(&name).and_then(|text| text.parse::<u64>().ok());
    let count = number(Named::ApproximateReceiveCount).unwrap_or(1);
    let attributes = message.message_attributes.unwrap_or_default().into_iter();
    Some(Message {
        id: message.message_id?,
        receipt: message.receipt_handle?,
        body: message.body.unwrap_or_default().into_bytes(),
        attributes: attributes
            .filter_map(|(name, value)| Some((name, value.string_value?)))
            .collect(),
        receive_count: u32::try_from(count).unwrap_or(u32::MAX),
        sent: number(Named::SentTimestamp).map(Timestamp::from_millis),
        received,
    })
}

/// Converts an SDK error. The text never contains the raw response, which may have message bodies in it.
fn queue_error<E>(error: &SdkError<E>) -> QueueError
where
    E: Error + ProvideErrorMetadata + 'static,
{
    if let SdkError::DispatchFailure(failure) = error
        && failure.is_user()
    {
        return QueueError::Denied(causes(error).chars().take(TEXT_MAX).collect());
    }
    let code = error.code();
    let text: String = match (code, error.message()) {
        (Some(code), Some(message)) => format!("{code}: {message}"),
        (Some(code), None) => code.to_owned(),
        (None, _) => causes(error),
    };
    classify(code, text.chars().take(TEXT_MAX).collect())
}

/// Classifies an error code by what the worker can do about it
/// (<https://docs.aws.amazon.com/AWSSimpleQueueService/latest/APIReference/CommonErrors.html>, and the errors
/// of each action).
fn classify(code: Option<&str>, text: String) -> QueueError {
    match code {
        Some(
            "QueueDoesNotExist" | "AWS.SimpleQueueService.NonExistentQueue" | "InvalidAddress",
        ) => QueueError::Missing(text),
        Some(
            "ReceiptHandleIsInvalid"
            | "InvalidIdFormat"
            | "MessageNotInflight"
            | "AWS.SimpleQueueService.MessageNotInflight"
            | "InvalidParameterValue",
        ) => QueueError::Gone(text),
        Some(
            "AccessDenied"
            | "AccessDeniedException"
            | "InvalidSecurity"
            | "InvalidClientTokenId"
            | "UnrecognizedClientException"
            | "SignatureDoesNotMatch"
            | "MissingAuthenticationToken"
            | "OptInRequired",
        ) => QueueError::Denied(text),
        _ => QueueError::Unclear(text),
    }
}

fn causes(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut next = error.source();
    while let Some(cause) = next {
        text = format!("{text}: {cause}");
        next = cause.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_sdk_sqs::types::MessageAttributeValue;

    #[test]
    fn error_codes_are_classified_by_what_the_worker_can_do() {
        type Class = fn(String) -> QueueError;
        let cases: [(_, Class); 5] = [
            (Some("QueueDoesNotExist"), QueueError::Missing),
            (Some("AccessDenied"), QueueError::Denied),
            (Some("ReceiptHandleIsInvalid"), QueueError::Gone),
            (Some("RequestThrottled"), QueueError::Unclear),
            (None, QueueError::Unclear),
        ];
        for (code, class) in cases {
            assert_eq!(classify(code, "x".into()), class("x".into()), "{code:?}");
        }
    }

    #[test]
    fn the_most_receives_of_a_redrive_policy_are_a_number_or_a_string() {
        for (policy, most) in [
            (r#"{"maxReceiveCount":5,"deadLetterTargetArn":"a"}"#, 5),
            (r#"{"maxReceiveCount":"5"}"#, 5),
            (r#"{}"#, u32::MAX),
            ("no JSON", u32::MAX),
        ] {
            assert_eq!(max_receives(policy), most, "{policy}");
        }
    }

    #[test]
    fn a_message_is_parsed_with_its_receive_count_and_its_text_attributes() {
        let value = |kind: &str| MessageAttributeValue::builder().data_type(kind);
        let text = value("String");
        let message = SqsMessage::builder()
            .message_id("m")
            .receipt_handle("r")
            .body("größe")
            .attributes(Named::ApproximateReceiveCount, "3")
            .attributes(Named::SentTimestamp, "1700000000000")
            .message_attributes("kind", text.string_value("refund").build().unwrap())
            .message_attributes("blob", value("Binary").build().unwrap());

        let parsed = parse(message.build(), Instant::default()).unwrap();

        let sent = parsed.sent.unwrap().millis();
        assert_eq!((parsed.receive_count, sent), (3, 1_700_000_000_000));
        assert_eq!(parsed.body, "größe".as_bytes());
        assert_eq!(parsed.attributes, [("kind".into(), "refund".into())].into());
    }
}
