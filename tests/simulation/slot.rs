//! Ways for jobs to wait for each other.

use crate::engine::locked;
use std::future::{Future, poll_fn};
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
    tokio::select! {
        biased;
        value = left => First::Left(value),
        value = right => First::Right(value),
    }
}
