//! Measures locks on DynamoDB Local: lockstep-bench RESULTS RIVALS MEASUREMENT [MEASUREMENT ...]

use lockstep_bench::measure::{decide, item, latency, many, race, requests, storm, throughput};
use lockstep_bench::rival::Installed;
use lockstep_bench::table::{client, create, endpoint};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

const USAGE: &str = "lockstep-bench RESULTS RIVALS MEASUREMENT [MEASUREMENT ...]
  RESULTS       folder of the files of results
  RIVALS        folder of the packages that benches/rivals/pairs/install has installed
  MEASUREMENT   requests, latency, throughput, race, storm, many, decide or item; `table` creates a table and prints its name";

#[tokio::main(flavor = "current_thread")]
async fn main() -> ExitCode {
    let mut arguments = std::env::args().skip(1);
    let (Some(results), Some(rivals)) = (arguments.next(), arguments.next()) else {
        eprintln!("{USAGE}");
        return ExitCode::from(64);
    };
    let (results, rivals) = (PathBuf::from(results), Installed::new(Path::new(&rivals)));
    for name in arguments {
        match name.as_str() {
            "requests" => requests::measure(&results).await,
            "latency" => latency::measure(&results, &rivals).await,
            "throughput" => throughput::measure(&results, &rivals).await,
            "race" => race::measure(&results).await,
            "storm" => storm::measure(&results).await,
            "many" => many::measure(&results).await,
            "decide" => decide::measure(&results),
            "item" => item::measure(&results).await,
            "table" => println!("{}", create(&client(&endpoint()).await).await),
            _ => {
                eprintln!("no such measurement: {name}\n{USAGE}");
                return ExitCode::from(64);
            }
        }
    }
    ExitCode::SUCCESS
}
