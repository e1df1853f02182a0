//! The pages of the CloudWatch custom widget: HTML as a pure function of the responses to list, show and
//! history.
//!
//! AWS documents which elements it removes from a page (scripts, `iframe` and `use`), but not which it allows
//! (<https://docs.aws.amazon.com/AmazonCloudWatch/latest/monitoring/add_custom_widget_dashboard_about.html>).
//! So pages use only the elements of AWS's samples: tables, forms, text, `svg` with `rect` and `path`, one
//! `style`, and `cwdb-action`. Pages load nothing and run no script.
//!
//! All text goes through `html`, which escapes it. Names of elements and attributes are `&'static str`, so
//! that no text of a response can become markup.

pub mod html;
mod list;
mod lock;
mod runs;
mod style;
mod text;
mod timeline;

pub use list::list;
pub use lock::{LockPage, lock};
pub use text::{DESCRIPTION, done};

use crate::contract::Theme;
use html::{Action, Html};
use lockstep_core::domain::Timestamp;
use serde_json::json;

/// Settings that all pages of one invocation share.
#[derive(Clone, Copy, Debug)]
pub struct Frame<'a> {
    /// The colours.
    pub theme: Theme,
    /// ARN of the function that returns the pages; without it, pages have no links.
    pub pages: Option<&'a str>,
    /// ARN of operate; without it, pages have no buttons that change anything.
    pub operate: Option<&'a str>,
    /// The time of the invocation.
    pub now: Timestamp,
}

/// A message above a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// The effect of an act.
    Done(String),
    /// Why a request was refused or failed.
    Problem {
        /// The name of the error, from the closed list.
        name: String,
        /// What happened, and what to do.
        message: String,
    },
}

/// Returns a page that has only messages and the link to all locks.
#[must_use]
pub fn message(frame: &Frame<'_>, notices: &[Notice]) -> String {
    page(frame, |html| {
        show_notices(html, notices);
        html.element("p", &[], |html| to_list(html, frame));
    })
}

/// Returns a whole page: the style, and one element around the content.
fn page(frame: &Frame<'_>, content: impl FnOnce(&mut Html)) -> String {
    let mut html = Html::default();
    html.style(style::COMMON);
    html.style(match frame.theme {
        Theme::Light => style::LIGHT,
        Theme::Dark => style::DARK,
    });
    html.element("div", &[("class", "lockstep")], content);
    html.finish()
}

fn show_notices(html: &mut Html, notices: &[Notice]) {
    for notice in notices {
        match notice {
            Notice::Done(text) => html.line("div", &[("class", "notice done")], text),
            Notice::Problem { name, message } => {
                html.element("div", &[("class", "notice problem")], |html| {
                    html.line("b", &[], name);
                    html.text(" ");
                    html.text(message);
                });
            }
        }
    }
}

/// Adds the link to the list of all locks.
fn to_list(html: &mut Html, frame: &Frame<'_>) {
    if let Some(endpoint) = frame.pages {
        html.action(&Action {
            label: "All locks",
            class: "btn",
            endpoint,
            body: &json!({ "page": "list" }),
            confirmation: None,
        });
    }
}
