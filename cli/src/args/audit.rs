//! The flags of `lockstep audit`.

use super::operate::Format;
use super::parse;
use clap::{Args, ValueHint};
use std::path::PathBuf;
use std::time::Duration;

/// Step Functions keeps closed executions for 90 days
/// (<https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html>).
const RETENTION: Duration = Duration::from_secs(90 * 86_400);

const AFTER_HELP: &str = "\
Exit codes:
  0    done, with or without overlaps
  64   a flag is wrong, there is no such state machine, or --state FILE is from another audit
  69   Step Functions cannot be reached, or denies states:ListStateMachines
  73   FILE, or standard output, cannot be written
  130  interrupted

The audit needs no Lockstep stack in the account, and writes nothing to AWS.

Examples:
  lockstep audit
  lockstep audit --since 90d --html audit.html --state audit.state
  lockstep audit nightly-report etl --output json";

/// Show which state machines ran twice at once, before anything is deployed
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct AuditArgs {
    /// Only these state machines [default: all of the account and Region]
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,
    /// Only state machines whose name begins with PREFIX
    #[arg(long, conflicts_with = "names")]
    pub(crate) prefix: Option<String>,
    /// Only runs that started within this time, from 1m to 90d: Step Functions keeps closed executions for 90 days
    #[arg(long, value_name = "TIME", default_value = "30d", value_parser = since)]
    pub(crate) since: Duration,
    /// How to print the report
    #[arg(
        long,
        short,
        value_enum,
        value_name = "FORMAT",
        default_value = "table"
    )]
    pub(crate) output: Format,
    /// Write the report with timelines to this file: one HTML page without a script, which loads nothing
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) html: Option<PathBuf>,
    /// Requests per second to each service, from 0.1 to 100 [default: half of the quota of Step Functions]
    #[arg(long, value_name = "N", value_parser = rate)]
    pub(crate) rate: Option<f64>,
    /// Save what was read to this file, so that the same command resumes an interrupted audit
    #[arg(long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) state: Option<PathBuf>,
}

fn since(text: &str) -> Result<Duration, String> {
    let length = parse::duration(text)?;
    if (Duration::from_secs(60)..=RETENTION).contains(&length) {
        Ok(length)
    } else {
        Err("must be from 1m to 90d".into())
    }
}

fn rate(text: &str) -> Result<f64, String> {
    let rule = "must be a number from 0.1 to 100";
    let rate: f64 = text.parse().map_err(|_| rule.to_owned())?;
    if (0.1..=100.0).contains(&rate) {
        Ok(rate)
    } else {
        Err(rule.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_and_a_rate_outside_of_their_ranges_are_refused() {
        for good in ["1m", "24h", "90d"] {
            assert!(since(good).is_ok(), "{good}");
        }
        for bad in ["59s", "91d", "30", ""] {
            assert!(since(bad).is_err(), "{bad}");
        }
        assert_eq!((rate("0.1"), rate("100")), (Ok(0.1), Ok(100.0)));
        for bad in ["0", "-1", "101", "NaN", "inf", "fast"] {
            assert!(rate(bad).is_err(), "{bad}");
        }
    }
}
