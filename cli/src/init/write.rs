//! Writes the files, or none of them.

use super::files::File;
use super::saved::FOLDER;
use crate::exit::Exit;
use crate::operate::ActError;
use crate::platform::file::{Prepared, remove_abandoned};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

/// What happened to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    Written,
    /// It has more answers than before.
    AddedTo,
    /// It had the same text before.
    Unchanged,
}

/// Checks that no file of a schedule named `name` is there, before answers are typed that would be lost.
///
/// # Errors
/// [`ActError`] that names the file.
pub(super) fn check_files(directory: &Path, name: &str, force: bool) -> Result<(), ActError> {
    for end in ["yaml", "samconfig.toml"] {
        let path = directory.join(format!("{FOLDER}/{name}.{end}"));
        if path.symlink_metadata().is_ok() && !force {
            let why = "it exists: --force replaces it, and --name or --lock name others";
            return Err(cannot(&path, why));
        }
        check_case(&path)?;
    }
    Ok(())
}

/// Checks that the folder of `path` has no file whose name differs in case only. On a disk that ignores case, as those
/// of macOS do, the two are one file.
///
/// # Errors
/// [`ActError`] that names both.
fn check_case(path: &Path) -> Result<(), ActError> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Ok(());
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let names: Vec<_> = entries.map(|entry| entry.file_name()).collect();
    let other = names.iter().find(|other| other.eq_ignore_ascii_case(name));
    match other {
        Some(other) if !names.iter().any(|one| one == name) => Err(cannot(
            path,
            &format!(
                "the folder has {}, which is the same file on a disk that ignores case, and nothing was written: rename \
                 it, or give another --name",
                other.display()
            ),
        )),
        _ => Ok(()),
    }
}

fn cannot(path: &Path, why: &str) -> ActError {
    ActError::new(Exit::CANNOT_WRITE, format!("{}: {why}", path.display()))
}

/// Writes the files below `directory`. None of them is replaced before all texts are on the disk.
///
/// # Errors
/// [`ActError`] if a file exists with another text and `force` is not set, or if a file cannot be written. The text
/// says which files were written already.
pub(super) fn write(
    directory: &Path,
    files: &[File],
    force: bool,
) -> Result<Vec<Change>, ActError> {
    let check = || {
        let changes = files.iter().map(|file| change(directory, file, force));
        changes.collect::<Result<Vec<_>, _>>()
    };
    check()?;
    let folder = directory.join(FOLDER);
    let unwritten = |path: &Path, error: &io::Error| {
        cannot(path, &format!("it cannot be written: {error}; no file was"))
    };
    fs::create_dir_all(&folder).map_err(|error| unwritten(&folder, &error))?;
    // Of two processes that add to one file, the second one finds that it has changed. A disk without locks goes without.
    let locked = fs::File::open(&folder);
    let _locked = locked.and_then(|folder| folder.lock().map(|()| folder));
    let changes = check()?;
    remove_abandoned(&folder);
    let mut prepared = Vec::new();
    for (file, change) in files.iter().zip(&changes) {
        if *change != Change::Unchanged {
            let path = directory.join(&file.path);
            let written = Prepared::write(&path, &file.text);
            let written = written.map_err(|error| unwritten(&path, &error))?;
            prepared.push((path, written));
        }
    }
    let mut done = Vec::new();
    for (path, file) in prepared {
        let shown = path.display().to_string();
        file.put().map_err(|error| {
            let done = match done.is_empty() {
                true => "none".to_owned(),
                false => done.join(", "),
            };
            let text = format!("{shown} cannot be replaced: {error}; written before it: {done}");
            ActError::new(Exit::CANNOT_WRITE, text)
        })?;
        done.push(shown);
    }
    Ok(changes)
}

/// Returns what is to happen to a file.
fn change(directory: &Path, file: &File, force: bool) -> Result<Change, ActError> {
    let path = directory.join(&file.path);
    let refused = |why: &str| Err(cannot(&path, why));
    check_case(&path)?;
    match fs::metadata(&path) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return match (path.symlink_metadata(), &file.added_to) {
                (Ok(_), _) => refused("it is a symbolic link to nothing"),
                (Err(_), Some(_)) => refused(CHANGED),
                (Err(_), None) => Ok(Change::Written),
            };
        }
        Ok(found) if !found.is_file() => return refused("it exists and is no file"),
        _ => {}
    }
    match (fs::read(&path), &file.added_to) {
        (Ok(before), _) if before == file.text.as_bytes() => Ok(Change::Unchanged),
        (Ok(before), Some(read)) if before == read.as_bytes() => Ok(Change::AddedTo),
        (Ok(_), Some(_)) => refused(CHANGED),
        (Ok(_), None) if force => Ok(Change::Written),
        (Ok(_), None) => refused(
            "it exists with other content, and nothing was written: --force replaces it, and --name names others",
        ),
        (Err(error), _) => refused(&format!("it cannot be read: {error}")),
    }
}

