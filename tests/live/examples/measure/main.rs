//! Measures the deployed stack: hand-over, recovery and eviction. `benches/stack` runs it.

mod eviction;
mod hand_over;
mod recovery;

use lockstep_live::stack::Stack;
use std::path::PathBuf;
use std::process::ExitCode;

const HELP: &str = "\
Measures a deployed stack, and writes a file of results for each measurement. No time is read from the
lock table: the witnesses are the containers, ECS and the histories of the executions.

usage: measure RESULTS [--check] [--rounds N] [MEASUREMENT ...]

  RESULTS       folder of the files of results
  --check       only checks the arguments
  --rounds N    samples of each figure, from 1 to 1000 (default: 15, 5 and 10)
  MEASUREMENT   hand-over, recovery or eviction (default: all)

environment:
  LOCKSTEP_STATE   folder of the stack, as tests/stack/lockstack wrote it (default target/stack)";

const MEASUREMENTS: [&str; 3] = ["hand-over", "recovery", "eviction"];

struct Arguments {
    results: PathBuf,
    check: bool,
    rounds: Option<usize>,
    measurements: Vec<String>,
}

#[tokio::main]
async fn main() -> ExitCode {
    let given = arguments(std::env::args().skip(1));
    let arguments = match given {
        Ok(Some(arguments)) if arguments.check => return ExitCode::SUCCESS,
        Ok(Some(arguments)) => arguments,
        Ok(None) => {
            println!("{HELP}");
            return ExitCode::SUCCESS;
        }
        Err(problem) => {
            eprintln!("measure: {problem}");
            return ExitCode::from(64);
        }
    };
    let stack = match Stack::connect().await {
        Ok(stack) => stack,
        Err(problem) => {
            eprintln!("measure: {problem}");
            return ExitCode::FAILURE;
        }
    };
    for name in &arguments.measurements {
        let (folder, rounds) = (&arguments.results, arguments.rounds);
        match name.as_str() {
            "hand-over" => hand_over::measure(&stack, rounds.unwrap_or(15), folder).await,
            "recovery" => recovery::measure(&stack, rounds.unwrap_or(5), folder).await,
            _ => eviction::measure(&stack, rounds.unwrap_or(10), folder).await,
        }
    }
    ExitCode::SUCCESS
}

/// Returns what has to be measured; `None` if only help is wanted.
fn arguments(mut given: impl Iterator<Item = String>) -> Result<Option<Arguments>, String> {
    let (mut results, mut check, mut rounds, mut measurements) = (None, false, None, Vec::new());
    while let Some(argument) = given.next() {
        match argument.as_str() {
            "--help" | "-h" => return Ok(None),
            "--check" => check = true,
            "--rounds" => {
                let text = given.next().unwrap_or_default();
                let number = text
                    .parse()
                    .ok()
                    .filter(|number| (1..=1000).contains(number));
                let rule = || format!("--rounds is {text:?}: a whole number from 1 to 1000");
                rounds = Some(number.ok_or_else(rule)?);
            }
            _ if results.is_none() => results = Some(PathBuf::from(argument)),
            name if MEASUREMENTS.contains(&name) => measurements.push(argument),
            name => {
                let known = MEASUREMENTS.join(", ");
                return Err(format!("MEASUREMENT is {name:?}: one of {known}"));
            }
        }
    }
    let results = results.ok_or("RESULTS is missing: a folder")?;
    if !results.is_dir() {
        return Err(format!(
            "RESULTS is {}: a folder that exists",
            results.display()
        ));
    }
    if measurements.is_empty() {
        measurements = MEASUREMENTS.map(str::to_owned).to_vec();
    }
    Ok(Some(Arguments {
        results,
        check,
        rounds,
        measurements,
    }))
}

/// Prints one line of progress. Round 0 does not count.
fn progress(what: &str, round: usize, rounds: usize) {
    eprintln!("{what}: {round} of {rounds}");
}

/// Returns the load of the machine, for the note of a measurement.
fn load() -> String {
    let text = std::fs::read_to_string("/proc/loadavg").unwrap_or_default();
    text.split(' ').next().unwrap_or("unknown").to_owned()
}

/// Returns the milliseconds from `since` to `end`, as a sample.
fn millis(since: u64, end: u64) -> f64 {
    end.saturating_sub(since) as f64
}
