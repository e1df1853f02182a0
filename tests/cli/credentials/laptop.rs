//! A home with profiles of all kinds, and the services that they lead to.

use super::services::{SECRET, Services};
use crate::not_started::executable;
use crate::support::{binary, scratch};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use tokio::process::Command;

const CONFIG: &str = include_str!("config");

const PAST: &str = "2020-01-01T00:00:00Z";
const FUTURE: &str = "2099-01-01T00:00:00Z";

/// Cache files of IAM Identity Center. Each has the SHA-1 of the session's name or, without one, of
/// its start URL.
const SSO: [(&str, &str, &str); 5] = [
    ("34c6fceca75e456f25e7e99531e2425c6c1de443", "dev", FUTURE),
    ("79e435d7a515078e81c9dffc35f38d5687ebd3a7", "legacy", FUTURE),
    ("45a6f9adb1df3a78aafc71391c7d3bfa7680229b", "expired", PAST),
    (
        "a2956bd7a6eb97d0972958aac71ae594c9cf2c1a",
        "refreshed",
        PAST,
    ),
    ("a4e976a3d3fc6d0b40453de216fbbe2e9aaecdc4", "stale", FUTURE),
];

/// Cache files of `aws login`. Each has the SHA-256 of the session, and its refresh token.
const LOGIN: [(&str, &str); 2] = [
    (
        "53f9fd8c23065fa8a7d2d384dcbbe0922e92af2a195f003fb4eb4f3c129b0c16",
        "good",
    ),
    (
        "f7c70599fdc720e4d2f47baa6698f72659723614390db3b4773048bf70e85d48",
        "revoked",
    ),
];

/// A key from an example of the SDK's documentation.
const DPOP_KEY: &str = "-----BEGIN EC PRIVATE KEY-----\\nMHcCAQEEIFDZHUzOG1Pzq+6F0mjMlOSp1syN9LRPBuHMoCFXTcXhoAoGCCqGSM49\\nAwEHoUQDQgAE9qhj+KtcdHj1kVgwxWWWw++tqoh7H7UHs7oXh8jBbgF47rrYGC+t\\ndjiIaHK3dBvvdE7MGj5HsepzLm3Kj91bqA==\\n-----END EC PRIVATE KEY-----\\n";

/// The machine of an operator.
#[derive(Debug)]
pub(super) struct Laptop {
    home: PathBuf,
    pub(super) services: Services,
}

