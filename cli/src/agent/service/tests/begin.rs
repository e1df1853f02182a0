//! Beginning a job, and its failures.

use super::*;
use crate::platform::clock::sleep;
use lockstep::store::memory::LockItems;
use std::net::TcpListener;

/// Returns required protection whose endpoint never answers.
fn silent(patience: Duration) -> (Protection, TcpListener) {
    let endpoint = TcpListener::bind("127.0.0.1:0").unwrap();
    let uri = format!("http://{}", endpoint.local_addr().unwrap());
    // The agent waits a quarter of the lease for protection.
    let protection = Protection::start(Mode::Required, Some(uri), 4 * patience);
    (protection, endpoint)
}

#[tokio::test]
async fn no_lock_is_acquired_before_the_task_is_protected() {
    let twins = Twins::default();
    let (protection, _endpoint) = silent(Duration::from_millis(100));
    let service = protected(&twins, protection).await;

    let begun = begin(&service).await;

    assert_eq!(error(&begun), "Agent.NotProtected");
    assert_eq!(twins.items(LOCK), LockItems::default());
}

#[tokio::test]
async fn a_client_that_disconnects_before_protection_acquires_no_lock() {
    let twins = Twins::default();
    let (protection, _endpoint) = silent(10 * LONG);
    let service = protected(&twins, protection).await;
    let (reply, response) = oneshot::channel();

    let beginning = tokio::spawn(Arc::clone(&service).begin(request(), reply));
    sleep(Duration::from_millis(50)).await;
    drop(response);

    assert!(timeout(LONG, beginning).await.is_ok());
    assert!(timeout(LONG, service.stop()).await.is_ok());
    assert_eq!(twins.items(LOCK), LockItems::default());
}

#[tokio::test(start_paused = true)]
async fn a_job_whose_client_has_disconnected_is_released_as_failed() {
    let twins = Twins::faulty([Fault::Slow]);
    twins.lose_releases(9);
    let service = service(&twins).await;
    let (reply, response) = oneshot::channel();

    let beginning = tokio::spawn(Arc::clone(&service).begin(request(), reply));
    until("a grant", || twins.items(LOCK).record.is_some()).await;
    drop(response);

    assert!(timeout(20 * LONG, beginning).await.is_ok());
    assert_eq!(twins.ends(LOCK), [RunOutcome::Failed]);
    assert_eq!(service.registry().open(), 0);
}

#[tokio::test]
async fn a_begin_that_panics_or_is_dropped_releases_its_capacity() {
    for (fault, panics) in [(Fault::Panics, true), (Fault::Hangs, false)] {
        let service = service(&Twins::faulty([fault])).await;
        let begun_on = Arc::clone(&service);

        let begun = tokio::spawn(async move { begin(&begun_on).await });
        sleep(Duration::from_millis(50)).await;
        begun.abort();

        assert_eq!(begun.await.unwrap_err().is_panic(), panics);
        assert!(timeout(LONG, service.stop()).await.is_ok());
    }
}
