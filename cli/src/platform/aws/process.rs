//! Decides what an error may show of a `credential_process`, whose arguments and variables may be secrets.
//!
//! <https://docs.aws.amazon.com/sdkref/latest/guide/feature-process-credentials.html>

use super::text::first_line;
use aws_config::profile::Profile;
use std::cmp::Reverse;

const SETTING: &str = "credential_process";

/// Length from which a value is treated as a secret. A shorter one may occur in any message.
const VALUE_MIN: usize = 4;

const QUOTES: [char; 2] = ['"', '\''];

/// Returns the name of the setting and, if it is plain, the name of the program.
pub(super) fn name(profile: Option<&Profile>) -> String {
    match parts(command(profile)) {
        (Some(program), _) => format!("{SETTING} {program}"),
        (None, _) => SETTING.into(),
    }
}

/// Returns what went wrong, from the message of the SDK: the exit status, and the first line that the process
/// has written to standard error, without the values of its command line.
pub(super) fn text(profile: Option<&Profile>, message: &str) -> String {
    let Some((status, stderr)) = message.split_once("Stderr: ") else {
        return first_line(message);
    };
    let status = status
        .rsplit_once("code ")
        .map_or(status, |(_, code)| code)
        .trim_end_matches(['.', ' ']);
    let (_, arguments) = parts(command(profile));
    let stderr = without_values(&first_line(stderr.trim_start()), arguments);
    format!("{status}: {stderr}")
}

fn command(profile: Option<&Profile>) -> &str {
    let command = profile.and_then(|profile| profile.get(SETTING));
    command.unwrap_or_default().trim()
}

/// Splits a command line into its program and its arguments. A shell runs the command, so it may also begin
/// with a variable, or have no program. Then all of it counts as arguments.
fn parts(command: &str) -> (Option<&str>, &str) {
    let quote = command
        .chars()
        .next()
        .filter(|first| QUOTES.contains(first));
    let (program, arguments) = match quote {
        Some(quote) => command[1..].split_once(quote).unwrap_or_default(),
        None => command
            .split_once(char::is_whitespace)
            .unwrap_or((command, "")),
    };
    let is_whole = quote.is_none() || arguments.is_empty() || arguments.starts_with(' ');
    let is_plain =
        |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c) || (c == ' ' && quote.is_some());
    if is_whole && !program.is_empty() && program.chars().all(is_plain) {
        (Some(program), arguments)
    } else {
        (None, command)
    }
}

/// Returns `text` with … for each value of `arguments`. The longest values are replaced first, because one
/// may be a part of another.
fn without_values(text: &str, arguments: &str) -> String {
    let is_end = |c: char| c.is_whitespace() || c == '=' || QUOTES.contains(&c);
    let mut values: Vec<_> = arguments
        .split(is_end)
        .filter(|value| value.len() >= VALUE_MIN && !value.starts_with('-'))
        .collect();
    values.sort_by_key(|value| Reverse(value.len()));
    values
        .into_iter()
        .fold(text.to_owned(), |text, value| text.replace(value, "…"))
}

#[cfg(test)]
mod tests {
    use super::{parts, without_values};

    #[test]
    fn a_program_is_shown_if_its_name_is_plain() {
        for (command, program) in [
            ("/opt/give --password s3cr3t", Some("/opt/give")),
            ("give", Some("give")),
            ("\"/opt/a vault/give\" s3cr3t", Some("/opt/a vault/give")),
            ("'/opt/give'", Some("/opt/give")),
            ("TOKEN=s3cr3t give", None),
            ("\"/opt/give s3cr3t", None),
            ("'/opt/give's3cr3t", None),
            ("$(cat s3cr3t)", None),
            ("give;s3cr3t", None),
            ("s3cr3t\\ give", None),
            ("ééé s3cr3t", None),
            ("", None),
        ] {
            assert_eq!(parts(command).0, program, "{command}");
        }
    }

    #[test]
    fn a_message_shows_no_value_of_the_command_line() {
        for (command, message, expected) in [
            (
                "give --vault=s3cr3t 's3cr3t-too'",
                "give: no s3cr3t or s3cr3t-too in --vault",
                "give: no … or … in --vault",
            ),
            ("TOKEN=s3cr3t give", "no s3cr3t", "no …"),
            ("\"give", "no give", "no …"),
            ("give it", "give it up", "give it up"),
        ] {
            let shown = without_values(message, parts(command).1);

            assert_eq!(shown, expected, "{command}");
        }
    }
}
