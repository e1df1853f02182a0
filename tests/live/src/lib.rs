//! A client of what runs for real: the deployed stack and DynamoDB Local.
//!
//! It is a crate of its own, so that the demo builds without the dependencies of the test levels.

use aws_config::timeout::TimeoutConfig;
use aws_config::{Region, SdkConfig};
use aws_sdk_sfn::config::{Credentials, SharedCredentialsProvider};
use std::path::PathBuf;
use std::time::Duration;

pub mod dynamodb_local;
pub mod judge;
pub mod results;
pub mod stack;
pub mod timeline;
pub mod units;
pub mod upgrade;
pub mod wire;

/// Returns the root of the checkout.
pub fn repository() -> PathBuf {
    let live = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    live.ancestors()
        .nth(2)
        .expect("tests/live/ is two folders below the root")
        .to_owned()
}

/// Returns the settings of the functions' clients for a local `endpoint`. Their time limits are
/// longer, because a busy machine may take longer to connect and to answer.
pub async fn sdk_config(endpoint: &str) -> SdkConfig {
    const LONG: Duration = Duration::from_secs(60);
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(LONG)
        .operation_attempt_timeout(LONG)
        .operation_timeout(3 * LONG);
    let keys = Credentials::new("test", "test", None, None, "tests");
    let settings = lockstep::aws::sdk_config().into_builder();
    settings
        .endpoint_url(endpoint)
        .region(Region::new("us-east-1"))
        .timeout_config(timeouts.build())
        .credentials_provider(SharedCredentialsProvider::new(keys))
        .build()
}
