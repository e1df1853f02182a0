//! Clauses, assignments and records that together cover every case of each.

use super::samples::{
    at, full_lease, held, holder, lease, permits, run_key, task_token, ticket, token, waited,
    waiter_id, workflow,
};
use crate::domain::{
    Assign, Call, Clause, Lease, LockRecord, Mode, Pace, Seconds, StalePolicy, Timestamp, Work,
};

/// Returns records on which, together, every clause of [`clauses`] holds and fails.
pub(super) fn records() -> Vec<LockRecord> {
    let mut full = held();
    full.holders.insert(holder("b"), full_lease(999));
    let note = "upgrade".into();
    full.gate.mode = Mode::Paused { note, until: None };
    let mut frozen = waited();
    frozen.gate.mode = Mode::Frozen { note: "".into() };
    frozen.gate.not_before = at(80_000);
    let mut called = held();
    let mut lease = lease(1000);
    lease.call = call(None, 50);
    called.holders.insert(holder("a"), lease);
    called.due = None;
    let new = LockRecord::new(permits(1));
    // One pause has expired at the time of most clauses, the other has not.
    let paused = [at(1), at(90_000_000)].map(|end| {
        let mut paused = held();
        let until = Some(end);
        paused.gate.mode = Mode::Paused {
            note: "".into(),
            until,
        };
        paused.permits = permits(2);
        paused
    });
    let mut records = vec![new, held(), full, waited(), frozen, called];
    records.extend(paused);
    records
}

/// Returns every clause except `Absent` and `Readable`, which have their own cases.
pub(super) fn clauses() -> Vec<Clause> {
    let mut clauses = vec![
        // This clause is first, because each write changes the version.
        Clause::VersionIs(7),
        Clause::Open,
        Clause::NotFrozen,
        Clause::NoPauseEnd,
        Clause::PermitsAre(permits(1)),
        Clause::PermitsAre(permits(2)),
        Clause::BelowCapacity,
        Clause::QueueEmpty,
        Clause::QueueBelow(2),
        Clause::QueueBelow(3),
        Clause::FrontIs(ticket(0)),
        Clause::FrontIs(ticket(1)),
        Clause::OnlyHolder,
        Clause::TokenNewer(token(1000)),
        Clause::TokenNewer(token(1001)),
        Clause::DueIs(None),
        Clause::DueIs(Some(at(61_000))),
        Clause::DueNotAfter(at(60_999)),
        Clause::DueNotAfter(at(61_000)),
        Clause::DueNotBefore(at(61_000)),
        Clause::DueNotBefore(at(61_001)),
    ];
    for time in [4999, 5000, 80_000].map(at) {
        clauses.extend([Clause::SpacingPassed(time), Clause::MustWait(time)]);
    }
    for name in ["w", "front", "absent"] {
        let id = waiter_id(name);
        clauses.push(Clause::NotQueued(id.clone()));
        let tickets = [0, 4].map(ticket);
        clauses.extend(tickets.map(|ticket| Clause::TicketIs(id.clone(), ticket)));
    }
    clauses.extend(["a", "b", "absent"].into_iter().flat_map(of_holder));
    clauses
}

fn of_holder(name: &str) -> Vec<Clause> {
    let holder = holder(name);
    // The holder `b` exceeds its run time at 3,600,999 ms and its time without progress at 600,999 ms.
    let times = [600_998, 600_999, 3_600_999].map(at);
    let mut clauses = vec![
        Clause::NotHeldBy(holder.clone()),
        Clause::LeaseIs(holder.clone(), token(999)),
        Clause::LeaseIs(holder.clone(), token(1000)),
        Clause::RunKeyIs(holder.clone(), None),
        Clause::RunKeyIs(holder.clone(), Some(run_key("tick"))),
        Clause::RunKeyIs(holder.clone(), Some(run_key("tock"))),
        Clause::NoBeat(holder.clone()),
        Clause::Confirmed(holder.clone()),
        Clause::NoProgressIs(holder.clone(), None),
    ];
    for lease in [lease(1000), full_lease(999)] {
        let progress = lease.progress.unwrap_or_else(|| "row 1".into());
        clauses.push(Clause::NoProgressIs(holder.clone(), lease.no_progress));
        clauses.push(Clause::ProgressIsNot(holder.clone(), progress));
    }
    clauses.extend(times.map(|time| Clause::NotSpent(holder.clone(), time)));
    let ends = [lease(1000), full_lease(999)].map(|lease| lease.expires_at.millis());
    let ends = ends.into_iter().flat_map(|end| [end - 1, end].map(at));
    clauses.extend(ends.map(|end| Clause::EndsBy(holder.clone(), end)));
    let leases = almost_the_same(&lease(1000)).into_iter();
    let leases = leases.chain(almost_the_same(&full_lease(999)));
    clauses.extend(leases.map(|lease| Clause::LeaseSame(holder.clone(), Box::new(lease))));
    clauses
}

