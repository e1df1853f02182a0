//! Log lines and metrics of the command. Both go to standard error, because standard output belongs to the
//! guarded command.

pub(crate) use crate::platform::stderr::flush;

use crate::exit::Exit;
use crate::platform::env::variable;
use crate::platform::stderr::{self, NonBlockingStderr};
use lockstep::config::Key;
use lockstep::telemetry::{MetricSink, log_level, report_unknown_level};
use std::io::{IsTerminal, Write, stderr};
use tracing::Level;
use tracing::level_filters::LevelFilter;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::util::SubscriberInitExt;
use tracing_subscriber::{Layer, fmt};

/// Sends `tracing` events to standard error: one JSON object a line, or plain text on a terminal.
pub(crate) fn init() {
    stderr::start();
    let (level, unknown) = log_level(variable(Key::Log.name()));
    // The use cases log every step, each heartbeat and each check while they wait. Unless the level is debug
    // or trace, only their warnings and errors are logged; the subcommands log the rest.
    let steps = if level > Level::INFO {
        level
    } else {
        level.min(Level::WARN)
    };
    let mut wanted = Targets::new().with_default(LevelFilter::from_level(level));
    for quiet in ["lockstep::service", "lockstep_core::recovery"] {
        wanted = wanted.with_target(quiet, steps);
    }
    // Below info, the SDK logs whole requests and responses with the bodies of messages, and its warnings
    // print whole structures. So it logs at most info if the level is debug or trace, and otherwise only
    // errors: the error of a request reports the failure.
    let deepest = if level > Level::INFO {
        Level::INFO
    } else {
        Level::ERROR
    };
    for deep in ["aws_", "hyper", "h2"] {
        wanted = wanted.with_target(deep, deepest);
    }
    // `aws_config` logs everything that a credential process has written. The error of the provider reports
    // the failure.
    wanted = wanted.with_target("aws_config", LevelFilter::ERROR);
    let lines = fmt::layer()
        .with_writer(|| NonBlockingStderr)
        .log_internal_errors(false);
    let lines = if stderr().is_terminal() {
        lines.without_time().with_target(false).boxed()
    } else {
        lines
            .json()
            .flatten_event(true)
            .with_current_span(false)
            .with_span_list(false)
            .boxed()
    };
    tracing_subscriber::registry()
        .with(lines.with_filter(wanted))
        .init();
    report_unknown_level(unknown.as_deref());
}

/// Writes metric lines to standard error. CloudWatch Logs receives both output streams of a container.
#[derive(Clone, Copy, Debug)]
pub(crate) struct StderrSink {
    is_open: bool,
}

impl StderrSink {
    /// Returns a sink that writes metric lines, unless standard error is a terminal.
    pub(crate) fn open() -> Self {
        let is_open = !stderr().is_terminal();
        Self { is_open }
    }

    /// Returns a sink that discards metric lines.
    pub(crate) fn closed() -> Self {
        Self { is_open: false }
    }
}

impl MetricSink for StderrSink {
    fn write(&self, line: &str) {
        if self.is_open {
            NonBlockingStderr
                .write_all(format!("{line}\n").as_bytes())
                .ok();
        }
    }
}

/// Prints a line to standard error directly, not through the queue of the log. Waits at most one second if
/// nothing reads standard error.
pub(crate) fn print_line(text: impl std::fmt::Display) {
    print(format!("lockstep: {text}\n"));
}

/// Prints `text` to standard output. If it cannot be written within ten seconds, reports that and returns
/// [`Exit::CANNOT_WRITE`].
pub(crate) fn print_help(text: String) -> Exit {
    match stderr::write_to_stdout(text) {
        Ok(()) => Exit::OK,
        Err(error) => {
            print_line(format!("standard output cannot be written: {error}"));
            Exit::CANNOT_WRITE
        }
    }
}

/// Prints `text` to standard error as [`print_line`] does, without its prefix and line end.
pub(crate) fn print(text: String) {
    stderr::write_unqueued(text);
}
