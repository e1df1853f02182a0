//! Empty environment variables, which count as unset.
//!
//! The flags, the SDK and the certificate stores read the environment each for itself, and some take an empty
//! variable for a value: a Region without a name, or the URL of an endpoint. So a process that has an empty variable
//! starts itself again without it, before anything is read. Nearly all processes have none, and lose no time. The
//! commands that `lockstep` starts get the variables back.

use std::env;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

/// Holds the names of the variables that were left out, with a comma between two.
pub(crate) const LEFT_OUT: &str = "LOCKSTEP_EMPTY_VARIABLES";

/// Starts this program again without its empty variables, in the same process. Returns if it has none.
///
/// # Errors
/// Why the program cannot be started again.
pub(crate) fn leave_out() -> Result<(), String> {
    let variables = env::vars_os().filter(|(_, value)| value.is_empty());
    let names = variables.filter_map(|(name, _)| name.into_string().ok());
    let names: Vec<_> = names.filter(|name| is_setting(name)).collect();
    if names.is_empty() {
        return Ok(());
    }
    let mut arguments = env::args_os();
    let mut again = Command::new(own_file());
    if let Some(name) = arguments.next() {
        again.arg0(name);
    }
    for name in &names {
        again.env_remove(name);
    }
    let names = names.join(",");
    let error = again.args(arguments).env(LEFT_OUT, &names).exec();
    Err(format!(
        "{names}: an empty variable cannot be left out ({error}); unset it"
    ))
}

/// The names of the variables that were left out.
pub(crate) fn left_out() -> Vec<String> {
    let names = super::env::variable(LEFT_OUT).unwrap_or_default();
    let names = names.split(',').filter(|name| !name.is_empty());
    names.map(str::to_owned).collect()
}

/// Whether `lockstep` or the SDK reads this variable as a setting.
fn is_setting(name: &str) -> bool {
    let prefixes = ["AWS_", "LOCKSTEP_", "SSL_CERT_"];
    prefixes.iter().any(|prefix| name.starts_with(prefix))
}

/// On Linux this file, even where it was replaced.
fn own_file() -> PathBuf {
    let file = if cfg!(target_os = "linux") {
        None
    } else {
        env::current_exe().ok()
    };
    file.unwrap_or_else(|| super::children::SELF.into())
}
