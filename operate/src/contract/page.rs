//! What a CloudWatch custom widget asks view and operate for: a page, or an act from a button of a page.
//!
//! The event is the parameters of the widget, or the body of a `cwdb-action`, with `widgetContext` beside
//! them, which has the fields of the page's forms:
//! <https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/add_custom_widget_dashboard_interactivity.html>

use super::act::{ActRequest, CheckedAct, CheckedList, ListRequest, Scope, Surface};
use super::view::LockState;
use lockstep::contract::{InvalidRequest, parse, quoted, text};
use lockstep_core::domain::{LockKey, Retention, Timestamp};
use serde_json::{Map, Value};

/// The colours of the console that shows the page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// Dark text on a light ground. Also for a theme that is not known.
    #[default]
    Light,
    /// Light text on a dark ground.
    Dark,
}

/// An event of a custom widget.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PageRequest {
    theme: Theme,
    fields: Map<String, Value>,
    form: Map<String, Value>,
}

/// A checked [`PageRequest`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CheckedPage {
    /// The list of locks.
    List(CheckedList),
    /// One lock.
    Lock(LockKey),
    /// An act on a lock, and the lock afterwards.
    Act(LockKey, CheckedAct),
}

/// Most locks on a page of the list.
pub const PAGE_MAX: usize = 500;

/// Locks on a page of the list, if the request does not say.
pub const PAGE_DEFAULT: usize = 100;

/// The name of the form's field for the prefix: sanitisers remove a name that is also a property of
/// `document` or of a form (DOMPurify's `SANITIZE_DOM`), and `prefix` is one.
pub const PREFIX_FIELD: &str = "namePrefix";

/// The acts that pages have buttons for.
const PAGE_ACTS: &str = "one of pause, resume, evict, start";

impl PageRequest {
    /// The request in an event of a custom widget; `None` for any other event.
    #[must_use]
    pub fn of(event: &Value) -> Option<Self> {
        let mut fields = event.as_object()?.clone();
        // CloudWatch may add to the context at any time, so only what is used is read.
        // Only CloudWatch adds it, so an act by a person or a script is answered in JSON.
        let context = fields.remove("widgetContext")?;
        let theme = match context["theme"].as_str() {
            Some("dark") => Theme::Dark,
            _ => Theme::Light,
        };
        let form = context["forms"]["all"].as_object();
        let form = form.cloned().unwrap_or_default();
        Some(Self {
            theme,
            fields,
            form,
        })
    }

    /// Whether an event asks for the description of the widget.
    #[must_use]
    pub fn describes(event: &Value) -> bool {
        event.get("describe").is_some() && event.get("act").is_none()
    }

    /// The colours of the page.
    #[must_use]
    pub fn theme(&self) -> Theme {
        self.theme
    }

    /// Whether the request comes from a button that changes something.
    #[must_use]
    pub fn is_act(&self) -> bool {
        self.fields.contains_key("act")
    }

    /// A field of the page's forms, without the spaces around it; empty if there is none.
    #[must_use]
    pub fn form(&self, name: &str) -> &str {
        self.form
            .get(name)
            .and_then(Value::as_str)
            .map_or("", str::trim)
    }

    /// The lock that the request names, if that is the name of one.
    #[must_use]
    pub fn lock(&self) -> Option<LockKey> {
        let name = self.fields.get("lock")?.as_str()?;
        LockKey::new(name).ok()
    }

    /// Checks every field of a request to `surface` at `now`. The history keeps an act for `retention`.
    ///
    /// # Errors
    /// The first field that breaks its rule, also for an act that `surface` does not have.
    pub fn check(
        &self,
        surface: Surface,
        retention: Retention,
        now: Timestamp,
    ) -> Result<CheckedPage, InvalidRequest> {
        if self.is_act() {
            return self.act(surface, retention, now);
        }
        match self.fields.get("page") {
            None => self.list(),
            Some(page) => match page.as_str() {
                Some("list") => self.list(),
                Some("lock") => {
                    self.only(&["page", "lock"])?;
                    self.named_lock().map(CheckedPage::Lock)
                }
                other => {
                    let given = other.map_or_else(|| page.to_string(), quoted);
                    Err(InvalidRequest::new("page", given, "one of list, lock"))
                }
            },
        }
    }

