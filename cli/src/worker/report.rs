//! Metrics and totals of processed messages.

use super::decide::Kind;
use crate::log::StderrSink;
use lockstep::clock::{Clock, SystemClock};
use lockstep::telemetry::{MetricSink, directive, metric_line};
use std::time::Duration;

impl Kind {
    /// All kinds.
    pub(crate) const ALL: [Self; 5] = [
        Self::Succeeded,
        Self::Failed,
        Self::Skipped,
        Self::Malformed,
        Self::GivenBack,
    ];

    /// Returns the name of its metric.
    pub(crate) const fn metric(self) -> &'static str {
        match self {
            Self::Succeeded => "MessagesSucceeded",
            Self::Failed => "MessagesFailed",
            Self::Skipped => "MessagesSkipped",
            Self::Malformed => "MessagesMalformed",
            Self::GivenBack => "MessagesGivenBack",
        }
    }
}

/// The metric for the run time of a command.
const SECONDS: &str = "MessageSeconds";

/// Metrics of the messages of one queue. The queue is their dimension, so each queue that has a worker has
/// six metrics.
#[derive(Clone, Debug)]
pub(crate) struct MessageMetrics {
    queue: String,
    sink: StderrSink,
}

impl MessageMetrics {
    /// Creates the metrics of `queue`.
    pub(crate) fn of(queue: &str) -> Self {
        Self {
            queue: queue.into(),
            sink: StderrSink::open(),
        }
    }

    /// Writes the metrics of one message. `took` is the run time of its command, if it had one.
    pub(crate) fn count(&self, kind: Kind, took: Option<Duration>) {
        self.sink.write(&self.line(kind, took));
    }

    fn line(&self, kind: Kind, took: Option<Duration>) -> String {
        let took = took.map(|took| (SECONDS, "Seconds", took.as_secs_f64()));
        let one = (kind.metric(), "Count", 1.0);
        let values: Vec<_> = [one].into_iter().chain(took).collect();
        let subject = [("queue", self.queue.as_str())];
        let directives = [directive(&[&["queue"]], &values)];
        metric_line(&subject, &directives, SystemClock.now(), &values).to_string()
    }
}

/// The number of messages of each kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally([u64; Kind::ALL.len()]);

impl Tally {
    /// Counts a message.
    pub(crate) fn add(&mut self, kind: Kind) {
        self.0[kind as usize] += 1;
    }

    /// Returns the number of messages of `kind`.
    pub(crate) fn of(&self, kind: Kind) -> u64 {
        self.0[kind as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::Value;

    #[test]
    fn a_line_counts_one_kind_with_the_queue_as_dimension() {
        let report = MessageMetrics::of("orders");

        let line = report.line(Kind::Failed, Some(Duration::from_millis(1_500)));
        let line: Value = serde_json::from_str(&line).unwrap();

        let directive = &line["_aws"]["CloudWatchMetrics"][0];
        assert_eq!(directive["Dimensions"].to_string(), r#"[["queue"]]"#);
        assert_eq!(directive["Namespace"], "Lockstep");
        assert_eq!(line["queue"], "orders");
        assert_eq!(line["MessagesFailed"], 1.0);
        assert_eq!(line["MessageSeconds"], 1.5);
    }

    #[test]
    fn a_tally_keeps_the_kinds_apart() {
        let mut tally = Tally::default();

        for kind in [Kind::Failed, Kind::Failed, Kind::GivenBack] {
            tally.add(kind);
        }

        let counts = Kind::ALL.map(|kind| tally.of(kind));
        assert_eq!(counts, [0, 2, 0, 0, 1]);
    }
}
