//! What a function tells: metrics here, log lines through `tracing`.

mod emf;
mod metric;

pub use emf::{MetricSink, Metrics, StdoutSink, metric_line};
pub use metric::{Metric, NAMESPACE};

#[cfg(feature = "lambda")]
pub use log::init_log;

#[cfg(feature = "lambda")]
mod log {
    use crate::config::{Key, variable};
    use tracing::Level;

    /// Sends `tracing` events to standard output, one JSON object a line.
    pub fn init_log() {
        let level = variable(Key::Log.name()).and_then(|level| level.parse().ok());
        tracing_subscriber::fmt()
            .json()
            .flatten_event(true)
            .with_current_span(false)
            .with_span_list(false)
            .with_max_level(level.unwrap_or(Level::INFO))
            .with_writer(std::io::stdout)
            .init();
    }
}
