//! Takes a lock by one conditional `UpdateItem`: no history, no queue, no log line, no metric.

use aws_config::{BehaviorVersion, Region};
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::types::{AttributeValue, ReturnValue};
use aws_smithy_http_client::Builder;
use aws_smithy_http_client::tls::Provider;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use aws_smithy_types::retry::RetryConfig;
use aws_smithy_types::timeout::TimeoutConfig;
use lambda_runtime::{Error, LambdaEvent, service_fn};
use serde_json::{Value, json};
use std::time::{Duration, SystemTime};

/// The settings of Lockstep's clients.
async fn client() -> Client {
    let http = Builder::new()
        .tls_provider(Provider::Rustls(CryptoMode::Ring))
        .build_https();
    let timeouts = TimeoutConfig::builder()
        .connect_timeout(Duration::from_millis(500))
        .operation_attempt_timeout(Duration::from_secs(2))
        .operation_timeout(Duration::from_secs(6))
        .build();
    let sdk = aws_config::defaults(BehaviorVersion::latest())
        .http_client(http)
        .region(std::env::var("AWS_REGION").ok().map(Region::new))
        .retry_config(RetryConfig::standard().with_max_attempts(3))
        .timeout_config(timeouts)
        .load()
        .await;
    Client::new(&sdk)
}

fn text(event: &Value, field: &str) -> Result<AttributeValue, Error> {
    let value = event[field]
        .as_str()
        .ok_or_else(|| format!("{field} is missing"))?;
    Ok(AttributeValue::S(value.to_owned()))
}

fn number(value: u128) -> AttributeValue {
    AttributeValue::N(value.to_string())
}

async fn acquire(client: &Client, table: &str, event: Value) -> Result<Value, Error> {
    let now = SystemTime::UNIX_EPOCH.elapsed()?.as_millis();
    let lease = u128::from(event["leaseSeconds"].as_u64().unwrap_or(60)) * 1000;
    let update = client
        .update_item()
        .table_name(table)
        .key("pk", text(&event, "lock")?)
        .key("sk", AttributeValue::S("lock".to_owned()))
        .update_expression("SET holder = :holder, expiresAt = :expires ADD fencing :one")
        .condition_expression(
            "attribute_not_exists(holder) OR holder = :holder OR expiresAt < :now",
        )
        .expression_attribute_values(":holder", text(&event, "holder")?)
        .expression_attribute_values(":expires", number(now + lease))
        .expression_attribute_values(":now", number(now))
        .expression_attribute_values(":one", number(1))
        .return_values(ReturnValue::UpdatedNew);
    match update.send().await {
        Ok(answer) => {
            let token = answer
                .attributes
                .and_then(|mut item| item.remove("fencing"));
            let token = token.and_then(|token| token.as_n().cloned().ok());
            Ok(json!({ "status": "acquired", "token": token }))
        }
        Err(error)
            if error
                .as_service_error()
                .is_some_and(|e| e.is_conditional_check_failed_exception()) =>
        {
            Ok(json!({ "status": "held" }))
        }
        Err(error) => Err(error.into()),
    }
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Error> {
    let table = std::env::var("LOCKSTEP_TABLE")?;
    let client = client().await;
    let (client, table) = (&client, table.as_str());
    lambda_runtime::run(service_fn(move |event: LambdaEvent<Value>| {
        acquire(client, table, event.payload)
    }))
    .await
}
