//! Ways for jobs to wait for each other.

use crate::engine::locked;
use std::future::{Future, poll_fn};
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::{Poll, Waker};

/// A value that one job waits for and another one puts there. The first value stays.
pub(crate) struct Slot<T>(Arc<Mutex<(Option<T>, Option<Waker>)>>);

impl<T> Clone for Slot<T> {
    fn clone(&self) -> Self {
        Self(Arc::clone(&self.0))
    }
}

impl<T: Clone> Slot<T> {
    pub(crate) fn new() -> Self {
        Self(Arc::new(Mutex::new((None, None))))
    }

    pub(crate) fn put(&self, value: T) {
        let mut inner = locked(&self.0);
        inner.0.get_or_insert(value);
        let waker = inner.1.take();
        drop(inner);
        waker.into_iter().for_each(Waker::wake);
    }

    pub(crate) async fn wait(&self) -> T {
        poll_fn(|context| {
            let mut inner = locked(&self.0);
            if let Some(value) = &inner.0 {
                return Poll::Ready(value.clone());
            }
            inner.1 = Some(context.waker().clone());
            Poll::Pending
        })
        .await
    }
}

/// Which of two came first.
pub(crate) enum First<A, B> {
    Left(A),
    Right(B),
}

/// Waits for one of two and drops the other.
pub(crate) async fn race<A, B>(
    left: impl Future<Output = A>,
    right: impl Future<Output = B>,
) -> First<A, B> {
    let (mut left, mut right) = (pin!(left), pin!(right));
    poll_fn(|context| {
        if let Poll::Ready(value) = left.as_mut().poll(context) {
            return Poll::Ready(First::Left(value));
        }
        right.as_mut().poll(context).map(First::Right)
    })
    .await
}

/// Waits until both have succeeded, or one has failed; the other one is dropped then.
pub(crate) async fn both<E>(
    left: impl Future<Output = Result<(), E>>,
    right: impl Future<Output = Result<(), E>>,
) -> Result<(), E> {
    let (mut left, mut right) = (pin!(left), pin!(right));
    let (mut left_done, mut right_done) = (false, false);
    poll_fn(|context| {
        if !left_done && let Poll::Ready(end) = left.as_mut().poll(context) {
            if end.is_err() {
                return Poll::Ready(end);
            }
            left_done = true;
        }
        if !right_done && let Poll::Ready(end) = right.as_mut().poll(context) {
            if end.is_err() {
                return Poll::Ready(end);
            }
            right_done = true;
        }
        if left_done && right_done {
            Poll::Ready(Ok(()))
        } else {
            Poll::Pending
        }
    })
    .await
}
