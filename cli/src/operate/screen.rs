//! The layout of output for people.
//!
//! Names are shortened, times are relative, and no line is wider than the terminal, or than 120 columns
//! without a terminal. With `--wide`, names are in full, times are absolute, and lines are not wrapped.

use anstyle::{AnsiColor, Style};
use lockstep::clock::{Clock, SystemClock};
use lockstep::contract::parse_time;
use lockstep::domain::Timestamp;
use lockstep_operate::contract::{short_name, with_short_names};
use std::env::var_os;
use std::io::{IsTerminal, stdout};
use terminal_size::{Width, terminal_size_of};
use textwrap::{Options, WordSplitter, fill};

/// Width of a line in columns if standard output is not a terminal.
const COLUMNS: usize = 120;

/// Least width of a line in columns, even on a narrower terminal.
const COLUMNS_MIN: usize = 40;

/// The layout of one output.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Screen {
    /// Width of a line in columns; `None` with `--wide`.
    width: Option<usize>,
    /// Whether standard output is a terminal that shows colours and links.
    is_styled: bool,
    now: Timestamp,
}

/// What the colour of a word means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    /// In order.
    Good,
    /// Worth a look.
    Warning,
    /// Wrong.
    Bad,
    /// No meaning: the word has no colour.
    Plain,
}

impl Screen {
    /// Returns the layout for standard output. Colours are used only on a terminal that is not `dumb`, and
    /// only without `NO_COLOR` (<https://no-color.org>).
    pub(crate) fn new(wide: bool) -> Self {
        let out = stdout();
        let columns = terminal_size_of(&out).map_or(COLUMNS, |(Width(columns), _)| columns.into());
        let is_set = |name| var_os(name).is_some_and(|value| !value.is_empty());
        let is_dumb = var_os("TERM").is_some_and(|name| name == "dumb");
        Self {
            width: (!wide).then_some(columns.max(COLUMNS_MIN)),
            is_styled: out.is_terminal() && !is_set("NO_COLOR") && !is_dumb,
            now: SystemClock.now(),
        }
    }

    /// Returns the width of a line in columns; `None` if lines are not wrapped.
    pub(super) fn width(&self) -> Option<usize> {
        self.width
    }

    /// Returns the name of a holder, an execution, a task or an operator: shortened, or in full with
    /// `--wide`.
    pub(super) fn name(&self, name: &str) -> String {
        match self.width {
            Some(_) => short_name(name),
            None => name.to_owned(),
        }
    }

    /// Returns an RFC 3339 time relative to now, such as "3 min ago" or "in 12 min"; with `--wide`, the
    /// absolute time. A text that is not a time stays unchanged.
    pub(super) fn ago(&self, time: &str) -> String {
        match (self.width, parse_time("", time)) {
            (Some(_), Ok(at)) if at > self.now => {
                format!("in {}", length(at.millis_since(self.now)))
            }
            (Some(_), Ok(at)) => format!("{} ago", length(self.now.millis_since(at))),
            _ => whole_seconds(time),
        }
    }

    /// Returns a text with shortened names (in full with `--wide`), and times without fractions of a second.
    pub(super) fn text(&self, text: &str) -> String {
        let text = match self.width {
            Some(_) => with_short_names(text),
            None => text.to_owned(),
        };
        let words = text.split_inclusive(' ').map(|word| {
            let bare = word.trim_end_matches(|one: char| !one.is_alphanumeric());
            match parse_time("", bare) {
                Ok(_) => word.replacen(bare, &whole_seconds(bare), 1),
                Err(_) => word.to_owned(),
            }
        });
        words.collect()
    }

    /// Wraps a text to the width of the screen. Every line but the first begins with `indent`.
    pub(super) fn lines(&self, text: &str, indent: &str) -> String {
        let text = self.text(text);
        match self.width {
            Some(width) => fill(&text, options(width).subsequent_indent(indent)),
            None => text,
        }
    }

    /// Returns `line` after its `label`. Wrapped lines are indented to the end of the label.
    pub(crate) fn labelled(&self, label: &str, line: &str) -> String {
        let indent = " ".repeat(label.len());
        let layout = |width| {
            options(width)
                .initial_indent(label)
                .subsequent_indent(&indent)
        };
        match self.width {
            Some(width) => fill(line, layout(width)),
            None => format!("{label}{line}"),
        }
    }

    /// Returns `text` in the colour of `tone`.
    pub(super) fn painted(&self, tone: Tone, text: &str) -> String {
        let style = match tone {
            Tone::Good => AnsiColor::Green.on_default(),
            Tone::Warning => AnsiColor::Yellow.on_default(),
            Tone::Bad => AnsiColor::Red.on_default(),
            Tone::Plain => Style::new(),
        };
        match self.is_styled {
            true => format!("{style}{text}{style:#}"),
            false => text.to_owned(),
        }
    }