    fn named_lock(&self) -> Result<LockKey, InvalidRequest> {
        match self.fields.get("lock") {
            Some(Value::String(lock)) => text("lock", lock, LockKey::new),
            Some(other) => Err(InvalidRequest::new("lock", other, LockKey::RULE)),
            None => Err(InvalidRequest::new("lock", "missing", LockKey::RULE)),
        }
    }

    /// A misspelt parameter of a widget would else show another page than was meant.
    fn only(&self, known: &[&str]) -> Result<(), InvalidRequest> {
        let unknown = self
            .fields
            .keys()
            .find(|name| !known.contains(&name.as_str()));
        unknown.map_or(Ok(()), |name| {
            let rule = format!("left out: the fields are {}", known.join(", "));
            let value = &self.fields[name];
            Err(InvalidRequest::new(
                &name.chars().take(100).collect::<String>(),
                value,
                rule,
            ))
        })
    }

    fn list(&self) -> Result<CheckedPage, InvalidRequest> {
        self.only(&["page", "prefix", "state", "limit", "next"])?;
        let given = |name: &str| Some(self.field(name)?).filter(|value| !value.is_empty());
        let state = given("state").map(|state| {
            let known = parse::<LockState>(Value::String(state.clone()));
            known.map_err(|_| {
                let rule = "one of idle, held, waiting, paused, frozen, unreadable";
                InvalidRequest::new("state", quoted(&state), rule)
            })
        });
        let request = ListRequest {
            prefix: given("prefix"),
            state: state.transpose()?,
            limit: None,
            next: given("next"),
        };
        let list = request.check()?;
        let limit = given("limit").map_or(Ok(PAGE_DEFAULT), |limit| {
            let number = limit.parse().ok();
            let number = number.filter(|number| (1..=PAGE_MAX).contains(number));
            number.ok_or_else(|| {
                let rule = format!("a whole number from 1 to {PAGE_MAX}");
                InvalidRequest::new("limit", quoted(&limit), rule)
            })
        });
        Ok(CheckedPage::List(CheckedList {
            limit: limit?,
            ..list
        }))
    }

    /// A field of the request, or else of the page's forms: a link to the next page repeats the fields of
    /// the page that it is on, and a form may show others by then.
    fn field(&self, name: &str) -> Option<String> {
        match self.fields.get(name) {
            None => Some(self.form(form_field(name)).to_owned()),
            Some(Value::Null) => None,
            Some(Value::String(text)) => Some(text.clone()),
            Some(other) => Some(other.to_string()),
        }
    }

    /// The act of a button: its body has all but who acts and why, which the form has.
    fn act(
        &self,
        surface: Surface,
        retention: Retention,
        now: Timestamp,
    ) -> Result<CheckedPage, InvalidRequest> {
        let mut act = self.fields.clone();
        for name in ["actor", "note"] {
            act.insert(name.to_owned(), Value::from(self.form(name)));
        }
        let act = ActRequest::read(Value::Object(act), surface, retention, now)?;
        let lock = match &act {
            CheckedAct::Pause(mode) | CheckedAct::Resume(mode) => match &mode.scope {
                Scope::Lock(lock) => Some(lock.clone()),
                Scope::Prefix(..) => None,
            },
            CheckedAct::Evict(evict) => Some(evict.lock.clone()),
            CheckedAct::Start(start) => Some(start.lock.clone()),
            _ => {
                let given = self.fields["act"].as_str().map(quoted);
                return Err(InvalidRequest::new(
                    "act",
                    given.unwrap_or_default(),
                    PAGE_ACTS,
                ));
            }
        };
        let lock = lock.ok_or_else(|| InvalidRequest::new("lock", "missing", LockKey::RULE))?;
        Ok(CheckedPage::Act(lock, act))
    }
}

fn form_field(name: &str) -> &str {
    match name {
        "prefix" => PREFIX_FIELD,
        other => other,
    }
}
