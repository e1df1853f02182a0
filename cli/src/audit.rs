//! `lockstep audit`: reports which state machines of an account ran twice at once, before anything is
//! deployed.
//!
//! Reading order:
//! - [`run`] and [`schedule`]: the input of the figures;
//! - [`overlap`], [`replay`] and [`missed`]: the figures;
//! - [`advice`]: the options that the figures suggest;
//! - [`report`]: all figures together. The modules so far are pure.
//! - [`api`], [`client`] and [`pace`]: the calls to AWS;
//! - [`journal`]: the state that an interrupted audit leaves;
//! - [`read`]: reads an account through these calls and the journal;
//! - [`table`] and [`html`]: print the report.

mod advice;
mod api;
mod client;
mod found;
mod html;
mod journal;
mod missed;
mod overlap;
mod pace;
mod progress;
mod read;
mod replay;
mod report;
mod run;
pub(crate) mod schedule;
mod table;
mod text;

use crate::args::audit::AuditArgs;
use crate::args::operate::Format;
use crate::exit::{EarlyExit, Exit};
use crate::log;
use crate::operate::screen::Screen;
use crate::operate::{error_text, finish, print};
use crate::platform::aws::{Loaded, operators_config};
use crate::platform::file;
use crate::platform::signals::interrupted;
use aws_config::SdkConfig;
use client::Client;
use found::{Found, Window};
use journal::{Journal, Question};
use lockstep::clock::{Clock, SystemClock};
use read::Reader;
use report::Report;
use std::fs::canonicalize;
use std::path::{Path, PathBuf};

/// Reads the account and prints the report.
pub(crate) async fn audit(args: AuditArgs) -> Exit {
    match read(&args).await {
        Ok(found) => print_report(&args, &Report::of(found)),
        Err((exit, why)) => {
            log::print_line(why);
            exit
        }
    }
}

async fn read(args: &AuditArgs) -> Result<Found, EarlyExit> {
    let file = |path: &PathBuf| canonicalize(path).unwrap_or_else(|_| path.clone());
    if let (Some(state), Some(html)) = (&args.state, &args.html)
        && file(state) == file(html)
    {
        let text = format!("--state and --html name the same file: {}", html.display());
        return Err((Exit::CONFIGURATION, text));
    }
    let Loaded { sdk, region } = operators_config().await?;
    let now = SystemClock.now().millis();
    let (journal, until) = match &args.state {
        Some(path) => {
            let question = Question {
                region: region.name.clone(),
                account: account(&sdk).await?,
                since_seconds: args.since.as_secs(),
                names: args.names.clone(),
                prefix: args.prefix.clone(),
            };
            Journal::open(path, &question, now)?
        }
        None => (Journal::default(), now),
    };
    let window = Window {
        since: until.saturating_sub(args.since.as_secs() * 1_000),
        until,
        region: region.name.clone(),
    };
    let client = Client::new(&sdk, &region.name, args.rate);
    let mut reader = Reader::new(client, journal);
    let stopped = tokio::select! {
        found = reader.read(args, window) => match found {
            Ok(found) => return Ok(found),
            Err(exit) => exit,
        },
        signal = interrupted() => (Exit::signal(signal), "interrupted".into()),
    };
    let (exit, why) = stopped;
    Err((
        exit,
        format!("{why}{}", resumption(exit, reader.journal.path())),
    ))
}

/// Returns how to resume an audit that has stopped, as the end of its error message.
fn resumption(exit: Exit, state: Option<&Path>) -> String {
    match state {
        _ if exit == Exit::CONFIGURATION || exit == Exit::CANNOT_WRITE => String::new(),
        Some(path) => format!(
            "; run the same command again to resume from {}",
            path.display()
        ),
        None => "; with --state FILE, the same command would resume where the audit stopped".into(),
    }
}

/// Returns the account of the credentials. GetCallerIdentity needs no permission
/// (<https://docs.aws.amazon.com/STS/latest/APIReference/API_GetCallerIdentity.html>).
async fn account(sdk: &SdkConfig) -> Result<String, EarlyExit> {
    let client = aws_sdk_sts::Client::new(sdk);
    let found = client.get_caller_identity().send().await;
    let found = found.map_err(|failure| {
        let text = format!("STS GetCallerIdentity: {}", error_text(&failure));
        (Exit::UNAVAILABLE, text)
    })?;
    Ok(found.account.unwrap_or_default())
}

fn print_report(args: &AuditArgs, report: &Report) -> Exit {
    let text = match args.output {
        Format::Table => Ok(table::text(report, &Screen::new(false))),
        Format::Json => serde_json::to_string_pretty(report).map(|json| format!("{json}\n")),
    };
    match text {
        Ok(text) => match finish(print(&text).map(|()| Exit::OK)) {
            Exit::OK => write_html(args, report),
            exit => exit,
        },
        Err(error) => {
            log::print_line(format!("the report cannot be written as JSON: {error}"));
            Exit::FAILED
        }
    }
}

/// Writes the page of `--html`. This comes last, so that the report is printed even if the page cannot be
/// written.
fn write_html(args: &AuditArgs, report: &Report) -> Exit {
    let Some(path) = &args.html else {
        return Exit::OK;
    };
    match file::write_whole(path, &html::page(report)) {
        Ok(()) => Exit::OK,
        Err(error) => {
            let path = path.display();
            log::print_line(format!("--html {path} cannot be written: {error}"));
            Exit::CANNOT_WRITE
        }
    }
}
