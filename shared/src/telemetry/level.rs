//! The level that `LOCKSTEP_LOG` names.

use tracing::Level;

/// Returns the level that `given` names. If `given` names no level, returns `info` and the given text.
#[must_use]
pub fn log_level(given: Option<String>) -> (Level, Option<String>) {
    match given.as_deref().map(str::parse) {
        None => (Level::INFO, None),
        Some(Ok(level)) => (level, None),
        Some(Err(_)) => (Level::INFO, given),
    }
}

/// Logs that `LOCKSTEP_LOG` is `unknown`, which names no level. Call it once the log is set up.
pub fn report_unknown_level(unknown: Option<&str>) {
    if let Some(value) = unknown {
        tracing::warn!(event = "log_level_unknown", %value, "LOCKSTEP_LOG must be error, warn, info, debug or trace; info is used");
    }
}

#[cfg(test)]
mod tests {
    use super::{Level, log_level};

    #[test]
    fn an_unknown_log_level_counts_as_info_and_is_reported() {
        let given = |text: &str| log_level(Some(text.into()));

        assert_eq!(log_level(None), (Level::INFO, None));
        assert_eq!(given("debug"), (Level::DEBUG, None));
        assert_eq!(given("WARN"), (Level::WARN, None));
        assert_eq!(given("verbose"), (Level::INFO, Some("verbose".into())));
        assert_eq!(given(""), (Level::INFO, Some(String::new())));
    }
}
