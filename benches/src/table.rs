//! Tables on DynamoDB Local, and what is in them.

use crate::units::Items;
use aws_sdk_dynamodb::Client;
use aws_sdk_dynamodb::config::Builder;
use aws_sdk_dynamodb::error::SdkError;
use aws_sdk_dynamodb::operation::create_table::CreateTableError;
use aws_sdk_dynamodb::types::{
    AttributeDefinition, AttributeValue, BillingMode, GlobalSecondaryIndex, KeySchemaElement,
    KeyType, Projection, ProjectionType, ScalarAttributeType,
};
use lockstep::clock::{Clock, SystemClock};
use lockstep::config::variable;

/// Where DynamoDB Local answers.
///
/// # Panics
/// Outside of a local stack.
#[must_use]
pub fn endpoint() -> String {
    let endpoint = variable("AWS_ENDPOINT_URL_DYNAMODB");
    endpoint.expect("AWS_ENDPOINT_URL_DYNAMODB names DynamoDB Local: run this by benches/locks")
}

/// A client of `endpoint` with the settings of the functions.
pub async fn client(endpoint: &str) -> Client {
    let settings = lockstep::aws::sdk_config();
    // Set here: the variable for DynamoDB alone wins over the setting of all clients.
    let settings = Builder::from(&settings).endpoint_url(endpoint);
    Client::from_conf(settings.build())
}

/// Creates a table with the keys and the indexes of the deployed one. Returns its name.
///
/// # Panics
/// When DynamoDB Local does not create it.
pub async fn create(client: &Client) -> String {
    let name = format!("bench-{}", SystemClock.now().millis());
    let mut request = client
        .create_table()
        .table_name(&name)
        .billing_mode(BillingMode::PayPerRequest)
        .set_key_schema(Some(keys("pk", "sk")))
        .global_secondary_indexes(index("due", "shard", "dueAt"))
        .global_secondary_indexes(index("locks", "lockShard", "pk"));
    let text = ScalarAttributeType::S;
    for (attribute, kind) in [
        ("pk", text.clone()),
        ("sk", text.clone()),
        ("shard", text.clone()),
        ("lockShard", text),
        ("dueAt", ScalarAttributeType::N),
    ] {
        let attribute = AttributeDefinition::builder()
            .attribute_name(attribute)
            .attribute_type(kind);
        request = request.attribute_definitions(attribute.build().expect("all is set"));
    }
    let made = request.send().await.map_err(SdkError::into_service_error);
    // The name is new: the table exists already only when the first answer came too late.
    let exists = |error: &CreateTableError| error.is_resource_in_use_exception();
    if let Err(error) = made {
        assert!(exists(&error), "DynamoDB Local creates a table: {error:?}");
    }
    name
}

fn index(name: &str, partition: &str, sort: &str) -> GlobalSecondaryIndex {
    let projection = Projection::builder().projection_type(ProjectionType::KeysOnly);
    let index = GlobalSecondaryIndex::builder()
        .index_name(name)
        .set_key_schema(Some(keys(partition, sort)))
        .projection(projection.build());
    index.build().expect("all is set")
}

fn keys(partition: &str, sort: &str) -> Vec<KeySchemaElement> {
    let key = |name, kind| {
        let element = KeySchemaElement::builder()
            .attribute_name(name)
            .key_type(kind);
        element.build().expect("all is set")
    };
    vec![key(partition, KeyType::Hash), key(sort, KeyType::Range)]
}

/// The items of a lock, by their sort keys.
///
/// # Panics
/// When they cannot be read.
pub async fn items(client: &Client, table: &str, lock: &str) -> Items {
    let read = client
        .query()
        .table_name(table)
        .key_condition_expression("pk = :lock")
        .expression_attribute_values(":lock", AttributeValue::S(lock.into()))
        .consistent_read(true)
        .send()
        .await
        .expect("the items of a lock");
    let items = read.items.unwrap_or_default().into_iter();
    items
        .map(|item| (item["sk"].as_s().expect("a text").clone(), item))
        .collect()
}
