//! What the containers themselves recorded: the only evidence for or against an overlap.

use super::Millis;
use serde::Deserialize;
use std::collections::HashMap;

/// One container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Container {
    /// Its id.
    pub id: String,
    /// The lock in its environment.
    pub lock: String,
    /// The holder in its environment.
    pub holder: String,
    /// The fencing token in its environment.
    pub token: u64,
    /// When it began to work.
    pub started: Millis,
    /// When it got SIGTERM.
    pub sigterm: Option<Millis>,
    /// When its work was done.
    pub ended: Option<Millis>,
}

/// A line of the batch.
#[derive(Debug, Deserialize)]
struct Line {
    at: Millis,
    event: String,
    id: String,
    #[serde(default)]
    env: HashMap<String, String>,
}

impl Container {
    /// Its last sign of life; none while it may still run.
    #[must_use]
    pub fn stopped(&self) -> Option<Millis> {
        self.ended.or(self.sigterm)
    }

    /// The containers of `lock`, by start. Lines that are not the batch's are passed over.
    #[must_use]
    pub fn read<'a>(lines: impl IntoIterator<Item = &'a str>, lock: &str) -> Vec<Self> {
        let mut lines: Vec<Line> = lines
            .into_iter()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect();
        lines.sort_by_key(|line| line.at);
        let mut containers: Vec<Self> = Vec::new();
        for line in lines {
            let known = containers.iter_mut().find(|known| known.id == line.id);
            match (line.event.as_str(), known) {
                ("start", None) => containers.extend(Self::begin(&line)),
                ("sigterm", Some(known)) => known.sigterm = Some(line.at),
                ("end", Some(known)) => known.ended = Some(line.at),
                _ => {}
            }
        }
        containers.retain(|container| container.lock == lock);
        containers
    }

    fn begin(line: &Line) -> Option<Self> {
        let seen = |name: &str| line.env.get(name).cloned();
        Some(Self {
            id: line.id.clone(),
            lock: seen("LOCKSTEP_LOCK")?,
            holder: seen("LOCKSTEP_HOLDER")?,
            token: seen("LOCKSTEP_FENCING_TOKEN")?.parse().ok()?,
            started: line.at,
            sigterm: None,
            ended: None,
        })
    }
}

/// How many pairs of containers worked at the same time. One that never told its end counts as
/// working for ever.
#[must_use]
pub fn overlaps(containers: &[Container]) -> usize {
    let end = |container: &Container| container.stopped().unwrap_or(Millis::MAX);
    let pairs = containers.iter().enumerate().flat_map(|(index, first)| {
        let later = containers[index + 1..].iter();
        later.map(move |second| (first, second))
    });
    pairs
        .filter(|(first, second)| first.started < end(second) && second.started < end(first))
        .count()
}

/// Whether each container, in the order of their starts, has a larger token than the one before.
#[must_use]
pub fn tokens_grow(containers: &[Container]) -> bool {
    let mut by_start: Vec<_> = containers.iter().collect();
    by_start.sort_by_key(|container| container.started);
    by_start
        .windows(2)
        .all(|pair| pair[0].token < pair[1].token)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn start(id: &str, at: Millis, token: u64) -> String {
        format!(
            r#"{{"at":{at},"event":"start","id":"{id}","env":{{"LOCKSTEP_LOCK":"nightly",
               "LOCKSTEP_HOLDER":"arn:{id}","LOCKSTEP_FENCING_TOKEN":"{token}"}}}}"#
        )
    }

    fn read(lines: &[String]) -> Vec<Container> {
        Container::read(lines.iter().map(String::as_str), "nightly")
    }

    fn event(id: &str, at: Millis, event: &str) -> String {
        format!(r#"{{"at":{at},"event":"{event}","id":"{id}"}}"#)
    }

    #[test]
    fn lines_of_one_container_are_one_interval_whatever_their_order() {
        let lines = [
            event("c1", 30, "end"),
            "not json".into(),
            start("c1", 10, 7),
            start("c2", 40, 8),
            event("c2", 45, "sigterm"),
        ];

        let containers = read(&lines);

        let seen: Vec<_> = containers
            .iter()
            .map(|c| (c.token, c.started, c.stopped()))
            .collect();
        assert_eq!(seen, [(7, 10, Some(30)), (8, 40, Some(45))]);
    }

    #[test]
    fn containers_of_other_locks_are_left_out() {
        assert!(Container::read([start("c1", 10, 7).as_str()], "other").is_empty());
    }

    #[test]
    fn intervals_that_share_time_overlap_and_those_that_touch_do_not() {
        let touching = [
            start("c1", 10, 1),
            event("c1", 20, "end"),
            start("c2", 20, 2),
        ];
        let sharing = [
            start("c1", 10, 1),
            event("c1", 21, "end"),
            start("c2", 20, 2),
        ];

        assert_eq!(overlaps(&read(&touching)), 0);
        assert_eq!(overlaps(&read(&sharing)), 1);
    }

    #[test]
    fn a_container_that_never_told_its_end_overlaps_every_later_one() {
        let lines = [
            start("c1", 10, 1),
            start("c2", 99, 2),
            event("c2", 100, "end"),
        ];

        assert_eq!(overlaps(&read(&lines)), 1);
    }

    #[test]
    fn tokens_grow_only_when_each_is_larger_than_the_one_before() {
        let tokens = |second| tokens_grow(&read(&[start("c1", 10, 5), start("c2", 20, second)]));

        assert!(tokens(6));
        assert!(!tokens(5));
        assert!(!tokens(4));
    }
}
