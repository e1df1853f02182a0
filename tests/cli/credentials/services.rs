//! Simulated services that give credentials, all on one port, and CloudFormation, which shows whose
//! credentials were used.
//!
//! Each service gives keys of its own name. AssumeRole gives `role-of-` and the name of the
//! caller's keys.

use lockstep::domain::{Timestamp, rfc3339};
use lockstep_tests::stack::now;
use std::sync::{Arc, Mutex};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

/// A part of each secret, which no line of the command may contain.
pub(super) const SECRET: &str = "s3cr3t";

/// The code that AssumeRole accepts for roles whose name has `mfa`.
pub(super) const CODE: &str = "123456";

/// How long a session of a role whose name has `short` lasts. The SDK treats it as expired 10 s
/// sooner.
const SHORT_MS: u64 = 20_000;

const UNTIL: &str = "2099-01-01T00:00:00Z";

/// The services.
#[derive(Debug)]
pub(super) struct Services {
    /// The URL of all of them.
    pub(super) url: String,
    calls: Arc<Mutex<Vec<String>>>,
}

impl Services {
    /// Starts the services.
    pub(super) async fn open() -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.expect("a port");
        let port = listener.local_addr().expect("its address").port();
        let calls = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&calls);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(serve(client, Arc::clone(&seen)));
            }
        });
        let url = format!("http://127.0.0.1:{port}");
        Self { url, calls }
    }

    /// Returns the calls so far: the operation and, of a signed call, the name of its keys and the
    /// Region.
    pub(super) fn calls(&self) -> Vec<String> {
        self.calls.lock().expect("the calls").clone()
    }
}

/// Serves one request on a connection, and closes the connection.
async fn serve(mut client: TcpStream, seen: Arc<Mutex<Vec<String>>>) {
    let mut bytes = Vec::new();
    let text = loop {
        let mut part = [0; 4096];
        match client.read(&mut part).await {
            Ok(0) | Err(_) => return,
            Ok(count) => bytes.extend(&part[..count]),
        }
        let text = String::from_utf8_lossy(&bytes).into_owned();
        if is_whole(&text) {
            break text;
        }
    };
    let (call, status, body) = answer(&text);
    seen.lock().expect("the calls").push(call);
    let length = body.len();
    let head = format!("HTTP/1.1 {status} X\r\ncontent-length: {length}\r\nconnection: close\r\n");
    let ttl = "x-aws-ec2-metadata-token-ttl-seconds: 21600\r\n\r\n";
    let answer = format!("{head}{ttl}{body}");
    client.write_all(answer.as_bytes()).await.ok();
}

fn is_whole(text: &str) -> bool {
    let Some((head, body)) = text.split_once("\r\n\r\n") else {
        return false;
    };
    let length = header(head, "content-length").and_then(|length| length.parse().ok());
    body.len() >= length.unwrap_or(0)
}

fn header<'a>(head: &'a str, name: &str) -> Option<&'a str> {
    let mut lines = head.lines().filter_map(|line| line.split_once(": "));
    let found = lines.find(|(known, _)| known.eq_ignore_ascii_case(name));
    found.map(|(_, value)| value)
}

