//! Wrong settings: a profile, a file, a Region or an endpoint.

use super::refused::{Refused, assert_refused};
use super::services::SECRET;

const WRONG: &[Refused<'_>] = &[
    (
        &[("AWS_PROFILE", "nobody")],
        64,
        &[
            "AWS_PROFILE is \"nobody\"",
            "no such profile in ~/.aws/config or ~/.aws/credentials",
        ],
    ),
    (
        &[
            ("AWS_PROFILE", "nobody"),
            ("AWS_CONFIG_FILE", "HOME/other"),
            ("AWS_SHARED_CREDENTIALS_FILE", "~/keys"),
        ],
        64,
        &["no such profile in HOME/other or ~/keys"],
    ),
    (
        &[("AWS_CONFIG_FILE", "HOME/unparsable")],
        64,
        &["HOME/unparsable on line 2: Expected an '=' sign"],
    ),
    (
        &[("AWS_CONFIG_FILE", "HOME/no-text")],
        64,
        &["AWS_CONFIG_FILE", "HOME/no-text", "UTF-8"],
    ),
    (
        &[
            ("AWS_REGION", "eu-west-1"),
            ("AWS_SHARED_CREDENTIALS_FILE", "~/.aws"),
        ],
        64,
        &["AWS_SHARED_CREDENTIALS_FILE", "~/.aws", "directory"],
    ),
    (
        &[("AWS_CONFIG_FILE", "HOME/loop/.aws/config")],
        64,
        &["HOME/loop/.aws/config (AWS_CONFIG_FILE) cannot be read"],
    ),
    (
        &[("AWS_PROFILE", "no-services")],
        64,
        &[
            "services of the profile no-services is \"nobody\"",
            "[services nobody] in ~/.aws/config",
        ],
    ),
    (
        &[
            ("AWS_CONFIG_FILE", "HOME/default-no-services"),
            ("AWS_ACCESS_KEY_ID", "variables"),
            ("AWS_SECRET_ACCESS_KEY", SECRET),
            ("AWS_REGION", "eu-west-1"),
        ],
        64,
        &["services of the profile default is \"nobody\""],
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
        &[("AWS_CONTAINER_CREDENTIALS_FULL_URI", "localhost:1")],
        64,
        &["AWS_CONTAINER_CREDENTIALS_FULL_URI is \"localhost:1\""],
    ),
    (
        &[("AWS_CONTAINER_CREDENTIALS_FULL_URI", "http://192.0.2.1/")],
        64,
        &["AWS_CONTAINER_CREDENTIALS_FULL_URI is \"http://192.0.2.1/\""],
    ),
    (
        &[("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI", "v2")],
        64,
        &["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI is \"v2\""],
    ),
    (
        &[
            ("AWS_CONTAINER_CREDENTIALS_FULL_URI", "SERVICES/container"),
            ("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "HOME/none"),
        ],
        64,
        &[
            "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE is \"HOME/none\"",
            "No such file",
        ],
    ),
    (
        &[
            ("AWS_CONTAINER_CREDENTIALS_FULL_URI", "SERVICES/container"),
            (
                "AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE",
                "HOME/token-of-two-lines",
            ),
        ],
        64,
        &["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", "one line"],
    ),
    (
        &[
            ("AWS_ACCESS_KEY_ID", "variables\r"),
            ("AWS_SECRET_ACCESS_KEY", SECRET),
        ],
        64,
        &["AWS_ACCESS_KEY_ID must have ASCII characters only"],
    ),
    (
        &[
            ("AWS_ACCESS_KEY_ID", "variables"),
            ("AWS_SECRET_ACCESS_KEY", "s3cr3t\n"),
        ],
        64,
        &["AWS_SECRET_ACCESS_KEY must have ASCII characters only"],
    ),
    (
        &[
            ("AWS_ACCESS_KEY_ID", "variables"),
            ("AWS_SECRET_ACCESS_KEY", SECRET),
            ("AWS_SESSION_TOKEN", "s3cr3t\n"),
        ],
        64,
        &["AWS_SESSION_TOKEN must have ASCII characters only"],
    ),
    (
        &[("AWS_PROFILE", "keys-broken")],
        64,
        &["aws_access_key_id of the profile keys-broken must have ASCII"],
    ),
    (
        &[("AWS_PROFILE", "role-of-keys-broken")],
        64,
        &["aws_access_key_id of the profile keys-broken must have ASCII"],
    ),
    (
        &[
            ("AWS_PROFILE", "sso"),
            ("AWS_CONFIG_FILE", "HOME/.aws/config"),
            ("HOME", "/dev/null"),
        ],
        64,
        &[
            "is not set, and /etc/passwd has no home",
            "profile sso",
            "~/.aws/sso/cache",
        ],
    ),
    (
        &[
            ("AWS_PROFILE", "login"),
            ("AWS_CONFIG_FILE", "HOME/.aws/config"),
            ("HOME", "/dev/null"),
        ],
        64,
        &[
            "is not set, and /etc/passwd has no home",
            "profile login",
            "~/.aws/login/cache",
        ],
    ),
];

#[tokio::test]
async fn a_wrong_setting_is_one_line_that_names_it_at_once() {
    for wrong in WRONG {
        assert_refused(wrong).await;
    }
}
