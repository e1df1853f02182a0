//! Log lines through `tracing`.

use super::level::{log_level, report_unknown_level};
use crate::config::{Key, variable};
use tracing::Level;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;

/// The prefix of the targets of Lockstep's own crates, whose level can be set.
const OWN: &str = "lockstep";

/// Sends `tracing` events to standard output, one JSON object a line.
pub fn init_log() {
    let (level, unknown) = log_level(variable(Key::Log.name()));
    let lines = fmt::layer()
        .json()
        .flatten_event(true)
        .with_current_span(false)
        .with_span_list(false)
        .with_writer(std::io::stdout)
        .with_filter(targets(level));
    tracing_subscriber::registry().with(lines).init();
    report_unknown_level(unknown.as_deref());
}

/// Returns the filter for `level`. Other crates never log below `info`, because there the Lambda runtime logs
/// whole events and the SDK logs whole requests, with the task tokens in them.
#[must_use]
pub fn targets(level: Level) -> Targets {
    let others = LevelFilter::from_level(level.min(Level::INFO));
    Targets::new()
        .with_default(others)
        .with_target(OWN, LevelFilter::from_level(level))
}

#[cfg(test)]
mod tests {
    use super::{Level, OWN, targets};

    fn levels() -> impl Iterator<Item = Level> {
        ["error", "warn", "info", "debug", "trace"]
            .map(|name| name.parse().unwrap())
            .into_iter()
    }

    #[test]
    fn other_crates_log_nothing_below_info_at_any_level() {
        let others = "lambda_runtime aws_smithy_runtime aws_sdk_sfn hyper h2::codec";
        for (level, target) in levels().flat_map(|l| others.split(' ').map(move |t| (l, t))) {
            let wanted = [Level::DEBUG, Level::TRACE, Level::ERROR]
                .map(|own| targets(level).would_enable(target, &own));
            assert_eq!(wanted, [false, false, true], "{target} at {level}");
        }
    }

    #[test]
    fn the_functions_log_at_the_level_that_is_set() {
        for (level, own) in levels().flat_map(|l| [(l, OWN), (l, "lockstep_core::recovery::check")])
        {
            assert!(targets(level).would_enable(own, &level), "{own} at {level}");
        }
        assert!(!targets(Level::INFO).would_enable(OWN, &Level::DEBUG));
    }
}
