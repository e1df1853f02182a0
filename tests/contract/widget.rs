//! The pages that view and operate show in a CloudWatch custom widget, and what a page may contain.

use crate::functions::{Functions, key};
use crate::markup::{assert_harmless, parsed};
use crate::operate::act;
use crate::scene::{ask, assert_says, execution, waiting};
use lockstep::domain::Mode;
use lockstep::store::LockIndex;
use lockstep_operate::contract::{Surface, with_short_names};
use lockstep_operate::pages::{self, Endpoints, Reply};
use serde_json::{Value, json};

pub(crate) const VIEW: &str = "arn:aws:lambda:eu-west-1:123456789012:function:lockstep-view";
pub(crate) const OPERATE: &str = "arn:aws:lambda:eu-west-1:123456789012:function:lockstep-operate";

/// A note that runs as a script in a page that does not escape it.
pub(crate) const SCRIPT: &str =
    "<script>alert('1')</script><img src=x onerror=alert(1)>\"><iframe>";

/// Returns the event that CloudWatch sends for a widget: `body`, and a `widgetContext` with the values `form` of
/// the page's form fields.
pub(crate) fn event(body: &Value, form: Value) -> Value {
    let mut event = body.clone();
    event["widgetContext"] = json!({
        "dashboardName": "lockstep-eu-west-1",
        "widgetId": "widget-1",
        "accountId": "123456789012",
        "locale": "en",
        "timezone": { "label": "UTC", "offsetISO": "+00:00", "offsetInMinutes": 0 },
        "period": 300,
        "isAutoPeriod": true,
        "timeRange": { "mode": "relative", "start": 1, "end": 2, "relativeStart": 1 },
        "theme": "light",
        "linkCharts": true,
        "title": "Locks",
        "forms": { "all": form },
        "params": {},
        "width": 588,
        "height": 369,
    });
    event
}

impl Functions {
    pub(crate) async fn page_with(
        &self,
        surface: Surface,
        operate: Option<&str>,
        event: Value,
    ) -> String {
        self.page_on(&self.store, surface, operate, event).await
    }

    /// Returns the page that `surface` shows of `store`.
    pub(crate) async fn page_on<S: LockIndex>(
        &self,
        store: S,
        surface: Surface,
        operate: Option<&str>,
        event: Value,
    ) -> String {
        let own = match surface {
            Surface::View => VIEW,
            Surface::Operate => OPERATE,
        };
        let endpoints = Endpoints { own, operate };
        let deps = self.deps_on(store);
        let reply = pages::handle(&deps, &self.schedules, surface, endpoints, event).await;
        let Ok(Reply::Page(page)) = reply else {
            panic!("no page: {reply:?}")
        };
        assert_harmless(&page);
        page
    }

    /// Returns the page that view shows for `body`.
    pub(crate) async fn page(&self, body: Value) -> String {
        let event = event(&body, json!({}));
        self.page_with(Surface::View, Some(OPERATE), event).await
    }

    /// Returns the page that view shows of the lock.
    pub(crate) async fn page_of_the_lock(&self) -> String {
        let body = json!({ "page": "lock", "lock": "nightly" });
        self.page(body).await
    }

    /// Returns the page that operate shows after a click on the button with this body, with the fields of the
    /// form.
    pub(crate) async fn click(&self, body: &Value, form: Value) -> String {
        let event = event(body, form);
        self.page_with(Surface::Operate, Some(OPERATE), event).await
    }

    /// Returns the page that operate shows after a click on the button `label`, with a note in the form.
    pub(crate) async fn press(&self, page: &str, label: &str, note: &str) -> String {
        self.click(&button(page, label), signed(note)).await
    }
}

/// Returns the form of an operator with an actor and a note.
pub(crate) fn signed(note: &str) -> Value {
    json!({ "actor": "jo@example.com", "note": note })
}

/// Returns the label, the endpoint and the body of each action of a page. The label is the text of the
/// element before it.
fn actions(page: &str) -> Vec<(String, String, Value)> {
    let elements = parsed(page);
    let pairs = elements.windows(2);
    let actions = pairs.filter(|pair| pair[1].name == "cwdb-action");
    let found = actions.map(|pair| {
        let endpoint = pair[1].attribute("endpoint").expect("an endpoint");
        let body = serde_json::from_str(&pair[1].text).expect("a body is JSON");
        (pair[0].text.clone(), endpoint.to_owned(), body)
    });
    found.collect()
}