fn call(token: Option<&str>, since: u64) -> Option<Call> {
    let (task_token, since) = (token.map(task_token), at(since));
    Some(Call { task_token, since })
}

/// Returns `lease`, and leases that differ from it in one attribute.
fn almost_the_same(lease: &Lease) -> Vec<Lease> {
    let with = |change: fn(&mut Lease)| {
        let mut other = lease.clone();
        change(&mut other);
        other
    };
    let later = |time: Option<Timestamp>| time.map_or(at(1), |time| at(time.millis() + 1));
    let (mut overruns, mut stalls) = (lease.clone(), lease.clone());
    overruns.run_until = Some(later(lease.run_until));
    stalls.stalls_at = Some(later(lease.stalls_at));
    vec![
        lease.clone(),
        overruns,
        stalls,
        with(|lease| lease.token = token(998)),
        with(|lease| lease.expires_at = at(1)),
        with(|lease| lease.pace.length = Seconds::of(1)),
        with(|lease| lease.pace.heartbeat = Seconds::of(1)),
        with(|lease| lease.max_run = Some(Seconds::of(1))),
        with(|lease| lease.no_progress = Some(Seconds::of(1))),
        with(|lease| lease.progress = Some("done".into())),
        with(|lease| lease.stale = StalePolicy::Yield),
        with(|lease| lease.run_key = Some(run_key("tock"))),
        with(|lease| lease.beat = Some(task_token("other"))),
        with(|lease| lease.call = None),
        with(|lease| lease.call = call(Some("other"), 2500)),
        with(|lease| lease.call = call(Some("call"), 2501)),
        with(|lease| lease.beat = None),
        with(|lease| lease.work = None),
        with(|lease| lease.work = Some(workflow())),
        with(|lease| lease.work = Some(Work::States)),
        with(|lease| lease.exit.replaced_by = Some(holder("y"))),
    ]
}

/// Returns assignments of different attributes, for one write.
pub(super) fn together() -> Vec<Assign> {
    vec![
        Assign::Permits(permits(3)),
        Assign::LastToken(token(2000)),
        Assign::NotBefore(at(6000)),
        Assign::Mode(Mode::Open),
        Assign::PutLease(holder("b"), full_lease(900)),
        Assign::ExtendLease(holder("a"), at(3000), Some(task_token("beat")), None),
        Assign::DropLease(holder("c")),
        Assign::DropTicket(waiter_id("w")),
        Assign::Enqueue(waiter_id("new")),
        Assign::FrontTicket(ticket(-1)),
        Assign::Due(Some(at(70_000))),
    ]
}

/// Returns every assignment, each for a write of its own to [`waited`].
pub(super) fn assigns() -> Vec<Assign> {
    let note = "by hand".into();
    let pace = Pace {
        length: Seconds::of(90),
        heartbeat: Seconds::of(29),
    };
    let mut assigns = together();
    assigns.extend([
        Assign::Mode(Mode::Paused { note, until: None }),
        Assign::Mode(Mode::Paused {
            note: "".into(),
            until: Some(at(5000)),
        }),
        Assign::Mode(Mode::Frozen { note: "".into() }),
        Assign::PutLease(holder("a"), full_lease(900)),
        Assign::ExtendLease(holder("a"), at(3000), None, None),
        Assign::ExtendLease(holder("a"), at(3000), Some(task_token("beat")), Some(pace)),
        Assign::Progress(holder("a"), "row 9".into(), None),
        Assign::Progress(holder("a"), "row 9".into(), Some(at(4000))),
        Assign::DropLease(holder("a")),
        Assign::DropLease(holder("absent")),
        Assign::PutTicket(waiter_id("new"), ticket(3)),
        Assign::PutTicket(waiter_id("front"), ticket(2)),
        Assign::DropTicket(waiter_id("absent")),
        Assign::LastTicket(ticket(9)),
        Assign::FrontTicket(ticket(-3)),
        Assign::Due(None),
        Assign::DueUnlessSet(at(70_000)),
    ]);
    assigns
}
