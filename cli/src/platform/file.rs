//! Files that are written whole.

use std::fs;
use std::path::{Path, PathBuf};

/// Writes the file whole or not at all: under another name beside it, which is then renamed. A link is followed,
/// and a file that is there keeps its permissions. A pipe or a device is written to as it is.
///
/// # Errors
/// When it cannot be written.
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