/// Returns the body of the button `label`.
pub(crate) fn button(page: &str, label: &str) -> Value {
    let found = actions(page).into_iter().find(|(text, ..)| text == label);
    found.unwrap_or_else(|| panic!("no {label} in {page}")).2
}

/// Checks that `page` has an element with each of these texts.
#[track_caller]
pub(crate) fn assert_shows(page: &str, texts: &[&str]) {
    for text in texts {
        let shown = parsed(page).iter().any(|element| element.text == *text);
        assert!(shown, "{text}: {page}");
    }
}

/// Returns the value of a field of a form.
pub(crate) fn field(page: &str, name: &str) -> Option<String> {
    let elements = parsed(page);
    let mut fields = elements.iter();
    let field = fields.find(|one| one.attribute("name") == Some(name))?;
    field.attribute("value").map(str::to_owned)
}

/// Returns the problem that a page shows. Panics unless there is exactly one.
#[track_caller]
pub(crate) fn problem(page: &str) -> String {
    let mut problems = problems(page);
    assert_eq!(problems.len(), 1, "{page}");
    problems.remove(0)
}

/// Returns all problems that a page shows.
pub(crate) fn problems(page: &str) -> Vec<String> {
    let elements = parsed(page).into_iter();
    let problems = elements.filter(|one| one.attribute("class") == Some("notice problem"));
    problems.map(|problem| problem.text).collect()
}

/// Returns the functions with a lock that is held and paused with `note`, and that has a waiter and a past
/// run.
async fn busy_lock(note: &str) -> Functions {
    let (functions, first) = Functions::held(&["a", "b", "c"]).await;
    functions.wait(30);
    functions.succeed(&first).await;
    functions.granted_with(ask("b")).await;
    functions.acquire(waiting("c", "SECRET-c")).await.unwrap();
    functions.pause(note).await;
    functions.wait(5);
    functions
}

#[tokio::test]
async fn the_list_shows_locks_and_leads_to_each() {
    let functions = busy_lock("upgrade").await;
    functions.granted("s/held", "b").await;

    let page = functions.page(json!({})).await;

    let note = "upgrade (by ops@example.com)";
    assert_shows(&page, &["nightly", "paused", note, "s/held", "held"]);
    let cells = parsed(&page);
    let holder = cells
        .iter()
        .find(|cell| cell.attribute("title") == Some(&execution("b")));
    assert_eq!(holder.map(|cell| cell.text.as_str()), Some("b"));
    let leads_to = json!({ "page": "lock", "lock": "s/held" });
    assert_eq!(button(&page, "s/held"), leads_to);
    for (label, endpoint, _) in actions(&page) {
        assert_eq!(endpoint, VIEW, "{label}");
    }
}

#[tokio::test]
async fn the_next_page_of_a_filtered_list_keeps_the_filter_of_the_first() {
    let functions = Functions::new();
    functions.hold_locks(7).await;
    functions.granted("t/other", "a").await;
    let shown = |page: &str| {
        let names = actions(page).into_iter().map(|(text, ..)| text);
        names.filter(|name| name.contains('/')).collect::<Vec<_>>()
    };

    let form = json!({ "namePrefix": " s/ ", "state": "held", "limit": "5" });
    let first = event(&json!({ "page": "list" }), form);
    let first = functions.page_with(Surface::View, None, first).await;
    let next = event(&button(&first, "Next"), json!({ "namePrefix": "t/" }));
    let second = functions.page_with(Surface::View, None, next).await;

    assert_eq!(shown(&first), ["s/000", "s/001", "s/002", "s/003", "s/004"]);
    assert_eq!(shown(&second), ["s/005", "s/006"]);
    assert!(!second.contains(">Next<"), "{second}");
    assert_eq!(field(&first, "namePrefix").as_deref(), Some("s/"));
}

