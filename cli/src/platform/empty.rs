//! Removes empty variables, which count as unset, from the environment, and sets `HOME` if it has none.
//!
//! The flags, the SDK and the certificate stores each read the environment themselves, and some use an empty
//! variable as a value, such as a Region without a name or the URL of an endpoint. Without `HOME`, the SDK
//! uses the current directory as the home. So a process with such an environment executes itself again with a
//! corrected one, before anything is read. Nearly all processes have no such environment, and lose no time.
//! The commands that `lockstep` starts get the environment that this process was given.

use super::home;
use std::env;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// The variable that holds the names of the removed variables, separated by commas.
const LEFT_OUT: &str = "LOCKSTEP_EMPTY_VARIABLES";

const HOME: &str = "HOME";

/// The entry among these names for a `HOME` that was not set at all.
const NO_HOME: &str = "-HOME";

/// Executes this program again, in the same process, without its empty settings and with a home. Returns if
/// no setting is empty and `HOME` is set.
///
/// # Errors
/// Why the program cannot be executed again.
pub(crate) fn restart_without_empty_settings() -> Result<(), String> {
    let variables = env::vars_os().filter(|(_, value)| value.is_empty());
    let names = variables.filter_map(|(name, _)| name.into_string().ok());
    let mut names: Vec<_> = names.filter(|name| is_setting(name)).collect();
    if env::var_os(HOME).is_none() {
        names.push(NO_HOME.into());
    }
    if names.is_empty() {
        return Ok(());
    }
    let mut arguments = env::args_os();
    let mut again = Command::new(path_of_this_program());
    if let Some(name) = arguments.next() {
        again.arg0(name);
    }
    for name in &names {
        if [HOME, NO_HOME].contains(&name.as_str()) {
            again.env(HOME, home::of_user());
        } else {
            again.env_remove(name);
        }
    }
    let names = names.join(",");
    let error = again.args(arguments).env(LEFT_OUT, &names).exec();
    Err(if names == NO_HOME {
        format!(
            "HOME is not set, and lockstep cannot be started again with a value for it ({error}); set HOME"
        )
    } else {
        format!(
            "{names}: lockstep cannot be started again without these empty variables ({error}); unset them"
        )
    })
}

/// Returns the name of a setting whose value is not UTF-8, if there is one: every reader would take it for
/// unset.
pub(crate) fn setting_that_is_not_utf8() -> Option<String> {
    // The path of a certificate file may have any bytes.
    let is_text = |name: &str| is_setting(name) && !name.starts_with("SSL_CERT_");
    let mut names = env::vars_os().filter(|(_, value)| value.to_str().is_none());
    names.find_map(|(name, _)| name.into_string().ok().filter(|name| is_text(name)))
}

/// Gives `command` the variables that this process was given: sets the removed ones again.
pub(crate) fn give_back(command: &mut Command) {
    command.env_remove(LEFT_OUT);
    let names = super::env::variable(LEFT_OUT).unwrap_or_default();
    for name in names.split(',').filter(|name| !name.is_empty()) {
        if name == NO_HOME {
            command.env_remove(HOME);
        } else {
            command.env(name, "");
        }
    }
}

/// Returns whether `lockstep` or the SDK reads this variable as a setting.
fn is_setting(name: &str) -> bool {
    let prefixes = ["AWS_", "LOCKSTEP_", "SSL_CERT_"];
    name == HOME || prefixes.iter().any(|prefix| name.starts_with(prefix))
}

/// Returns the path of this program's file. On Linux that is `/proc/self/exe` if the file was replaced.
/// Otherwise it is the file's own path, so that the process keeps its name.
///
/// Without `/proc`, it is the path that this program was called by, if that is absolute. A command that has
/// to start processes is then refused, because it needs `/proc`.
fn path_of_this_program() -> PathBuf {
    let this: PathBuf = super::children::SELF.into();
    let Ok(named) = env::current_exe() else {
        let called = env::args_os().next().map(PathBuf::from);
        return called.filter(|path| path.is_absolute()).unwrap_or(this);
    };
    let id = |path: &PathBuf| path.metadata().map(|file| (file.dev(), file.ino())).ok();
    if cfg!(target_os = "linux") && id(&named) != id(&this) {
        return this;
    }
    named
}
