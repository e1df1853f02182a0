//! The golden files of each version, `tests/golden/VERSION`: what it sent, answered and stored.
//!
//! Later versions replay them. `make golden` writes the folder of the version in Cargo.toml; a folder of an
//! earlier version never changes, which `tests/golden/digests` keeps.

use lockstep::config::variable;
use serde_json::Value;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// The version whose folder `make golden` writes.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// The file with a digest of each folder.
const DIGESTS: &str = "digests";

/// The golden files of one version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Release {
    /// The version, such as `0.1.0`.
    pub version: String,
    folder: PathBuf,
}

/// Returns the releases that have golden files.
pub fn releases() -> Vec<Release> {
    let all = releases_in(&root());
    assert!(all.contains(&current()), "{}: {ADVICE}", root().display());
    all
}

fn releases_in(root: &Path) -> Vec<Release> {
    let entries = fs::read_dir(root).expect("the folder of the golden files");
    let folders = entries.map(|entry| entry.expect("a folder").path());
    let mut all: Vec<_> = folders
        .filter(|path| path.is_dir())
        .map(Release::in_folder)
        .collect();
    all.sort_by(|a, b| a.version.cmp(&b.version));
    all
}

/// Returns the release of the version in Cargo.toml.
pub fn current() -> Release {
    Release::in_folder(root().join(VERSION))
}

/// What to do when the version in Cargo.toml does something that its golden files lack.
const ADVICE: &str = "if this version is not released yet, `make golden` writes its files; else raise the version \
                      in Cargo.toml first";

impl Release {
    fn in_folder(folder: PathBuf) -> Self {
        let version = folder
            .file_name()
            .expect("a version")
            .to_string_lossy()
            .into_owned();
        Self { version, folder }
    }

    /// Returns the text of a file.
    pub fn text(&self, file: &str) -> String {
        let path = self.folder.join(file);
        fs::read_to_string(&path)
            .unwrap_or_else(|error| panic!("{}: {error}; {ADVICE}", path.display()))
    }

    /// Returns the values of a file that has one on each line.
    pub fn lines(&self, file: &str) -> Vec<Value> {
        let text = self.text(file);
        let values = text
            .lines()
            .map(|line| serde_json::from_str(line).expect(line));
        values.collect()
    }

    /// Returns the names and the texts of all files in a folder of the release.
    pub fn files(&self, folder: &str) -> BTreeMap<String, String> {
        let mut names = Vec::new();
        files_in(&self.folder.join(folder), &mut names);
        let names = names.into_iter().map(|path| {
            let name = path
                .strip_prefix(&self.folder)
                .expect("a file of the folder");
            name.to_string_lossy().into_owned()
        });
        names.map(|name| (name.clone(), self.text(&name))).collect()
    }

    /// Checks that a file has this text. `make golden` writes it instead.
    ///
    /// # Panics
    /// If the file has another text.
    #[track_caller]
    pub fn keep(&self, file: &str, text: &str) {
        let path = self.folder.join(file);
        if accepts() {
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            return fs::write(&path, text).expect("a golden file is written");
        }
        let known = fs::read_to_string(&path).unwrap_or_default();
        assert!(
            known == text,
            "{}: not what this version does: {ADVICE}\n{text}",
            path.display()
        );
    }

    /// Checks that a file has each of these lines. `make golden` adds those that it lacks, because all that a
    /// version wrote before its release may still be in flight.
    ///
    /// # Panics
    /// If the file lacks one.
    #[track_caller]
    pub fn keep_lines(&self, file: &str, lines: impl IntoIterator<Item = String>) {
        let mut text = fs::read_to_string(self.folder.join(file)).unwrap_or_default();
        let known: Vec<String> = text.lines().map(str::to_owned).collect();
        let mut new: Vec<_> = lines
            .into_iter()
            .filter(|line| !known.contains(line))
            .collect();
        new.dedup();
        if accepts() {
            text.extend(new.iter().map(|line| format!("{line}\n")));
            return self.keep(file, &text);
        }
        assert!(
            new.is_empty(),
            "{}/{file} lacks {new:#?}: {ADVICE}",
            self.version
        );
    }

