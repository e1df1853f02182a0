//! The environment that is read: without empty variables, which count as unset, and with a home.
//!
//! The flags, the SDK and the certificate stores read the environment each for itself, and some take an empty
//! variable for a value: a Region without a name, or the URL of an endpoint. The SDK also takes the current directory
//! for a home if `HOME` has none. So a process with such an environment starts itself again with another one, before
//! anything is read. Nearly all processes have none, and lose no time. The commands that `lockstep` starts get the
//! environment that this process was given.

use super::home;
use std::env;
use std::os::unix::fs::MetadataExt;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// Holds the names of the variables that were left out, with a comma between two.
const LEFT_OUT: &str = "LOCKSTEP_EMPTY_VARIABLES";

const HOME: &str = "HOME";

/// Stands among the names for a `HOME` that was not set at all.
const NO_HOME: &str = "-HOME";

/// Starts this program again without its empty variables and with a home, in the same process. Returns if it has no
/// empty one, and a home.
///
/// # Errors
/// Why the program cannot be started again.
pub(crate) fn leave_out() -> Result<(), String> {
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
    let mut again = Command::new(own_file());
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
        format!("HOME is not set, and lockstep cannot be started again with it ({error}); set it")
    } else {
        format!("{names}: an empty variable cannot be left out ({error}); unset it")
    })
}

/// The name of a setting that is not UTF-8: all who read it take it for unset.
pub(crate) fn not_text() -> Option<String> {
    // The file of certificates may have any name.
    let is_text = |name: &str| is_setting(name) && !name.starts_with("SSL_CERT_");
    let mut names = env::vars_os().filter(|(_, value)| value.to_str().is_none());
    names.find_map(|(name, _)| name.into_string().ok().filter(|name| is_text(name)))
}

/// Gives `command` the variables that this process was given.
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

/// Whether `lockstep` or the SDK reads this variable as a setting.
fn is_setting(name: &str) -> bool {
    let prefixes = ["AWS_", "LOCKSTEP_", "SSL_CERT_"];
    name == HOME || prefixes.iter().any(|prefix| name.starts_with(prefix))
}

/// The file of this program by its own name, which is then the name of the process; on Linux this file, even where it
/// was replaced.
///
/// Without `/proc`, the path that this program was called by. Then a command is refused for that.
fn own_file() -> PathBuf {
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
