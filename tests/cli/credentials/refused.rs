//! Credentials, Regions and endpoints that are missing or wrong.

use super::Variables;
use super::laptop::Laptop;
use super::services::SECRET;
use crate::support::output;

/// Credentials that are not there: the variables, the exit code, and the parts of the one line.
const REFUSED: [(Variables<'_>, i32, &[&str]); 21] = [
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
        &["SSO", "aws sso login --profile sso-never"],
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
        &[("AWS_PROFILE", "nobody")],
        64,
        &["AWS_PROFILE", "\"nobody\"", "no such profile"],
    ),
    (
        &[("AWS_PROFILE", "no-region")],
        64,
        &["no Region", "AWS_REGION", "profile no-region"],
    ),
    (
        &[("AWS_PROFILE", "bad-endpoint"), ("AWS_ENDPOINT_URL", "")],
        64,
        &["endpoint_url for CloudFormation", "\"no-url\""],
    ),
    (
        &[
            ("AWS_PROFILE", "keys"),
            ("AWS_ENDPOINT_URL_CLOUDFORMATION", "localhost:1"),
        ],
        64,
        &["AWS_ENDPOINT_URL_CLOUDFORMATION", "\"localhost:1\""],
    ),
    (
        &[("AWS_PROFILE", "keys"), ("AWS_ENDPOINT_URL", "x y")],
        64,
        &["AWS_ENDPOINT_URL is", "\"x y\""],
    ),
    (
        &[
            ("AWS_CONFIG_FILE", "HOME/none"),
            ("AWS_EC2_METADATA_SERVICE_ENDPOINT", "imds"),
        ],
        64,
        &["AWS_EC2_METADATA_SERVICE_ENDPOINT", "\"imds\""],
    ),
    (
        &[("AWS_PROFILE", "keys"), ("AWS_REGION", "eu west")],
        64,
        &["AWS_REGION", "\"eu west\""],
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
        &[("AWS_REGION", "eu-west-1")],
        69,
        &["none in the environment", "profile default"],
    ),
];

#[tokio::test]
async fn no_level_of_the_log_shows_what_a_credential_process_wrote() {
    for name in ["process", "process-fails", "process-garbage"] {
        let laptop = Laptop::new().await;
        let variables = [("AWS_PROFILE", name), ("LOCKSTEP_LOG", "trace")];

        let (_, _, stderr) = output(laptop.command(&["locks"], &variables)).await;

        assert!(!stderr.contains(SECRET), "{name}: {stderr}");
    }
}

#[tokio::test]
async fn what_is_missing_is_one_line_that_names_the_setting_at_once() {
    for (variables, code, parts) in REFUSED {
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
                assert!(plain.contains(part), "{part} in {case}");
            }
            assert!(!stderr.contains(SECRET), "{case}");
            assert!(!(args == ["locks"] && stderr.contains("table")), "{case}");
        }
        // Neither the stack nor the table was asked for anything.
        let calls = laptop.services.calls();
        let is_ours = |call: &&String| call.contains("DescribeStacks") || call.contains("POST / ");
        assert_eq!(calls.iter().find(is_ours), None, "{variables:?}");
    }
}
