//! The jobs that this agent began: which may go on, until when, and how they ended. Pure: the caller passes
//! the time.
//!
//! Deadlines count from when a renewal was sent. A job is lost `--grace` before the end of its lease, at most
//! a third of the lease, so that there is time to stop its work: others may take over the lock only after the
//! end of the lease.
//!
//! The id of a job is a secret of the client that began it. Lists do not contain it, so a process that only
//! reads cannot end the job of another.

use super::job::{Job, JobEnd, Phase};
use crate::lease::timing::LeaseTiming;
use crate::platform::clock::Instant;
use lockstep::contract::Grant;
use std::collections::{HashMap, VecDeque};

mod capacity;

pub(super) use capacity::{BeginRefused, Capacity, OPEN_MAX};

/// How many closed jobs are kept to answer later requests.
const CLOSED_MAX: usize = 1_000;

/// The effect of a beat.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Beat {
    /// The lease was renewed less than a sixth of its length ago, and lasts until this time.
    Fresh(String),
    /// The lease of this grant has to be renewed in the lock table, with these times and this progress.
    Renew(Grant, LeaseTiming, Option<String>),
    /// The job must stop.
    Over(Phase),
    /// There is no such job.
    Unknown,
}

/// The jobs that this agent began, by id.
#[derive(Debug)]
pub(super) struct JobRegistry<P> {
    jobs: HashMap<String, Job<P>>,
    /// The ids of closed jobs, the oldest first.
    closed: VecDeque<String>,
    /// The limit on open jobs, and the jobs that count towards it before they are open.
    pub(super) capacity: Capacity,
}

impl<P> Default for JobRegistry<P> {
    fn default() -> Self {
        Self {
            jobs: HashMap::new(),
            closed: VecDeque::new(),
            capacity: Capacity::default(),
        }
    }
}

impl<P> JobRegistry<P> {
    /// Reserves capacity for a job that is being begun.
    ///
    /// # Errors
    /// [`BeginRefused`].
    pub(super) fn reserve(&mut self) -> Result<(), BeginRefused> {
        self.capacity.reserve(self.open())
    }

    /// Adds an open job, for which capacity was reserved. Its guard is dropped when it closes.
    pub(super) fn begun(&mut self, id: String, job: Job<P>) {
        self.capacity.begin_finished();
        self.jobs.insert(id, job);
    }

    /// Records a beat and its progress.
    ///
    /// A beat within a sixth of the lease after a renewal sends no request, unless its progress is new.
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
            job.progress_deadline = job.no_progress.map(|most| now + most);
        }
        let fresh = now < job.held.sent + job.held.length() / 6;
        if fresh && job.progress == job.written {
            Beat::Fresh(job.expires_at.clone())
        } else {
            // Progress that the table already has is not sent again, because that costs a second write.
            let news = (job.progress != job.written).then(|| job.progress.clone());
            Beat::Renew(job.held.grant.clone(), job.held.times, news.flatten())
        }
    }

    /// Records a renewal, `at` the time when its request was sent and with the new end of the lease. The
    /// request has written `progress`. Returns the state of the job.
    pub(super) fn renewed(
        &mut self,
        id: &str,
        at: (Instant, String),
        progress: Option<String>,
    ) -> Option<&Phase> {
        let job = self.jobs.get_mut(id)?;
        let (sent, expires_at) = at;
        // A lost job stays lost, because its program may already be stopping it. The response to an earlier
        // beat that comes after that to a later beat must not move the lease back.
        if job.phase == Phase::Open && sent > job.held.sent {
            (job.held.sent, job.expires_at) = (sent, expires_at);
            job.written = progress.or(job.written.take());
        }
        Some(&job.phase)
    }

    /// Records that an open job has lost its lease.
    pub(super) fn lost(&mut self, id: &str, reason: &str) {
        if let Some(job) = self.jobs.get_mut(id)
            && job.phase == Phase::Open
        {
            job.phase = Phase::Lost(reason.to_owned());
        }
    }

    /// Records the end of a job. The first end counts, and is returned each time.
    pub(super) fn ended(&mut self, id: &str, end: JobEnd) -> Option<JobEnd> {
        let job = self.jobs.get_mut(id)?;
        if let Phase::Ended(first) = &job.phase {
            return Some(first.clone());
        }
        job.phase = Phase::Ended(end.clone());
        self.close(id);
        Some(end)
    }

    /// Advances the jobs to `now`:
    /// - An open job past one of its deadlines is lost.
    /// - A lost or ended job whose lease has expired closes.
    ///
    /// Returns the grants of the jobs that this call has found lost, with the reasons.
    pub(super) fn tick(&mut self, now: Instant) -> Vec<(Grant, &'static str)> {
        let mut lost = Vec::new();
        let mut expired = Vec::new();
        for (id, job) in &mut self.jobs {
            if job.phase == Phase::Open
                && let Some(reason) = job.lost_reason(now)
            {
                job.phase = Phase::Lost(reason.to_owned());
                lost.push((job.held.grant.clone(), reason));
            }
            if !job.closed && job.phase != Phase::Open && job.lease_end() <= now {
                expired.push(id.clone());
            }
        }
        for id in expired {
            self.close(&id);
        }
        lost
    }

    fn close(&mut self, id: &str) {
        if let Some(job) = self.jobs.get_mut(id) {
            job.guard = None;
            if !job.closed {
                job.closed = true;
                self.closed.push_back(id.to_owned());
            }
        }
        // A program may repeat a request after its job has closed. It gets the same answer while the job is
        // among the last 1,000 closed jobs.
        while self.closed.len() > CLOSED_MAX {
            let oldest = self.closed.pop_front();
            oldest.and_then(|id| self.jobs.remove(&id));
        }
    }

    /// Returns when [`Self::tick`] has to be called next.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.jobs.values().filter_map(Job::next_deadline).min()
    }

    /// Returns the job with that id.
    pub(super) fn get(&self, id: &str) -> Option<&Job<P>> {
        self.jobs.get(id)
    }

    /// Returns the jobs that are not closed, the oldest grant first.
    pub(super) fn unfinished(&self) -> Vec<(&str, &Job<P>)> {
        let jobs = self.jobs.iter().filter(|(_, job)| !job.closed);
        let mut jobs: Vec<_> = jobs.map(|(id, job)| (id.as_str(), job)).collect();
        jobs.sort_by_key(|(_, job)| job.held.grant.token);
        jobs
    }

    /// Returns how many jobs are not closed.
    pub(super) fn open(&self) -> usize {
        self.jobs.len() - self.closed.len()
    }
}

#[cfg(test)]
mod tests;
