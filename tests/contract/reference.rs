//! docs/reference.md lists the parameters and outputs of the template, and the metrics of the code.

use crate::agreement::template;
use lockstep::telemetry::{Metric, StackMetric};
use lockstep_tests::repository;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;

/// Returns a section of the reference.
fn section(heading: &str) -> String {
    let page = fs::read_to_string(repository().join("docs/reference.md")).unwrap();
    let (_, section) = page.split_once(&format!("\n## {heading}\n")).unwrap();
    section.split("\n## ").next().unwrap().to_owned()
}

/// Returns the cells of each row of the tables in a section, without the rows of headings.
fn rows(section: &str) -> Vec<Vec<&str>> {
    let rows = section.lines().filter(|line| line.starts_with("| `"));
    rows.map(|row| row.trim_matches('|').split('|').map(str::trim).collect())
        .collect()
}

/// Returns the names between backticks in the first cell of each row.
fn names<'a>(rows: &[Vec<&'a str>]) -> BTreeSet<&'a str> {
    let cells = rows.iter().flat_map(|row| row[0].split('`'));
    cells
        .filter(|name| name.starts_with(|c: char| c.is_ascii_uppercase()))
        .collect()
}

/// Returns the entries that the template has under `section`: name → fields.
fn declared<'a>(template: &'a str, section: &str) -> BTreeMap<&'a str, Vec<&'a str>> {
    let (_, text) = template.split_once(&format!("\n{section}:\n")).unwrap();
    let ends = |line: &&str| line.is_empty() || line.starts_with(' ');
    let mut found: BTreeMap<_, Vec<_>> = BTreeMap::new();
    let mut latest = "";
    for line in text.lines().take_while(ends) {
        match line.strip_prefix("  ") {
            Some(comment) if comment.trim_start().starts_with('#') => {}
            Some(name) if !name.starts_with(' ') => latest = name.trim_end_matches(':'),
            Some(field) => found.entry(latest).or_default().push(field.trim()),
            None => {}
        }
    }
    found
}

/// Returns the value of a field of a parameter or an output.
fn value<'a>(fields: &[&'a str], name: &str) -> Option<&'a str> {
    let mut found = fields
        .iter()
        .filter_map(|field| field.strip_prefix(name)?.strip_prefix(": "));
    found.next().map(|text| text.trim_matches('"'))
}

#[test]
fn the_reference_has_each_parameter_with_default_range_and_words() {
    let (template, section) = (template(), section("Parameters of the stack"));
    let rows = rows(&section);
    let declared = declared(&template, "Parameters");

    assert_eq!(names(&rows), declared.keys().copied().collect());
    for row in &rows {
        let fields = &declared[row[0].split('`').nth(1).unwrap()];
        match value(fields, "Default").unwrap() {
            "" => assert!(row[1].starts_with("empty: "), "{row:?}"),
            default => assert_eq!(row[1].trim_matches('`'), default, "{row:?}"),
        }
        if let (Some(least), Some(most)) = (value(fields, "MinValue"), value(fields, "MaxValue")) {
            // A minimum of 0 stands for "as another parameter". The reference gives the range without it.
            let range = format!("{} to {most}", least.replace('0', "1"));
            assert!(row[2].contains(&range), "{row:?}");
        }
        let allowed = value(fields, "AllowedValues").unwrap_or_default();
        let words = allowed.trim_matches(['[', ']']).split(", ");
        let words = words.filter(|word| word.starts_with(|c: char| c.is_ascii_lowercase()));
        for word in words {
            assert!(row[2].contains(&format!("`{word}`")), "{word}: {row:?}");
        }
    }
}

#[test]
fn the_template_uses_each_parameter_as_the_reference_says() {
    let template = template();
    for line in [
        "Resource: !Split [\",\", !Ref TaskDefinitionArns]",
        "Resource: !Split [\",\", !Ref TaskRoleArns]",
        "- !Split [\",\", !Ref ClusterArns]",
        "Resource: !Split [\",\", !Ref GuardedWorkflowArns]",
        "- !Split [\",\", !Ref WorkflowArns]",
        "Architectures: [!Ref Architecture]",
        "LOCKSTEP_LOG: !Ref LogLevel",
        "LOCKSTEP_METRICS_PER_LOCK: !Ref MetricsPerLock",
        "LOCKSTEP_EVENT_BUS: !Ref EventBusName",
        "LOCKSTEP_RUN_EVENTS: !Ref RunEvents",
        "LOCKSTEP_RUN_RETENTION_DAYS: !Ref RunRetentionDays",
        "LOCKSTEP_RUN_KEY_RETENTION_DAYS: !Ref RunKeyRetentionDays",
        "RaisesAlarms: !Equals [!Ref Alarms, \"true\"]",
        "LOCKSTEP_RUNBOOK_URL: !Ref RunbookUrl",
        "Threshold: !Ref SkippedRunsPerHour",
        "Endpoint: !Ref AlarmEmail",
        "KmsMasterKeyId: !If [EncryptsAlarms, !Ref AlarmKmsKeyArn, !If [Encrypts, !Ref KmsKeyArn, !Ref \"AWS::NoValue\"]]",
    ] {
        assert!(template.contains(line), "{line}");
    }
    let count = |text: &str| template.matches(text).count();
    let topics = count("Type: AWS::SNS::Topic\n");
    assert_eq!(count("KmsMasterKeyId: !If [EncryptsAlarms, "), topics);
    let of_events = count("RetentionInDays: !Ref EventRetentionDays");
    let of_logs = count("RetentionInDays: !Ref LogRetentionDays");
    assert_eq!(of_events, 1);
    assert_eq!(of_events + of_logs, count("Type: AWS::Logs::LogGroup"));
}

#[test]
fn the_reference_has_each_output_and_says_which_are_not_exported() {
    let (template, section) = (template(), section("Outputs of the stack"));
    let rows = rows(&section);
    let declared = declared(&template, "Outputs");

    assert_eq!(names(&rows), declared.keys().copied().collect());
    for row in &rows {
        let exported = !row[1].contains("not exported");
        for name in names(std::slice::from_ref(row)) {
            let has = value(&declared[name], "Export").is_some();
            assert_eq!(has, exported, "{name}");
        }
    }
}

#[test]
fn the_reference_has_each_metric_with_its_unit_and_its_dimension() {
    let section = section("Metrics");
    let rows = rows(&section);
    let all = Metric::ALL.map(|metric| (metric.name(), metric.unit(), metric.is_per_lock()));
    let of_stack = StackMetric::ALL.map(|metric| (metric.name(), "Count", false));

    let stated = rows.iter().map(|row| {
        (
            row[0].split('`').nth(1).unwrap(),
            row[1],
            row[0].ends_with('*'),
        )
    });
    let expected: BTreeSet<_> = all.into_iter().chain(of_stack).collect();
    assert_eq!(stated.collect::<BTreeSet<_>>(), expected);
}
