//! Renders assignments as update expressions, with placeholders.
//!
//! An expression is a text. A request carries the names and values of its placeholders beside it. Equal names
//! or values share a placeholder, which keeps the request small: a guard and an update name the same holder
//! many times.

use super::item;
use aws_sdk_dynamodb::types::AttributeValue;
use lockstep_core::domain::{
    Act, Assign, HolderId, LockKey, Mode, Pace, Run, TaskToken, Ticket, Timestamp, Waiter,
};
use lockstep_core::store::shard;
use std::collections::HashMap;

/// The names and values of one request. Every attribute has a placeholder, because some names are reserved
/// words, and the names of holders contain dots and colons.
#[derive(Debug, Default)]
pub(super) struct Expression {
    names: Vec<String>,
    values: Vec<AttributeValue>,
}

/// The names and the values of a request. DynamoDB refuses an empty map, so an empty one is `None`.
pub(super) type Placeholders = (
    Option<HashMap<String, String>>,
    Option<HashMap<String, AttributeValue>>,
);

impl Expression {
    /// Returns the path of an attribute, in placeholders.
    pub(super) fn path(&mut self, attributes: &[&str]) -> String {
        let parts: Vec<String> = attributes.iter().map(|name| self.name(name)).collect();
        parts.join(".")
    }

    /// Returns the placeholder of a number.
    pub(super) fn number(&mut self, number: u64) -> String {
        self.value(item::number(number))
    }

    /// Returns the placeholder of a text.
    pub(super) fn text(&mut self, text: &str) -> String {
        self.value(item::text(text))
    }

    /// Returns the placeholder of a value. An equal value has the same placeholder.
    pub(super) fn value(&mut self, value: AttributeValue) -> String {
        let at = self.values.iter().position(|known| *known == value);
        let at = at.unwrap_or_else(|| {
            self.values.push(value);
            self.values.len() - 1
        });
        format!(":v{at}")
    }

    /// Returns the placeholders of the request.
    pub(super) fn into_parts(self) -> Placeholders {
        let names = (0..).map(|at| format!("#n{at}")).zip(self.names);
        let values = (0..).map(|at| format!(":v{at}")).zip(self.values);
        let names: HashMap<_, _> = names.collect();
        let values: HashMap<_, _> = values.collect();
        (
            (!names.is_empty()).then_some(names),
            (!values.is_empty()).then_some(values),
        )
    }

    fn name(&mut self, attribute: &str) -> String {
        let at = self.names.iter().position(|known| known == attribute);
        let at = at.unwrap_or_else(|| {
            self.names.push(attribute.to_owned());
            self.names.len() - 1
        });
        format!("#n{at}")
    }
}

/// Returns the update expression of a registration of `waiter`. It replaces every attribute of an earlier
/// registration, but keeps the time of the first registration, from which the wait is counted.
pub(super) fn registration(waiter: &Waiter, e: &mut Expression) -> String {
    let (mut set, mut remove) = (Vec::new(), Vec::new());
    for (name, value) in item::waiter_values(waiter) {
        let path = e.path(&[name]);
        match value {
            Some(value) if name == item::QUEUED_AT => {
                let value = e.value(value);
                set.push(format!("{path} = if_not_exists({path}, {value})"));
            }
            Some(value) => set.push(format!("{path} = {}", e.value(value))),
            None => remove.push(path),
        }
    }
    format!("SET {} REMOVE {}", set.join(", "), remove.join(", "))
}

/// Returns the update expression of `assigns` to the record of `lock`. Every update increments `version`, and
/// adds a record written by a version without the index of all locks to that index.
pub(super) fn update(lock: &LockKey, assigns: &[Assign], e: &mut Expression) -> String {
    let (version, one) = (e.path(&["version"]), e.number(1));
    let (indexed, of) = (
        e.path(&[item::LOCK_SHARD]),
        e.value(item::shard_value(shard(lock))),
    );
    let mut parts = Parts {
        lock,
        set: vec![
            // Incremented also by a write without a guard on the version, so that a decision on the earlier
            // record fails its own guard.
            format!("{version} = {version} + {one}"),
            format!("{indexed} = {of}"),
        ],
        remove: Vec::new(),
    };
    for assign in assigns {
        parts.add(assign, e);
    }
    set_and_remove(&parts.set, &parts.remove)
}

