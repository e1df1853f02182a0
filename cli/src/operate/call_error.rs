//! The text for a failed call to AWS.

use crate::platform::aws::line;
use aws_sdk_cloudformation::error::{ProvideErrorMetadata, SdkError};

/// Returns the error code and the message of the service; without a code, the error of the client. If the
/// credentials or the connection may be the cause, the names of their settings follow in brackets.
pub(crate) fn error_text<E>(failure: &SdkError<E>) -> String
where
    E: std::error::Error + ProvideErrorMetadata + 'static,
{
    match (failure.code(), failure.message()) {
        (Some(code), message) => {
            let message = message.unwrap_or_default();
            format!("{code}: {message}{}", advice(code))
        }
        (None, _) => format!("{} (Region, AWS_ENDPOINT_URL)", line(failure)),
    }
}

/// Returns the setting to change for an error that all services have in common
/// (<https://docs.aws.amazon.com/AWSCloudFormation/latest/APIReference/CommonErrors.html>).
fn advice(code: &str) -> &'static str {
    match code {
        "ExpiredToken"
        | "ExpiredTokenException"
        | "InvalidClientTokenId"
        | "InvalidSignatureException"
        | "RequestExpired"
        | "SignatureDoesNotMatch"
        | "UnrecognizedClientException" => " (the credentials: AWS_PROFILE)",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_sdk_lambda::operation::invoke::InvokeError;
    use aws_smithy_runtime_api::http::{Response, StatusCode};
    use aws_smithy_types::body::SdkBody;
    use aws_smithy_types::error::ErrorMetadata;

    fn refused(code: &str) -> SdkError<InvokeError> {
        let status = StatusCode::try_from(403).unwrap();
        let meta = ErrorMetadata::builder().code(code).message("no").build();
        SdkError::service_error(
            InvokeError::generic(meta),
            Response::new(status, SdkBody::empty()),
        )
    }

    #[test]
    fn the_setting_follows_an_error_of_credentials_or_connection() {
        let unreachable = SdkError::<InvokeError>::timeout_error("no answer");
        for (failure, expected) in [
            (
                refused("ExpiredToken"),
                "ExpiredToken: no (the credentials: AWS_PROFILE)",
            ),
            (
                refused("AccessDeniedException"),
                "AccessDeniedException: no",
            ),
            (
                unreachable,
                "request has timed out: no answer (Region, AWS_ENDPOINT_URL)",
            ),
        ] {
            assert_eq!(error_text(&failure), expected);
        }
    }
}
