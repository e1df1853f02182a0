//! Writes files whole or not at all.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A new file beside the one that it is to replace. It is removed unless it takes that place.
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
        name.push(format!(".{}.new", std::process::id()));
        let new = out.with_file_name(name);
        let prepared = Self { new, out };
        fs::write(&prepared.new, text)?;
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
