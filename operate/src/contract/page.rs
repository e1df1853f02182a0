//! The requests of a CloudWatch custom widget to view and operate: a page, or an act from a button on a page.
//!
//! The event contains the parameters of the widget, or the body of a `cwdb-action`. CloudWatch adds
//! `widgetContext`, which contains the fields of the forms on the page:
//! <https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/add_custom_widget_dashboard_interactivity.html>

use super::act::{ActRequest, CheckedAct, CheckedList, ListRequest, Scope, Surface};
use super::view::LockState;
use lockstep::contract::{InvalidRequest, parse, quoted, text};
use lockstep_core::domain::{LockKey, Retention, Timestamp};
use serde_json::{Map, Value};

/// The colours of the console that shows the page.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Theme {
    /// Dark text on a light ground. Any unknown theme counts as this one.
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
    /// An act on a lock, and then the page of that lock.
    Act(LockKey, CheckedAct),
}

/// Maximum number of locks on a page of the list.
pub const PAGE_MAX: usize = 500;

/// Number of locks on a page of the list if the request gives none.
pub const PAGE_DEFAULT: usize = 100;

/// The name of the field for the prefix in the form. The field cannot be called `prefix`, because sanitisers
/// remove a name that is also a property of `document` or of a form (`SANITIZE_DOM` of DOMPurify).
pub const PREFIX_FIELD: &str = "namePrefix";

/// The acts that pages have buttons for.
const PAGE_ACTS: &str = "one of pause, resume, evict, start";

impl PageRequest {
    /// Returns the request in an event of a custom widget; `None` for any other event.
    #[must_use]
    pub fn of(event: &Value) -> Option<Self> {
        let mut fields = event.as_object()?.clone();
        // An event of a person or a script has no widgetContext, and is answered in JSON. CloudWatch may add
        // fields to the context at any time, so only the fields that are used are read.
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

    /// Returns whether an event asks for the description of the widget.
    #[must_use]
    pub fn describes(event: &Value) -> bool {
        event.get("describe").is_some() && event.get("act").is_none()
    }

    /// Returns the theme of the page.
    #[must_use]
    pub fn theme(&self) -> Theme {
        self.theme
    }

    /// Returns whether the request comes from a button that changes something.
    #[must_use]
    pub fn is_act(&self) -> bool {
        self.fields.contains_key("act")
    }

    /// Returns the value of a field of the forms, trimmed; empty if there is no such field.
    #[must_use]
    pub fn form(&self, name: &str) -> &str {
        self.form
            .get(name)
            .and_then(Value::as_str)
            .map_or("", str::trim)
    }

    /// Returns the lock that the request names; `None` if it names none, or not by a valid name.
    #[must_use]
    pub fn lock(&self) -> Option<LockKey> {
        let name = self.fields.get("lock")?.as_str()?;
        LockKey::new(name).ok()
    }

    /// Checks every field of a request to `surface` at `now`. The history keeps an act for `retention`.
    ///
    /// # Errors
    /// The first field that breaks its rule. The act itself is such a field if `surface` does not have it.
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

    /// Checks that the request has only `known` fields. A widget with a misspelt parameter would otherwise
    /// show another page than the one that was meant.
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

    /// Returns a field of the request; if the request does not have it, the field of the forms. A link to the
    /// next page repeats the fields of its own page in the request, because the form may have been changed
    /// since.
    fn field(&self, name: &str) -> Option<String> {
        match self.fields.get(name) {
            None => Some(self.form(form_field(name)).to_owned()),
            Some(Value::Null) => None,
            Some(Value::String(text)) => Some(text.clone()),
            Some(other) => Some(other.to_string()),
        }
    }

    /// Reads the act of a button. The body of the button contains all fields except `actor` and `note`, which
    /// come from the form.
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