    /// Returns `text` as a terminal hyperlink to `url`
    /// (<https://gist.github.com/egmontkob/eb114294efbcd5adb1944c9f3cb5feda>); `None` if the output shows no
    /// links. With `--wide`, returns the text and the URL.
    pub(super) fn link(&self, text: &str, url: &str) -> Option<String> {
        match (self.width, self.is_styled) {
            (None, _) => Some(format!("{text}: {url}")),
            (Some(_), true) => Some(format!("\u{1b}]8;;{url}\u{1b}\\{text}\u{1b}]8;;\u{1b}\\")),
            (Some(_), false) => None,
        }
    }

    #[cfg(test)]
    pub(crate) fn plain(width: Option<usize>, now: &str) -> Self {
        Self {
            width,
            is_styled: false,
            now: parse_time("now", now).unwrap(),
        }
    }

    #[cfg(test)]
    pub(super) fn styled(now: &str) -> Self {
        Self {
            is_styled: true,
            ..Self::plain(Some(COLUMNS), now)
        }
    }
}

/// Returns options that break lines between words, so that names and times can be copied. A word is broken
/// only if it is longer than a line.
pub(super) fn options<'a>(width: usize) -> Options<'a> {
    Options::new(width).word_splitter(WordSplitter::NoHyphenation)
}

/// Returns the tone for the state of a lock, or for the outcome of a run.
pub(super) fn tone(word: &str) -> Tone {
    match word {
        "held" | "succeeded" | "resumed" => Tone::Good,
        "paused" | "waiting" | "skipped" | "queueFull" | "gaveUp" | "replaced" => Tone::Warning,
        "frozen" | "unreadable" | "failed" | "lost" | "recovered" | "evicted" => Tone::Bad,
        _ => Tone::Plain,
    }
}

/// Formats a length of time in its largest unit. Hours are followed by minutes, and days by hours.
pub(super) fn length(millis: u64) -> String {
    let seconds = millis / 1000;
    let (minutes, hours, days) = (seconds / 60, seconds / 3_600, seconds / 86_400);
    let two = |large: u64, unit: &str, small: u64, next: &str| match small {
        0 => format!("{large} {unit}"),
        _ => format!("{large} {unit} {small} {next}"),
    };
    match seconds {
        0..60 => format!("{seconds} s"),
        60..3_600 => format!("{minutes} min"),
        3_600..86_400 => two(hours, "h", minutes % 60, "min"),
        _ => two(days, "d", hours % 24, "h"),
    }
}

/// Returns an RFC 3339 time without its fraction of a second.
pub(crate) fn whole_seconds(time: &str) -> String {
    match time.split_once('.') {
        Some((seconds, fraction)) if fraction.ends_with('Z') => format!("{seconds}Z"),
        _ => time.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: &str = "2026-03-01T06:00:00Z";

    #[test]
    fn times_are_relative_and_with_wide_absolute() {
        let (screen, wide) = (Screen::plain(Some(80), NOW), Screen::plain(None, NOW));
        for (time, expected) in [
            ("2026-03-01T06:00:00Z", "0 s ago"),
            ("2026-03-01T05:59:01.25Z", "58 s ago"),
            ("2026-03-01T05:57:00Z", "3 min ago"),
            ("2026-03-01T03:10:00Z", "2 h 50 min ago"),
            ("2026-03-01T04:00:00Z", "2 h ago"),
            ("2026-02-26T02:00:00Z", "3 d 4 h ago"),
            ("2026-03-01T06:12:30Z", "in 12 min"),
            ("-", "-"),
        ] {
            assert_eq!(screen.ago(time), expected);
            assert_eq!(wide.ago(time), whole_seconds(time));
        }
    }

    #[test]
    fn a_text_has_short_names_and_fits_and_with_wide_it_does_not() {
        let run = "arn:aws:states:eu-west-1:123456789012:execution:report:monday";
        let text = format!("{run} holds it until 2026-03-01T06:10:00.123Z. Wait.");

        let narrow = Screen::plain(Some(40), NOW).lines(&text, "  ");
        let wide = Screen::plain(None, NOW).lines(&text, "  ");

        assert_eq!(
            narrow,
            "monday holds it until\n  2026-03-01T06:10:00Z. Wait."
        );
        assert_eq!(
            wide,
            format!("{run} holds it until 2026-03-01T06:10:00Z. Wait.")
        );
    }

    #[test]
    fn colours_and_links_are_for_terminals() {
        let (screen, plain) = (Screen::styled(NOW), Screen::plain(Some(80), NOW));

        assert_eq!(
            screen.painted(Tone::Bad, "frozen"),
            "\u{1b}[31mfrozen\u{1b}[0m"
        );
        assert_eq!(plain.painted(Tone::Bad, "frozen"), "frozen");
        let link = "\u{1b}]8;;https://a\u{1b}\\logs\u{1b}]8;;\u{1b}\\";
        assert_eq!(screen.link("logs", "https://a").as_deref(), Some(link));
        assert_eq!(plain.link("logs", "https://a"), None);
        let wide = Screen::plain(None, NOW).link("logs", "https://a");
        assert_eq!(wide.as_deref(), Some("logs: https://a"));
    }
}
