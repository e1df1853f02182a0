//! Jobs that begin, and those that do not.

use super::*;
use crate::platform::clock::sleep;
use std::net::TcpListener;

/// Protection that is required and does not come: whoever is asked for it says nothing.
fn silent(patience: Duration) -> (Protection, TcpListener) {
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap();
    let uri = format!("http://{}", nobody.local_addr().unwrap());
    // It is waited for a quarter of the lease.
    let protection = Protection::start(Mode::Required, Some(uri), 4 * patience);
    (protection, nobody)
}

#[tokio::test]
async fn no_lock_is_asked_for_before_the_task_is_protected() {
    let table = MemoryTable::default();
    let (protection, _nobody) = silent(Duration::from_millis(100));
    let service = protected(&table, protection).await;

    let begun = begin(&service).await;

    assert_eq!(error(&begun), "Agent.NotProtected");
    assert_eq!(table.asked().len(), 0);
}

#[tokio::test]
async fn a_client_that_goes_away_before_the_lock_is_asked_for_leaves_nothing_behind() {
    let table = MemoryTable::default();
    let (protection, _nobody) = silent(10 * LONG);
    let service = protected(&table, protection).await;
    let (tell, told) = oneshot::channel();

    let beginning = tokio::spawn(Arc::clone(&service).begin(wish(), tell));
    sleep(Duration::from_millis(50)).await;
    drop(told);

    assert!(timeout(LONG, beginning).await.is_ok());
    assert!(timeout(LONG, service.stop()).await.is_ok());
    assert_eq!(table.asked().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_job_that_nobody_hears_of_is_released_as_failed() {
    let table = MemoryTable::faulty([Fault::Slow]);
    table.deaf_to_releases(9);
    let service = service(&table).await;
    let (tell, told) = oneshot::channel();

    let beginning = tokio::spawn(Arc::clone(&service).begin(wish(), tell));
    until("a question", || table.asked().len() == 1).await;
    drop(told);

    assert!(timeout(20 * LONG, beginning).await.is_ok());
    assert_eq!(table.released(), failed());
    assert_eq!(service.book().open(), 0);
}

#[tokio::test]
async fn a_begin_that_panics_gives_its_place_back() {
    let table = MemoryTable::faulty([Fault::Panics]);
    let service = service(&table).await;
    let own = Arc::clone(&service);

    let begun = tokio::spawn(async move { begin(&own).await }).await;

    assert!(begun.is_err());
    assert!(timeout(LONG, service.stop()).await.is_ok());
}

#[tokio::test]
async fn a_begin_that_is_dropped_gives_its_place_back() {
    let table = MemoryTable::faulty([Fault::Hangs]);
    let service = service(&table).await;
    let own = Arc::clone(&service);

    let begun = tokio::spawn(async move { begin(&own).await });
    sleep(Duration::from_millis(50)).await;
    begun.abort();

    assert!(timeout(LONG, service.stop()).await.is_ok());
}