    /// Returns a digest of the names and the texts of all files.
    fn digest(&self) -> String {
        let mut digest = Sha256::new();
        for (name, text) in self.files("") {
            digest.update(format!("{name}\0{}\0{text}", text.len()));
        }
        digest
            .finalize()
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect()
    }
}

/// Checks that each folder has the digest that `tests/golden/digests` has of it. `make golden` writes the digest of
/// the folder of this version, and of no other one.
///
/// # Errors
/// If a folder has another digest, or a digest has no folder.
pub fn check_digests() -> Result<(), String> {
    digests_in(&root(), VERSION, accepts())
}

fn digests_in(root: &Path, current: &str, accepts: bool) -> Result<(), String> {
    let file = root.join(DIGESTS);
    let text = fs::read_to_string(&file).unwrap_or_default();
    let lines = text.lines().filter_map(|line| line.split_once(' '));
    let mut known: BTreeMap<&str, &str> = lines.collect();
    let releases = releases_in(root);
    let digests = releases
        .iter()
        .map(|one| (one.version.as_str(), one.digest()));
    let digests: BTreeMap<_, _> = digests.collect();
    if accepts {
        known.insert(current, &digests[current]);
        let lines = known
            .iter()
            .map(|(version, digest)| format!("{version} {digest}\n"));
        return fs::write(&file, lines.collect::<String>()).map_err(|error| error.to_string());
    }
    for (version, digest) in &digests {
        if known.remove(version) != Some(digest) {
            let rule = if *version == current {
                ADVICE
            } else {
                "the golden files of an earlier version never change: restore them"
            };
            return Err(format!(
                "the golden files of {version} have another digest than in {DIGESTS}: {rule}"
            ));
        }
    }
    match known.keys().next() {
        Some(version) => Err(format!(
            "{DIGESTS} has {version}, whose golden files are not there: restore them"
        )),
        None => Ok(()),
    }
}

/// Returns whether `make golden` runs the tests.
pub fn accepts() -> bool {
    variable("LOCKSTEP_GOLDEN").is_some_and(|word| word == "accept")
}

fn root() -> PathBuf {
    crate::repository().join("tests/golden")
}

fn files_in(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).into_iter().flatten() {
        let path = entry.expect("a file").path();
        if path.is_dir() {
            files_in(&path, found);
        } else {
            found.push(path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{digests_in, releases_in};
    use std::fs;

    #[test]
    fn the_golden_files_of_an_earlier_version_never_change() {
        let root = std::env::temp_dir().join(format!("lockstep-golden-{}", std::process::id()));
        let write = |file: &str, text: &str| {
            fs::create_dir_all(root.join(file).parent().expect("a folder")).expect("a folder");
            fs::write(root.join(file), text).expect("a file");
        };
        write("0.1.0/items.jsonl", "{}");
        assert_eq!(digests_in(&root, "0.1.0", true), Ok(()));
        write("0.2.0/items.jsonl", "{}");
        let drifts = digests_in(&root, "0.2.0", false).unwrap_err();
        assert!(
            drifts.contains("0.2.0") && drifts.contains("make golden"),
            "{drifts}"
        );
        assert_eq!(digests_in(&root, "0.2.0", true), Ok(()));
        assert_eq!(digests_in(&root, "0.2.0", false), Ok(()));

        let changes: [fn(&std::path::Path); 4] = [
            |old| fs::write(old.join("items.jsonl"), "{ }").expect("a file"),
            |old| fs::write(old.join("more.jsonl"), "").expect("a file"),
            |old| fs::rename(old.join("items.jsonl"), old.join("other.jsonl")).expect("a file"),
            |old| fs::remove_dir_all(old).expect("a folder"),
        ];
        for change in changes {
            change(&root.join("0.1.0"));
            // A `make golden` of the later version does not hide it.
            assert_eq!(digests_in(&root, "0.2.0", true), Ok(()));
            let error = digests_in(&root, "0.2.0", false).unwrap_err();
            assert!(
                error.contains("0.1.0") && error.contains("restore"),
                "{error}"
            );
            fs::remove_dir_all(root.join("0.1.0")).ok();
            write("0.1.0/items.jsonl", "{}");
            assert_eq!(digests_in(&root, "0.2.0", false), Ok(()));
        }
        assert_eq!(releases_in(&root).len(), 2);
        fs::remove_dir_all(&root).ok();
    }
}
