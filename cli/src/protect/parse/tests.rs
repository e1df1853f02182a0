use super::*;
use serde_json::json;

/// 2026-05-04T10:00:00Z
const NOW: u64 = 1_777_888_800_000;

fn read(status: u16, body: &str) -> Result<State, Refused> {
    answer(status, body.as_bytes(), Timestamp::from_millis(NOW))
}

#[test]
fn a_protection_has_its_end_if_it_has_one() {
    let dates = [
        Some("2026-05-04T10:01:00.500Z"),
        Some("2020-01-01T00:00:00Z"),
        None,
    ];
    let lefts = [Some(60_500), Some(0), None].map(|left| left.map(Duration::from_millis));
    for (date, left) in dates.into_iter().zip(lefts) {
        let enabled = date.is_some();
        let fields =
            json!({ "ExpirationDate": date, "ProtectionEnabled": enabled, "TaskArn": "t" });

        let state = read(200, &json!({ "protection": fields }).to_string()).unwrap();

        assert_eq!((state.enabled, state.left), (enabled, left));
        assert_eq!(state.until.as_deref(), date);
    }
}

#[test]
fn http_200_with_a_failure_is_a_failure() {
    let failure = |reason: &str, detail: Option<&str>| {
        let failure = json!({ "failure": { "Arn": "t", "Reason": reason, "Detail": detail } });
        read(200, &failure.to_string()).unwrap_err()
    };
    for (named, expected) in [
        ("TASK_NOT_VALID", Reason::TaskNotValid),
        ("DEPLOYMENT_BLOCKED", Reason::DeploymentBlocked),
        ("THROTTLED", Reason::Throttled),
        ("MISSING", Reason::Gone),
        ("SOMETHING_NEW", Reason::ServerError),
    ] {
        let refused = failure(named, Some("so"));

        assert_eq!(refused, Refused::new(expected, format!("{named}: so")));
        assert_eq!(failure(named, None).detail, named);
    }
    let cut = failure("THROTTLED", Some(&"x".repeat(5_000))).detail;
    assert_eq!(cut.chars().count(), DETAIL_MAX);
}

#[test]
fn the_code_of_an_error_counts_before_its_status() {
    let cases = [
        (403, "AccessDeniedException", Reason::AccessDenied),
        (400, "AccessDeniedException", Reason::AccessDenied),
        (400, "ThrottlingException", Reason::Throttled),
        (429, "TooManyRequests", Reason::Throttled),
        (400, "InvalidParameterException", Reason::Rejected),
        (400, "ExpiredTokenException", Reason::ServerError),
        (404, "ResourceNotFoundException", Reason::Gone),
        (500, "ServerException", Reason::ServerError),
        (503, "Whatever", Reason::ServerError),
        (504, "RequestCanceled", Reason::RequestCanceled),
    ];
    for (status, code, expected) in cases {
        let error = json!({ "Arn": "t", "Code": code, "Message": "m" });
        let body = json!({ "requestID": "r", "error": error });

        let refused = read(status, &body.to_string()).unwrap_err();

        assert_eq!(refused.reason, expected, "{status} {code}");
        assert_eq!(refused.detail, format!("HTTP {status}, {code}: m"));
    }
}

#[test]
fn an_unknown_body_is_reported_by_its_status_and_without_its_text() {
    let protection = r#"{"protection":{"ProtectionEnabled":true}}"#;
    let cases = [
        (200, "<html>secret</html>", Reason::Unreadable),
        (200, "", Reason::Unreadable),
        (200, "{}", Reason::Unreadable),
        (200, "[]", Reason::Unreadable),
        (201, protection, Reason::Unreadable),
        (302, "secret", Reason::Unreadable),
        (403, "secret", Reason::AccessDenied),
        (404, "404 page not found", Reason::Gone),
        (502, "<html>secret</html>", Reason::ServerError),
    ];
    for (status, body, expected) in cases {
        let Refused { reason, detail } = read(status, body).unwrap_err();

        assert_eq!(reason, expected, "{status} {body}");
        assert!(detail.starts_with(&format!("HTTP {status}")), "{detail}");
        assert!(!detail.contains("secret"), "{detail}");
    }
}

#[test]
fn a_refusal_contains_its_advice() {
    let body = r#"{"error":{"Code":"AccessDeniedException","Message":"no"}}"#;

    let refused = read(403, body).unwrap_err();

    assert_eq!(
        refused.to_string(),
        "AccessDenied (HTTP 403, AccessDeniedException: no). Give the \
         task a task role that allows ecs:UpdateTaskProtection and ecs:GetTaskProtection on it."
    );
    assert_eq!(refused.reason, Reason::AccessDenied);
}
