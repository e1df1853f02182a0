//! The flags of `lockstep agent`.

use super::parse;
use super::shared::{ProtectArg, ScopeArg, TableArg};
use clap::Args;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

const AFTER_HELP: &str = "\
The API: POST /v1/jobs, POST /v1/jobs/{job}/beat, POST /v1/jobs/{job}/end, GET /v1/jobs/{job}; its
description is at GET /v1/openapi.yaml.

With a COMMAND, the agent starts it with LOCKSTEP_AGENT (http://… or unix:…) in its environment, and
ends when the command ends. Without a COMMAND, the agent runs beside the program, in the same task.

Exit codes:
  the command's own; 128+n if signal n ended it
  64   a flag or the environment is wrong; the address is in use
  69   there are no credentials
  126, 127  the command cannot be run, is not found
  143  stopped by SIGTERM (130 by SIGINT)

Examples:
  lockstep agent -- java -jar service.jar
  lockstep agent --socket /run/lockstep/agent.sock";

/// Hold locks for a program that runs many jobs in one process, over a local HTTP API
#[derive(Debug, Args)]
#[command(after_help = AFTER_HELP)]
pub(crate) struct AgentArgs {
    /// Loopback address and port to listen on; port 0 picks a free port, which LOCKSTEP_AGENT and the log
    /// event agent_started name
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:7414", value_parser = loopback)]
    pub(crate) listen: SocketAddr,
    /// Unix socket to listen on instead, created with mode 0600; LOCKSTEP_AGENT is then unix:PATH
    #[arg(long, value_name = "PATH", conflicts_with = "listen")]
    pub(crate) socket: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) table: TableArg,
    /// Lease of a job that does not ask for one, 5s to 24h
    #[arg(long, value_name = "TIME", default_value = "60s", value_parser = parse::lease)]
    pub(crate) lease: Duration,
    #[command(flatten)]
    pub(crate) protect: ProtectArg,
    /// Time in which a job has to stop before its lease ends; on SIGTERM, time for all processes of the
    /// command, or for the open jobs, to stop
    #[arg(long, value_name = "TIME", default_value = "25s", value_parser = parse::duration)]
    pub(crate) grace: Duration,
    #[command(flatten)]
    pub(crate) scope: ScopeArg,
    /// The command and its arguments, if the agent is to start one
    #[arg(last = true, value_name = "COMMAND")]
    pub(crate) command: Vec<OsString>,
}

/// Parses a loopback address with a port. Any client of the API can acquire locks, so only this machine may
/// reach it.
fn loopback(text: &str) -> Result<SocketAddr, String> {
    let address: Option<SocketAddr> = text.parse().ok();
    address
        .filter(|address| address.ip().is_loopback())
        .ok_or_else(|| "must be a loopback address with a port, such as 127.0.0.1:7414".into())
}

#[cfg(test)]
mod tests {
    use super::loopback;

    #[test]
    fn only_a_loopback_address_is_accepted() {
        for good in ["127.0.0.1:7414", "127.0.0.2:0", "[::1]:7414"] {
            assert!(loopback(good).is_ok(), "{good}");
        }
        let bad = "0.0.0.0:7414 [::]:7414 10.0.0.7:7414 169.254.170.2:80 localhost 7414 ";
        for bad in bad.split(' ') {
            assert!(loopback(bad).is_err(), "{bad}");
        }
    }
}
