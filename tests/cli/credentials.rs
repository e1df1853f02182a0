//! Where the command takes credentials and the Region from, and what it prints if there are none.
//!
//! The services that give credentials are simulated. The command, its files and its terminal are
//! real.

mod home;
mod identity;
mod laptop;
mod mfa;
mod process;
mod refused;
mod services;
mod settings;

use crate::support::{Inside, lock, output};
use laptop::Laptop;
use services::SECRET;

/// The variables of a case.
type Variables<'a> = &'a [(&'a str, &'a str)];

const KEYS: [(&str, &str); 2] = [
    ("AWS_ACCESS_KEY_ID", "variables"),
    ("AWS_SECRET_ACCESS_KEY", SECRET),
];

/// The variables that make IMDS answer.
const IMDS: [(&str, &str); 2] = [
    ("AWS_EC2_METADATA_DISABLED", "false"),
    ("AWS_EC2_METADATA_SERVICE_ENDPOINT", "SERVICES"),
];

fn profile(name: &str) -> Vec<(&str, &str)> {
    vec![("AWS_PROFILE", name)]
}

/// Returns the calls of `lockstep locks`, without those of IMDS for its token.
async fn calls(variables: Variables<'_>) -> Vec<String> {
    let laptop = Laptop::new().await;
    let (code, _, stderr) = output(laptop.command(&["locks"], variables)).await;
    // The stack does not exist, which the call of DescribeStacks shows.
    assert_eq!(code, 64, "{variables:?}: {stderr}");
    assert!(
        stderr.contains("CloudFormation DescribeStacks"),
        "{variables:?}: {stderr}"
    );
    let mut calls = laptop.services.calls();
    calls.retain(|call| call != "IMDS token");
    calls
}

#[tokio::test]
async fn each_kind_of_profile_gives_its_credentials_and_its_region() {
    for (name, expected) in [
        ("keys", "DescribeStacks by keys in eu-west-1"),
        (
            "sso",
            "SSO GetRoleCredentials, DescribeStacks by sso-dev in eu-west-1",
        ),
        (
            "sso-legacy",
            "SSO GetRoleCredentials, DescribeStacks by sso-legacy in eu-west-1",
        ),
        (
            "sso-refreshed",
            "SSO OIDC CreateToken, SSO GetRoleCredentials, DescribeStacks by sso-fresh in eu-west-1",
        ),
        ("process", "DescribeStacks by process in eu-west-1"),
        (
            "login",
            "Sign-In CreateOAuth2Token, DescribeStacks by login in eu-west-1",
        ),
        (
            "role",
            "AssumeRole by keys in eu-west-1, DescribeStacks by role-of-keys in eu-west-1",
        ),
        (
            "role-empty-mfa",
            "AssumeRole by keys in eu-west-1, DescribeStacks by role-of-keys in eu-west-1",
        ),
        (
            "role-of-sso",
            "SSO GetRoleCredentials, AssumeRole by sso-dev in eu-west-1, DescribeStacks by role-of-sso-dev in eu-west-1",
        ),
        (
            "role-of-role",
            "AssumeRole by keys in eu-west-1, AssumeRole by role-of-keys in eu-west-1, DescribeStacks by role-of-role-of-keys in eu-west-1",
        ),
        (
            "web",
            "AssumeRoleWithWebIdentity, DescribeStacks by web in eu-west-1",
        ),
    ] {
        assert_eq!(calls(&profile(name)).await.join(", "), expected, "{name}");
    }
}

#[tokio::test]
async fn the_sources_have_the_order_of_the_docs() {
    let container = [("AWS_CONTAINER_CREDENTIALS_FULL_URI", "SERVICES/container")];
    let web = [
        ("AWS_WEB_IDENTITY_TOKEN_FILE", "HOME/token"),
        ("AWS_ROLE_ARN", "arn:aws:iam::111122223333:role/web"),
    ];
    let region = [("AWS_REGION", "eu-first-1")];
    let second = [("AWS_DEFAULT_REGION", "eu-second-1")];
    let no_files = [("AWS_CONFIG_FILE", "HOME/none")];
    for (variables, expected) in [
        (
            [&KEYS[..], &profile("sso")].concat(),
            "DescribeStacks by variables in eu-west-1",
        ),
        (
            [&region[..], &second, &KEYS].concat(),
            "DescribeStacks by variables in eu-first-1",
        ),
        (
            [&second[..], &KEYS].concat(),
            "DescribeStacks by variables in eu-second-1",
        ),
        (
            [&region[..], &profile("keys")].concat(),
            "DescribeStacks by keys in eu-first-1",
        ),
        (KEYS.to_vec(), "DescribeStacks by variables in eu-default-1"),
        (
            [&web[..], &container].concat(),
            "AssumeRoleWithWebIdentity, DescribeStacks by web in eu-default-1",
        ),
        (
            [&container[..], &IMDS].concat(),
            "container, DescribeStacks by container in eu-default-1",
        ),
        (
            [&container[..], &profile("role-of-container")].concat(),
            "container, AssumeRole by container in eu-west-1, DescribeStacks by role-of-container in eu-west-1",
        ),
        (
            [&container[..], &region, &[("HOME", "HOME/loop")]].concat(),
            "container, DescribeStacks by container in eu-first-1",
        ),
        (
            [&container[..], &profile("process-slow")].concat(),
            "DescribeStacks by process in eu-west-1",
        ),
        (
            IMDS.to_vec(),
            "IMDS role, IMDS keys, DescribeStacks by imds in eu-default-1",
        ),
        (
            [&IMDS[..], &no_files].concat(),
            "IMDS region, IMDS role, IMDS keys, DescribeStacks by imds in eu-imds-1",
        ),
        (
            [&IMDS[..], &profile("no-region")].concat(),
            "IMDS region, DescribeStacks by keys in eu-imds-1",
        ),
    ] {
        assert_eq!(
            calls(&variables).await.join(", "),
            expected,
            "{variables:?}"
        );
    }
}

