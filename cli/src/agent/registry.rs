//! The jobs that were begun here: which may go on, until when, and what became of them. Pure.

use super::job::{Ending, Job, Phase, Terms};
use crate::platform::clock::Instant;
use lockstep::contract::Grant;
use std::collections::{HashMap, VecDeque};

mod capacity;

pub(super) use capacity::{Capacity, NoRoom, OPEN_MAX};

/// How many jobs that are over are remembered for whoever asks again.
const KEPT: usize = 1_000;

/// What a beat comes to.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Beat {
    /// The lease was renewed a moment ago, until then.
    Fresh(String),
    /// The table has to be asked, and told of the progress.
    Renew(Grant, Option<String>),
    /// The job must not go on.
    Over(Phase),
    /// There is no such job.
    Unknown,
}

/// The jobs that were begun here, by their ids.
#[derive(Debug)]
pub(super) struct JobRegistry<P> {
    jobs: HashMap<String, Job<P>>,
    /// Those that are closed, the oldest first.
    closed: VecDeque<String>,
    /// Those that are not open: not yet, or perhaps.
    pub(super) places: Capacity,
}

impl<P> Default for JobRegistry<P> {
    fn default() -> Self {
        Self {
            jobs: HashMap::new(),
            closed: VecDeque::new(),
            places: Capacity::default(),
        }
    }
}

impl<P> JobRegistry<P> {
    /// Keeps a place for a job that is being begun.
    ///
    /// # Errors
    /// [`NoRoom`].
    pub(super) fn reserve(&mut self) -> Result<(), NoRoom> {
        self.places.reserve(self.open())
    }

    /// A job has its permit, by a request that was sent at `sent`. `kept` is dropped when it is
    /// over.
    pub(super) fn begun(
        &mut self,
        id: String,
        terms: Terms,
        at: (Instant, String),
        kept: P,
    ) -> &Job<P> {
        self.places.left();
        let (sent, expires_at) = at;
        let job = Job::begun(terms, sent, expires_at, kept);
        self.jobs.entry(id).insert_entry(job).into_mut()
    }

    /// Its program is at work, and has come so far.
    ///
    /// A beat that comes soon after a renewal costs no request, unless it has news.
    pub(super) fn beat(&mut self, id: &str, progress: Option<&str>, now: Instant) -> Beat {
        let Some(job) = self.jobs.get_mut(id) else {
            return Beat::Unknown;
        };
        if job.phase != Phase::Open {
            return Beat::Over(job.phase.clone());
        }
        if let Some(progress) = progress
            && job.progress.as_deref() != Some(progress)
        {
            job.progress = Some(progress.to_owned());
            job.stalls = job.terms.no_progress.map(|most| now + most);
        }
        let fresh = now < job.sent + job.terms.times.length / 6;
        if fresh && job.progress == job.written {
            Beat::Fresh(job.expires_at.clone())
        } else {
            Beat::Renew(job.terms.grant.clone(), job.progress.clone())
        }
    }

    /// The lease was renewed by a request that was sent at `sent` and brought `progress`.
    pub(super) fn renewed(
        &mut self,
        id: &str,
        at: (Instant, String),
        progress: Option<String>,
    ) -> Option<&Phase> {
        let job = self.jobs.get_mut(id)?;
        let (sent, expires_at) = at;
        // What was told to stop stays told: its program may be half-way down.
        if job.phase == Phase::Open && sent > job.sent {
            (job.sent, job.expires_at) = (sent, expires_at);
            job.written = progress.or(job.written.take());
        }
        Some(&job.phase)
    }

    /// The table says that the job must not go on.
    pub(super) fn lost(&mut self, id: &str, why: &str) {
        if let Some(job) = self.jobs.get_mut(id)
            && job.phase == Phase::Open
        {
            job.phase = Phase::Lost(why.to_owned());
        }
    }

    /// Its program has ended it. The first end stays; it is the one that comes back.
    pub(super) fn ended(&mut self, id: &str, ending: Ending) -> Option<Ending> {
        let job = self.jobs.get_mut(id)?;
        if let Phase::Ended(first) = &job.phase {
            return Some(first.clone());
        }
        job.phase = Phase::Ended(ending.clone());
        self.close(id);
        Some(ending)
    }

    /// Takes note of what became of the jobs by `now`: those whose time is over are lost, and are
    /// told so while there is time to stop. When the lease is over too, nothing is kept for them
    /// any more. Comes back with the grants of those that were lost just now, and why.
    pub(super) fn tick(&mut self, now: Instant) -> Vec<(Grant, &'static str)> {
        let mut lost = Vec::new();
        let mut over = Vec::new();
        for (id, job) in &mut self.jobs {
            if job.phase == Phase::Open
                && let Some(why) = job.spent(now)
            {
                job.phase = Phase::Lost(why.to_owned());
                lost.push((job.terms.grant.clone(), why));
            }
            if !job.closed && job.phase != Phase::Open && job.ends() <= now {
                over.push(id.clone());
            }
        }
        for id in over {
            self.close(&id);
        }
        lost
    }

    fn close(&mut self, id: &str) {
        if let Some(job) = self.jobs.get_mut(id) {
            job.kept = None;
            if !job.closed {
                job.closed = true;
                self.closed.push_back(id.to_owned());
            }
        }
        while self.closed.len() > KEPT {
            let oldest = self.closed.pop_front();
            oldest.and_then(|id| self.jobs.remove(&id));
        }
    }

    /// When [`Self::tick`] has to be called next.
    pub(super) fn next(&self) -> Option<Instant> {
        self.jobs.values().filter_map(Job::next).min()
    }

    /// The job of that id.
    pub(super) fn look(&self, id: &str) -> Option<&Job<P>> {
        self.jobs.get(id)
    }

    /// The jobs that are not over, the oldest grant first.
    pub(super) fn unfinished(&self) -> Vec<(&str, &Job<P>)> {
        let jobs = self.jobs.iter().filter(|(_, job)| !job.closed);
        let mut jobs: Vec<_> = jobs.map(|(id, job)| (id.as_str(), job)).collect();
        jobs.sort_by_key(|(_, job)| job.terms.grant.token);
        jobs
    }

    /// How many jobs are not over.
    pub(super) fn open(&self) -> usize {
        self.jobs.len() - self.closed.len()
    }
}

#[cfg(test)]
mod tests;
