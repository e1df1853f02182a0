//! Copies of the deployed functions that reach the table over a wire which counts requests.

use super::machines::Functions;
use super::{Stack, unique};
use crate::wire::Wire;
use aws_smithy_types::base64;
use serde_json::{Value, json};

impl Stack {
    /// Copies of acquire-lock and release-lock: same code, same roles, same table, over `wire`.
    pub async fn functions_over(&self, wire: &Wire) -> Functions {
        let deployed = self.functions();
        Functions {
            acquire: self.copy("acquire-lock", &deployed.acquire, wire).await,
            release: self.copy("release-lock", &deployed.release, wire).await,
        }
    }

    async fn copy(&self, package: &str, arn: &str, wire: &Wire) -> String {
        let path = format!("/2015-03-31/functions/{arn}/configuration");
        let response = self.rest("lambda", "GET", &path, Value::Null).await.body;
        let mut variables = response["Environment"]["Variables"].clone();
        variables["AWS_ENDPOINT_URL_DYNAMODB"] = wire.endpoint().into();
        let zip = format!("target/lambda/{package}/bootstrap.zip");
        let zip = crate::repository().join(zip);
        let code = std::fs::read(&zip).unwrap_or_else(|error| panic!("{}: {error}", zip.display()));
        let mut wanted = json!({
            "FunctionName": unique(package),
            "Environment": { "Variables": variables },
            "Code": { "ZipFile": base64::encode(&code) },
        });
        for field in [
            "Role",
            "Runtime",
            "Handler",
            "Architectures",
            "MemorySize",
            "Timeout",
            "LoggingConfig",
        ] {
            wanted[field] = response[field].clone();
        }
        let made = self
            .rest("lambda", "POST", "/2015-03-31/functions", wanted)
            .await;
        let arn = made.body["FunctionArn"].as_str();
        arn.unwrap_or_else(|| panic!("no copy of {package}: {}", made.body))
            .to_owned()
    }
}
