//! Reads an account, list by list and page by page: its state machines, the schedules and rules that start
//! them, and their runs.

use super::api::{Api, CallError};
use super::client::{Client, Listed, Page, Rule};
use super::found::{Denied, Found, Machine, NotSeen, Window, machine_of};
use super::journal::Journal;
use super::progress::Progress;
use super::run::{Run, reach_before_window};
use super::schedule::{Schedule, Source};
use crate::args::audit::AuditArgs;
use crate::exit::{EarlyExit, Exit};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::HashSet;

/// Reads lists at the request rate that [`Client`] allows, and keeps their pages in the journal.
#[derive(Debug)]
pub(super) struct Reader {
    pub(super) client: Client,
    pub(super) journal: Journal,
    progress: Progress,
    denied: Vec<Denied>,
    runs: usize,
}

/// Why a list was not read.
enum Unread {
    /// The call was denied, the resource is gone, or the pagination token was refused twice. The audit leaves
    /// this list out and continues.
    Left(CallError),
    /// The audit ends.
    Exit(EarlyExit),
}

impl From<EarlyExit> for Unread {
    fn from(exit: EarlyExit) -> Self {
        Self::Exit(exit)
    }
}

impl Reader {
    pub(super) fn new(client: Client, journal: Journal) -> Self {
        Self {
            client,
            journal,
            progress: Progress::new(),
            denied: Vec::new(),
            runs: 0,
        }
    }

    /// Reads all that the report needs.
    ///
    /// # Errors
    /// [`EarlyExit`] if Step Functions cannot be reached or does not list the state machines, if a state
    /// machine that `args` names does not exist, or if the file of `--state` cannot be written.
    pub(super) async fn read(
        &mut self,
        args: &AuditArgs,
        window: Window,
    ) -> Result<Found, EarlyExit> {
        let machines = self.machines(args, &window.region).await?;
        let arns: HashSet<_> = machines.iter().map(|of| of.arn.clone()).collect();
        let mut schedules = self.rules(&arns).await?;
        schedules.extend(self.schedules(&arns).await?);
        let (mut read, mut not_seen) = (Vec::new(), Vec::new());
        let count = machines.len();
        for (index, machine) in machines.into_iter().enumerate() {
            let doing = format!("{} of {count} state machines", index + 1);
            let reason = if machine.is_express {
                "Express: Step Functions keeps no list of its executions".into()
            } else {
                match self.runs(&machine.arn, window.since, &doing).await {
                    Ok(runs) => {
                        self.runs += runs.len();
                        read.push((machine, runs));
                        continue;
                    }
                    Err(Unread::Left(CallError::Denied(why))) => {
                        format!("{} is denied: {why}", Api::ListExecutions.action())
                    }
                    Err(Unread::Left(CallError::StaleToken)) => {
                        "the list of its executions could not be read to the end: the pagination token was refused twice"
                            .into()
                    }
                    Err(Unread::Left(_)) => "deleted while the audit ran".into(),
                    Err(Unread::Exit(exit)) => return Err(exit),
                }
            };
            not_seen.push(NotSeen {
                name: machine.name,
                arn: machine.arn,
                reason,
            });
        }
        Ok(Found {
            window,
            machines: read,
            not_seen,
            schedules,
            denied: std::mem::take(&mut self.denied),
            requests: self.client.requests,
        })
    }

    /// Reads the state machines that `args` select.
    async fn machines(
        &mut self,
        args: &AuditArgs,
        region: &str,
    ) -> Result<Vec<Machine>, EarlyExit> {
        let fetch = async |client: &mut Client, token| client.machines(token).await;
        let all = self
            .list("machines", "state machines", fetch, |_| false)
            .await;
        let mut all = all.map_err(|unread| {
            let api = Api::ListStateMachines;
            let text = match unread {
                Unread::Exit(exit) => return exit,
                Unread::Left(CallError::Denied(why)) => {
                    format!("{} is denied: {why}", api.action())
                }
                Unread::Left(_) => format!("{} returned no usable list", api.action()),
            };
            (Exit::UNAVAILABLE, text)
        })?;
        if let Some(missing) = args
            .names
            .iter()
            .find(|name| !all.iter().any(|of| of.name == **name))
        {
            let text = format!("NAME {missing}: there is no such state machine in {region}");
            return Err((Exit::CONFIGURATION, text));
        }
        all.retain(|machine| {
            let prefix = args.prefix.as_deref().unwrap_or_default();
            let is_named = args.names.is_empty() || args.names.contains(&machine.name);
            is_named && machine.name.starts_with(prefix)
        });
        Ok(all)
    }

    /// Reads the runs of a state machine that started in the window, and some that started before it.
    async fn runs(&mut self, machine: &str, since: u64, doing: &str) -> Result<Vec<Run>, Unread> {
        let fetch = async |client: &mut Client, token| client.runs(machine, token).await;
        let is_before = |page: &Page<Run>| reach_before_window(&page.items, since);
        let of = format!("executions/{machine}");
        self.list(&of, doing, fetch, is_before).await
    }