/// Returns the call, the status of its answer, and the body.
fn answer(request: &str) -> (String, u16, String) {
    let (head, body) = request.split_once("\r\n\r\n").unwrap_or((request, ""));
    let target = head.split(' ').nth(1).unwrap_or_default();
    let (path, _) = target.split_once('?').unwrap_or((target, ""));
    let named = |call: &str, answer: String| (call.to_owned(), 200, answer);
    match path {
        "/federation/credentials" => by_sso(head),
        "/token" => named(
            "SSO OIDC CreateToken",
            format!(r#"{{"accessToken":"fresh-{SECRET}","expiresIn":28800,"tokenType":"Bearer"}}"#),
        ),
        "/v1/token" if body.contains("revoked") => {
            let refused = r#"{"__type":"AccessDeniedException","error":"TOKEN_EXPIRED","message":"The session has expired"}"#;
            ("Sign-In CreateOAuth2Token".into(), 403, refused.into())
        }
        "/v1/token" => named(
            "Sign-In CreateOAuth2Token",
            format!(
                r#"{{"accessToken":{{"accessKeyId":"login","secretAccessKey":"{SECRET}","sessionToken":"{SECRET}"}},"tokenType":"aws_sigv4","expiresIn":900,"refreshToken":"{SECRET}"}}"#
            ),
        ),
        "/container" => named("container", keys("container")),
        "/container/broken" => named("container", keys("container\\r")),
        "/container/denied" => ("container".into(), 403, "no role".into()),
        "/latest/api/token" => named("IMDS token", SECRET.into()),
        "/latest/meta-data/placement/region" => named("IMDS region", "eu-imds-1".into()),
        "/latest/meta-data/iam/security-credentials/" => named("IMDS role", "role".into()),
        "/latest/meta-data/iam/security-credentials/role" => named("IMDS keys", keys("imds")),
        "/closed/latest/api/token" => named("IMDS token", SECRET.into()),
        _ if path.starts_with("/closed/") => ("IMDS role".into(), 403, "no role".into()),
        _ if path.starts_with("/denied/") => ("IMDS token".into(), 403, String::new()),
        _ => by_query(head, body),
    }
}

/// Returns keys as the agents of a container and of an instance give them.
fn keys(id: &str) -> String {
    format!(
        r#"{{"Code":"Success","Type":"AWS-HMAC","LastUpdated":"{UNTIL}","AccessKeyId":"{id}","SecretAccessKey":"{SECRET}","Token":"{SECRET}","Expiration":"{UNTIL}"}}"#
    )
}

fn by_sso(head: &str) -> (String, u16, String) {
    let call = "SSO GetRoleCredentials".to_owned();
    let token = header(head, "x-amz-sso_bearer_token").unwrap_or_default();
    if token.starts_with("stale") {
        let refused =
            r#"{"__type":"UnauthorizedException","message":"Session token not found or invalid"}"#;
        return (call, 401, refused.into());
    }
    let (id, _) = token.split_once('-').unwrap_or(("none", ""));
    let body = format!(
        r#"{{"roleCredentials":{{"accessKeyId":"sso-{id}","secretAccessKey":"{SECRET}","sessionToken":"{SECRET}","expiration":4070908800000}}}}"#
    );
    (call, 200, body)
}

/// Answers a call of STS or CloudFormation.
fn by_query(head: &str, body: &str) -> (String, u16, String) {
    let field = |name: &str| {
        let mut fields = body.split('&').filter_map(|field| field.split_once('='));
        fields
            .find(|(known, _)| *known == name)
            .map_or("", |(_, value)| value)
    };
    let signature = header(head, "authorization").unwrap_or_default();
    let scope = signature
        .split_once("Credential=")
        .map_or("", |(_, scope)| scope);
    let scope: Vec<_> = scope.split('/').collect();
    let (caller, region) = (scope[0], scope.get(2).copied().unwrap_or_default());
    let refused = |status: u16, code: &str, message: &str| {
        (
            status,
            format!(
                "<ErrorResponse><Error><Type>Sender</Type><Code>{code}</Code><Message>{message}</Message></Error></ErrorResponse>"
            ),
        )
    };
    let role = field("RoleArn");
    let (status, answer) = match field("Action") {
        "AssumeRole" if role.contains("denied") => refused(
            403,
            "AccessDenied",
            "not authorized to perform: sts:AssumeRole",
        ),
        "AssumeRole" if role.contains("mfa") && field("TokenCode") != CODE => refused(
            403,
            "AccessDenied",
            "MultiFactorAuthentication failed with invalid MFA one time pass code.",
        ),
        // DynamoDB Local accepts only letters and digits in the id of a key.
        "AssumeRole" if role.contains("short") => {
            let until = rfc3339(Timestamp::from_millis(now() + SHORT_MS));
            granted("short", "AssumeRole", &until)
        }
        "AssumeRole" => granted(&format!("role-of-{caller}"), "AssumeRole", UNTIL),
        "AssumeRoleWithWebIdentity" if role.contains("denied") => {
            refused(400, "InvalidIdentityToken", "Incorrect token audience")
        }
        "AssumeRoleWithWebIdentity" => granted("web", "AssumeRoleWithWebIdentity", UNTIL),
        _ => refused(
            400,
            "ValidationError",
            "Stack with id lockstep does not exist",
        ),
    };
    let action = if field("Action").is_empty() {
        head.lines().next().unwrap_or_default()
    } else {
        field("Action")
    };
    let call = if caller.is_empty() {
        action.to_owned()
    } else {
        format!("{action} by {caller} in {region}")
    };
    (call, status, answer)
}

/// Returns the answer of STS with keys.
fn granted(id: &str, operation: &str, until: &str) -> (u16, String) {
    let credentials = format!(
        "<Credentials><AccessKeyId>{id}</AccessKeyId><SecretAccessKey>{SECRET}</SecretAccessKey><SessionToken>{SECRET}</SessionToken><Expiration>{until}</Expiration></Credentials>"
    );
    let answer = format!(
        "<{operation}Response><{operation}Result>{credentials}</{operation}Result></{operation}Response>"
    );
    (200, answer)
}
