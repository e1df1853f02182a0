//! Samples, their summary, and the files with results.

use lockstep::clock::{Clock, SystemClock};
use lockstep::domain::rfc3339;
use serde_json::{Value, json};
use std::fs;
use std::path::Path;

/// One measurement: a file of results.
#[derive(Debug)]
pub struct Measurement {
    id: &'static str,
    title: &'static str,
    against: &'static str,
    note: String,
    chart: Vec<String>,
    rows: Vec<Row>,
}

#[derive(Debug)]
struct Row {
    figure: String,
    subject: String,
    unit: &'static str,
    samples: Vec<f64>,
    exact: bool,
}

impl Measurement {
    /// Returns a measurement without rows. `against` is the subject by whose medians the ratios
    /// divide, or empty.
    #[must_use]
    pub fn new(id: &'static str, title: &'static str, against: &'static str, note: &str) -> Self {
        Self {
            id,
            title,
            against,
            note: note.into(),
            chart: Vec::new(),
            rows: Vec::new(),
        }
    }

    /// Adds a figure to the chart, which otherwise has the first figures that fit.
    pub fn chart(&mut self, figure: String) {
        self.chart.push(figure);
    }

    /// Adds samples of what was measured repeatedly.
    pub fn add(&mut self, figure: &str, subject: &str, unit: &'static str, samples: Vec<f64>) {
        assert!(!samples.is_empty(), "{figure}, {subject}: no samples");
        self.push(figure, subject, unit, samples, false);
    }

    /// Adds a count, which is the same each time.
    pub fn add_exact(&mut self, figure: &str, subject: &str, unit: &'static str, count: u64) {
        let count = u32::try_from(count).expect("a count of less than 2^32");
        self.push(figure, subject, unit, vec![count.into()], true);
    }

    fn push(
        &mut self,
        figure: &str,
        subject: &str,
        unit: &'static str,
        samples: Vec<f64>,
        exact: bool,
    ) {
        self.rows.push(Row {
            figure: figure.into(),
            subject: subject.into(),
            unit,
            samples,
            exact,
        });
    }

    /// Prints the rows and writes them to `ID.json` in `folder`.
    ///
    /// # Panics
    /// If the file cannot be written.
    pub fn write(&self, folder: &Path) {
        println!("\n{}", self.title);
        let rows = self.grouped().map(|row| line(&self.row(row)));
        let rows: Vec<_> = rows.collect();
        for row in &rows {
            println!("  {row}");
        }
        let file = json!({
            "id": self.id,
            "title": self.title,
            "date": rfc3339(SystemClock.now())[..10],
            "machine": machine(),
            "against": self.against,
            "note": format!("{}{}", self.note, self.noise()),
            "chart": self.chart,
        });
        let path = folder.join(format!("{}.json", self.id));
        fs::write(&path, laid_out(&file, &rows)).expect("a folder that can be written to");
    }

    /// Returns the rows, with all subjects of a figure together.
    fn grouped(&self) -> impl Iterator<Item = &Row> {
        let is_first = |at: &usize| {
            let mut before = self.rows[..*at].iter();
            before.all(|row| row.figure != self.rows[*at].figure)
        };
        let firsts = (0..self.rows.len()).filter(is_first);
        firsts.flat_map(|at| {
            let figure = &self.rows[at].figure;
            self.rows.iter().filter(move |row| row.figure == *figure)
        })
    }

    /// Returns the fields of a row, in the order of the file.
    fn row(&self, row: &Row) -> Vec<(&'static str, Value)> {
        let middle = median(&row.samples);
        let mut fields = vec![
            ("figure", json!(row.figure)),
            ("subject", json!(row.subject)),
            ("unit", json!(row.unit)),
            ("median", rounded(middle)),
        ];
        if !row.exact && row.samples.iter().any(|one| *one != row.samples[0]) {
            fields.push(("min", rounded(fold(&row.samples, f64::min))));
            fields.push(("max", rounded(fold(&row.samples, f64::max))));
        }
        fields.push(("n", json!(row.samples.len())));
        let same = |other: &&Row| other.figure == row.figure && other.subject == self.against;
        let base = self
            .rows
            .iter()
            .find(same)
            .map(|base| median(&base.samples));
        if let Some(base) = base.filter(|base| *base != 0.0) {
            fields.push(("ratio", rounded(middle / base)));
        }
        fields
    }

