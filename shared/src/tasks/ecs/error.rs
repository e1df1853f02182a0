//! Converts errors of the SDK to [`TasksError`].
//!
//! `Denied` is an error that no retry removes, such as a missing cluster or a missing permission. The
//! evidence stays missing until an operator acts.

use crate::failure::{is_refusal, text};
use crate::tasks::TasksError;
use aws_sdk_ecs::error::{ProvideErrorMetadata, SdkError};

/// Returns whether StopTask did not find the task. ECS has no separate error code for that.
pub(super) fn is_missing(code: Option<&str>, message: Option<&str>) -> bool {
    code == Some("InvalidParameterException")
        && message.is_some_and(|text| text.contains("task was not found"))
}

pub(super) fn translate<E>(cluster: &str, error: &SdkError<E>) -> TasksError
where
    E: std::error::Error + ProvideErrorMetadata + 'static,
{
    classed(cluster, error.code(), &text(error))
}

fn classed(cluster: &str, code: Option<&str>, text: &str) -> TasksError {
    let text = format!("cluster {cluster}: {text}");
    let is_wrong = matches!(
        code,
        Some("ClusterNotFoundException" | "InvalidParameterException" | "ClientException")
    );
    if is_wrong || is_refusal(code) {
        TasksError::Denied(text)
    } else {
        TasksError::Unavailable(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_code_has_its_class_and_the_cluster_is_named() {
        let denied = "AccessDeniedException UnrecognizedClientException ClientException \
                      ClusterNotFoundException InvalidParameterException";
        for code in denied.split(' ') {
            let error = classed("batch", Some(code), "no");

            assert!(matches!(error, TasksError::Denied(_)), "{code}");
            assert!(error.to_string().contains("cluster batch"), "{error}");
        }
        let busy = ["ThrottlingException", "ServerException", "ExpiredToken"];
        for code in busy.map(Some).into_iter().chain([None]) {
            let error = classed("batch", code, "later");

            assert!(matches!(error, TasksError::Unavailable(_)), "{code:?}");
        }
    }

    #[test]
    fn only_a_task_that_is_not_there_counts_as_missing() {
        let invalid = Some("InvalidParameterException");
        let missing = "The referenced task was not found.";
        for (code, text, missing) in [
            (invalid, Some(missing), true),
            (invalid, Some("Invalid task ID"), false),
            (Some("ClientException"), Some("task was not found"), false),
            (None, None, false),
        ] {
            assert_eq!(is_missing(code, text), missing, "{code:?} {text:?}");
        }
    }
}
