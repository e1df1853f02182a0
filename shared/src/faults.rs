//! Failures that tests inject into the services in memory.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The injected failures: the calls that fail, each with its error.
#[derive(Debug)]
pub(crate) struct Faults<C, E> {
    faults: Mutex<Vec<Fault<C, E>>>,
    /// Whether no call gets a response.
    is_silent: AtomicBool,
}

#[derive(Debug)]
struct Fault<C, E> {
    call: C,
    error: E,
    /// Whether only the next call fails, or every call until [`Faults::heal`].
    once: bool,
}

impl<C, E> Default for Faults<C, E> {
    fn default() -> Self {
        Self {
            faults: Mutex::default(),
            is_silent: AtomicBool::new(false),
        }
    }
}

impl<C: PartialEq, E: Clone> Faults<C, E> {
    /// Makes the next `call` fail with `error`.
    pub(crate) fn next(&self, call: C, error: E) {
        let once = true;
        lock(&self.faults).push(Fault { call, error, once });
    }

    /// Makes every `call` from now on fail with `error`.
    pub(crate) fn every(&self, call: C, error: E) {
        let once = false;
        lock(&self.faults).push(Fault { call, error, once });
    }

    /// Leaves every call from now on without a response.
    pub(crate) fn silence(&self) {
        self.is_silent.store(true, Ordering::SeqCst);
    }

    /// Removes all failures.
    pub(crate) fn heal(&self) {
        lock(&self.faults).clear();
        self.is_silent.store(false, Ordering::SeqCst);
    }

    /// Returns the error of a `call` that is made now, if one is injected.
    pub(crate) async fn strike(&self, call: &C) -> Result<(), E> {
        if self.is_silent.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
        let mut faults = lock(&self.faults);
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

/// Locks `mutex`, also if a test has panicked while it held the lock.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
