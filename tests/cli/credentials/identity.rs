//! Settings that name an identity only in part: the command ends, and takes no other identity.

use super::Variables;
use super::laptop::Laptop;
use super::refused::{Refused, assert_refused};
use super::services::SECRET;
use crate::support::output;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;

/// Settings that would give another identity.
const OTHERS: Variables<'_> = &[
    ("AWS_CONTAINER_CREDENTIALS_FULL_URI", "SERVICES/container"),
    ("AWS_EC2_METADATA_DISABLED", "false"),
    ("AWS_EC2_METADATA_SERVICE_ENDPOINT", "SERVICES"),
];

/// Settings that name an identity only in part, with the exit code and parts of the message.
const IN_PART: &[Refused<'_>] = &[
    (
        &[("AWS_PROFILE", "role-of-nobody")],
        64,
        &[
            "source_profile of the profile role-of-nobody is \"nobody\"",
            "no such profile in ~/.aws/config or ~/.aws/credentials",
        ],
    ),
    (
        &[("AWS_PROFILE", "role-above-nobody")],
        64,
        &["source_profile of the profile role-of-nobody is \"nobody\""],
    ),
    (
        &[("AWS_PROFILE", "mfa-of-nobody")],
        64,
        &["source_profile of the profile mfa-of-nobody is \"nobody\""],
    ),
    (
        &[
            ("AWS_CONFIG_FILE", "HOME/default-of-nobody"),
            ("AWS_REGION", "eu-west-1"),
        ],
        64,
        &["source_profile of the profile default is \"nobody\""],
    ),
    (
        &[("AWS_PROFILE", "role-of-itself")],
        64,
        &["source_profile of the profile role-of-itself is the profile itself"],
    ),
    (
        &[("AWS_ACCESS_KEY_ID", "variables")],
        64,
        &["AWS_ACCESS_KEY_ID is set, but AWS_SECRET_ACCESS_KEY is not"],
    ),
    (
        &[("AWS_SECRET_ACCESS_KEY", SECRET), ("AWS_PROFILE", "keys")],
        64,
        &["AWS_SECRET_ACCESS_KEY is set, but AWS_ACCESS_KEY_ID is not"],
    ),
    (
        &[
            ("AWS_ACCESS_KEY_ID", "variables"),
            ("AWS_SECRET_ACCESS_KEY", " "),
        ],
        64,
        &["AWS_SECRET_ACCESS_KEY", "white space"],
    ),
    (
        &[("AWS_PROFILE", "id-alone")],
        64,
        &["the profile id-alone has aws_access_key_id, but no aws_secret_access_key"],
    ),
    (
        &[("AWS_PROFILE", "secret-alone")],
        64,
        &["the profile secret-alone has aws_secret_access_key, but no aws_access_key_id"],
    ),
    (
        &[("AWS_PROFILE", "role-of-id-alone")],
        64,
        &["the profile id-alone has aws_access_key_id, but no aws_secret_access_key"],
    ),
    (
        &[("AWS_PROFILE", "sso-no-account")],
        64,
        &["the profile sso-no-account", "no sso_account_id"],
    ),
    (
        &[("AWS_PROFILE", "sso-no-region")],
        64,
        &[
            "the profile sso-no-region",
            "no sso-session no-region with sso_region",
        ],
    ),
    (
        &[("AWS_PROFILE", "id-empty")],
        64,
        &["the profile id-empty has aws_secret_access_key, but no aws_access_key_id"],
    ),
    (
        &[("AWS_PROFILE", "keys-empty")],
        64,
        &["aws_access_key_id of the profile keys-empty is empty"],
    ),
    (
        &[("AWS_PROFILE", "sso-empty-account")],
        64,
        &["the profile sso-empty-account", "no sso_account_id"],
    ),
    (
        &[("AWS_PROFILE", "sso-empty-region")],
        64,
        &["the profile sso-empty-region", "no sso_region"],
    ),
    (
        &[("AWS_PROFILE", "role-empty")],
        64,
        &["role_arn of the profile role-empty is empty"],
    ),
    (
        &[("AWS_PROFILE", "web-no-role")],
        64,
        &["the profile web-no-role has web_identity_token_file, but no role_arn"],
    ),
    (
        &[("AWS_PROFILE", "role-alone")],
        64,
        &["the profile role-alone has role_arn, but no source_profile and no credential_source"],
    ),
    (
        &[("AWS_PROFILE", "role-of-nothing")],
        64,
        &["source_profile of the profile role-of-nothing is \"nothing\", which has no credentials"],
    ),
    (
        &[("AWS_DEFAULT_PROFILE", "keys")],
        64,
        &["AWS_DEFAULT_PROFILE is \"keys\", but only AWS_PROFILE chooses"],
    ),
    (
        &[("AWS_WEB_IDENTITY_TOKEN_FILE", "HOME/token")],
        64,
        &["AWS_WEB_IDENTITY_TOKEN_FILE is set, but AWS_ROLE_ARN is not"],
    ),
];

#[tokio::test]
async fn an_identity_that_is_named_in_part_leads_to_no_other() {
    for (variables, code, parts) in IN_PART {
        let variables = [OTHERS, variables].concat();
        assert_refused(&(&variables, *code, parts)).await;
    }
}

#[tokio::test]
async fn keys_in_variables_come_before_a_profile_that_is_wrong() {
    let laptop = Laptop::new().await;
    let variables = [&super::KEYS[..], &[("AWS_PROFILE", "role-of-nobody")]].concat();

    let (_, _, stderr) = output(laptop.command(&["locks"], &variables)).await;

    let calls = laptop.services.calls();
    assert_eq!(
        calls,
        ["DescribeStacks by variables in eu-west-1"],
        "{stderr}"
    );
}

#[tokio::test]
async fn a_variable_that_is_not_utf_8_does_not_count_as_unset() {
    for name in ["AWS_PROFILE", "AWS_REGION", "AWS_ACCESS_KEY_ID", "HOME"] {
        let laptop = Laptop::new().await;
        let mut command = laptop.command(&["locks"], OTHERS);
        command.env(name, OsStr::from_bytes(b"keys\xe9"));

        let (code, _, stderr) = output(command).await;

        assert_eq!((code, stderr.lines().count()), (64, 1), "{name}: {stderr}");
        assert!(stderr.contains(&format!("{name} is not UTF-8")), "{stderr}");
        assert!(laptop.services.calls().is_empty(), "{name}");
    }
}
