use super::*;
use crate::sys::env::random_id;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use tokio::net::UnixStream;

fn path() -> PathBuf {
    std::env::temp_dir().join(format!("lockstep-agent-{}.sock", random_id()))
}

#[tokio::test]
async fn only_the_user_of_the_agent_can_use_its_socket() {
    let path = path();

    let bound = SocketFile::bind(&path).await.unwrap();

    let mode = fs::metadata(&path).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    drop(bound);
    assert!(!path.exists());
}

#[tokio::test]
async fn a_socket_that_somebody_listens_on_is_left_to_them() {
    let path = path();
    let first = UnixListener::bind(&path).unwrap();

    let second = SocketFile::bind(&path).await;

    assert!(second.is_err());
    drop(first);
    let third = SocketFile::bind(&path).await;
    assert!(third.is_ok(), "what a dead agent left behind is taken over");
}

#[tokio::test]
async fn a_socket_that_cannot_be_asked_is_left_to_whoever_has_it() {
    let path = path();
    // It lives, and a connection to it is refused for another reason than that.
    let other = UnixDatagram::bind(&path).unwrap();

    assert!(SocketFile::bind(&path).await.is_err());

    assert!(UnixDatagram::unbound().unwrap().connect(&path).is_ok());
    drop(other);
    fs::remove_file(path).unwrap();
}

#[tokio::test]
async fn an_agent_that_ends_leaves_the_socket_of_its_successor() {
    let path = path();
    let first = SocketFile::bind(&path).await.unwrap();
    fs::remove_file(&path).unwrap();
    let second = SocketFile::bind(&path).await.unwrap();

    drop(first);

    assert!(UnixStream::connect(&path).await.is_ok());
    drop(second);
    assert!(!path.exists());
}

#[tokio::test]
async fn a_file_that_is_no_socket_is_not_touched() {
    let path = path();
    fs::write(&path, "mine").unwrap();

    assert!(SocketFile::bind(&path).await.is_err());

    assert_eq!(fs::read_to_string(&path).unwrap(), "mine");
    fs::remove_file(path).unwrap();
}
