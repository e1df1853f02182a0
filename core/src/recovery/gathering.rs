//! Gathers the evidence about a holder and judges it, as a state machine without I/O: it yields read
//! requests and takes the answers.
//!
//! ```text
//!  describe the execution ─▶ its task ─▶ its work ─▶ its replacer ─▶ judge ─▶ verdict
//!                                                                  ▲   │
//!                       the execution would be stopped: ownership ─┤◀──┤
//!                       the permit would be freed: the history ────┘◀──┘
//! ```
//!
//! All evidence is gathered here. A [`Check`](super::Check) executes the action of the verdict. The acts
//! `show` and `evict` use the verdict too.

use super::{
    Action, CheckAnswer, Evidence, ExecutionObservation, Hint, Ownership, Request, Verdict,
    WorkObservation, judge, states, work_requests,
};
use crate::domain::{ExecutionArn, HolderId, Lease, LockKey, TaskArn, Timestamp, Waiter, WaiterId};
use std::collections::VecDeque;

/// The evidence about one holder while it is gathered.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Gathering {
    pub(super) lock: LockKey,
    pub(super) holder: HolderId,
    pub(super) lease: Lease,
    hint: Option<Hint>,
    pub(super) evidence: Evidence,
    /// The requests to send before the evidence is judged next.
    queue: VecDeque<Request>,
    /// Whether ownership has to be proven before the execution is stopped.
    proves: bool,
    /// Whether the history of the workflow that does the work was read.
    history_read: bool,
    /// The description of the execution as it was returned. `None` if the evidence for [`Verdict::next`]
    /// is not needed.
    described: Option<ExecutionObservation>,
    /// The replacer, as its execution was described, with its side item. `None` if the evidence for
    /// [`Verdict::next`] is not needed.
    replacer: Option<(ExecutionObservation, Waiter)>,
}

/// The next step of a [`Gathering`].
#[expect(
    clippy::large_enum_variant,
    reason = "there is one of them, for a moment"
)]
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Gathered {
    /// The next request. [`Gathering::learn`] takes its answer.
    Ask(Request),
    /// All evidence is gathered.
    Complete(Verdict),
}

impl Gathering {
    /// Starts to gather the evidence about `holder`, whose lease was read as `lease`. `hint` is the
    /// content of the event that caused the check.
    #[must_use]
    pub fn new(lock: LockKey, holder: HolderId, lease: Lease, hint: Option<Hint>) -> Self {
        let mut gathering = Self {
            lock,
            holder,
            lease,
            hint,
            evidence: Evidence::none(),
            queue: VecDeque::new(),
            proves: true,
            history_read: false,
            described: None,
            replacer: None,
        };
        gathering.restart();
        gathering
    }

    /// Also gathers the evidence for [`Verdict::next`], the action of a later check.
    #[must_use]
    pub fn with_evidence_for_next(self) -> Self {
        Self {
            described: Some(ExecutionObservation::NotOne),
            ..self
        }
    }

    /// Drops the gathered evidence, and starts again.
    ///
    /// The execution is described before its work is listed. An ended execution starts no further task,
    /// so a later list is complete except for the lag of ListTasks.
    pub(super) fn restart(&mut self) {
        let execution = ExecutionArn::of_holder(&self.holder);
        let task = TaskArn::of_holder(&self.holder);
        let replacer = self.lease.exit.replaced_by.as_ref();
        let replacer = replacer.filter(|_| execution.is_some());
        let waits = replacer.map(WaiterId::of);
        let replacer = replacer.and_then(ExecutionArn::of_holder);
        let of_replacer = [
            replacer.map(Request::DescribeExecution),
            waits.map(Request::LoadWaiter),
        ];
        let own = [
            execution.map(Request::DescribeExecution),
            task.map(Request::DescribeTask),
        ];
        self.history_read = false;
        self.evidence = Evidence::none();
        self.evidence.work = WorkObservation::before_requests(&self.lease);
        self.queue = own
            .into_iter()
            .flatten()
            .chain(work_requests(&self.lock, &self.holder, &self.lease))
            .chain(of_replacer.into_iter().flatten())
            .collect();
    }

    /// Starts again after the calls that stop the holder, without another request for ownership.
    pub(super) fn restart_after_stop(&mut self) {
        self.proves = false;
        self.restart();
    }

    /// Returns the next request, or the verdict if no evidence is missing.
    pub fn next(&mut self, now: Timestamp) -> Gathered {
        if let Some(request) = self.queue.pop_front() {
            return Gathered::Ask(request);
        }
        if let Some(hint) = &self.hint {
            self.evidence.correct(hint, &self.lease, now);
        }
        let doubted = self.evidence.doubt(&self.lease, now);
        let described = self.described.as_ref();
        let verdict = Verdict {
            judged_at: now,
            lease: self.lease.clone(),
            described: described.unwrap_or(&self.evidence.execution).clone(),
            evidence: self.evidence.clone(),
            replacer: self.replacer.clone(),
            doubted,
            action: judge(&self.lease, &self.evidence, now),
        };
        let missing = match self.described {
            Some(_) => verdict.next().and_then(|next| self.missing(&next.action)),
            None => self.missing(&verdict.action),
        };
        match missing {
            Some(request) => Gathered::Ask(request),
            None => Gathered::Complete(verdict),
        }
    }

    /// Returns the request for evidence that only `action` needs; `None` if there is none or it was sent
    /// before.
    fn missing(&self, action: &Action) -> Option<Request> {
        let execution = ExecutionArn::of_holder(&self.holder)?;
        let stops = matches!(
            action,
            Action::Stop {
                execution: true,
                ..
            }
        );
        let is_unproven = self.proves && self.evidence.ownership == Ownership::NotAsked;
        if stops && is_unproven {
            return Some(Request::ProveOwnership(execution));
        }
        let unread = states::unread(&execution, &self.lease, &self.evidence, action);
        unread
            .filter(|_| !self.history_read)
            .map(Request::FindStarted)
    }

    /// Takes the answer to the last request.
    pub fn learn(&mut self, answer: CheckAnswer, now: Timestamp) {
        let evidence = &mut self.evidence;
        match answer {
            // The first description is that of the holder's own execution.
            CheckAnswer::Execution(observed)
                if evidence.execution == ExecutionObservation::NotOne =>
            {
                self.described = self.described.take().map(|_| observed.clone());
                evidence.execution = observed;
            }
            CheckAnswer::Execution(observed) => evidence.replacer = observed,
            CheckAnswer::Task(observed) => evidence.task = observed,
            // The tasks that the workflow that did the work may have left. If none of them runs, the end
            // of that workflow counts.
            CheckAnswer::Work(WorkObservation::States(left))
                if matches!(evidence.work, WorkObservation::Execution(_)) =>
            {
                self.history_read = true;
                if left.iter().flatten().any(|task| !task.stopped) {
                    evidence.work = WorkObservation::States(left);
                }
            }
            CheckAnswer::Work(observed) => {
                // This attempt is known, so the earlier attempts had ended and need not be described.
                if observed != WorkObservation::Execution(None) {
                    let is_earlier =
                        |request: &Request| matches!(request, Request::DescribeWork(_));
                    self.queue.retain(|request| !is_earlier(request));
                }
                evidence.work = observed;
            }
            CheckAnswer::Ownership(ownership) => evidence.ownership = ownership,
            CheckAnswer::Waiter(Some(waiter)) => {
                let seen = evidence.replacer.clone();
                evidence.register(&waiter, now);
                // Only the evidence for the next action is judged at another time.
                self.replacer = self.described.as_ref().map(|_| (seen, waiter));
            }
            _ => {}
        }
    }
}
