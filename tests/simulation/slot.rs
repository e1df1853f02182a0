//! Ways for jobs to wait for each other.

use crate::engine::locked;
use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
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

/// One of several that are waited for.
pub(crate) type Branch<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// Waits until all have succeeded, or one has failed; the others are dropped then.
pub(crate) async fn all_or_first_failure<T, E>(
    mut all: Vec<Branch<'_, Result<T, E>>>,
) -> Result<Vec<T>, E> {
    let mut done: Vec<Option<T>> = all.iter().map(|_| None).collect();
    poll_fn(|context| {
        for (future, done) in all.iter_mut().zip(&mut done) {
            if done.is_none()
                && let Poll::Ready(end) = future.as_mut().poll(context)
            {
                match end {
                    Ok(value) => *done = Some(value),
                    Err(failure) => return Poll::Ready(Err(failure)),
                }
            }
        }
        if done.iter().any(Option::is_none) {
            return Poll::Pending;
        }
        Poll::Ready(Ok(done.iter_mut().filter_map(Option::take).collect()))
    })
    .await
}
