//! What would free a permit of a lock, in one sentence.
//!
//! The sentence answers what an operator wants to know first. It is about the oldest holder: of a
//! semaphore, that is the permit which has been held the longest.

use crate::contract::HolderView;
use crate::domain::{LockRecord, Mode, Timestamp, rfc3339};

/// The sentence for `record` at `now`; `holders` are its holders, oldest grant first.
///
/// What is in the way first counts: a closed lock grants nothing, whatever its holders do.
pub(super) fn frees(record: &LockRecord, holders: &[HolderView], now: Timestamp) -> String {
    let held = holders.first().map(of_holder);
    // A pause that is over is as none.
    let open = Mode::Open;
    let mode = match record.mode.is_open(now) {
        true => &open,
        false => &record.mode,
    };
    let until = mode.pause_end().map(rfc3339);
    match (mode, held) {
        (Mode::Paused { .. }, held) => {
            let how = match until {
                Some(end) => format!("Wait until {end}, or resume the lock"),
                None => "Resume the lock".to_owned(),
            };
            match held {
                Some(_) => {
                    format!("{how}; its holders keep their permits until then or their end.")
                }
                None => format!("{how}."),
            }
        }
        (Mode::Frozen { .. }, None) => {
            "Resume the lock, once nothing of the run that it froze for is at work.".to_owned()
        }
        (Mode::Frozen { .. }, Some(_)) => {
            let holder = &holders[0].holder;
            format!("Check whether {holder} is at work, stop or evict it, then resume the lock.")
        }
        (Mode::Open, Some(held)) if !record.has_room() => held,
        (Mode::Open, _) if record.not_before > now => {
            let until = rfc3339(record.not_before);
            format!("A permit is free, and the lock rests until {until}.")
        }
        (Mode::Open, _) => "A permit is free.".to_owned(),
    }
}

/// What would end the hold of one holder, by its live state.
fn of_holder(view: &HolderView) -> String {
    let holder = &view.holder;
    let is_running = |status: Option<&str>| status == Some("RUNNING");
    let status = view.execution.as_ref().map(|execution| execution.status);
    let work = view.workflow.as_ref().map(|workflow| workflow.status);
    let at_work = view.tasks.iter().any(|task| !task.stopped) || is_running(work);
    if view.ending.is_some() {
        return match at_work {
            true => format!("The work of {holder} is being stopped; its permit is free then."),
            false => format!("The reaper frees the permit of {holder}, whose work is stopping."),
        };
    }
    match status {
        Some("RUNNING") => format!("The release by {holder}, which runs; or its eviction."),
        Some("HIDDEN") => {
            format!("The release by {holder}, which cannot be described; or its eviction.")
        }
        // Step Functions may not know a new execution yet.
        None | Some("UNKNOWN") if view.expired => {
            format!("The reaper: the lease of {holder} has ended.")
        }
        None | Some("UNKNOWN") => {
            format!("The release by {holder}, the end of its lease, or its eviction.")
        }
        Some(_) => format!("The reaper: the execution of {holder} has ended."),
    }
}

#[cfg(feature = "test-util")]
#[cfg(test)]
mod tests {
    use super::*;
    use crate::contract::{EndingView, ExecutionView, TaskView};
    use crate::domain::{FencingToken, Permits};
    use crate::testing::{holder, terms};

    const NOW: Timestamp = Timestamp::from_millis(1_000_000);

    fn view() -> HolderView {
        let lease = terms(holder("a")).lease(FencingToken::from_number(999_000), NOW);
        HolderView::of(&holder("a"), &lease, NOW)
    }

    fn with_status(status: &'static str) -> HolderView {
        let execution = ExecutionView {
            arn: None,
            status,
            stopped_at: None,
            hidden: None,
        };
        HolderView {
            execution: Some(execution),
            ..view()
        }
    }

    fn stopping(stopped: bool) -> HolderView {
        let ending = EndingView {
            since: String::new(),
            cause: "stopped",
        };
        let task = TaskView {
            arn: "t".into(),
            stopped,
            stopped_at: None,
            reason: None,
            exit_code: None,
        };
        HolderView {
            ending: Some(ending),
            tasks: vec![task],
            ..view()
        }
    }

    #[test]
    fn a_full_lock_names_its_oldest_holder_and_what_ends_its_hold() {
        let mut full = LockRecord::new(Permits::ONE);
        let lease = terms(holder("a")).lease(FencingToken::from_number(999_000), NOW);
        full.holders.insert(holder("a"), lease);
        let expired = HolderView {
            expired: true,
            ..view()
        };
        for (view, part) in [
            (with_status("RUNNING"), "release by a, which runs"),
            (with_status("HIDDEN"), "cannot be described"),
            (
                with_status("ABORTED"),
                "reaper: the execution of a has ended",
            ),
            (with_status("UNKNOWN"), "the end of its lease"),
            (view(), "the end of its lease"),
            (expired, "reaper: the lease of a"),
            (stopping(false), "is being stopped"),
            (stopping(true), "reaper frees the permit of a"),
        ] {
            let sentence = frees(&full, &[view], NOW);
            assert!(sentence.contains(part), "{sentence}");
        }
        let frozen = LockRecord {
            mode: Mode::Frozen { note: "x".into() },
            ..full
        };
        let check = frees(&frozen, &[view()], NOW);
        assert!(check.contains("Check whether a is at work"), "{check}");
    }

    #[test]
    fn a_lock_without_holders_says_when_it_grants() {
        let open = LockRecord::new(Permits::ONE);
        let resting = LockRecord {
            not_before: Timestamp::from_millis(1_060_000),
            ..open.clone()
        };
        let paused = LockRecord {
            mode: Mode::Paused {
                note: "x".into(),
                until: None,
            },
            ..open.clone()
        };
        assert_eq!(frees(&open, &[], NOW), "A permit is free.");
        let rest = frees(&resting, &[], NOW);
        assert!(rest.contains("rests until 1970-01-01T00:17:40Z"), "{rest}");
        assert_eq!(frees(&paused, &[], NOW), "Resume the lock.");
    }
}
