//! Plays the demo on a deployed stack, draws its timeline, and fails if anything overlaps.

use lockstep::clock::{Clock, SystemClock};
use lockstep::config::variable;
use lockstep_live::stack::Stack;
use lockstep_live::timeline::{Timeline, html, scenario, svg, text, verdict, watch};
use std::fs;
use std::io::{IsTerminal, stdout};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const HELP: &str = "\
Plays seven scenes on a deployed stack (ten deliveries of one tick, overlap, redelivery, next tick,
failure, eviction, a killed run with others waiting), draws what happened, and counts overlaps from what the containers recorded.

usage: demo [--out DIR]

  --out DIR    where timeline.html and timeline.svg go (default target/demo)
  --help       this text

environment:
  LOCKSTEP_STATE   folder of the stack, as tests/stack/lockstack wrote it (default target/stack)
  NO_COLOR         no colours on a terminal

exit code: 0 when all came out as it should; 1 when not; 2 for a wrong argument";

#[tokio::main]
async fn main() -> ExitCode {
    let out = match arguments(std::env::args().skip(1)) {
        Ok(Some(out)) => out,
        Ok(None) => {
            println!("{HELP}");
            return ExitCode::SUCCESS;
        }
        Err(problem) => {
            eprintln!("demo: {problem}\n\n{HELP}");
            return ExitCode::from(2);
        }
    };
    match demo(&out).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(problem) => {
            eprintln!("demo: {problem}");
            ExitCode::FAILURE
        }
    }
}

/// Returns the folder for the pictures; `None` if only help is wanted.
fn arguments(mut given: impl Iterator<Item = String>) -> Result<Option<PathBuf>, String> {
    let mut out = lockstep_live::repository().join("target/demo");
    while let Some(argument) = given.next() {
        match argument.as_str() {
            "--help" | "-h" => return Ok(None),
            "--out" => out = given.next().ok_or("--out needs a folder")?.into(),
            other => return Err(format!("unknown argument {other}")),
        }
    }
    Ok(Some(out))
}

/// Plays the demo. Returns whether all came out as it should.
async fn demo(out: &Path) -> Result<bool, String> {
    let stack = Stack::connect().await?;
    // A name of its own, so that the demo can run again on the same stack.
    let lock = format!("nightly-report-{}", SystemClock.now().millis());
    let lease = scenario::LEASE_SECONDS;
    let mut watch = watch::Watch::new(stack, lock, lease, |at, what| println!("{at:>7}  {what}"));
    scenario::play(&mut watch).await;
    let timeline = watch.timeline().await;
    println!("\n{}", text::render(&timeline, coloured()));
    let files = write(&timeline, out).map_err(|error| format!("{}: {error}", out.display()))?;
    println!("{}\n", verdict::Summary::of(&timeline));
    for file in files {
        println!("wrote {}", file.display());
    }
    let problems = verdict::problems(&timeline);
    for problem in &problems {
        eprintln!("demo: {problem}");
    }
    Ok(problems.is_empty())
}

fn coloured() -> bool {
    stdout().is_terminal() && variable("NO_COLOR").is_none_or(|value| value.is_empty())
}

fn write(timeline: &Timeline, out: &Path) -> std::io::Result<[PathBuf; 2]> {
    fs::create_dir_all(out)?;
    let files = [out.join("timeline.html"), out.join("timeline.svg")];
    fs::write(&files[0], html::render(timeline))?;
    fs::write(&files[1], svg::render(timeline))?;
    Ok(files)
}
