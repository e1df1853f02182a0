//! The example templates, deployed as a user does it.

use super::Fleet;
use lockstep::config::variable;
use serde::Deserialize;
use std::collections::HashMap;
use tokio::process::Command;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Output {
    output_key: String,
    output_value: String,
}

impl Fleet {
    /// `sam deploy` of `infra/examples/TEMPLATE`; answers the outputs of the stack.
    pub(super) async fn deploy(
        &self,
        template: &str,
        name: &str,
        parameters: &[(&str, &str)],
    ) -> HashMap<String, String> {
        let file = format!("infra/examples/{template}");
        let values = parameters
            .iter()
            .map(|(key, value)| format!("{key}={value}"));
        let values: Vec<_> = values.collect();
        let fixed = [
            "deploy",
            "--template-file",
            &file,
            "--stack-name",
            name,
            "--resolve-s3",
            "--no-confirm-changeset",
            "--capabilities",
            "CAPABILITY_IAM",
            "--parameter-overrides",
        ];
        let mut args = fixed.to_vec();
        args.extend(values.iter().map(String::as_str));
        self.sam(&args).await;
        let ask = [
            "list",
            "stack-outputs",
            "--stack-name",
            name,
            "--output",
            "json",
        ];
        let told = self.sam(&ask).await;
        let told: Vec<Output> = serde_json::from_str(&told)
            .unwrap_or_else(|error| panic!("outputs of {name}: {error} in {told}"));
        let pairs = told
            .into_iter()
            .map(|one| (one.output_key, one.output_value));
        pairs.collect()
    }

    async fn sam(&self, args: &[&str]) -> String {
        let settings = &self.stack().settings;
        let path = variable("PATH").unwrap_or_default();
        let tools = self.stack().setting("LOCKSTEP_TOOLS_PATH");
        let output = Command::new("sam")
            .args(args)
            .current_dir(lockstep_tests::repository())
            .envs(settings)
            .env("PATH", format!("{tools}:{path}"))
            .env("SAM_CLI_TELEMETRY", "0")
            .kill_on_drop(true)
            .output()
            .await
            .expect("sam runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (out, err) = (text(&output.stdout), text(&output.stderr));
        assert!(output.status.success(), "sam {args:?}: {out}\n{err}");
        out
    }
}
