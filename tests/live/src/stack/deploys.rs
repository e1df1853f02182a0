//! The example templates, deployed with sam as a user does it.

use super::{Stack, now};
use crate::repository;
use serde::Deserialize;
use std::collections::HashMap;
use tokio::process::Command;

#[derive(Deserialize)]
#[serde(rename_all = "PascalCase")]
struct Output {
    output_key: String,
    output_value: String,
}

impl Stack {
    /// Deploys `infra/examples/TEMPLATE` as the stack `name` by `sam deploy`, with parameters.
    /// Returns the outputs of the stack.
    pub async fn deploy_example(
        &self,
        template: &str,
        name: &str,
        parameters: &[(&str, &str)],
    ) -> HashMap<String, String> {
        let begin = now();
        let file = format!("infra/examples/{template}");
        let fixed = ["deploy", "--template-file", &file, "--stack-name", name];
        let mut args = fixed.map(str::to_owned).to_vec();
        args.extend(["--resolve-s3", "--no-confirm-changeset"].map(str::to_owned));
        args.extend(
            ["--capabilities", "CAPABILITY_IAM", "--parameter-overrides"].map(str::to_owned),
        );
        args.extend(
            parameters
                .iter()
                .map(|(key, value)| format!("{key}=\"{value}\"")),
        );
        self.sam(&args).await;
        eprintln!("figure: {template} was deployed in {} ms", now() - begin);
        let list = [
            "list",
            "stack-outputs",
            "--stack-name",
            name,
            "--output",
            "json",
        ];
        let outputs = self.sam(&list.map(str::to_owned)).await;
        let outputs: Vec<Output> = serde_json::from_str(&outputs)
            .unwrap_or_else(|error| panic!("outputs of {name}: {error} in {outputs}"));
        let pairs = outputs.into_iter();
        pairs
            .map(|one| (one.output_key, one.output_value))
            .collect()
    }

    async fn sam(&self, args: &[String]) -> String {
        let tools = self.setting("LOCKSTEP_TOOLS_PATH");
        let mut sam = Command::new(format!("{tools}/sam"));
        sam.current_dir(repository())
            .envs(self.settings.clone())
            .env("SAM_CLI_TELEMETRY", "0")
            .env("AWS_DEFAULT_REGION", "us-east-1")
            .args(args)
            .kill_on_drop(true);
        let done = sam.output().await.expect("sam runs");
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (out, err) = (text(&done.stdout), text(&done.stderr));
        assert!(done.status.success(), "sam {args:?}: {out}{err}");
        out
    }
}
