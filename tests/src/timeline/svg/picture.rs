//! What the picture is made of.

use super::{LEFT, escape};
use crate::timeline::Millis;
use crate::timeline::layout::Scale;

/// A picture that grows downwards.
pub(super) struct Picture {
    pub(super) scale: Scale,
    /// What lies behind the grid.
    pub(super) ground: String,
    pub(super) body: String,
    /// Where the next thing goes.
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
