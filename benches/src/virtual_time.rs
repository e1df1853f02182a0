//! Time that passes only while all work waits for it: thousands of starts at one instant, on any machine.

use lockstep::clock::{Clock, SystemClock};
use lockstep::domain::Timestamp;
use std::collections::BTreeMap;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

/// A clock that stands still while work can go on, and then moves to the end of the next wait.
///
/// What work does between two waits takes no time by it. Requests that block the thread are part of that work.
#[derive(Clone, Debug)]
pub struct VirtualTime {
    start: Timestamp,
    waits: Arc<Mutex<Waits>>,
}

#[derive(Debug, Default)]
struct Waits {
    now: Duration,
    /// By their end, those of the same end in the order in which they began.
    pending: BTreeMap<(Duration, u64), Waker>,
    begun: u64,
}

/// A wait. Dropped before its end it is forgotten.
#[derive(Debug)]
pub struct Wait {
    waits: Arc<Mutex<Waits>>,
    key: (Duration, u64),
}

impl Default for VirtualTime {
    fn default() -> Self {
        Self {
            start: SystemClock.now(),
            waits: Arc::default(),
        }
    }
}

impl VirtualTime {
    /// The time since the start.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        lock(&self.waits).now
    }

    /// Waits for `length`.
    #[must_use]
    pub fn wait(&self, length: Duration) -> Wait {
        let mut waits = lock(&self.waits);
        waits.begun += 1;
        let key = (waits.now + length, waits.begun);
        drop(waits);
        Wait {
            waits: Arc::clone(&self.waits),
            key,
        }
    }

    /// Does `work` to its end on this thread.
    ///
    /// # Panics
    /// When the work waits for something else than this clock.
    pub fn run<T>(&self, work: impl Future<Output = T>) -> T {
        // What has used up its budget of a tokio runtime would wait for that runtime, which waits for this loop.
        let mut work = pin!(tokio::task::unconstrained(work));
        let woken = Arc::new(Flag::default());
        let waker = Waker::from(Arc::clone(&woken));
        let mut context = Context::from_waker(&waker);
        loop {
            if let Poll::Ready(output) = work.as_mut().poll(&mut context) {
                return output;
            }
            if !woken.0.swap(false, Ordering::SeqCst) {
                self.advance();
            }
        }
    }

    /// Moves to the end of the next wait.
    fn advance(&self) {
        let mut waits = lock(&self.waits);
        let next = waits.pending.pop_first();
        let ((end, _), waker) = next.expect("work that waits for this clock");
        waits.now = end;
        drop(waits);
        waker.wake();
    }
}

impl Clock for VirtualTime {
    fn now(&self) -> Timestamp {
        let millis = u64::try_from(self.elapsed().as_millis()).unwrap_or(u64::MAX);
        Timestamp::from_millis(self.start.millis() + millis)
    }

    async fn sleep(&self, length: Duration) {
        self.wait(length).await;
    }
}

impl Future for Wait {
    type Output = ();

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let mut waits = lock(&self.waits);
        if waits.now >= self.key.0 {
            return Poll::Ready(());
        }
        waits.pending.insert(self.key, context.waker().clone());
        Poll::Pending
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        lock(&self.waits).pending.remove(&self.key);
    }
}

/// Whether something woke the work.
#[derive(Debug, Default)]
struct Flag(AtomicBool);

impl Wake for Flag {
    fn wake(self: Arc<Self>) {
        self.0.store(true, Ordering::SeqCst);
    }
}

fn lock(waits: &Mutex<Waits>) -> MutexGuard<'_, Waits> {
    waits.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use futures_util::future::join_all;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn waits_end_in_their_order_and_take_as_long_as_the_longest() {
        let time = VirtualTime::default();
        let ended = Mutex::new(Vec::new());
        let wait = async |seconds: u32| {
            time.wait(SECOND * seconds).await;
            ended.lock().unwrap().push(seconds);
        };

        time.run(join_all([3, 1, 2].map(wait)));

        assert_eq!(*ended.lock().unwrap(), [1, 2, 3]);
        assert_eq!(time.elapsed(), 3 * SECOND);
    }

    #[test]
    fn a_wait_that_is_dropped_does_not_move_the_clock() {
        let time = VirtualTime::default();

        let late = lockstep::clock::within(&time, 9 * SECOND, time.wait(SECOND));
        assert_eq!(time.run(late), Ok(()));
        time.run(time.wait(SECOND));

        assert_eq!(time.elapsed(), 2 * SECOND);
    }
}