    /// Reads the rules of the default event bus that start one of `machines`.
    async fn rules(&mut self, machines: &HashSet<String>) -> Result<Vec<Schedule>, EarlyExit> {
        let fetch = async |client: &mut Client, token| client.rules(token).await;
        let rules = self.list("rules", "rules", fetch, |_| false).await;
        let rules: Vec<Rule> = self.items_unless_denied(Api::ListRules, rules)?;
        let mut found = Vec::new();
        for rule in rules {
            let name = rule.name.as_str();
            let fetch = async |client: &mut Client, token| client.targets(name, token).await;
            let targets = self
                .list(&format!("targets/{name}"), "rules", fetch, |_| false)
                .await;
            let targets: Vec<String> = self.items_unless_denied(Api::ListTargetsByRule, targets)?;
            let started: HashSet<_> = targets.iter().filter_map(|arn| machine_of(arn)).collect();
            found.extend(started.intersection(machines).map(|machine| Schedule {
                name: rule.name.clone(),
                source: Source::Rule,
                machine: machine.clone(),
                expression: rule.expression.clone(),
                timezone: None,
                enabled: rule.enabled,
                from: None,
                to: None,
                changed: None,
                flexible: 0,
            }));
        }
        Ok(found)
    }

    /// Reads the schedules of EventBridge Scheduler that start one of `machines`.
    async fn schedules(&mut self, machines: &HashSet<String>) -> Result<Vec<Schedule>, EarlyExit> {
        let fetch = async |client: &mut Client, token| client.schedules(token).await;
        let listed = self.list("schedules", "schedules", fetch, |_| false).await;
        let listed: Vec<Listed> = self.items_unless_denied(Api::ListSchedules, listed)?;
        let mut found = Vec::new();
        for listed in listed {
            if listed
                .machine
                .as_ref()
                .is_some_and(|of| !machines.contains(of))
            {
                continue;
            }
            let name = listed.full_name();
            let fetch = async |client: &mut Client, _| client.schedule(&listed).await;
            let schedule = self
                .list(&format!("schedule/{name}"), "schedules", fetch, |_| false)
                .await;
            let schedule: Vec<Schedule> = self.items_unless_denied(Api::GetSchedule, schedule)?;
            found.extend(
                schedule
                    .into_iter()
                    .filter(|of| machines.contains(&of.machine)),
            );
        }
        Ok(found)
    }

    /// Reads the list that the journal calls `of`, up to the first page for which `enough` returns true. Pages
    /// that the journal contains are not requested again. If the pagination token has expired, the list is read
    /// once more from its first page.
    async fn list<T: Serialize + DeserializeOwned>(
        &mut self,
        of: &str,
        doing: &str,
        fetch: impl AsyncFn(&mut Client, Option<String>) -> Result<Page<T>, CallError>,
        enough: impl Fn(&Page<T>) -> bool,
    ) -> Result<Vec<T>, Unread> {
        let mut list = self.journal.take::<T>(of);
        let mut restarts = false;
        while !list.done {
            let (runs, requests) = (self.runs, self.client.requests);
            let throttled = self.client.throttled;
            self.progress.show(|| {
                let slow = if throttled > 0 {
                    format!(", {throttled} of them throttled")
                } else {
                    String::new()
                };
                format!("{doing}, {runs} runs, {requests} requests{slow}")
            });
            let page = match fetch(&mut self.client, list.next.clone()).await {
                Ok(page) => page,
                Err(CallError::StaleToken) if !restarts => {
                    list = super::journal::List::default();
                    restarts = true;
                    continue;
                }
                Err(CallError::Failed(why)) => return Err(Unread::Exit((Exit::UNAVAILABLE, why))),
                Err(left) => return Err(Unread::Left(left)),
            };
            let is_first = list.items.is_empty();
            list.done = page.next.is_none() || enough(&page);
            self.journal
                .keep(of, &page, list.done, restarts && is_first)?;
            list.next = page.next;
            list.items.extend(page.items);
        }
        Ok(list.items)
    }

    /// Returns the items of a list. A list that is denied counts as empty, and the report names the denied
    /// action once.
    fn items_unless_denied<T>(
        &mut self,
        api: Api,
        list: Result<Vec<T>, Unread>,
    ) -> Result<Vec<T>, EarlyExit> {
        match list {
            Ok(items) => Ok(items),
            Err(Unread::Exit(exit)) => Err(exit),
            Err(Unread::Left(CallError::Denied(error))) => {
                if self.denied.iter().all(|known| known.action != api.action()) {
                    self.denied.push(Denied {
                        action: api.action(),
                        lacks: lacks(api),
                        error,
                    });
                }
                Ok(Vec::new())
            }
            // A rule or a schedule that was deleted during the audit starts nothing. A list whose pagination token
            // was refused twice is left out, too.
            Err(Unread::Left(_)) => Ok(Vec::new()),
        }
    }
}

/// Returns what the report lacks if `api` is denied.
fn lacks(api: Api) -> &'static str {
    match api {
        Api::ListRules | Api::ListTargetsByRule => {
            "the rules of EventBridge that start state machines"
        }
        Api::ListSchedules | Api::GetSchedule => {
            "the schedules of EventBridge Scheduler that start state machines"
        }
        Api::ListStateMachines | Api::ListExecutions => "runs",
    }
}