#[tokio::test]
async fn the_page_of_a_lock_shows_holders_waiters_runs_and_a_timeline() {
    let functions = busy_lock("upgrade").await;

    let page = functions.page_of_the_lock().await;

    let shown = functions.shown().await;
    let frees = with_short_names(shown["frees"].as_str().unwrap());
    assert_says(&frees, " b holds the permit");
    assert_shows(&page, &[&frees, "execution RUNNING"]);
    assert_shows(&page, &["succeeded", "30.0 s", "paused"]);
    let elements = parsed(&page);
    let bars = elements.iter().filter(|one| one.name == "rect");
    let bars: Vec<_> = bars.filter_map(|one| one.attribute("class")).collect();
    assert_eq!(bars, ["ground", "succeeded", "held"]);
    let body = json!({ "act": "evict", "lock": "nightly", "holder": execution("b") });
    assert_eq!(button(&page, "Evict"), body);
    for (label, endpoint, _) in actions(&page) {
        let expected = if label == "All locks" { VIEW } else { OPERATE };
        assert_eq!(endpoint, expected, "{label}");
    }
    assert!(!page.contains("SECRET"), "{page}");
}

#[tokio::test]
async fn the_page_of_a_lock_shows_its_last_thirty_runs() {
    let functions = Functions::new();
    for number in 0..31 {
        functions.ran("nightly", &format!("run-{number:02}")).await;
        functions.wait(1);
    }

    let page = functions.page_of_the_lock().await;

    let shown = (0..31).filter(|number| page.contains(&format!("run-{number:02}")));
    assert_eq!(shown.collect::<Vec<_>>(), (1..31).collect::<Vec<_>>());
}

#[tokio::test]
async fn without_the_arn_of_operate_pages_have_no_buttons_that_write() {
    let functions = busy_lock("upgrade").await;
    let event = event(&json!({ "page": "lock", "lock": "nightly" }), json!({}));

    let page = functions.page_with(Surface::View, None, event).await;

    let labels: Vec<_> = actions(&page).into_iter().map(|(text, ..)| text).collect();
    assert_eq!(labels, ["All locks"]);
}

#[tokio::test]
async fn hostile_text_shows_as_text_on_every_page_in_both_themes() {
    let functions = busy_lock(SCRIPT).await;
    let mut record = functions.record("nightly").await.unwrap();
    for lease in record.holders.values_mut() {
        lease.progress = Some(SCRIPT.into());
    }
    functions.store.put(key("nightly"), record);
    let holder = "<b>onclick=x</b>&quot;";
    functions.granted("s/frozen", holder).await;
    let mut frozen = functions.record("s/frozen").await.unwrap();
    frozen.gate.mode = Mode::Frozen {
        note: SCRIPT.into(),
    };
    functions.store.put(key("s/frozen"), frozen);

    for theme in ["light", "dark", "<style>"] {
        for body in [
            json!({}),
            json!({ "page": "lock", "lock": "nightly" }),
            json!({ "page": "lock", "lock": "s/frozen" }),
        ] {
            let mut event = event(&body, json!({}));
            event["widgetContext"]["theme"] = json!(theme);
            let page = functions.page_with(Surface::View, Some(OPERATE), event);
            let page = page.await;
            let shown = parsed(&page).iter().any(|one| one.text.contains(SCRIPT));
            assert!(shown, "{theme} {body}: {page}");
            let dark = page.contains("#0f1b2a");
            assert_eq!(dark, theme == "dark");
        }
    }
}

#[tokio::test]
async fn describe_returns_markdown_and_json_requests_get_json() {
    let functions = Functions::new();
    let deps = functions.deps_on(&functions.store);
    let endpoints = Endpoints {
        own: VIEW,
        operate: None,
    };
    for (request, is_page) in [
        (json!({ "describe": true }), true),
        (json!({ "act": "list" }), false),
        (act("pause", json!({ "lock": "nightly" })), false),
    ] {
        let schedules = &functions.schedules;
        let reply = pages::handle(&deps, schedules, Surface::Operate, endpoints, request).await;
        let reply = serde_json::to_value(reply.unwrap()).unwrap();
        assert_eq!(reply.is_string(), is_page, "{reply}");
        let described = reply.as_str().is_none_or(|text| text.contains("``` yaml"));
        assert!(described, "{reply}");
    }
}