    /// Returns a sentence about the noise: how far the medians of the quarters of a row are apart.
    fn noise(&self) -> String {
        let sampled = self.rows.iter().filter(|row| row.samples.len() >= 8);
        let spreads = sampled.map(|row| {
            let quarters = row.samples.chunks_exact(row.samples.len() / 4).take(4);
            let medians: Vec<_> = quarters.map(median).collect();
            (fold(&medians, f64::max) - fold(&medians, f64::min)) / median(&row.samples)
        });
        let spreads: Vec<_> = spreads.collect();
        if spreads.is_empty() {
            return String::new();
        }
        let (usual, worst) = (100.0 * median(&spreads), 100.0 * fold(&spreads, f64::max));
        format!(
            " Noise: the medians of the four quarters of a row differ by {usual:.0} % (median of the rows), at most {worst:.0} %."
        )
    }
}

/// Returns the fields of a row on one line.
fn line(fields: &[(&str, Value)]) -> String {
    let fields = fields
        .iter()
        .map(|(name, value)| format!("\"{name}\": {value}"));
    format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
}

/// Returns the text of the file, with one line for each row.
fn laid_out(file: &Value, rows: &[String]) -> String {
    let mut lines = Vec::new();
    let chart = (file["chart"] != json!([])).then_some("chart");
    let keys = ["id", "title", "date", "machine", "against", "note"];
    for key in keys.into_iter().chain(chart) {
        lines.push(format!("  \"{key}\": {}", file[key]));
    }
    let rows: Vec<_> = rows.iter().map(|row| format!("    {row}")).collect();
    lines.push(format!("  \"rows\": [\n{}\n  ]", rows.join(",\n")));
    format!("{{\n{}\n}}\n", lines.join(",\n"))
}

/// Returns the median of `samples`.
#[must_use]
pub fn median(samples: &[f64]) -> f64 {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    match sorted.len() % 2 {
        0 => f64::midpoint(sorted[middle - 1], sorted[middle]),
        _ => sorted[middle],
    }
}

fn fold(samples: &[f64], pick: fn(f64, f64) -> f64) -> f64 {
    samples.iter().copied().reduce(pick).unwrap_or(f64::NAN)
}

/// Returns the number with at most three decimals.
fn rounded(number: f64) -> Value {
    let text = format!("{number:.3}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    serde_json::from_str(text).unwrap_or(Value::Null)
}

/// Describes the machine that the figures depend on.
fn machine() -> String {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    let about = fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let model = about
        .lines()
        .find_map(|line| line.strip_prefix("model name")?.split(": ").nth(1));
    let model = model.unwrap_or(std::env::consts::ARCH);
    format!("{cores} cores, {model}; DynamoDB Local beside the measurement")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rows_of_a_figure_come_together() {
        let mut measurement = Measurement::new("x", "X", "", "");
        for (figure, subject) in [("a", "1"), ("b", "1"), ("a", "2")] {
            measurement.add_exact(figure, subject, "", 7);
        }

        let order = measurement
            .grouped()
            .map(|row| (&row.figure[..], &row.subject[..]));

        assert_eq!(
            order.collect::<Vec<_>>(),
            [("a", "1"), ("a", "2"), ("b", "1")]
        );
    }

    #[test]
    fn a_ratio_divides_by_the_subject_of_the_same_figure() {
        let mut measurement = Measurement::new("x", "X", "bare", "");
        measurement.add("a", "bare", "ms", vec![2.0, 1.0, 3.0]);
        measurement.add("a", "other", "ms", vec![3.0, 3.0]);
        measurement.add("b", "other", "ms", vec![9.0]);

        let rows = &measurement.rows;

        let ratio = ("ratio", json!(1.5));
        assert_eq!(measurement.row(&rows[1]).last(), Some(&ratio));
        assert_eq!(measurement.row(&rows[2]).last(), Some(&("n", json!(1))));
    }
}
