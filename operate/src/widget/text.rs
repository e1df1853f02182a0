//! Texts of the pages.

use crate::contract::{ActResponse, LockState, ModeResponse};
use lockstep_core::domain::{LockKey, length_text};

/// The description of the widget that the console shows, in Markdown. The console fills the parameters of the
/// widget from the first YAML block:
/// <https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/add_custom_widget_dashboard_about.html>
pub const DESCRIPTION: &str = "\
## Locks of Lockstep

Shows all locks with their state, holders and queue, and the history of each lock. Never shows task tokens or the input
of executions. Only the buttons *Pause*, *Resume*, *Evict*, *Stop and evict* and *Start again* change anything: they
invoke the function operate, which the viewer must be allowed to invoke.

### Parameters

``` yaml
page: list        # or lock, with the field lock
prefix: ''        # only locks whose name begins with this text
state: ''         # idle, held, waiting, paused, frozen or unreadable
limit: 100        # locks on a page, 1 to 500
```
";

/// All states of a lock, each with its word.
pub(super) const STATES: [(LockState, &str); 6] = [
    (LockState::Held, "held"),
    (LockState::Waiting, "waiting"),
    (LockState::Paused, "paused"),
    (LockState::Frozen, "frozen"),
    (LockState::Idle, "idle"),
    (LockState::Unreadable, "unreadable"),
];

/// Returns the word for a state.
pub(super) fn state(state: LockState) -> &'static str {
    let found = STATES.iter().find(|(one, _)| *one == state);
    found.map_or("unknown", |(_, word)| word)
}

/// Returns one sentence about what an act has done to `lock`.
#[must_use]
pub fn done(lock: &LockKey, response: &ActResponse) -> String {
    match response {
        ActResponse::Pause(mode) if changed(mode) => {
            format!("Lock {lock} is paused. It grants no permit until you resume it.")
        }
        ActResponse::Pause(_) => format!("Lock {lock} was paused already."),
        ActResponse::Resume(mode) if changed(mode) => format!("Lock {lock} is open."),
        ActResponse::Resume(_) => format!("Lock {lock} was open already."),
        ActResponse::Evict(evict) | ActResponse::DropWaiter(evict) => evict.message.clone(),
        ActResponse::Start(start) => start.message.clone(),
        ActResponse::ClearRest(clear) | ActResponse::Forget(clear) => clear.message.clone(),
        ActResponse::List(_)
        | ActResponse::Show(_)
        | ActResponse::History(_)
        | ActResponse::Version(_) => String::new(),
    }
}

fn changed(mode: &ModeResponse) -> bool {
    mode.done > 0
}

/// Returns an RFC 3339 time without its fraction and its zone, which is always UTC.
pub(super) fn time(rfc3339: &str) -> String {
    let seconds = rfc3339.get(..19).unwrap_or(rfc3339);
    seconds.replacen('T', " ", 1)
}

/// Formats a length of time in its two largest units.
pub(super) fn length(seconds: f64) -> String {
    length_text(whole_millis(seconds))
}

/// Returns whole milliseconds; 0 for a negative length.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a run takes no thousand years"
)]
fn whole_millis(seconds: f64) -> u64 {
    (seconds.max(0.0) * 1000.0).round() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_seconds() {
        assert_eq!(time("2026-03-01T06:00:00.123Z"), "2026-03-01 06:00:00");
        assert_eq!(time("2026"), "2026");
    }
}
