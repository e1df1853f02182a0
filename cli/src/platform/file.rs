//! Writes files whole or not at all.

use nix::errno::Errno;
use nix::sys::signal::kill;
use nix::unistd::Pid;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// What the name of a new file has between the name of the file that it is to replace and the id of its process.
const MARK: &str = ".lockstep-";
/// The end of the name of a new file.
const END: &str = ".new";

/// A new file beside the one that it is to replace. It is removed unless it takes that place; if its process is
/// killed, by [`remove_abandoned`].
#[derive(Debug)]
pub(crate) struct Prepared {
    new: PathBuf,
    out: PathBuf,
}

impl Prepared {
    /// Writes `text` to a new file beside `out`. Follows a symbolic link, and keeps the permissions of an existing
    /// file.
    ///
    /// # Errors
    /// When the new file cannot be written.
    pub(crate) fn write(out: &Path, text: &str) -> io::Result<Self> {
        let out = fs::canonicalize(out).unwrap_or_else(|_| out.to_owned());
        let mut name = out.file_name().unwrap_or_default().to_owned();
        name.push(format!("{MARK}{}{END}", std::process::id()));
        let new = out.with_file_name(name);
        remove_abandoned(folder_of(&out));
        // A killed process may have had the id of this one.
        fs::remove_file(&new).ok();
        let mut file = File::create_new(&new)?;
        let prepared = Self { new, out };
        file.write_all(text.as_bytes())?;
        if let Ok(found) = fs::metadata(&prepared.out) {
            fs::set_permissions(&prepared.new, found.permissions())?;
        }
        Ok(prepared)
    }

    /// Puts the new file in its place.
    ///
    /// # Errors
    /// When the place cannot be taken. An existing file is then unchanged.
    pub(crate) fn put(self) -> io::Result<()> {
        fs::rename(&self.new, &self.out)
    }
}

impl Drop for Prepared {
    fn drop(&mut self) {
        fs::remove_file(&self.new).ok();
    }
}

fn folder_of(file: &Path) -> &Path {
    match file.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// Removes the new files that killed processes have left in `folder`.
pub(crate) fn remove_abandoned(folder: &Path) {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let writer = name.to_str().and_then(writer);
        if writer.is_some_and(|writer| kill(writer, None) == Err(Errno::ESRCH)) {
            fs::remove_file(entry.path()).ok();
        }
    }
}

/// Returns the process that has given a new file this name; `None` for the name of another file.
fn writer(name: &str) -> Option<Pid> {
    let (_, id) = name.strip_suffix(END)?.rsplit_once(MARK)?;
    let is_number = id.bytes().all(|byte| byte.is_ascii_digit());
    let id = id.parse().ok().filter(|id| is_number && *id > 0);
    id.map(Pid::from_raw)
}

/// Writes `text` to the file whole or not at all: writes a new file beside it, and renames that. Writes directly to
/// a pipe or a device.
///
/// # Errors
/// When the file cannot be written. An existing file is then unchanged.
pub(crate) fn write_whole(out: &Path, text: &str) -> io::Result<()> {
    match fs::metadata(out).is_ok_and(|found| !found.is_file()) {
        true => fs::write(out, text),
        false => Prepared::write(out, text)?.put(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use std::process::Command;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("file-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).unwrap();
        let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    }

    /// Returns the id of a process that has ended.
    fn ended() -> u32 {
        let mut child = Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        child.id()
    }

    #[test]
    fn what_a_killed_process_has_left_is_removed_by_the_next_one() {
        let folder = folder("killed");
        let others = [
            "b.2024.new".to_owned(),
            format!("c{MARK}{END}"),
            format!("d{MARK}+5{END}"),
            format!("e{MARK}{}{END}", std::os::unix::process::parent_id()),
        ];
        for left in ["a", "other"] {
            fs::write(folder.join(format!("{left}{MARK}{}{END}", ended())), "half").unwrap();
        }
        for other in &others {
            fs::write(folder.join(other), "").unwrap();
        }

        write_whole(&folder.join("a"), "new").unwrap();

        assert_eq!(fs::read_to_string(folder.join("a")).unwrap(), "new");
        let expected = [&["a".to_owned()], &others[..]].concat();
        assert_eq!(names(&folder), expected);
        fs::remove_dir_all(folder).ok();
    }

    #[test]
    fn a_new_file_follows_no_link_that_has_its_name() {
        let folder = folder("link");
        let mine = folder.join("mine");
        fs::write(&mine, "mine").unwrap();
        let new = format!("a{MARK}{}{END}", std::process::id());
        symlink(&mine, folder.join(new)).unwrap();

        write_whole(&folder.join("a"), "new").unwrap();

        assert_eq!(fs::read_to_string(&mine).unwrap(), "mine");
        assert_eq!(fs::read_to_string(folder.join("a")).unwrap(), "new");
        assert!(!folder.join("a").is_symlink());
        fs::remove_dir_all(folder).ok();
    }

    #[test]
    fn a_file_that_cannot_be_put_leaves_nothing_beside_it() {
        let folder = folder("put");
        fs::create_dir(folder.join("a")).unwrap();

        let prepared = Prepared::write(&folder.join("a"), "new").unwrap();

        assert!(prepared.put().is_err());
        assert_eq!(names(&folder), ["a"]);
        fs::remove_dir_all(folder).ok();
    }
}
