//! Both stores keep the promises of the trait.

use lockstep::store::conformance;
use lockstep::store::dynamodb::DynamoStore;
use lockstep::store::memory::MemoryStore;
use lockstep_tests::dynamodb_local::Table;

#[tokio::test]
async fn the_memory_store_keeps_the_promises() {
    conformance::run_all(&MemoryStore::default(), "memory").await;
}

#[tokio::test]
async fn the_dynamodb_store_keeps_the_promises() {
    let table = Table::new("conformance").await;
    let store = DynamoStore::new(table.client().await, table.name);

    conformance::run_all(&store, "dynamodb").await;
}
