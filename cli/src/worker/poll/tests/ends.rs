//! The end of the loop.

use super::*;

#[tokio::test]
async fn commands_may_finish_after_the_signal_and_messages_that_arrive_late_are_given_back() {
    let scene = begin(2, vec![Ok(messages(1, "early"))], Notes::default());
    scene.until(|scene| scene.asked().len() == 2).await;

    scene.signals.send(Signal::SIGTERM).unwrap();
    tokio::task::yield_now().await;
    scene.queue.empty.notify_one();
    scene
        .until(|scene| !scene.work.given_back.lock().unwrap().is_empty())
        .await;
    scene.work.go.notify_one();
    let (begun, back) = (scene.work.clone(), scene.work.clone());
    let tally = scene.end().await;

    assert_eq!(*begun.begun.lock().unwrap(), ["early"]);
    assert_eq!(*back.given_back.lock().unwrap(), ["late"]);
    assert_eq!(
        (tally.of(Kind::Succeeded), tally.of(Kind::GivenBack)),
        (1, 1)
    );
}

#[tokio::test]
async fn commands_that_do_not_finish_are_stopped_within_the_grace_without_waiting_for_a_receive() {
    let scene = begin(2, vec![Ok(messages(1, "slow"))], Notes::default());
    scene.until(|scene| scene.asked().len() == 2).await;

    scene.signals.send(Signal::SIGTERM).unwrap();
    let tally = scene.end().await;

    assert_eq!(tally.of(Kind::GivenBack), 1);
}

#[tokio::test]
async fn a_second_signal_stops_commands_at_once() {
    let scene = begin(1, vec![Ok(messages(1, "slow"))], Notes::default());
    scene.until(|scene| scene.work.count() == 1).await;

    scene.signals.send(Signal::SIGTERM).unwrap();
    scene.signals.send(Signal::SIGINT).unwrap();
    let (signal, tally) = scene.ended.await.unwrap().unwrap();

    assert_eq!((signal, tally.of(Kind::GivenBack)), (Signal::SIGTERM, 1));
}
