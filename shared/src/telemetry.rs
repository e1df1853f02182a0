//! Telemetry of a function: metrics as log lines, and log lines through `tracing`.

mod emf;
mod metric;

pub use emf::{MetricSink, Metrics, StdoutSink, metric_line};
pub use metric::{Metric, NAMESPACE};

#[cfg(feature = "lambda")]
pub use log::{init_log, targets};

#[cfg(feature = "lambda")]
mod log;
