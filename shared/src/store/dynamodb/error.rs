//! Converts errors of the SDK to [`StoreError`].

use aws_sdk_dynamodb::error::{BuildError, ProvideErrorMetadata, SdkError};
use aws_sdk_dynamodb::types::CancellationReason;
use lockstep_core::store::StoreError;
use std::error::Error;

/// Longest text of an error, in characters.
const TEXT_MAX: usize = 300;

/// Returns the error of a request that failed or could not be sent.
pub(super) fn store_error<E, R>(failure: &SdkError<E, R>) -> StoreError
where
    E: ProvideErrorMetadata + Error + 'static,
    R: std::fmt::Debug + 'static,
{
    let answer = failure.as_service_error();
    let code = answer.and_then(|error| error.code()).unwrap_or_default();
    let message = answer.and_then(|error| error.message()).unwrap_or_default();
    if is_too_large(code, message) {
        return StoreError::TooLarge(shorten(message));
    }
    match failure {
        // The HTTP client refused to send the request, and would refuse a retry too.
        SdkError::DispatchFailure(failure) if failure.is_user() => StoreError::Denied(
            failure
                .as_connector_error()
                .map_or_else(String::new, |error| text(error)),
        ),
        _ => by_code(code, text(failure)),
    }
}

/// Returns the error of a request that the SDK could not build.
pub(super) fn bad_request(problem: &BuildError) -> StoreError {
    StoreError::Unavailable(text(problem))
}

/// Returns the error of a cancelled transaction, or `None` if its only reasons are failed guards and
/// conflicts.
pub(super) fn cancellation(reasons: &[CancellationReason]) -> Option<StoreError> {
    let expected = |reason: &&CancellationReason| {
        is_busy(reason) || is_failed_guard(reason) || matches!(reason.code(), None | Some("None"))
    };
    let unexpected = reasons.iter().find(|reason| !expected(reason))?;
    let code = unexpected.code().unwrap_or_default();
    let message = unexpected.message().unwrap_or_default();
    if is_too_large(code, message) {
        return Some(StoreError::TooLarge(shorten(message)));
    }
    let text = format!("transaction cancelled: {code}: {message}");
    Some(by_code(code, shorten(&text)))
}

/// Returns whether the action conflicted with another transaction.
pub(super) fn is_busy(reason: &CancellationReason) -> bool {
    reason.code() == Some("TransactionConflict")
}

/// Returns whether the condition of the action failed.
pub(super) fn is_failed_guard(reason: &CancellationReason) -> bool {
    reason.code() == Some("ConditionalCheckFailed")
}

/// Returns whether the error is about an item that is too large. DynamoDB has no error code for it, so the
/// message decides
/// (<https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/Programming.Errors.html>).
fn is_too_large(code: &str, message: &str) -> bool {
    matches!(code, "ValidationException" | "ValidationError") && message.contains("Item size")
}

/// Returns the error for an error code. Expired credentials are worth a retry, as in
/// [`crate::failure::is_refusal`].
fn by_code(code: &str, text: String) -> StoreError {
    match code {
        "ProvisionedThroughputExceededException"
        | "ProvisionedThroughputExceeded"
        | "ThrottlingException"
        | "ThrottlingError"
        | "RequestLimitExceeded" => StoreError::Throttled(text),
        "ResourceNotFoundException"
        | "UnrecognizedClientException"
        | "InvalidSignatureException"
        | "IncompleteSignatureException"
        | "MissingAuthenticationTokenException" => StoreError::Denied(text),
        code if code.starts_with("AccessDenied") => StoreError::Denied(text),
        _ => StoreError::Unavailable(text),
    }
}

/// Returns the messages of the error and its causes.
///
/// `DisplayErrorContext` is not used, because it adds the response as `Debug`, and the response to a failed
/// guard contains the item with its task tokens.
fn text(error: &(dyn Error + 'static)) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    shorten(&text)
}

fn shorten(text: &str) -> String {
    text.chars().take(TEXT_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn reason(code: &str) -> CancellationReason {
        CancellationReason::builder().code(code).build()
    }

    #[test]
    fn a_failed_guard_or_a_conflict_is_no_error() {
        let reasons = ["None", "ConditionalCheckFailed", "TransactionConflict"].map(reason);

        assert_eq!(cancellation(&reasons), None);
    }

    #[test]
    fn throttling_inside_a_transaction_is_throttling() {
        for code in ["ThrottlingError", "ProvisionedThroughputExceeded"] {
            let error = cancellation(&[reason("None"), reason(code)]);

            assert!(matches!(error, Some(StoreError::Throttled(_))), "{error:?}");
        }
    }

    #[test]
    fn each_code_has_its_class() {
        let class = |code| by_code(code, String::new());

        let denied = "AccessDeniedException ResourceNotFoundException UnrecognizedClientException";
        for code in denied.split(' ') {
            assert!(matches!(class(code), StoreError::Denied(_)), "{code}");
        }
        for code in ["RequestLimitExceeded", "ThrottlingException"] {
            assert!(matches!(class(code), StoreError::Throttled(_)), "{code}");
        }
        let unavailable =
            "InternalServerError ValidationException ExpiredToken ExpiredTokenException";
        for code in unavailable.split(' ').chain([""]) {
            assert!(matches!(class(code), StoreError::Unavailable(_)), "{code}");
        }
    }

    #[test]
    fn an_item_size_error_becomes_too_large() {
        let large = "Item size to update has exceeded the maximum allowed size";
        let other = "The provided expression refers to an attribute that does not exist";
        for (message, is_too_large) in [(large, true), (other, false)] {
            let reason = CancellationReason::builder().code("ValidationError");

            let error = cancellation(&[reason.message(message).build()]).unwrap();

            match error {
                StoreError::TooLarge(_) => assert!(is_too_large, "{message}"),
                StoreError::Unavailable(_) => assert!(!is_too_large, "{message}"),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn an_error_text_has_its_causes_and_a_bounded_length() {
        let cause = std::io::Error::other("connection reset ".repeat(40));
        let failure: SdkError<std::io::Error, ()> = SdkError::timeout_error(cause);

        let text = text(&failure);

        assert!(text.contains("connection reset"), "{text}");
        assert_eq!(text.chars().count(), TEXT_MAX);
    }
}
