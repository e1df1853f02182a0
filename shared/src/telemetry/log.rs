//! Log lines through `tracing`.

use super::level::{log_level, report_unknown_level};
use crate::config::{Key, variable};
use std::fmt::Result;
use tracing::level_filters::LevelFilter;
use tracing::{Event, Level, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt;
use tracing_subscriber::fmt::format::{JsonFields, Writer};
use tracing_subscriber::fmt::{FmtContext, FormatEvent, FormatFields, MakeWriter};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;

/// The prefix of the targets of Lockstep's own crates, whose level can be set.
const OWN: &str = "lockstep";

/// Sends `tracing` events to standard output, one JSON object a line.
pub fn init_log() {
    let (level, unknown) = log_level(variable(Key::Log.name()));
    tracing_subscriber::registry()
        .with(lines(level, std::io::stdout))
        .init();
    report_unknown_level(unknown.as_deref());
}

/// Returns the layer that writes the events of `level` and above to `writer`.
fn lines<S, W>(level: Level, writer: W) -> impl Layer<S>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    W: for<'a> MakeWriter<'a> + Send + Sync + 'static,
{
    let json = fmt::format()
        .json()
        .flatten_event(true)
        .with_current_span(false)
        .with_span_list(false);
    fmt::layer()
        .fmt_fields(JsonFields::new())
        .event_format(Versioned(json))
        .with_writer(writer)
        .with_filter(targets(level))
}

/// A format of JSON lines, with the version of the functions as the first field of each line. During an
/// upgrade the lines of two versions are in one log group.
struct Versioned<F>(F);

impl<S, N, F> FormatEvent<S, N> for Versioned<F>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> Result {
        let mut line = String::new();
        self.0
            .format_event(context, Writer::new(&mut line), event)?;
        let fields = line.strip_prefix('{').unwrap_or(&line);
        write!(
            writer,
            r#"{{"version":"{}",{fields}"#,
            env!("CARGO_PKG_VERSION")
        )
    }
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
    use super::{Level, OWN, SubscriberExt, lines, report_unknown_level, targets};
    use serde_json::Value;
    use std::io::Write;
    use std::sync::{Arc, Mutex};

    #[derive(Clone, Default)]
    struct Output(Arc<Mutex<Vec<u8>>>);

    impl Write for Output {
        fn write(&mut self, text: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().write(text)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn each_line_is_json_with_the_version_beside_the_event() {
        let output = Output::default();
        let writer = output.clone();
        let log = tracing_subscriber::registry().with(lines(Level::INFO, move || writer.clone()));

        tracing::subscriber::with_default(log, || {
            for value in ["verbose", "{"] {
                report_unknown_level(Some(value));
            }
        });

        let text = String::from_utf8(output.0.lock().unwrap().clone()).unwrap();
        let parsed = text.lines().map(|line| serde_json::from_str(line).unwrap());
        let parsed: Vec<Value> = parsed.collect();
        let versions: Vec<_> = parsed.iter().map(|line| &line["version"]).collect();
        assert_eq!(versions, [env!("CARGO_PKG_VERSION"); 2], "{text}");
        let values = [&parsed[0]["value"], &parsed[1]["value"]];
        assert_eq!(values, ["verbose", "{"], "{text}");
        assert_eq!(parsed[0]["event"], "log_level_unknown");
    }

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
