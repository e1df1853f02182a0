//! Where profiles are read from without `HOME`, and the name of a process that Lockstep starts
//! again.

use super::laptop::Laptop;
use crate::support::output;
use std::fs;
use tokio::process::Command;

/// Returns a command without `HOME`, or with an empty one.
fn without_home(laptop: &Laptop, home: Option<&str>, config: Option<&str>) -> Command {
    let config = config.map(|file| ("AWS_CONFIG_FILE", file));
    let config: Vec<_> = config.into_iter().collect();
    let mut command = laptop.command(&["locks"], &config);
    command.env_remove("HOME").current_dir(laptop.home());
    if let Some(home) = home {
        command.env("HOME", home);
    }
    command
}

#[tokio::test]
async fn without_home_no_profile_of_the_current_directory_is_read() {
    for home in [None, Some("")] {
        let laptop = Laptop::new().await;
        let trap =
            laptop.filled("[default]\nregion = eu-trap-1\ncredential_process = touch HOME/ran\n");
        for file in [".aws/config", "~/.aws/config"] {
            laptop.write(file, &trap);
        }

        output(without_home(&laptop, home, None)).await;

        assert!(!laptop.home().join("ran").exists(), "{home:?}");
        let calls = laptop.services.calls();
        assert!(!calls.concat().contains("trap"), "{home:?}: {calls:?}");
    }
}

#[tokio::test]
async fn without_home_the_home_of_the_password_database_is_used() {
    let mut id = Command::new("sh");
    id.args(["-c", "getent passwd $(id -u) | cut -d: -f6"]);
    let (_, expected, _) = output(id).await;
    for home in [None, Some("")] {
        let laptop = Laptop::new().await;
        let tells = laptop.filled(
            "[default]\nregion = eu-west-1\ncredential_process = echo $HOME > HOME/told; cat /proc/$PPID/comm >> HOME/told\n",
        );
        laptop.write(
            "tells",
            tells.replace(&format!("${}", laptop.filled("HOME")), "$HOME"),
        );

        output(without_home(&laptop, home, Some("HOME/tells"))).await;

        let told = fs::read_to_string(laptop.home().join("told")).expect("what it told");
        assert_eq!(told, format!("{expected}lockstep\n"), "{home:?}");
    }
}
