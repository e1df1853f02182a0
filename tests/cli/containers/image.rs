//! The image of the containers.

use crate::support::binary;
use lockstep_tests::stack::{Stack, unique};
use std::path::Path;
use std::process::Output;
use tokio::process::Command;
use tokio::sync::OnceCell;

/// Where the binary is in the image.
pub(super) const LOCKSTEP: &str = "/usr/local/bin/lockstep";

static BUILT: OnceCell<String> = OnceCell::const_new();

/// Returns the image of the batch with the binary in it, by one COPY, and with a program for
/// messages.
pub(super) async fn image(stack: &Stack) -> &'static str {
    BUILT.get_or_init(async || build(stack).await).await
}

async fn build(stack: &Stack) -> String {
    let folder = std::env::temp_dir().join(unique("lockstep-inside"));
    std::fs::create_dir(&folder).expect("a folder for the build");
    std::fs::copy(binary(), folder.join("lockstep")).expect("a copy of the binary");
    std::fs::write(folder.join("handle.sh"), include_str!("handle.sh")).expect("a program");
    let base = stack.setting("LOCKSTEP_BATCH_IMAGE");
    let file = format!("FROM {base}\nCOPY lockstep {LOCKSTEP}\nCOPY handle.sh /\n");
    std::fs::write(folder.join("Dockerfile"), file).expect("a Dockerfile");
    let built = docker(stack, &["build", "--quiet", path(&folder)]).await;
    std::fs::remove_dir_all(&folder).expect("a folder that can be removed");
    assert!(built.status.success(), "docker build: {built:?}");
    let text = String::from_utf8_lossy(&built.stdout);
    let id = text.trim().trim_start_matches("sha256:");
    // Each content has a name of its own, because tests of another checkout may use the same
    // engine.
    let name = format!("lockstep-inside:{}", &id[..12]);
    let tagged = docker(stack, &["tag", id, &name]).await;
    assert!(tagged.status.success(), "docker tag: {tagged:?}");
    name
}

/// Calls the stack's container engine.
pub(crate) async fn docker(stack: &Stack, args: &[&str]) -> Output {
    let mut docker = Command::new("docker");
    docker.env("DOCKER_HOST", stack.setting("DOCKER_HOST"));
    let output = docker.args(args).output().await;
    output.expect("the docker client runs")
}

fn path(folder: &Path) -> &str {
    folder.to_str().expect("a path of plain letters")
}
