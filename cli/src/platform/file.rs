//! Writes files whole or not at all.

use std::fs;
use std::path::{Path, PathBuf};

/// Writes `text` to the file whole or not at all: writes a new file beside it, and renames that. Follows a
/// symbolic link, and keeps the permissions of an existing file. Writes directly to a pipe or a device.
///
/// # Errors
/// When the file cannot be written. An existing file is then unchanged.
pub(crate) fn write_whole(out: &Path, text: &str) -> std::io::Result<()> {
    if fs::metadata(out).is_ok_and(|found| !found.is_file()) {
        return fs::write(out, text);
    }
    let out = fs::canonicalize(out).unwrap_or_else(|_| out.to_owned());
    let mut name = out.file_name().unwrap_or_default().to_owned();
    name.push(format!(".{}.new", std::process::id()));
    let new: PathBuf = out.with_file_name(name);
    let written = fs::write(&new, text).and_then(|()| {
        if let Ok(found) = fs::metadata(&out) {
            fs::set_permissions(&new, found.permissions())?;
        }
        fs::rename(&new, &out)
    });
    if written.is_err() {
        fs::remove_file(&new).ok();
    }
    written
}
