//! view and operate as the functions behind a CloudWatch custom widget, which return pages instead of JSON.
//!
//! view returns pages and changes nothing. A button on a page invokes operate with the permissions of the
//! viewer. operate then returns the page of the lock after the act, and any page that its links lead to,
//! until the widget is refreshed.
//!
//! A request that is refused returns a page with the reason, not an error of the function, so that the fields
//! keep what the operator typed.

use crate::acts;
use crate::contract::{
    ActResponse, CheckedAct, CheckedHistory, CheckedPage, HistoryEntry, HistoryFilter, PageRequest,
    Surface,
};
use crate::schedules::Schedules;
use crate::widget::{self, DESCRIPTION, Frame, LockPage, Notice};
use lockstep::error::Error;
use lockstep::events::HistoryScope;
use lockstep::service::{Deps, Ports};
use lockstep_core::domain::{LockKey, Timestamp};
use lockstep_core::store::LockIndex;
use serde::Serialize;
use serde_json::Value;

/// Number of latest runs on the page of a lock.
const PAGE_RUNS: usize = 30;

/// The ARNs of the functions that pages invoke.
#[derive(Clone, Copy, Debug)]
pub struct Endpoints<'a> {
    /// The function that handles this event. Links on the page invoke it for further pages.
    pub own: &'a str,
    /// The function operate; without it, pages have no buttons that change anything.
    pub operate: Option<&'a str>,
}

/// What view and operate return.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Reply {
    /// A page in HTML, or the description of the widget in Markdown.
    Page(String),
    /// The response to an act.
    Act(Box<ActResponse>),
}

/// Handles the JSON `event` that the function `surface` received.
///
/// A request of a custom widget returns a page, even if the request is refused or fails. Any other event is
/// handled by [`acts::handle`].
///
/// # Errors
/// The errors of [`acts::handle`], for an event that does not come from a widget.
pub async fn handle<P: Ports>(
    deps: &Deps<P>,
    schedules: &impl Schedules,
    surface: Surface,
    endpoints: Endpoints<'_>,
    event: Value,
) -> Result<Reply, Error>
where
    P::Store: LockIndex,
{
    if PageRequest::describes(&event) {
        return Ok(Reply::Page(DESCRIPTION.to_owned()));
    }
    let Some(request) = PageRequest::of(&event) else {
        let response = acts::handle(deps, schedules, surface, event).await?;
        return Ok(Reply::Act(Box::new(response)));
    };
    let pages = Pages {
        deps,
        schedules,
        surface,
        request: &request,
        frame: Frame {
            theme: request.theme(),
            pages: Some(endpoints.own),
            operate: endpoints.operate,
            now: deps.now(),
        },
    };
    Ok(Reply::Page(pages.answer().await))
}

/// One request of a widget.
struct Pages<'a, P: Ports, S> {
    deps: &'a Deps<P>,
    schedules: &'a S,
    surface: Surface,
    request: &'a PageRequest,
    frame: Frame<'a>,
}

impl<P: Ports, S: Schedules> Pages<'_, P, S>
where
    P::Store: LockIndex,
{
    /// Returns the requested page. If the request fails, returns the page of its lock with the error above
    /// it, or a page with only the error.
    async fn answer(&self) -> String {
        let error = match self.requested().await {
            Ok(page) => return page,
            Err(error) => error,
        };
        let (name, message) = (error.name(), error.message());
        tracing::warn!(event = "page_failed", error = %name, message);
        let notices = [Notice::Problem {
            name: name.to_string(),
            message: message.to_owned(),
        }];
        // The page of the lock shows the error above the fields, so that the operator can correct them.
        if let (true, Some(lock)) = (self.request.is_act(), self.request.lock())
            && let Ok(page) = self.lock(&lock, &notices).await
        {
            return page;
        }
        widget::message(&self.frame, &notices)
    }

    /// Carries out the act of the request, if there is one, and returns the requested page.
    async fn requested(&self) -> Result<String, Error> {
        let now = self.frame.now;
        match self.request.check(self.surface, self.deps.retention, now)? {
            CheckedPage::List(list) => {
                let listed =
                    acts::run(self.deps, self.schedules, CheckedAct::List(list.clone())).await?;
                Ok(match listed {
                    ActResponse::List(found) => widget::list(&self.frame, &list, &found, &[]),
                    _ => widget::message(&self.frame, &[]),
                })
            }
            CheckedPage::Lock(lock) => self.lock(&lock, &[]).await,
            CheckedPage::Act(lock, act) => {
                let response = acts::run(self.deps, self.schedules, act).await?;
                let done = Notice::Done(widget::done(&lock, &response));
                let notices = [done];
                // The act was carried out, so the page says so even if the lock cannot be shown now.
                let page = self.lock(&lock, &notices).await;
                Ok(page.unwrap_or_else(|_| widget::message(&self.frame, &notices)))
            }
        }
    }

    async fn lock(&self, lock: &LockKey, notices: &[Notice]) -> Result<String, Error> {
        let shown = acts::run(self.deps, self.schedules, CheckedAct::Show(lock.clone())).await?;
        let ActResponse::Show(shown) = shown else {
            return Ok(widget::message(&self.frame, notices));
        };
        let last = self.history(lock).await?;
        let page = LockPage {
            lock: &shown,
            last: &last,
            notices,
            actor: self.request.form("actor"),
            note: self.request.form("note"),
        };
        Ok(widget::lock(&self.frame, &page))
    }

    async fn history(&self, lock: &LockKey) -> Result<Vec<HistoryEntry>, Error> {
        let history = CheckedHistory {
            scope: HistoryScope::Lock(lock.clone()),
            filter: HistoryFilter::default(),
            from: Timestamp::default(),
            to: Timestamp::MAX,
            limit: PAGE_RUNS,
            after: None,
        };
        match acts::run(self.deps, self.schedules, CheckedAct::History(history)).await? {
            ActResponse::History(history) => Ok(history.entries),
            other => unreachable!("the response to a history is {other:?}"),
        }
    }
}
