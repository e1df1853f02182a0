//! Telemetry of a function: metrics as log lines, and log lines through `tracing`.

mod emf;
mod level;
mod metric;
mod stack_metric;

pub use emf::{MetricSink, MetricValue, Metrics, StdoutSink, directive, metric_line};
pub use level::{log_level, report_unknown_level};
pub use metric::{Metric, NAMESPACE};
pub use stack_metric::StackMetric;

#[cfg(feature = "lambda")]
pub use log::{init_log, targets};

#[cfg(feature = "lambda")]
mod log;