/// The error for a file that was edited while `init` asked its questions.
const CHANGED: &str =
    "it has changed since it was read, and nothing was written: give the answers again";

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns files with these texts, and a folder for them.
    fn scene(name: &str) -> (std::path::PathBuf, Vec<File>) {
        let folder = std::env::temp_dir().join(format!("init-files-{name}-{}", std::process::id()));
        fs::create_dir_all(folder.join(FOLDER)).unwrap();
        let files = ["a", "b"].map(|name| File {
            path: format!("{FOLDER}/{name}"),
            text: "new".into(),
            added_to: None,
        });
        (folder, files.into())
    }

    #[test]
    fn a_place_that_cannot_be_taken_is_named_with_what_was_written() {
        let (folder, files) = scene("place");
        let taken = folder.join("lockstep/b");
        let changes = [&files[0], &files[1]].map(|file| change(&folder, file, false).unwrap());
        let prepared = Prepared::write(&taken, "new").unwrap();
        fs::create_dir(&taken).unwrap();

        assert_eq!(changes, [Change::Written; 2]);
        assert!(prepared.put().is_err());
        let refused = write(&folder, &files, true).unwrap_err();
        assert!(
            refused.text.contains("it exists and is no file"),
            "{}",
            refused.text
        );
        let left: Vec<_> = fs::read_dir(folder.join(FOLDER)).unwrap().collect();
        assert_eq!(left.len(), 1, "nothing else was written: {left:?}");
        fs::remove_dir_all(folder).ok();
    }

    #[test]
    fn a_link_to_nothing_stays() {
        let (folder, files) = scene("link");
        let link = folder.join("lockstep/a");
        std::os::unix::fs::symlink("../none", &link).unwrap();

        let refused = write(&folder, &files, true).unwrap_err();

        assert!(refused.text.contains("a symbolic link"), "{}", refused.text);
        assert!(link.is_symlink());
        fs::remove_dir_all(folder).ok();
    }

    #[test]
    fn a_file_that_is_no_text_is_replaced_by_force() {
        let (folder, files) = scene("bytes");
        fs::write(folder.join("lockstep/a"), [0xff, 0xfe]).unwrap();

        let refused = write(&folder, &files, false).unwrap_err();
        let written = write(&folder, &files, true).unwrap();

        assert!(refused.text.contains("other content"), "{}", refused.text);
        assert_eq!(written, [Change::Written; 2]);
        assert_eq!(
            fs::read_to_string(folder.join("lockstep/a")).unwrap(),
            "new"
        );
        fs::remove_dir_all(folder).ok();
    }

    #[test]
    fn a_file_that_changed_since_it_was_read_is_not_added_to() {
        let (folder, mut files) = scene("changed");
        files[0].added_to = Some("read".into());
        let path = folder.join("lockstep/a");
        for (now, expected) in [
            (Some("read"), Some(Change::AddedTo)),
            (Some("new"), Some(Change::Unchanged)),
            (Some("edited"), None),
            (None, None),
        ] {
            fs::remove_file(&path).ok();
            if let Some(now) = now {
                fs::write(&path, now).unwrap();
            }
            let found = change(&folder, &files[0], true);
            assert_eq!(found.as_ref().ok(), expected.as_ref(), "{now:?}");
        }
        fs::remove_dir_all(folder).ok();
    }

    #[test]
    fn a_name_that_differs_in_case_only_is_refused_and_names_both() {
        let (folder, mut files) = scene("case");
        fs::write(folder.join("lockstep/Report.yaml"), "mine").unwrap();
        files[0].path = format!("{FOLDER}/report.yaml");

        let refused = write(&folder, &files, true).unwrap_err();
        let asked = check_files(&folder, "REPORT", true).unwrap_err();

        for (refused, name) in [(refused, "report.yaml"), (asked, "REPORT.yaml")] {
            let begin = format!("{name}: the folder has Report.yaml, ");
            assert!(refused.text.contains(&begin), "{}", refused.text);
        }
        let mine = fs::read_to_string(folder.join("lockstep/Report.yaml"));
        assert_eq!(mine.unwrap(), "mine");
        assert!(!folder.join("lockstep/b").exists());
        fs::remove_dir_all(folder).ok();
    }

    #[test]
    fn a_file_of_its_own_name_may_have_a_sibling_in_another_case() {
        let (folder, files) = scene("sibling");
        fs::write(folder.join("lockstep/A"), "mine").unwrap();
        fs::write(folder.join("lockstep/a"), "new").unwrap();

        let written = write(&folder, &files, false).unwrap();

        assert_eq!(written, [Change::Unchanged, Change::Written]);
        fs::remove_dir_all(folder).ok();
    }

    #[test]
    fn of_several_that_add_to_a_file_at_once_none_is_lost() {
        let (folder, _) = scene("together");
        let path = folder.join("lockstep/a");
        fs::write(&path, "").unwrap();
        let add = |entry: char| {
            let attempt = || {
                let read = fs::read_to_string(&path).unwrap();
                let file = File {
                    path: format!("{FOLDER}/a"),
                    text: format!("{read}{entry}"),
                    added_to: Some(read),
                };
                write(&folder, &[file], false)
            };
            while attempt().is_err() {}
        };

        std::thread::scope(|scope| {
            for entry in 'a'..='h' {
                let add = &add;
                scope.spawn(move || add(entry));
            }
        });

        let mut found: Vec<_> = fs::read_to_string(&path).unwrap().chars().collect();
        found.sort_unstable();
        assert_eq!(found, ('a'..='h').collect::<Vec<_>>());
        fs::remove_dir_all(folder).ok();
    }
}
