//! What the functions logged about one lock: grants, renewals and ends of leases, to the millisecond.

use super::Millis;
use aws_sdk_sfn::primitives::{DateTime, DateTimeFormat};
use serde_json::Value;

/// What the functions logged about one lock, in the order of time.
#[derive(Clone, Debug, Default)]
pub struct Journal(Vec<Entry>);

/// One log line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// When it was written.
    pub at: Millis,
    /// The holder that it is about.
    pub holder: String,
    /// What it says.
    pub event: Event,
}

/// What a line says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// The holder waits in the queue.
    Queued,
    /// The holder got a permit.
    Granted {
        /// The fencing token.
        token: u64,
    },
    /// The holder's lease got a new end.
    Renewed {
        /// The new end.
        expires_at: Millis,
    },
    /// The holder gave its permit back.
    Released,
    /// The holder learned that it has no permit any more.
    Lost,
    /// The holder was found dead, and its permit can be granted again.
    Recovered,
}

impl Journal {
    /// Reads the lines that are about `lock`, and skips all others.
    pub fn read<'a>(lines: impl IntoIterator<Item = &'a str>, lock: &str) -> Self {
        let entries = lines.into_iter().filter_map(|line| {
            let line: Value = serde_json::from_str(line).ok()?;
            (line["lock"] == lock).then(|| entry(&line)).flatten()
        });
        let mut entries: Vec<_> = entries.collect();
        entries.sort_by_key(|entry| entry.at);
        Self(entries)
    }

    /// Returns when `holder` got its permit, and with which token.
    pub fn grant(&self, holder: &str) -> Option<(Millis, u64)> {
        self.of(holder).find_map(|entry| match entry.event {
            Event::Granted { token } => Some((entry.at, token)),
            _ => None,
        })
    }

    /// Returns from when to when `holder` waited in the queue.
    pub fn wait(&self, holder: &str) -> Option<(Millis, Millis)> {
        let since = self.of(holder).find(|entry| entry.event == Event::Queued)?;
        let (until, _) = self.grant(holder)?;
        Some((since.at, until))
    }

    /// Returns when `holder` was found dead.
    pub fn recovered(&self, holder: &str) -> Option<Millis> {
        let mut own = self.of(holder);
        let found = own.find(|entry| entry.event == Event::Recovered);
        found.map(|entry| entry.at)
    }

    /// Returns the renewals of `holder`: when, and the new end of the lease.
    pub fn renewals<'a>(&'a self, holder: &'a str) -> impl Iterator<Item = (Millis, Millis)> + 'a {
        self.of(holder).filter_map(|entry| match entry.event {
            Event::Renewed { expires_at } => Some((entry.at, expires_at)),
            _ => None,
        })
    }

    /// Returns when the permit of `holder` ended, as the holder or the function that recovered it
    /// logged.
    pub fn end(&self, holder: &str) -> Option<Millis> {
        let mut ends = self.of(holder).filter(|entry| {
            let ends = [Event::Released, Event::Lost, Event::Recovered];
            ends.contains(&entry.event)
        });
        ends.next().map(|entry| entry.at)
    }

    fn of<'a>(&'a self, holder: &'a str) -> impl Iterator<Item = &'a Entry> {
        self.0.iter().filter(move |entry| entry.holder == holder)
    }
}

fn entry(line: &Value) -> Option<Entry> {
    let event = match line["event"].as_str()? {
        "queued" => Event::Queued,
        "granted" | "waiter_woken" => Event::Granted {
            token: token(&line["token"])?,
        },
        "holder_checked" if line["action"].as_str()?.starts_with("Recover") => Event::Recovered,
        "renewed" => Event::Renewed {
            expires_at: millis(line["expires_at"].as_str()?)?,
        },
        "released" => Event::Released,
        "lease_lost" => Event::Lost,
        _ => return None,
    };
    Some(Entry {
        at: millis(line["timestamp"].as_str()?)?,
        holder: line["holder"].as_str()?.into(),
        event,
    })
}

/// Reads a token, which is a number in some lines and a text in others.
fn token(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_str()?.parse().ok())
}

fn millis(time: &str) -> Option<Millis> {
    let time = DateTime::from_str(time, DateTimeFormat::DateTime).ok()?;
    Millis::try_from(time.to_millis().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINES: [&str; 6] = [
        r#"{"timestamp":"2026-03-01T06:00:02.5Z","event":"renewed","lock":"n","holder":"h","token":"7","expires_at":"2026-03-01T06:00:05.5Z"}"#,
        r#"{"timestamp":"2026-03-01T06:00:01Z","event":"granted","lock":"n","holder":"h","token":7}"#,
        r#"{"timestamp":"2026-03-01T06:00:04Z","event":"released","lock":"n","holder":"h","token":"7"}"#,
        r#"{"timestamp":"2026-03-01T06:00:01Z","event":"granted","lock":"other","holder":"h","token":9}"#,
        r#"{"_aws":{"Timestamp":1},"lock":"n","Renewed":1.0}"#,
        "END RequestId: 1",
    ];
    const SIX: Millis = 1_772_344_800_000;

    #[test]
    fn a_lease_is_read_from_its_grant_to_its_release() {
        let journal = Journal::read(LINES, "n");

        assert_eq!(journal.grant("h"), Some((SIX + 1_000, 7)));
        let renewals: Vec<_> = journal.renewals("h").collect();
        assert_eq!(renewals, [(SIX + 2_500, SIX + 5_500)]);
        assert_eq!(journal.end("h"), Some(SIX + 4_000));
        assert_eq!(journal.grant("stranger"), None);
    }

    #[test]
    fn a_waiter_waits_from_its_place_in_the_queue_to_its_turn() {
        let lines = [
            r#"{"timestamp":"2026-03-01T06:00:01Z","event":"queued","lock":"n","holder":"h","position":1}"#,
            r#"{"timestamp":"2026-03-01T06:00:03Z","event":"waiter_woken","lock":"n","holder":"h","token":"8"}"#,
        ];
        let journal = Journal::read(lines, "n");

        assert_eq!(journal.wait("h"), Some((SIX + 1_000, SIX + 3_000)));
        assert_eq!(journal.grant("h"), Some((SIX + 3_000, 8)));
    }

    #[test]
    fn a_dead_holder_has_its_permit_until_it_is_recovered() {
        let line = |action: &str| {
            format!(
                r#"{{"timestamp":"2026-03-01T06:00:03Z","event":"holder_checked","lock":"n","holder":"h","token":"7","action":"{action}"}}"#
            )
        };
        let of = |action: &str| Journal::read([line(action).as_str()], "n").recovered("h");

        assert_eq!(of("Recover { death: Seen }"), Some(SIX + 3_000));
        assert_eq!(of("Leave"), None);
    }

    #[test]
    fn a_lost_lease_ends_when_its_holder_learns_it() {
        let line = r#"{"timestamp":"2026-03-01T06:00:03Z","event":"lease_lost","lock":"n","holder":"h","token":"7"}"#;

        assert_eq!(Journal::read([line], "n").end("h"), Some(SIX + 3_000));
    }
}
