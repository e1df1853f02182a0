//! The parts of the picture, and the row of one execution.

use super::{LEFT, LETTER, RIGHT, ROW, WIDTH, escape, theme};
use crate::timeline::Millis;
use crate::timeline::layout::{Kind, Row, Scale};

impl Picture {
    /// Draws the row of an execution.
    pub(super) fn row(&mut self, row: &Row) {
        let middle = self.y + ROW / 2.0;
        let class = class_of(row.kind);
        self.put("<g class=\"row\">");
        let title = escape(&row.details.join("\n"));
        self.put(&format!("<title>{title}</title>"));
        let (width, y) = (WIDTH - 24.0, self.y);
        self.put(&format!(
            r#"<rect class="hit" x="12" y="{y:.1}" width="{width:.1}" height="{ROW}"/>"#
        ));
        self.words("name", 42.0, middle + 4.0, &row.name);
        let (from, to) = (self.x(row.started), self.x(row.ended));
        self.put(&format!(
            r#"<path class="span" d="M{from:.1} {middle:.1}H{to:.1}"/>"#
        ));
        if let Some(waited) = row.waited {
            self.bar("wait", waited, middle - 5.0, 10.0);
        }
        if let Some(held) = row.held {
            self.bar(&format!("held {class}"), held, middle - 7.0, 14.0);
        }
        if let Some(worked) = row.worked {
            self.bar(&format!("work {class}"), worked, middle - 5.0, 10.0);
        }
        self.marks(row, middle);
        self.note(row, middle);
        self.put("</g>");
    }

    fn marks(&mut self, row: &Row, middle: f64) {
        for (at, expires) in &row.renewals {
            let (at, until) = (*at, self.scale.since(*expires));
            let title = format!("renewed at {}, lease until {until}", self.scale.since(at));
            self.path("renewal", self.x(at), middle, theme::TICK, &title);
        }
        if let Some(at) = row.evicted {
            let title = format!("evicted from the table at {}", self.scale.since(at));
            self.path("evicted", self.x(at), middle, theme::DOWN, &title);
        }
        let end = self.x(row.ended);
        if let Some(at) = row.sigterm {
            // Both the signal and the end have to be visible. An execution that is killed from
            // outside ends first.
            let x = match row.killed {
                Some(_) => self.x(at).max(end + 13.0),
                None => self.x(at).min(end - 12.0),
            };
            let title = format!("SIGTERM at {}", self.scale.since(at));
            self.path("sigterm", x, middle, theme::DOWN, &title);
        }
        if let Some(at) = row.recovered {
            let title = format!("found dead and recovered at {}", self.scale.since(at));
            let x = self.x(at).max(end + 13.0);
            self.path("recovered", x, middle, theme::UP, &title);
        }
        if let Some(at) = row.killed {
            let title = format!("killed at {}", self.scale.since(at));
            let x = self.x(at).min(end - 12.0);
            self.path("killed", x, middle, theme::DOWN, &title);
        }
        let class = format!("end {}", class_of(row.kind));
        let title = format!("ended at {}: {}", self.scale.since(row.ended), row.note);
        self.path(&class, end, middle, theme::end_of(row.kind), &title);
    }

    /// Writes the words beside a bar: right of it, or left of it if there is no space.
    fn note(&mut self, row: &Row, middle: f64) {
        let right = self.x(row.last()) + if row.recovered.is_some() { 24.0 } else { 12.0 };
        let needed = row.note.chars().count() as f64 * LETTER;
        let (class, x) = if right + needed <= WIDTH - RIGHT {
            ("note", right)
        } else {
            ("note left", self.x(row.started) - 10.0)
        };
        self.words(class, x, middle + 4.0, &row.note);
    }
}

const fn class_of(kind: Kind) -> &'static str {
    match kind {
        Kind::Succeeded => "good",
        Kind::Failed => "bad",
        Kind::Skipped => "skip",
        Kind::Duplicate => "twin",
    }
}

/// A picture that grows downwards.
pub(super) struct Picture {
    pub(super) scale: Scale,
    /// The parts that are behind the grid.
    pub(super) ground: String,
    pub(super) body: String,
    /// Where the next part goes.
    pub(super) y: f64,
}

impl Picture {
    pub(super) fn put(&mut self, line: &str) {
        self.body.push_str(line);
        self.body.push('\n');
    }

    pub(super) fn x(&self, moment: Millis) -> f64 {
        LEFT + self.scale.at(moment)
    }

    pub(super) fn words(&mut self, class: &str, x: f64, y: f64, words: &str) {
        let words = escape(words);
        self.put(&format!(
            r#"<text class="{class}" x="{x:.1}" y="{y:.1}">{words}</text>"#
        ));
    }

    pub(super) fn bar(&mut self, class: &str, (from, to): (Millis, Millis), y: f64, height: f64) {
        let (from, to) = (self.x(from), self.x(to));
        let width = (to - from).max(2.0);
        self.put(&format!(
            r#"<rect class="{class}" x="{from:.1}" y="{y:.1}" width="{width:.1}" height="{height:.1}" rx="3"/>"#
        ));
    }

    pub(super) fn path(&mut self, class: &str, x: f64, y: f64, shape: &str, title: &str) {
        let title = escape(title);
        self.put(&format!(
            r#"<path class="{class}" transform="translate({x:.1} {y:.1})" d="{shape}"><title>{title}</title></path>"#
        ));
    }
}
