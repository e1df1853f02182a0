//! view and operate as the functions behind a CloudWatch custom widget: pages in place of JSON.
//!
//! view shows pages and changes nothing. A button of a page calls operate with the permission of the viewer;
//! operate shows the lock after the act, and the pages behind it, until the widget is refreshed.
//!
//! A request that is refused is answered with a page that has the reason, and not with an error of
//! the function: what was typed stays in its fields.

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

/// The runs of a lock that its page shows.
const PAGE_RUNS: usize = 30;

/// The functions that pages call, by their ARNs.
#[derive(Clone, Copy, Debug)]
pub struct Endpoints<'a> {
    /// The function that handles this event, which shows further pages too.
    pub own: &'a str,
    /// operate; without it, pages have no buttons that change anything.
    pub operate: Option<&'a str>,
}

/// What view and operate return.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(untagged)]
pub enum Reply {
    /// HTML, or Markdown of the description.
    Page(String),
    /// The response to an act.
    Act(Box<ActResponse>),
}

/// Handles the JSON `event`, which came to `surface`: a request of a custom widget with a page, another as
/// [`acts::handle`]. A page also shows why its own request was refused.
///
/// # Errors
/// As [`acts::handle`], for an event that is not of a widget.
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
    /// The page, or the page of the lock with the error, or the error alone.
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
        // The page of a lock shows an error above the fields that it came from, to be corrected.
        if let (true, Some(lock)) = (self.request.is_act(), self.request.lock())
            && let Ok(page) = self.lock(&lock, &notices).await
        {
            return page;
        }
        widget::message(&self.frame, &notices)
    }

    /// The page that was asked for, after the act that came with it.
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
                // What was done stays done, although the lock cannot be shown now.
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
