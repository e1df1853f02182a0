//! The file of `--state`. It contains each page that was read, so that a resumed audit does not request it
//! again.
//!
//! The file has one JSON object per line, appended when a page is read. A last line without a newline was cut
//! off, and is dropped.

#[cfg(test)]
mod tests;

use super::client::Page;
use crate::exit::{EarlyExit, Exit};
use nix::fcntl::{Flock, FlockArg};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::HashMap;
use std::fs::{File, Permissions};
use std::io::{Error, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Version of the format.
const VERSION: u32 = 2;
/// The bytes that each file begins with.
const BEGIN: &[u8] = b"{\"lockstepAudit\"";
const NOT_A_STATE_FILE: &str = "it is not a state file of an audit; name another file";

/// What an audit reads. An audit that reads something else needs another file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct Question {
    pub(super) region: String,
    pub(super) account: String,
    pub(super) since_seconds: u64,
    pub(super) names: Vec<String>,
    pub(super) prefix: Option<String>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Header {
    lockstep_audit: u32,
    /// When the audit began, in milliseconds since 1970.
    until: u64,
    question: Question,
}

/// A page of a list.
#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    of: String,
    items: Vec<Value>,
    next: Option<String>,
    /// Whether the list has been read as far as it is needed.
    done: bool,
    /// Whether the earlier pages of the list do not count, because the pagination token had expired.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    restarts: bool,
}

/// The part of a list that has been read: its items, the token for the next page, and whether the list has
/// been read as far as it is needed.
#[derive(Debug)]
pub(super) struct List<T> {
    pub(super) items: Vec<T>,
    pub(super) next: Option<String>,
    pub(super) done: bool,
}

impl<T> Default for List<T> {
    fn default() -> Self {
        Self {
            items: Vec::new(),
            next: None,
            done: false,
        }
    }
}

/// The pages that earlier audits read, and the file of `--state`, if there is one.
#[derive(Debug, Default)]
pub(super) struct Journal {
    known: HashMap<String, List<Value>>,
    file: Option<(PathBuf, Flock<File>)>,
}

impl Journal {
    /// Opens the file, or creates it for an audit that begins at `now`. Returns the journal, and the time at
    /// which its audit began.
    ///
    /// # Errors
    /// [`EarlyExit`] if the file cannot be used, is in use, or belongs to another audit.
    pub(super) fn open(
        path: &Path,
        question: &Question,
        now: u64,
    ) -> Result<(Self, u64), EarlyExit> {
        let wrong = |why: String| {
            let text = format!("--state {}: {why}", path.display());
            (Exit::CONFIGURATION, text)
        };
        let mut options = File::options();
        let options = options.read(true).append(true).create(true).mode(0o600);
        let file = options.open(path).map_err(|error| unusable(path, &error))?;
        let locked = Flock::lock(file, FlockArg::LockExclusiveNonblock);
        let mut file = locked.map_err(|_| wrong("another audit uses it".into()))?;
        if file.metadata().is_ok_and(|found| !found.is_file()) {
            return Err(wrong("it is not a regular file; name another file".into()));
        }
        let private = file.set_permissions(Permissions::from_mode(0o600));
        private.map_err(|error| unusable(path, &error))?;
        let mut bytes = Vec::new();
        let read = file.read_to_end(&mut bytes);
        read.map_err(|error| unusable(path, &error))?;
        let whole = bytes.iter().rposition(|byte| *byte == b'\n');
        let whole = whole.map_or(0, |end| end + 1);
        let text = str::from_utf8(&bytes[..whole]).map_err(|_| wrong(NOT_A_STATE_FILE.into()))?;
        let begun = match text.lines().next() {
            Some(header) => Some(check(header, question).map_err(wrong)?),
            None if bytes.is_empty() || bytes.starts_with(BEGIN) => None,
            None => return Err(wrong(NOT_A_STATE_FILE.into())),
        };
        let known = known(text.lines().skip(1)).ok_or_else(|| wrong(NOT_A_STATE_FILE.into()))?;
        let cut = file.set_len(whole as u64);
        cut.map_err(|error| unusable(path, &error))?;
        let mut journal = Self {
            known,
            file: Some((path.to_owned(), file)),
        };
        if begun.is_none() {
            journal.append(&Header {
                lockstep_audit: VERSION,
                until: now,
                question: question.clone(),
            })?;
        }
        Ok((journal, begun.unwrap_or(now)))
    }

