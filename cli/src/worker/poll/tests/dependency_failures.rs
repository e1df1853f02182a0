//! Failures of the dependencies that all messages share.

use super::*;
use tokio::time::timeout;

fn denied() -> StoreError {
    StoreError::Denied("x".into())
}

#[tokio::test]
async fn a_table_that_denies_access_ends_the_worker_before_its_first_receive() {
    let silent = StoreError::Unavailable("x".into());
    for probes in [vec![Err(denied())], vec![Err(silent), Err(denied())]] {
        let scene = begin(3, vec![], Notes::with_probes(probes));
        let queue = Arc::clone(&scene.queue);

        let ended = scene.ended.await.unwrap();

        assert_eq!(ended.unwrap_err(), Unusable::Table(denied()));
        assert!(queue.asked.lock().unwrap().is_empty());
    }
}

#[tokio::test]
async fn after_a_table_without_an_answer_at_first_one_message_is_received() {
    let silent = || Err(StoreError::Unavailable("x".into()));
    let work = Notes::with_probes(vec![silent(), silent(), silent()]);
    let scene = begin(3, vec![Ok(messages(1, "good"))], work);

    scene.until(|scene| !scene.asked().is_empty()).await;
    let probes_left = scene.work.probes_left();
    scene.until(|scene| scene.asked().len() == 2).await;

    assert_eq!((probes_left, scene.asked()), (0, vec![1, 2]));
}

#[tokio::test]
async fn a_table_that_denies_access_later_uses_up_no_receives() {
    let work = Notes::with_probes(vec![Ok(()), Err(denied()), Err(denied())]);
    let answers = vec![Ok(messages(3, "failing")), Ok(messages(1, "good"))];
    let scene = begin(3, answers, work);

    scene.until(|scene| scene.asked().len() == 3).await;
    let probes_left = scene.work.probes_left();

    assert_eq!((probes_left, scene.asked()), (0, vec![3, 1, 2]));
}

#[tokio::test]
async fn a_pending_probe_does_not_delay_the_shutdown() {
    let is_silent = true;
    let work = Notes {
        is_silent,
        ..Notes::default()
    };
    let scene = begin(3, vec![], work);
    scene.settled().await;

    scene.signals.send(Signal::SIGTERM).unwrap();
    let queue = Arc::clone(&scene.queue);
    let end = timeout(Duration::from_secs(1), scene.end()).await;

    assert!(end.is_ok(), "it waited for the probe");
    assert!(queue.asked.lock().unwrap().is_empty());
}

/// A loop with room for three messages that has failed, and has received one message after that.
async fn half_open(id: &str) -> Scene {
    let answers = vec![Ok(messages(3, "failing")), Ok(messages(1, id))];
    let scene = begin(3, answers, Notes::default());
    scene.until(|scene| scene.work.count() == 4).await;
    scene
}

#[tokio::test]
async fn a_half_open_breaker_receives_nothing_more_until_the_health_signal_of_its_message() {
    let scene = half_open("slow failing").await;
    scene.settled().await;
    let undecided = scene.asked();

    scene.work.fail.notify_one();
    scene.until(|scene| scene.asked().len() == 3).await;

    assert_eq!((undecided, scene.asked()), (vec![3, 1], vec![3, 1, 1]));
}

#[tokio::test]
async fn a_message_whose_work_begins_closes_the_breaker_before_it_is_done() {
    let scene = half_open("good").await;

    scene.until(|scene| scene.asked().len() == 3).await;

    assert_eq!(scene.asked(), [3, 1, 2]);
}

#[tokio::test]
async fn a_message_without_a_health_signal_does_not_close_the_breaker() {
    for id in ["malformed", "panic"] {
        let scene = half_open(id).await;

        scene.until(|scene| scene.asked().len() == 3).await;

        assert_eq!(scene.asked(), [3, 1, 1], "{id}");
    }
}
