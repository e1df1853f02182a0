//! Sources that give no credentials.

use super::Variables;
use super::laptop::Laptop;
use super::services::SECRET;
use crate::support::output;

/// A refusal: the variables, the exit code, and the parts of the one line.
pub(super) type Refused<'a> = (Variables<'a>, i32, &'a [&'a str]);

const REFUSED: &[Refused<'_>] = &[
    (
        &[("AWS_PROFILE", "sso-expired")],
        69,
        &["SSO", "expired", "aws sso login --profile sso-expired"],
    ),
    (
        &[("AWS_PROFILE", "sso-stale")],
        69,
        &[
            "SSO GetRoleCredentials: UnauthorizedException",
            "aws sso login --profile sso-stale",
        ],
    ),
    (
        &[("AWS_PROFILE", "sso-never")],
        69,
        &[
            "SSO",
            "aws sso login --profile sso-never",
            "~/.aws/sso/cache",
        ],
    ),
    (
        &[("AWS_PROFILE", "process-fails")],
        69,
        &[
            "credential_process",
            "fail: exit status: 3: the vault is sealed",
            "profile process-fails",
        ],
    ),
    (
        &[("AWS_PROFILE", "process-variable")],
        69,
        &["credential_process: exit status: 3", "process-variable"],
    ),
    (
        &[("AWS_PROFILE", "process-quoted")],
        69,
        &["credential_process HOME/no such: exit status: 127: "],
    ),
    (
        &[("AWS_PROFILE", "process-echoes")],
        69,
        &["echo: exit status: 2: unknown: --password … --vault=…"],
    ),
    (
        &[("AWS_PROFILE", "process-garbage")],
        69,
        &["credential_process", "could not parse"],
    ),
    (
        &[("AWS_PROFILE", "login-ended")],
        69,
        &[
            "Sign-In CreateOAuth2Token",
            "aws login --profile login-ended",
        ],
    ),
    (
        &[("AWS_PROFILE", "login-never")],
        69,
        &["aws login --profile login-never"],
    ),
    (
        &[("AWS_PROFILE", "role-denied")],
        69,
        &[
            "STS AssumeRole: AccessDenied: not authorized",
            "role_arn of the profile role-denied",
        ],
    ),
    (
        &[
            ("AWS_PROFILE", "web-denied"),
            ("AWS_WEB_IDENTITY_TOKEN_FILE", "HOME/token"),
            ("AWS_ROLE_ARN", "arn:aws:iam::111122223333:role/web"),
        ],
        69,
        &["(web_identity_token_file, role_arn of the profile web-denied)"],
    ),
    (&[("AWS_PROFILE", "role-loop")], 69, &["role-loop", "loop"]),
    (
        &[("AWS_PROFILE", "mfa")],
        69,
        &[
            "profile mfa",
            "arn:aws:iam::111122223333:mfa/jo",
            "no terminal",
        ],
    ),
    (
        &[("AWS_PROFILE", "mfa-of-sso-expired")],
        69,
        &[
            "SSO: the SSO token has expired",
            "aws sso login --profile sso-expired",
        ],
    ),
    (
        &[
            ("AWS_EC2_METADATA_DISABLED", "false"),
            ("AWS_EC2_METADATA_SERVICE_ENDPOINT", "SERVICES/denied"),
        ],
        69,
        &["IMDS", "forbidden", "AWS_PROFILE"],
    ),
    (
        &[(
            "AWS_CONTAINER_CREDENTIALS_FULL_URI",
            "SERVICES/container/denied",
        )],
        69,
        &["container", "403", "AWS_CONTAINER_CREDENTIALS_FULL_URI"],
    ),
    (
        &[("AWS_PROFILE", "process-broken")],
        69,
        &[
            "credential_process HOME/broken: the session token must have ASCII",
            "profile process-broken",
        ],
    ),
    (
        &[("AWS_PROFILE", "process-nameless")],
        69,
        &["give: the access key id is empty (credential_process of"],
    ),
    (
        &[(
            "AWS_CONTAINER_CREDENTIALS_FULL_URI",
            "SERVICES/container/broken",
        )],
        69,
        &["container: the access key id must have ASCII"],
    ),
    (
        &[
            ("AWS_EC2_METADATA_DISABLED", "false"),
            ("AWS_EC2_METADATA_SERVICE_ENDPOINT", "SERVICES/closed"),
        ],
        69,
        &["IMDS: status 403 (the role of the instance"],
    ),
    (
        &[("AWS_REGION", "eu-west-1")],
        69,
        &["none in the environment", "profile default"],
    ),
];

#[tokio::test]
async fn no_level_of_the_log_shows_what_a_credential_process_wrote() {
    for name in [
        "process",
        "process-fails",
        "process-variable",
        "process-garbage",
    ] {
        let laptop = Laptop::new().await;
        let variables = [("AWS_PROFILE", name), ("LOCKSTEP_LOG", "trace")];

        let (_, _, stderr) = output(laptop.command(&["locks"], &variables)).await;

        assert!(!stderr.contains(SECRET), "{name}: {stderr}");
    }
}

#[tokio::test]
async fn a_source_without_credentials_is_named_in_one_line_at_once() {
    for refused in REFUSED {
        assert_refused(refused).await;
    }
}

/// Asserts that an operator's command and a run are refused before their first request to the stack
/// or the table.
pub(super) async fn assert_refused(&(variables, code, parts): &Refused<'_>) {
    let laptop = Laptop::new().await;
    for args in [
        &["locks"][..],
        &["run", "--table", "locks", "--lock", "a", "--", "true"],
    ] {
        let (ended, out, stderr) = output(laptop.command(args, variables)).await;

        let case = format!("{args:?} {variables:?}: {stderr}");
        assert_eq!(
            (ended, out.as_str(), stderr.lines().count()),
            (code, "", 1),
            "{case}"
        );
        let plain = stderr.replace("\\\"", "\"");
        for part in parts {
            assert!(plain.contains(&laptop.filled(part)), "{part} in {case}");
        }
        assert!(!stderr.contains(SECRET), "{case}");
        assert!(!(args == ["locks"] && stderr.contains("table")), "{case}");
    }
    // Neither the stack nor the table was asked for anything.
    let calls = laptop.services.calls();
    let is_ours = |call: &&String| call.contains("DescribeStacks") || call.contains("POST / ");
    assert_eq!(calls.iter().find(is_ours), None, "{variables:?}");
}

#[tokio::test]
async fn an_endpoint_without_an_answer_is_named_and_not_the_identity() {
    for (name, variable, parts) in [
        (
            "sso",
            "AWS_ENDPOINT_URL_SSO",
            ["SSO GetRoleCredentials", "(sso_region, AWS_ENDPOINT_URL"],
        ),
        (
            "role",
            "AWS_ENDPOINT_URL_STS",
            ["STS AssumeRole", "(Region, AWS_ENDPOINT_URL"],
        ),
        (
            "login",
            "AWS_ENDPOINT_URL_SIGNIN",
            ["Sign-In CreateOAuth2Token", "(Region, AWS_ENDPOINT_URL"],
        ),
    ] {
        let laptop = Laptop::new().await;
        let variables = [("AWS_PROFILE", name), (variable, "http://127.0.0.1:1")];

        let (code, _, stderr) = output(laptop.command(&["locks"], &variables)).await;

        assert_eq!(code, 69, "{stderr}");
        for part in parts {
            assert!(stderr.contains(part), "{part} in {stderr}");
        }
        for identity in ["sso login", "aws login", "role_arn"] {
            assert!(!stderr.contains(identity), "{identity} in {stderr}");
        }
    }
}
