//! Calls of a twin that fail because a test says so.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Calls that shall fail, and with what.
#[derive(Debug)]
pub(crate) struct Faults<C, E>(Mutex<Vec<Fault<C, E>>>);

#[derive(Debug)]
struct Fault<C, E> {
    call: C,
    error: E,
    /// Whether it strikes once, or until it is healed.
    once: bool,
}

impl<C, E> Default for Faults<C, E> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

impl<C: PartialEq, E: Clone> Faults<C, E> {
    /// The next `call` fails.
    pub(crate) fn next(&self, call: C, error: E) {
        let once = true;
        lock(&self.0).push(Fault { call, error, once });
    }

    /// Every `call` fails from now on.
    pub(crate) fn every(&self, call: C, error: E) {
        let once = false;
        lock(&self.0).push(Fault { call, error, once });
    }

    /// Nothing fails from now on.
    pub(crate) fn heal(&self) {
        lock(&self.0).clear();
    }

    /// The fate of a `call` that is made now.
    pub(crate) fn strike(&self, call: &C) -> Result<(), E> {
        let mut faults = lock(&self.0);
        let Some(at) = faults.iter().position(|fault| fault.call == *call) else {
            return Ok(());
        };
        let error = faults[at].error.clone();
        if faults[at].once {
            faults.remove(at);
        }
        Err(error)
    }
}

/// What a twin keeps behind `mutex`, also after a test has panicked with it.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What a twin answers; it never waits.
#[cfg(test)]
pub(crate) fn now<T>(answer: impl Future<Output = T>) -> T {
    use std::task::{Context, Poll, Waker};
    match std::pin::pin!(answer).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer,
        Poll::Pending => panic!("a twin waits for nothing"),
    }
}