/// Returns the update expression that writes a run to its item.
pub(super) fn run_update(run: &Run, e: &mut Expression) -> String {
    let (has, has_not) = item::run_values(run);
    let set = has.into_iter().map(|(name, value)| {
        let value = e.value(value);
        format!("{} = {value}", e.path(&[name]))
    });
    let set: Vec<_> = set.collect();
    let remove: Vec<_> = has_not.into_iter().map(|name| e.path(&[name])).collect();
    set_and_remove(&set, &remove)
}

/// Returns the update expression that writes an act to its item.
pub(super) fn act_update(act: &Act, e: &mut Expression) -> String {
    let set = item::act_values(act).into_iter().map(|(name, value)| {
        let value = e.value(value);
        format!("{} = {value}", e.path(&[name]))
    });
    set_and_remove(&set.collect::<Vec<_>>(), &[])
}

fn set_and_remove(set: &[String], remove: &[String]) -> String {
    let set = format!("SET {}", set.join(", "));
    if remove.is_empty() {
        return set;
    }
    format!("{set} REMOVE {}", remove.join(", "))
}

/// The lists of SET and REMOVE in an update expression that is being built.
struct Parts<'a> {
    lock: &'a LockKey,
    set: Vec<String>,
    remove: Vec<String>,
}

impl Parts<'_> {
    fn add(&mut self, assign: &Assign, e: &mut Expression) {
        match assign {
            Assign::Permits(permits) => self.number(e, "permits", permits.get().into()),
            Assign::LastToken(token) => self.number(e, "lastToken", token.number()),
            Assign::NotBefore(time) => self.number(e, "notBefore", time.millis()),
            Assign::Mode(mode) => self.mode(e, mode),
            Assign::LastSuccess(time) => self.time(e, item::LAST_SUCCESS, *time),
            Assign::LastFailure(time) => self.time(e, item::LAST_FAILURE, *time),
            Assign::Expectation(expectation) => {
                for (name, value) in item::expectation_values(expectation.as_ref()) {
                    self.value(e, &[name], value);
                }
            }
            Assign::PutLease(holder, lease) => {
                let value = e.value(item::lease_value(lease));
                self.put(e, &["holders", holder.as_str()], &value);
            }
            Assign::ChangeLease(holder, leases) => {
                let [before, after] = leases.each_ref().map(item::lease_values);
                for ((name, before), (_, after)) in before.into_iter().zip(after) {
                    if before != after {
                        self.value(e, &["holders", holder.as_str(), name], after);
                    }
                }
            }
            Assign::ExtendLease(holder, now, beat, pace) => {
                self.extend_lease(e, holder, *now, beat.as_ref(), *pace);
            }
            Assign::Progress(holder, progress, stalls_at) => {
                let progress = e.text(progress);
                self.put(e, &["holders", holder.as_str(), "progress"], &progress);
                if let Some(stalls_at) = stalls_at {
                    let time = e.number(stalls_at.millis());
                    self.put(e, &["holders", holder.as_str(), "stallsAt"], &time);
                }
            }
            Assign::DropLease(holder) => {
                self.remove.push(e.path(&["holders", holder.as_str()]));
            }
            Assign::LastTicket(ticket) => self.ticket(e, &["lastTicket"], *ticket),
            Assign::FrontTicket(ticket) => self.ticket(e, &["frontTicket"], *ticket),
            Assign::PutTicket(id, ticket) => self.ticket(e, &["queue", id.as_str()], *ticket),
            Assign::DropTicket(id) => self.remove.push(e.path(&["queue", id.as_str()])),
            Assign::Enqueue(id) => {
                // In both assignments `lastTicket` has its value from before this update.
                let (last, one) = (e.path(&["lastTicket"]), e.number(1));
                let next = format!("{last} + {one}");
                self.put(e, &["queue", id.as_str()], &next);
                self.put(e, &["lastTicket"], &next);
            }
            Assign::Due(None) => {
                let attributes = ["dueAt", "shard"].map(|name| e.path(&[name]));
                self.remove.extend(attributes);
            }
            Assign::Due(Some(due)) => {
                self.number(e, "dueAt", due.millis());
                self.shard(e);
            }
            Assign::DueUnlessSet(due) => {
                let (path, due) = (e.path(&["dueAt"]), e.number(due.millis()));
                self.put(e, &["dueAt"], &format!("if_not_exists({path}, {due})"));
                self.shard(e);
            }
        }
    }

    /// Renews a lease without a read. Without a `pace`, DynamoDB adds the length that the lease has in the
    /// table. The renewal confirms a hand-over, and clears the mark of a suspect.
    fn extend_lease(
        &mut self,
        e: &mut Expression,
        holder: &HolderId,
        now: Timestamp,
        beat: Option<&TaskToken>,
        pace: Option<Pace>,
    ) {
        let holder = holder.as_str();
        let end = match pace {
            None => {
                let length = e.path(&["holders", holder, "leaseMs"]);
                format!("{} + {length}", e.number(now.millis()))
            }
            Some(pace) => {
                let times = [("leaseMs", pace.length), ("beatMs", pace.heartbeat)];
                for (name, time) in times {
                    let value = e.value(item::length(time));
                    self.put(e, &["holders", holder, name], &value);
                }
                e.number(now.plus(pace.length).millis())
            }
        };
        self.put(e, &["holders", holder, "expiresAt"], &end);
        if let Some(beat) = beat {
            let value = e.text(beat.reveal());
            self.put(e, &["holders", holder, "taskToken"], &value);
        }
        for name in ["call", "suspectAt"] {
            self.remove.push(e.path(&["holders", holder, name]));
        }
    }

    /// Sets `shard` together with `dueAt`, because an item is in the index only if it has both.
    fn shard(&mut self, e: &mut Expression) {
        let shard = e.value(item::shard_value(shard(self.lock)));
        self.put(e, &["shard"], &shard);
    }

    fn ticket(&mut self, e: &mut Expression, path: &[&str], ticket: Ticket) {
        let value = e.value(item::integer(ticket.number()));
        self.put(e, path, &value);
    }

    fn mode(&mut self, e: &mut Expression, mode: &Mode) {
        let (word, note) = item::mode_words(mode);
        let word = e.text(word);
        self.put(e, &["mode"], &word);
        match note {
            Some(note) => {
                let note = e.text(note);
                self.put(e, &["note"], &note);
            }
            None => self.remove.push(e.path(&["note"])),
        }
        match mode.pause_end() {
            Some(end) => self.number(e, item::PAUSED_UNTIL, end.millis()),
            None => self.remove.push(e.path(&[item::PAUSED_UNTIL])),
        }
    }

    fn time(&mut self, e: &mut Expression, attribute: &str, time: Option<Timestamp>) {
        self.value(
            e,
            &[attribute],
            time.map(|time| item::number(time.millis())),
        );
    }

    /// Sets the attribute to `value`, or removes it.
    fn value(&mut self, e: &mut Expression, path: &[&str], value: Option<AttributeValue>) {
        match value.map(|value| e.value(value)) {
            Some(value) => self.put(e, path, &value),
            None => self.remove.push(e.path(path)),
        }
    }

    fn number(&mut self, e: &mut Expression, attribute: &str, number: u64) {
        let value = e.number(number);
        self.put(e, &[attribute], &value);
    }

    fn put(&mut self, e: &mut Expression, path: &[&str], value: &str) {
        self.set.push(format!("{} = {value}", e.path(path)));
    }
}
