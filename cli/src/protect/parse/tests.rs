use super::*;

/// 2026-05-04T10:00:00Z
const NOW: u64 = 1_777_888_800_000;

fn read(status: u16, body: &str) -> Result<State, Refused> {
    answer(status, body.as_bytes(), Timestamp::from_millis(NOW))
}

fn reason(status: u16, body: &str) -> Reason {
    read(status, body).expect_err(body).reason
}

#[test]
fn a_protection_has_its_end() {
    let body = r#"{"protection":{"ExpirationDate":"2026-05-04T10:01:00.500Z",
        "ProtectionEnabled":true,"TaskArn":"arn:aws:ecs:us-east-1:1:task/c/t"}}"#;

    let state = read(200, body).unwrap();

    let until = Some("2026-05-04T10:01:00.500Z".to_owned());
    let left = Some(Duration::from_millis(60_500));
    assert_eq!(
        state,
        State {
            enabled: true,
            left,
            until
        }
    );
}

#[test]
fn a_protection_without_a_date_or_with_a_past_one_is_read() {
    let none = r#"{"protection":{"ExpirationDate":null,"ProtectionEnabled":false,"TaskArn":"t"}}"#;
    let past =
        r#"{"protection":{"ExpirationDate":"2020-01-01T00:00:00Z","ProtectionEnabled":true}}"#;

    let lefts = [none, past].map(|body| read(200, body).unwrap().left);

    assert_eq!(lefts, [None, Some(Duration::ZERO)]);
}

#[test]
fn http_200_with_a_failure_is_a_failure() {
    let cases = [
        ("TASK_NOT_VALID", Reason::TaskNotValid),
        ("DEPLOYMENT_BLOCKED", Reason::DeploymentBlocked),
        ("THROTTLED", Reason::Throttled),
        ("MISSING", Reason::Gone),
        ("SOMETHING_NEW", Reason::ServerError),
    ];
    for (named, expected) in cases {
        let body = format!(r#"{{"failure":{{"Arn":"t","Reason":"{named}","Detail":"so"}}}}"#);

        let refused = read(200, &body).unwrap_err();

        assert_eq!(refused.reason, expected);
        assert_eq!(refused.detail, format!("{named}: so"));
    }
}

#[test]
fn a_failure_without_a_detail_is_read() {
    let body = r#"{"failure":{"Arn":"t","Reason":"TASK_NOT_VALID","Detail":null}}"#;

    let refused = read(200, body).unwrap_err();

    assert_eq!(refused.detail, "TASK_NOT_VALID");
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
        let body =
            format!(r#"{{"requestID":"r","error":{{"Arn":"t","Code":"{code}","Message":"m"}}}}"#);

        let refused = read(status, &body).unwrap_err();

        assert_eq!(refused.reason, expected, "{status} {code}");
        assert_eq!(refused.detail, format!("HTTP {status}, {code}: m"));
    }
}

#[test]
fn an_unknown_body_is_reported_by_its_status_and_without_its_text() {
    let cases = [
        (200, "<html>secret</html>", Reason::Unreadable),
        (200, "", Reason::Unreadable),
        (200, "{}", Reason::Unreadable),
        (200, "[]", Reason::Unreadable),
        (
            201,
            r#"{"protection":{"ProtectionEnabled":true}}"#,
            Reason::Unreadable,
        ),
        (302, "secret", Reason::Unreadable),
        (403, "secret", Reason::AccessDenied),
        (404, "404 page not found", Reason::Gone),
        (502, "<html>secret</html>", Reason::ServerError),
    ];
    for (status, body, expected) in cases {
        let refused = read(status, body).unwrap_err();

        assert_eq!(refused.reason, expected, "{status} {body}");
        assert!(
            refused.detail.starts_with(&format!("HTTP {status}")),
            "{}",
            refused.detail
        );
        assert!(!refused.detail.contains("secret"), "{}", refused.detail);
    }
}

#[test]
fn a_long_detail_is_cut() {
    let long = "x".repeat(5_000);
    let body = format!(r#"{{"failure":{{"Reason":"THROTTLED","Detail":"{long}"}}}}"#);

    let refused = read(200, &body).unwrap_err();

    assert_eq!(refused.detail.chars().count(), DETAIL_MAX);
}

#[test]
fn a_refusal_contains_its_advice() {
    let body = r#"{"error":{"Code":"AccessDeniedException","Message":"no"}}"#;

    let text = read(403, body).unwrap_err().to_string();

    assert_eq!(
        text,
        "AccessDenied (HTTP 403, AccessDeniedException: no). Give the \
         task a task role that allows ecs:UpdateTaskProtection and ecs:GetTaskProtection on it."
    );
    assert_eq!(reason(403, body), Reason::AccessDenied);
}
