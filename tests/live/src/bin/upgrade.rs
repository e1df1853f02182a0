//! Upgrades the deployed local stack and rolls it back with runs in flight, and judges by what the runs left behind.

use lockstep_live::upgrade::{Built, Settings, prove};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const HELP: &str = "\
Upgrades the deployed stack and rolls it back with runs in flight. tests/upgrade/prove calls it.

usage: upgrade FROM FROM-COMMAND TO TO-COMMAND REPORT

  FROM, TO                   folders of built versions; the stack has FROM
  FROM-COMMAND, TO-COMMAND   their `lockstep`
  REPORT                     file for the report as JSON

environment:
  RUNS    how many runs are started, at least 40 (default 200)
  QUEUE   how many runs have to be in the queues at each deployment (default 50)
  HOLD    seconds that a run works which is to be at work during a deployment (default 60); before the
          rollback three times as long as the upgrade took, if that is longer
  LIMIT   seconds that the runs may take after the rollback (default 600)

exit code: 0 when nothing overlapped, was lost, was done twice, was cut off or was refused; 1 when something was; 2 for a wrong
argument, and when too few runs were in flight to prove anything";

#[tokio::main]
async fn main() -> ExitCode {
    let given: Vec<PathBuf> = std::env::args().skip(1).map(PathBuf::from).collect();
    let [from, from_command, to, to_command, report] = &given[..] else {
        eprintln!("{HELP}");
        return ExitCode::from(2);
    };
    let built = |folder: &Path, command: &Path| Built {
        folder: folder.to_owned(),
        command: command.to_owned(),
    };
    let done = proof(built(from, from_command), built(to, to_command), report).await;
    match done {
        Ok(code) => ExitCode::from(code),
        Err(problem) => {
            eprintln!("upgrade: {problem}");
            ExitCode::from(2)
        }
    }
}

/// Proves, and writes the report. Returns the exit code.
async fn proof(from: Built, to: Built, report: &Path) -> Result<u8, String> {
    let runs = number("RUNS", 200)?;
    if runs < 40 {
        return Err(format!(
            "RUNS={runs}: less than 40, and not each lock has runs"
        ));
    }
    let settings = Settings {
        from,
        to,
        runs,
        queue: number("QUEUE", 50)?,
        hold: number("HOLD", 60)? as f64,
        limit: number("LIMIT", 600)? as u64,
    };
    let seen = prove(&settings).await?;
    println!("\n{seen}");
    let text = serde_json::to_string_pretty(&seen.json()).expect("a report is JSON");
    std::fs::write(report, text + "\n")
        .map_err(|error| format!("{}: {error}", report.display()))?;
    Ok(
        match (seen.faults().is_empty(), seen.not_shown().is_empty()) {
            (false, _) => 1,
            (true, false) => 2,
            (true, true) => 0,
        },
    )
}

fn number(name: &str, default: usize) -> Result<usize, String> {
    let Some(text) = lockstep::config::variable(name).filter(|text| !text.is_empty()) else {
        return Ok(default);
    };
    text.parse()
        .map_err(|_| format!("{name}={text}: no whole number"))
}
