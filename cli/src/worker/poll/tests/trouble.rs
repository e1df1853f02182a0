//! What every message would meet.

use super::*;
use tokio::time::timeout;

fn denied() -> StoreError {
    StoreError::Denied("x".into())
}

#[tokio::test]
async fn a_table_that_refuses_the_worker_ends_it_before_its_first_receive() {
    let silent = StoreError::Unavailable("x".into());
    for looks in [vec![Err(denied())], vec![Err(silent), Err(denied())]] {
        let scene = begin(3, vec![], Notes::with_looks(looks));
        let queue = Arc::clone(&scene.queue);

        let ended = scene.ended.await.unwrap();

        assert_eq!(ended.unwrap_err(), Unusable::Table(denied()));
        assert!(queue.asked.lock().unwrap().is_empty());
    }
}

#[tokio::test]
async fn a_table_that_is_silent_at_first_is_waited_for_and_then_tried_with_one_message() {
    let silent = || Err(StoreError::Unavailable("x".into()));
    let work = Notes::with_looks(vec![silent(), silent(), silent()]);
    let scene = begin(3, vec![Ok(messages(1, "good"))], work);

    scene.until(|scene| !scene.asked().is_empty()).await;
    let looks_left = scene.work.looks_left();
    scene.until(|scene| scene.asked().len() == 2).await;

    assert_eq!((looks_left, scene.asked()), (0, vec![1, 2]));
}

#[tokio::test]
async fn a_table_that_refuses_the_worker_later_wears_no_message_out() {
    let work = Notes::with_looks(vec![Ok(()), Err(denied()), Err(denied())]);
    let answers = vec![Ok(messages(3, "trouble")), Ok(messages(1, "good"))];
    let scene = begin(3, answers, work);

    scene.until(|scene| scene.asked().len() == 3).await;
    let looks_left = scene.work.looks_left();

    assert_eq!((looks_left, scene.asked()), (0, vec![3, 1, 2]));
}

#[tokio::test]
async fn a_look_that_is_under_way_does_not_delay_the_end() {
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

    assert!(end.is_ok(), "it waited for the look");
    assert!(queue.asked.lock().unwrap().is_empty());
}

/// A loop with room for three that has met trouble, and has received one message after that.
async fn troubled(probe: &str) -> Scene {
    let answers = vec![Ok(messages(3, "trouble")), Ok(messages(1, probe))];
    let scene = begin(3, answers, Notes::default());
    scene.until(|scene| scene.work.count() == 4).await;
    scene
}

#[tokio::test]
async fn in_trouble_nothing_more_is_received_until_one_message_has_shown_how_it_fares() {
    let scene = troubled("slow trouble").await;
    scene.settled().await;
    let undecided = scene.asked();

    scene.work.trouble.notify_one();
    scene.until(|scene| scene.asked().len() == 3).await;

    assert_eq!((undecided, scene.asked()), (vec![3, 1], vec![3, 1, 1]));
}

#[tokio::test]
async fn a_message_that_begins_its_work_ends_trouble_long_before_it_is_done() {
    let scene = troubled("good").await;

    scene.until(|scene| scene.asked().len() == 3).await;

    assert_eq!(scene.asked(), [3, 1, 2]);
}

#[tokio::test]
async fn a_message_that_came_to_nothing_does_not_end_trouble() {
    for id in ["malformed", "panic"] {
        let scene = troubled(id).await;

        scene.until(|scene| scene.asked().len() == 3).await;

        assert_eq!(scene.asked(), [3, 1, 1], "{id}");
    }
}