#[tokio::test]
async fn an_empty_variable_counts_as_unset() {
    let expected = calls(&profile("sso")).await;
    let names = "AWS_ACCESS_KEY_ID AWS_CA_BUNDLE AWS_CONFIG_FILE AWS_CONTAINER_AUTHORIZATION_TOKEN \
        AWS_CONTAINER_CREDENTIALS_FULL_URI AWS_CONTAINER_CREDENTIALS_RELATIVE_URI AWS_DEFAULT_REGION \
        AWS_EC2_METADATA_SERVICE_ENDPOINT AWS_ENDPOINT_URL_CLOUDFORMATION AWS_ENDPOINT_URL_DYNAMODB AWS_ENDPOINT_URL_SSO \
        AWS_MAX_ATTEMPTS AWS_REGION AWS_ROLE_ARN AWS_SECRET_ACCESS_KEY AWS_SESSION_TOKEN AWS_SHARED_CREDENTIALS_FILE \
        AWS_USE_FIPS_ENDPOINT AWS_WEB_IDENTITY_TOKEN_FILE LOCKSTEP_LOG LOCKSTEP_STACK LOCKSTEP_TABLE \
        SSL_CERT_DIR SSL_CERT_FILE";
    for name in names.split_whitespace() {
        let variables = [("AWS_PROFILE", "sso"), (name, "")];
        assert_eq!(calls(&variables).await, expected, "{name}");
    }
    let all: Vec<_> = names.split_whitespace().map(|name| (name, "")).collect();
    assert_eq!(calls(&[&all[..], &profile("sso")].concat()).await, expected);
    let default = [&KEYS[..], &[("AWS_PROFILE", "")]].concat();
    assert_eq!(calls(&default).await, calls(&KEYS).await);
}

#[tokio::test]
async fn a_command_gets_the_environment_that_lockstep_was_given() {
    let inside = Inside::open().await;
    let shown = "env | grep -E '^(AWS_PROFILE|HOME|LOCKSTEP_RUN_KEY|LOCKSTEP_LOCK|LOCKSTEP_EMPTY|SSL_CERT_FILE)' | sort";
    for (home, expected) in [
        (None, ""),
        (Some(""), "HOME=\n"),
        (Some("/here"), "HOME=/here\n"),
    ] {
        let name = lock("empty");
        let mut command = inside.run(&name, &[], &["sh", "-c", shown]);
        for variable in [
            "AWS_PROFILE",
            "AWS_ENDPOINT_URL_SQS",
            "LOCKSTEP_LOCK",
            "SSL_CERT_FILE",
        ] {
            command.env(variable, "");
        }
        command.env_remove("HOME");
        command.envs(home.map(|home| ("HOME", home)));

        let (code, out, stderr) = output(command).await;

        assert_eq!(code, 0, "{stderr}");
        assert_eq!(
            out,
            format!("AWS_PROFILE=\n{expected}LOCKSTEP_LOCK={name}\nSSL_CERT_FILE=\n")
        );
    }
}

#[tokio::test]
async fn a_run_takes_region_and_credentials_from_a_profile() {
    let (inside, name) = Inside::with_lock("profile").await;
    let laptop = Laptop::new().await;
    let mut command = inside.run(&name, &[], &["echo", "ran"]);
    for variable in ["AWS_REGION", "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"] {
        command.env_remove(variable);
    }
    command
        .env("HOME", laptop.home())
        .env("AWS_PROFILE", "process");

    let (code, out, stderr) = output(command).await;

    assert_eq!((code, out.as_str()), (0, "ran\n"), "{stderr}");
    // The clients of the run share what the process printed.
    assert_eq!(laptop.count_of_processes(), 1);
}
