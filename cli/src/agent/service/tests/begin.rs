//! Jobs that begin, and those that do not.

use super::*;

#[tokio::test]
async fn a_begin_that_panics_gives_its_place_back() {
    let table = Twin::faulty([Fault::Panics]);
    let service = service(&table).await;
    let own = Arc::clone(&service);

    let begun = tokio::spawn(async move { begin(&own).await }).await;

    assert!(begun.is_err());
    assert!(timeout(LONG, service.stop()).await.is_ok());
}

#[tokio::test]
async fn a_begin_that_is_dropped_gives_its_place_back() {
    let table = Twin::faulty([Fault::Hangs]);
    let service = service(&table).await;
    let own = Arc::clone(&service);

    let begun = tokio::spawn(async move { begin(&own).await });
    crate::sys::clock::sleep(Duration::from_millis(50)).await;
    begun.abort();

    assert!(timeout(LONG, service.stop()).await.is_ok());
}
