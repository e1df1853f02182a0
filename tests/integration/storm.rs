//! Hundreds of clients at once on one lock with a queue, with the machine's own clock.

mod crowd;
mod tally;

use crate::fixture::{acquire, holder, place, wait};
use crowd::{Crowd, Stay};
use lockstep::clock::{Clock, SystemClock};
use lockstep::domain::{Acquire, Permits, Refusal, WhenFull};
use lockstep::protocol::ProtocolError;

const CLIENTS: usize = 500;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_storm_of_500_on_one_permit_is_served_in_order_and_none_is_lost() {
    let crowd = Crowd::new("storm", 1, CLIENTS).await;
    let begin = SystemClock.now();

    let stays = crowd.storm(CLIENTS).await;

    assert_served(&stays, CLIENTS, 1);
    crowd.assert_idle().await;
    let most = crowd.tally.print("storm of 500 on 1 permit", begin);
    assert!(most <= 4, "{most} requests of one client");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_permits_are_never_held_by_more_than_three_of_60() {
    let crowd = Crowd::new("semaphore", 3, 60).await;
    let begin = SystemClock.now();

    let stays = crowd.storm(60).await;

    assert_served(&stays, 60, 3);
    crowd.assert_idle().await;
    let most = crowd.tally.print("storm of 60 on 3 permits", begin);
    assert!(most <= 4, "{most} requests of one client");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_501st_waiter_is_refused_because_the_queue_is_full() {
    let crowd = Crowd::new("full", 1, CLIENTS).await;
    crowd.hold("first").await;

    let answers = crowd.together(CLIENTS, |name| queue(name, CLIENTS)).await;
    let one_more = crowd.ask(&queue("one-more", CLIENTS)).await;

    let position = |answer: crowd::Answer| place(&answer.unwrap().outcome).0;
    let mut positions: Vec<_> = answers.into_iter().map(position).collect();
    positions.sort_unstable();
    assert_eq!(positions, (1..=CLIENTS).collect::<Vec<_>>());
    let Err(ProtocolError::Refused(Refusal::QueueFull {
        most,
        waiting,
        holders,
    })) = one_more
    else {
        panic!("{one_more:?}");
    };
    assert_eq!((most, waiting), (CLIENTS, CLIENTS));
    assert_eq!(holders[0].0, holder("first"));
    assert_eq!(crowd.record().await.queue.len(), CLIENTS);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_500_that_skip_one_is_granted() {
    let crowd = Crowd::new("skip", 1, CLIENTS).await;

    let answers = crowd.together(CLIENTS, acquire).await;

    let (granted, refused): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
    assert_eq!(granted.len(), 1);
    for answer in refused {
        let held = matches!(answer, Err(ProtocolError::Refused(Refusal::Held { .. })));
        assert!(held, "{answer:?}");
    }
    assert_eq!(crowd.record().await.holders.len(), 1);
}

/// Asserts that every client was granted a permit once, never more than `permits` at a time, in the
/// order of the tickets.
fn assert_served(stays: &[Stay], clients: usize, permits: usize) {
    assert_eq!(stays.len(), clients, "each is served once");
    let most = stays.iter().map(|stay| stay.inside).max();
    assert!(most <= Some(permits), "{most:?} were in at a time");
    let mut by_token: Vec<_> = stays.iter().collect();
    by_token.sort_by_key(|stay| stay.token);
    let grows = by_token
        .windows(2)
        .all(|pair| pair[0].token < pair[1].token);
    assert!(grows, "no two grants share a fencing token");
    let tickets: Vec<_> = by_token.iter().filter_map(|stay| stay.ticket).collect();
    assert!(tickets.is_sorted(), "first come, first served: {tickets:?}");
    println!("{} of {clients} waited for their turn", tickets.len());
    assert!(tickets.len() > clients / 2);
}

fn queue(name: &str, most: usize) -> Acquire {
    Acquire {
        when_full: WhenFull::Queue { most },
        ..wait(name)
    }
}

/// Returns the same request for a lock with several permits.
fn of_permits(mut acquire: Acquire, permits: usize) -> Acquire {
    let permits = i64::try_from(permits).unwrap();
    acquire.terms.permits = Permits::new(permits).unwrap();
    acquire
}
