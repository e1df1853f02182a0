//! Finds the home folder of the user if `HOME` is not set.
//!
//! Without `HOME`, the SDK reads `~/.aws/config` below the current directory, where a file of another user
//! may name a `credential_process`. The AWS CLI asks the password database. On Linux, `/etc/passwd` is that
//! database for the users of a container. A static program cannot ask the other sources of the database.

use nix::unistd::getuid;
use std::ffi::OsString;
use std::path::Path;

/// The password database (<https://man7.org/linux/man-pages/man5/passwd.5.html>).
const USERS: &str = "/etc/passwd";

/// A home in which no file can be.
const NONE: &str = "/dev/null";

/// Returns the home of the user of this process. If the database has none, returns a folder in which no file
/// can be.
pub(crate) fn of_user() -> OsString {
    let users = std::fs::read(USERS).unwrap_or_default();
    let home = home_in(&String::from_utf8_lossy(&users), getuid().as_raw());
    home.unwrap_or_else(|| NONE.to_owned()).into()
}

/// Returns whether the user has a home.
pub(crate) fn is_there() -> bool {
    super::env::variable("HOME").is_some_and(|home| home != NONE)
}

/// Returns the home of the user `id`, if `users` has an absolute path for it.
fn home_in(users: &str, id: u32) -> Option<String> {
    let mut lines = users
        .lines()
        .map(|line| line.split(':').collect::<Vec<_>>());
    let known = lines.find(|fields| fields.get(2).is_some_and(|known| known.parse() == Ok(id)))?;
    let home = known.get(5).filter(|home| Path::new(home).is_absolute())?;
    Some((*home).to_owned())
}

#[cfg(test)]
mod tests {
    use super::home_in;

    #[test]
    fn the_home_of_a_user_is_an_absolute_path_of_its_line() {
        let users = "root:x:0:0:root:/root:/bin/sh\n# a comment\n\njo:x:1000:100:Jo:/home/jo:/bin/sh\n\
            jo-too:x:1000:100::/home/other:/bin/sh\nnone:x:5:5:::\nhere:x:6:6::.:/bin/sh\ncut:x:7:7\n";
        for (id, expected) in [
            (0, Some("/root")),
            (1000, Some("/home/jo")),
            (5, None),
            (6, None),
            (7, None),
            (100, None),
        ] {
            assert_eq!(home_in(users, id).as_deref(), expected, "{id}");
        }
    }
}
