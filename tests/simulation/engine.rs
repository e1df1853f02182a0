//! A single-threaded executor on virtual time, and ways for its jobs to wait for each other.

use std::collections::BTreeMap;
use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Wake, Waker};

/// Names a job; never used twice.
pub(crate) type JobId = u64;

type Job = Pin<Box<dyn Future<Output = ()> + Send>>;

/// The executor.
pub(crate) struct Engine {
    inner: Mutex<Inner>,
    woken: Arc<Mutex<Vec<JobId>>>,
}

#[derive(Default)]
struct Inner {
    now: u64,
    next: u64,
    /// `None` while it is being polled.
    jobs: BTreeMap<JobId, Option<Job>>,
    timers: BTreeMap<(u64, u64), Waker>,
}

struct Wakeup {
    job: JobId,
    woken: Arc<Mutex<Vec<JobId>>>,
}

impl Wake for Wakeup {
    fn wake(self: Arc<Self>) {
        let mut woken = locked(&self.woken);
        if !woken.contains(&self.job) {
            woken.push(self.job);
        }
    }
}

impl Engine {
    pub(crate) fn starting_at(now: u64) -> Self {
        let inner = Inner {
            now,
            ..Inner::default()
        };
        Self {
            inner: Mutex::new(inner),
            woken: Arc::default(),
        }
    }

    /// Returns the true time, in milliseconds since 1970.
    pub(crate) fn now(&self) -> u64 {
        locked(&self.inner).now
    }

    /// Starts a job. It first runs when the job that started it pauses.
    pub(crate) fn spawn(&self, job: impl Future<Output = ()> + Send + 'static) -> JobId {
        let mut inner = locked(&self.inner);
        inner.next += 1;
        let id = inner.next;
        inner.jobs.insert(id, Some(Box::pin(job)));
        locked(&self.woken).push(id);
        id
    }

    /// Ends a job at its present point, as a crash does. A job that has ended stays so.
    pub(crate) fn kill(&self, id: JobId) {
        // What the job held is dropped outside of the lock, because it may hold timers.
        let job = locked(&self.inner).jobs.remove(&id);
        drop(job);
    }

    /// Ends all jobs, because they hold the world that holds them.
    pub(crate) fn end(&self) {
        let jobs = std::mem::take(&mut locked(&self.inner).jobs);
        drop(jobs);
    }

    /// Waits for `millis` of virtual time.
    pub(crate) fn sleep(&self, millis: u64) -> Sleep<'_> {
        let end = self.now() + millis;
        Sleep {
            engine: self,
            end,
            timer: None,
        }
    }

    /// Runs until `end`, until no job is left to run, or until `stop` returns true. `pick` chooses
    /// one of the ready jobs, whose number it gets.
    pub(crate) fn run(&self, end: u64, pick: impl Fn(usize) -> usize, stop: impl Fn() -> bool) {
        while !stop() {
            let ready = locked(&self.woken).len();
            if ready > 0 {
                let id = locked(&self.woken).swap_remove(pick(ready));
                self.poll(id);
            } else if !self.jump(end) {
                return;
            }
        }
    }

    fn poll(&self, id: JobId) {
        let Some(mut job) = locked(&self.inner).jobs.get_mut(&id).and_then(Option::take) else {
            return;
        };
        let wakeup = Wakeup {
            job: id,
            woken: Arc::clone(&self.woken),
        };
        let waker = Waker::from(Arc::new(wakeup));
        let state = job.as_mut().poll(&mut Context::from_waker(&waker));
        let mut inner = locked(&self.inner);
        if state.is_ready() {
            inner.jobs.remove(&id);
        } else if let Some(place) = inner.jobs.get_mut(&id) {
            *place = Some(job);
            return;
        }
        drop(inner);
        drop(job);
    }

    /// Moves time to the next timer. Returns `false` if there is none up to `end`.
    fn jump(&self, end: u64) -> bool {
        let mut inner = locked(&self.inner);
        let next = inner.timers.first_key_value().map(|((at, _), _)| *at);
        let Some(at) = next.filter(|at| *at <= end) else {
            return false;
        };
        inner.now = inner.now.max(at);
        let later = inner.timers.split_off(&(at + 1, 0));
        let due = std::mem::replace(&mut inner.timers, later);
        drop(inner);
        due.into_values().for_each(Waker::wake);
        true
    }
}

/// A future that is ready at a point of virtual time.
pub(crate) struct Sleep<'a> {
    engine: &'a Engine,
    end: u64,
    timer: Option<(u64, u64)>,
}

impl Future for Sleep<'_> {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        let (engine, end, old) = (self.engine, self.end, self.timer);
        let mut inner = locked(&engine.inner);
        if inner.now >= end {
            return Poll::Ready(());
        }
        inner.next += 1;
        let timer = old.unwrap_or((end, inner.next));
        inner.timers.insert(timer, context.waker().clone());
        drop(inner);
        self.timer = Some(timer);
        Poll::Pending
    }
}

impl Drop for Sleep<'_> {
    fn drop(&mut self) {
        if let Some(timer) = self.timer {
            locked(&self.engine.inner).timers.remove(&timer);
        }
    }
}

/// Returns the value behind `mutex`, also after a panic: the failure is then shown with what there
/// is.
pub(crate) fn locked<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A value that one job puts and another one waits for. The first value stays.
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

/// Which of two futures was ready first.
pub(crate) enum First<A, B> {
    Left(A),
    Right(B),
}

/// Waits for the first of two futures, and drops the other.
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
