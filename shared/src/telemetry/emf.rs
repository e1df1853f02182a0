//! Metrics as log lines in CloudWatch's embedded metric format: no call, no permission, no wait.
//!
//! Format: <https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/CloudWatch_Embedded_Metric_Format_Specification.html>
//!
//! **Dimensions and their cost.** CloudWatch bills every combination of a metric name and dimension values as
//! one custom metric, in each month in which it gets data. Each metric name is billed twice: without a
//! dimension, for all stacks of the Region, and with the lock table as its dimension, for one stack. The lock
//! as a dimension adds up to three metrics for each lock, which are those that an alarm on one lock needs: a
//! hundred locks are three hundred metrics. So that dimension is off by default. The lock is always a plain
//! field of the line, so CloudWatch Logs Insights can count by lock.

use super::metric::{Metric, NAMESPACE};
use super::stack_metric::StackMetric;
use lockstep_core::domain::{LockKey, Timestamp};
use serde_json::{Map, Value, json};

/// The dimension of the metrics of one stack: its lock table.
const TABLE: &str = "table";

/// Writes metric lines.
pub trait MetricSink: Send + Sync {
    /// Writes one line.
    fn write(&self, line: &str);
}

/// Standard output, which Lambda sends to CloudWatch Logs.
#[derive(Clone, Copy, Debug, Default)]
pub struct StdoutSink;

impl MetricSink for StdoutSink {
    fn write(&self, line: &str) {
        println!("{line}");
    }
}

/// The metrics of one function.
#[derive(Clone, Debug)]
pub struct Metrics<K> {
    sink: K,
    table: String,
    per_lock: bool,
}

impl<K: MetricSink> Metrics<K> {
    /// Creates metrics of the stack whose lock table is `table`, and writes them to `sink`. `per_lock` adds
    /// the lock as a dimension.
    pub fn new(sink: K, table: impl Into<String>, per_lock: bool) -> Self {
        Self {
            sink,
            table: table.into(),
            per_lock,
        }
    }

    /// Reports `values` of the stack at `now`.
    pub fn report_stack(&self, now: Timestamp, values: &[(StackMetric, f64)]) {
        let values: Vec<_> = values
            .iter()
            .map(|(metric, value)| (metric.name(), "Count", *value))
            .collect();
        let directive = directive(&[&[TABLE]], &values);
        let line = metric_line(&[(TABLE, &self.table)], &[directive], now, &values);
        self.sink.write(&line.to_string());
    }

    /// Reports `values` of `lock` at `now`, if there are any.
    pub fn report(&self, lock: &LockKey, now: Timestamp, values: &[(Metric, f64)]) {
        if values.is_empty() {
            return;
        }
        self.sink.write(&self.line(lock, now, values).to_string());
    }

    fn line(&self, lock: &LockKey, now: Timestamp, values: &[(Metric, f64)]) -> Value {
        let per_lock = values
            .iter()
            .filter(|(metric, _)| self.per_lock && metric.is_per_lock());
        let per_lock = named(per_lock);
        let values = named(values.iter());
        let mut directives = vec![directive(&[&[], &[TABLE]], &values)];
        if !per_lock.is_empty() {
            directives.push(directive(&[&["lock"]], &per_lock));
        }
        let subject = [("lock", lock.as_str()), (TABLE, &self.table)];
        metric_line(&subject, &directives, now, &values)
    }
}

/// A value of a metric: name, unit and value.
pub type MetricValue<'a> = (&'a str, &'a str, f64);

fn named<'a>(values: impl Iterator<Item = &'a (Metric, f64)>) -> Vec<MetricValue<'static>> {
    let named = values.map(|(metric, value)| (metric.name(), metric.unit(), *value));
    named.collect()
}

/// Returns the directive by which CloudWatch makes metrics of `values`: for each set of `dimensions`, which
/// are fields of the line, one metric of each name.
#[must_use]
pub fn directive(dimensions: &[&[&str]], values: &[MetricValue<'_>]) -> Value {
    let list: Vec<_> = values
        .iter()
        .map(|(name, unit, _)| json!({ "Name": name, "Unit": unit }))
        .collect();
    json!({ "Namespace": NAMESPACE, "Dimensions": dimensions, "Metrics": list })
}

/// Returns one line with `values`. The line has the fields of `subject`, which `directives` may use as
/// dimensions.
#[must_use]
pub fn metric_line(
    subject: &[(&str, &str)],
    directives: &[Value],
    now: Timestamp,
    values: &[MetricValue<'_>],
) -> Value {
    let mut line = Map::new();
    let meta = json!({ "Timestamp": now.millis(), "CloudWatchMetrics": directives });
    line.insert("_aws".into(), meta);
    let subject = subject.iter();
    line.extend(subject.map(|(field, value)| ((*field).into(), (*value).into())));
    let values = values
        .iter()
        .map(|(name, _, value)| ((*name).into(), json!(value)));
    line.extend(values);
    Value::Object(line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(per_lock: bool) -> Value {
        let lock = LockKey::new("nightly").unwrap();
        let values = [(Metric::Failed, 1.0), (Metric::HeldSeconds, 2.5)];
        Metrics::new(StdoutSink, "locks", per_lock).line(&lock, Timestamp::from_millis(7), &values)
    }

    #[test]
    fn a_line_declares_each_metric_and_carries_its_value_and_the_lock() {
        let line = line(false);

        let directive = &line["_aws"]["CloudWatchMetrics"][0];
        assert_eq!(directive["Namespace"], "Lockstep");
        let metric = json!({ "Name": "HeldSeconds", "Unit": "Seconds" });
        assert_eq!(directive["Metrics"][1], metric);
        assert_eq!(line["HeldSeconds"], 2.5);
        assert_eq!([&line["lock"], &line["table"]], ["nightly", "locks"]);
        assert_eq!(line["_aws"]["Timestamp"], 7);
    }

    #[test]
    fn the_table_is_the_dimension_of_the_metrics_of_a_stack() {
        struct Lines(std::sync::Mutex<Vec<String>>);
        impl MetricSink for Lines {
            fn write(&self, line: &str) {
                self.0.lock().unwrap().push(line.to_owned());
            }
        }
        let metrics = Metrics::new(Lines(std::sync::Mutex::default()), "locks", true);

        let values = [(StackMetric::SweepFinished, 1.0)];
        metrics.report_stack(Timestamp::from_millis(7), &values);

        let lines = metrics.sink.0.into_inner().unwrap();
        let line: Value = serde_json::from_str(&lines[0]).unwrap();
        let directive = &line["_aws"]["CloudWatchMetrics"][0];
        assert_eq!(directive["Dimensions"], json!([["table"]]));
        assert_eq!(line["table"], "locks");
        assert_eq!(line["SweepFinished"], 1.0);
    }

    #[test]
    fn the_lock_is_an_optional_dimension_of_three_metrics() {
        let directives = |per_lock| line(per_lock)["_aws"]["CloudWatchMetrics"].clone();
        let failed = json!({ "Name": "Failed", "Unit": "Count" });

        assert_eq!(directives(false).as_array().unwrap().len(), 1);
        assert_eq!(directives(true)[0]["Dimensions"], json!([[], ["table"]]));
        assert_eq!(directives(true)[1]["Dimensions"], json!([["lock"]]));
        assert_eq!(directives(true)[1]["Metrics"], json!([failed]));
        let all = Metric::ALL.into_iter();
        assert_eq!(all.filter(|metric| metric.is_per_lock()).count(), 3);
    }
}
