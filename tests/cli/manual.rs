//! Completions of shells and manual pages.

use crate::support::binary;
use lockstep_tests::stack::unique;
use std::fs;
use std::path::Path;
use std::process::Command;

/// The subcommands that `lockstep --help` lists.
fn subcommands() -> Vec<String> {
    let help = Command::new(binary()).arg("--help").output().expect("help");
    let help = String::from_utf8(help.stdout).expect("text");
    let (_, list) = help.split_once("Commands:\n").expect("a list");
    let names = list.lines().take_while(|line| !line.is_empty());
    let names = names.filter_map(|line| line.split_whitespace().next());
    names
        .filter(|name| *name != "help")
        .map(str::to_owned)
        .collect()
}

#[test]
fn each_subcommand_is_completed_and_bash_accepts_its_script() {
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let script = Command::new(binary()).args(["completions", shell]).output();
        let script = String::from_utf8(script.expect("a script").stdout).expect("text");
        for name in subcommands() {
            assert!(script.contains(&name), "{shell}: {name}");
        }
        if shell == "bash" {
            let accepted = Command::new(shell).args(["-n", "-c", &script]).status();
            assert!(accepted.expect("a shell").success(), "{shell}");
        }
    }
}

#[test]
fn each_subcommand_has_a_manual_page() {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(unique("man"));
    fs::create_dir_all(&folder).expect("a folder");

    let written = Command::new(binary()).arg("man").arg(&folder).status();

    assert!(written.expect("an exit").success());
    let names = subcommands();
    assert!(names.contains(&"pause".to_owned()), "{names:?}");
    for name in names {
        let page = fs::read_to_string(folder.join(format!("lockstep-{name}.1"))).expect(&name);
        assert!(page.contains(".SH DESCRIPTION"), "{name}");
    }
    fs::remove_dir_all(folder).ok();
}
