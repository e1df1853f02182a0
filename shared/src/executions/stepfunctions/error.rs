//! Converts errors of the SDK to [`ExecutionsError`].
//!
//! The class decides what the caller does: it retries after `Unavailable`, and `Denied` is for an operator.
//! An error of unclear class is `Unavailable`, because a retry does less harm.

use crate::executions::ExecutionsError;
use crate::failure::{is_refusal, text};
use aws_sdk_sfn::error::{ProvideErrorMetadata, SdkError};

pub(super) fn translate<E>(error: &SdkError<E>) -> ExecutionsError
where
    E: std::error::Error + ProvideErrorMetadata + 'static,
{
    classed(error.code(), text(error))
}

fn classed(code: Option<&str>, text: String) -> ExecutionsError {
    let is_wrong = matches!(
        code,
        Some(
            "StateMachineDoesNotExist"
                | "StateMachineTypeNotSupported"
                | "InvalidArn"
                | "InvalidOutput"
                | "ValidationException"
                | "KmsAccessDeniedException"
                | "KmsInvalidStateException"
        )
    );
    if is_wrong || is_refusal(code) {
        ExecutionsError::Denied(text)
    } else {
        ExecutionsError::Unavailable(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_code_has_its_class() {
        let class = |code| classed(code, String::new());

        let denied = "AccessDeniedException InvalidSignatureException StateMachineDoesNotExist \
                      StateMachineTypeNotSupported InvalidArn InvalidOutput ValidationException \
                      KmsAccessDeniedException";
        for code in denied.split(' ') {
            let class = class(Some(code));
            assert!(matches!(class, ExecutionsError::Denied(_)), "{code}");
        }
        let busy = "ThrottlingException KmsThrottlingException InternalServerError \
                    ExpiredTokenException";
        for code in busy.split(' ').map(Some).chain([None]) {
            let class = class(code);
            assert!(matches!(class, ExecutionsError::Unavailable(_)), "{code:?}");
        }
    }
}