impl Laptop {
    /// Makes a new home, and the services that its profiles lead to.
    pub(super) async fn new() -> Self {
        let services = Services::open().await;
        let laptop = Self {
            home: scratch("home"),
            services,
        };
        laptop.write(".aws/config", laptop.filled(CONFIG));
        laptop.write("token", "a web identity token");
        laptop.write("token-of-two-lines", "a token\nand more\n");
        laptop.write("unparsable", "[default]\nregion eu-west-1 s3cr3t\n");
        laptop.write("no-text", b"[default]\nregion = eu-west-1 # \xe9\n");
        let role = "role_arn = arn:aws:iam::111122223333:role/operator";
        let default = format!("[default]\n{role}\nsource_profile = nobody\n");
        laptop.write("default-of-nobody", default);
        laptop.write("default-no-services", "[default]\nservices = nobody\n");
        laptop.link_programs();
        laptop.link_to_itself("loop/.aws");
        for (name, session, until) in SSO {
            let refresh = format!(
                r#","clientId":"c","clientSecret":"{SECRET}","refreshToken":"{SECRET}","registrationExpiresAt":"{FUTURE}""#
            );
            let refresh = if session == "refreshed" {
                refresh
            } else {
                String::new()
            };
            let text =
                format!(r#"{{"accessToken":"{session}-{SECRET}","expiresAt":"{until}"{refresh}}}"#);
            laptop.write(&format!(".aws/sso/cache/{name}.json"), &text);
        }
        for (name, refresh) in LOGIN {
            let text = format!(
                r#"{{"accessToken":{{"accessKeyId":"old","secretAccessKey":"{SECRET}","sessionToken":"{SECRET}","accountId":"111122223333","expiresAt":"{PAST}"}},"tokenType":"aws_sigv4","refreshToken":"{refresh}","clientId":"arn:aws:signin:::devtools/same-device","dpopKey":"{DPOP_KEY}"}}"#
            );
            laptop.write(&format!(".aws/login/cache/{name}.json"), &text);
        }
        laptop
    }

    /// Returns the path of the home.
    pub(super) fn home(&self) -> &Path {
        &self.home
    }

    /// Returns how often the process of the profile `process` was run.
    pub(super) fn count_of_processes(&self) -> usize {
        let lines = fs::read_to_string(self.home.join("processes"));
        lines.unwrap_or_default().lines().count()
    }

    fn link_programs(&self) {
        let keys =
            format!(r#"{{"Version":1,"AccessKeyId":"'"$1"'","SecretAccessKey":"{SECRET}"}}"#);
        let slow = format!("#!/bin/sh\nsleep 7\necho '{keys}'\n");
        for (name, script) in [
            ("slow", slow),
            (
                "give",
                format!("#!/bin/sh\necho >> \"$HOME/processes\"\necho '{keys}'\n"),
            ),
            (
                "fail",
                format!("#!/bin/sh\necho 'the vault is sealed' >&2\necho {SECRET} >&2\nexit 3\n"),
            ),
            (
                "echo",
                "#!/bin/sh\necho \"unknown: $*\" >&2\nexit 2\n".into(),
            ),
            (
                "broken",
                format!(
                    r#"#!/bin/sh
echo '{{"Version":1,"AccessKeyId":"a","SecretAccessKey":"{SECRET}","SessionToken":"{SECRET}\u000d"}}'
"#
                ),
            ),
            ("garbage", format!("#!/bin/sh\necho {SECRET}\n")),
        ] {
            let program = executable(script.as_bytes());
            std::os::unix::fs::symlink(program, self.home.join(name)).expect("a link");
        }
    }

    /// Makes a folder that nothing can be looked up in, a link to itself.
    fn link_to_itself(&self, name: &str) {
        let link = self.home.join(name);
        fs::create_dir_all(link.parent().expect("a folder")).expect("a folder");
        std::os::unix::fs::symlink(&link, &link).expect("a link");
    }

    /// Writes a file of this home.
    pub(super) fn write(&self, name: &str, text: impl AsRef<[u8]>) {
        let file = self.home.join(name);
        fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
        fs::write(file, text).expect("a file");
    }

    /// Returns `text` with this home and the URL of the services in it.
    pub(super) fn filled(&self, text: &str) -> String {
        let home = self.home.to_str().expect("a path");
        text.replace("HOME", home)
            .replace("SERVICES", &self.services.url)
    }

    /// Returns `lockstep ARGS` with these variables, without a terminal.
    pub(super) fn command(&self, args: &[&str], variables: &[(&str, &str)]) -> Command {
        let mut command = Command::new("setsid");
        command.arg("--wait").arg(binary()).args(args);
        self.with(command, variables)
    }

    /// Returns the same command at a terminal of its own.
    pub(super) fn at_terminal(&self, args: &[&str], variables: &[(&str, &str)]) -> Command {
        let binary = binary();
        let words = [&[binary.to_str().expect("a path")], args].concat();
        let mut command = Command::new("script");
        command.args([
            "--quiet",
            "--return",
            "--command",
            &words.join(" "),
            "/dev/null",
        ]);
        let mut command = self.with(command, variables);
        command.stdin(Stdio::piped());
        command
    }

    fn with(&self, mut command: Command, variables: &[(&str, &str)]) -> Command {
        command
            .env_clear()
            .env("HOME", &self.home)
            .env("PATH", "/usr/bin:/bin")
            .env("AWS_ENDPOINT_URL", &self.services.url)
            .env("AWS_EC2_METADATA_DISABLED", "true")
            .envs(
                variables
                    .iter()
                    .map(|(name, value)| (name, self.filled(value))),
            )
            .stdin(Stdio::null());
        command
    }
}