    /// Removes the list `of` from the journal, and returns the part of it that has been read.
    pub(super) fn take<T: DeserializeOwned>(&mut self, of: &str) -> List<T> {
        let known = self.known.remove(of).unwrap_or_default();
        let items = known.items.into_iter();
        let items: Result<_, _> = items.map(serde_json::from_value).collect();
        // Items that this version cannot read are dropped, and the list is read again from its first page.
        let whole = |items| List {
            items,
            next: known.next,
            done: known.done,
        };
        items.map(whole).unwrap_or_default()
    }

    /// Writes a page of the list `of` to the file. If the list `restarts` with this page, its earlier pages
    /// are ignored.
    ///
    /// # Errors
    /// [`EarlyExit`] if the file cannot be written.
    pub(super) fn keep<T: Serialize>(
        &mut self,
        of: &str,
        page: &Page<T>,
        done: bool,
        restarts: bool,
    ) -> Result<(), EarlyExit> {
        if self.file.is_none() {
            return Ok(());
        }
        let value = |item| serde_json::to_value(item).unwrap_or_default();
        self.append(&Entry {
            of: of.into(),
            items: page.items.iter().map(value).collect(),
            next: page.next.clone(),
            done,
            restarts,
        })
    }

    /// Returns the path of the file, if there is one.
    pub(super) fn path(&self) -> Option<&Path> {
        self.file.as_ref().map(|(path, _)| path.as_path())
    }

    fn append(&mut self, line: &impl Serialize) -> Result<(), EarlyExit> {
        let Some((path, file)) = &mut self.file else {
            return Ok(());
        };
        let text = serde_json::to_string(line).unwrap_or_default();
        let written = file.write_all(format!("{text}\n").as_bytes());
        written.map_err(|error| unusable(path, &error))
    }
}

fn unusable(path: &Path, error: &Error) -> EarlyExit {
    let text = format!("--state {} cannot be used: {error}", path.display());
    (Exit::CANNOT_WRITE, text)
}

/// Checks that the file belongs to the audit that is `asked` for. Returns the time at which that audit began.
fn check(header: &str, asked: &Question) -> Result<u64, String> {
    let header: Header = serde_json::from_str(header).map_err(|_| NOT_A_STATE_FILE.to_owned())?;
    if header.lockstep_audit != VERSION {
        return Err("another version of lockstep wrote it; name another file".into());
    }
    match header.question.differs(asked) {
        Some(why) => Err(format!("{why}; name another file, or delete this one")),
        None => Ok(header.until),
    }
}

/// Reads the pages; `None` if a line is not a page.
fn known<'a>(lines: impl Iterator<Item = &'a str>) -> Option<HashMap<String, List<Value>>> {
    let mut known = HashMap::new();
    for line in lines {
        let entry: Entry = serde_json::from_str(line).ok()?;
        entry.add_to(&mut known);
    }
    Some(known)
}

impl Entry {
    fn add_to(self, known: &mut HashMap<String, List<Value>>) {
        let list = known.entry(self.of).or_default();
        if self.restarts {
            list.items.clear();
        }
        list.items.extend(self.items);
        list.next = self.next;
        list.done = self.done;
    }
}

impl Question {
    /// Returns what differs between this question, which is in the file, and `asked`; `None` if nothing
    /// differs.
    fn differs(&self, asked: &Self) -> Option<String> {
        let pairs = [
            ("the Region", &self.region, &asked.region),
            ("the account", &self.account, &asked.account),
        ];
        for (what, kept, asked) in pairs {
            if kept != asked {
                return Some(format!("{what} of its audit is {kept}, not {asked}"));
            }
        }
        if self.since_seconds != asked.since_seconds {
            return Some(format!("its audit has --since {}s", self.since_seconds));
        }
        let selects = (&self.names, &self.prefix) == (&asked.names, &asked.prefix);
        (!selects).then(|| "its audit selects other state machines".into())
    }
}
