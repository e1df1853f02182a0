//! Text and class of a failed call to AWS.

use aws_sdk_sfn::error::{DisplayErrorContext, ProvideErrorMetadata, SdkError};

/// Longest text of an error, in characters.
const TEXT_MAX: usize = 500;

/// Returns code and message of the service, 500 characters at most; without a code, the error of the client.
#[must_use]
pub fn text<E>(error: &SdkError<E>) -> String
where
    E: std::error::Error + ProvideErrorMetadata + 'static,
{
    let text = match (error.code(), error.message()) {
        (Some(code), Some(message)) => format!("{code}: {message}"),
        (Some(code), None) => code.to_owned(),
        (None, _) => DisplayErrorContext(error).to_string(),
    };
    text.chars().take(TEXT_MAX).collect()
}

/// Returns whether `code` is about the caller's credentials or permissions, so that a retry is of no
/// use.
///
/// <https://docs.aws.amazon.com/step-functions/latest/apireference/CommonErrors.html>, which all
/// services share. `ExpiredTokenException` is not among them: the SDK renews credentials when they
/// expire, so a later call succeeds
/// (<https://docs.aws.amazon.com/sdkref/latest/guide/standardized-credentials.html>).
#[must_use]
pub fn is_refusal(code: Option<&str>) -> bool {
    matches!(
        code,
        Some(
            "AccessDenied"
                | "AccessDeniedException"
                | "NotAuthorized"
                | "OptInRequired"
                | "UnrecognizedClientException"
                | "InvalidClientTokenId"
                | "InvalidSignatureException"
                | "IncompleteSignature"
                | "IncompleteSignatureException"
                | "MissingAuthenticationToken"
                | "MissingAuthenticationTokenException"
        )
    )
}
