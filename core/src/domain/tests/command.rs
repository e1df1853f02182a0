//! The items that a command has to read before it can be decided.

use super::{at, holder, terms};
use crate::domain::{
    Acquire, AuditNote, Command, DropWaiter, FencingToken, LockRecord, Opening, Permits, RunId,
    Seconds, Terms, WaiterId, WhenFull,
};
use crate::testing;

const TOKEN: FencingToken = FencingToken::from_number(7);

/// Returns a lock that the holder of `terms` holds, with `first` and `second` in its queue.
fn queued(terms: &Terms) -> LockRecord {
    let mut record = LockRecord::new(Permits::ONE);
    record.last_token = TOKEN;
    let lease = terms.lease(TOKEN, at(100));
    record.holders.insert(terms.holder.clone(), lease);
    for name in ["first", "second"] {
        record.last_ticket = record.last_ticket.behind();
        record.queue.insert(id(name), record.last_ticket);
    }
    record
}

fn id(name: &str) -> WaiterId {
    WaiterId::of(&holder(name))
}

fn drop_waiter(name: &str, is_read: bool) -> Command {
    Command::DropWaiter(DropWaiter {
        waiter: id(name),
        holder: is_read.then(|| holder(name)),
        audit: audit_note(),
    })
}

fn audit_note() -> AuditNote {
    testing::audit_note(holder("operator"), "upgrade")
}

#[test]
fn a_command_reads_the_waiter_that_it_may_let_in_or_sends_away() {
    let renew = Command::Renew(testing::renew(holder("a"), TOKEN));
    let acquire = Command::Acquire(Acquire {
        when_full: WhenFull::Queue { most: 5 },
        ..testing::acquire(terms("second"))
    });
    let plain = terms("a");
    let timed = Terms {
        max_run: Some(Seconds::of(300)),
        ..terms("a")
    };
    let watched = Terms {
        no_progress: Some(Seconds::of(90)),
        ..terms("a")
    };
    let cases = [
        (&plain, Command::HandOver, Some("first")),
        (
            &plain,
            Command::Open(Opening::Resume, audit_note()),
            Some("first"),
        ),
        (&plain, Command::Pause(audit_note(), None), None),
        (&plain, Command::Reschedule, None),
        (&plain, acquire, None),
        (&plain, drop_waiter("second", true), Some("second")),
        (&plain, drop_waiter("second", false), None),
        (&plain, drop_waiter("a", true), None),
        // A heartbeat may hand a permit over only if its run has a limit.
        (&plain, renew.clone(), None),
        (&timed, renew.clone(), Some("first")),
        (&watched, renew, Some("first")),
    ];
    for (held, command, expected) in cases {
        let record = queued(held);

        let read = command.waiter_to_read(Some(&record));

        assert_eq!(read, expected.map(id), "{command:?}");
        assert_eq!(command.waiter_to_read(None), None, "{command:?}");
    }
}

#[test]
fn only_a_state_that_takes_a_place_reads_the_marker_of_its_key() {
    let record = queued(&terms("a"));
    let key = Some(testing::run_key("tick"));
    for (case, waits, run_key, name, expected) in [
        ("a new state", true, key.clone(), "b", key.clone()),
        ("one that has a place", true, key.clone(), "second", None),
        ("one without a key", true, None, "b", None),
        ("a run that does not wait", false, key.clone(), "b", None),
    ] {
        let acquire = Command::Acquire(Acquire {
            task_token: waits.then(|| testing::task_token("waits")),
            ..testing::acquire(Terms {
                run_key,
                ..terms(name)
            })
        });

        let read = acquire.run_to_read(Some(&record));

        assert_eq!(read, expected.map(RunId::Key), "{case}");
    }
}
