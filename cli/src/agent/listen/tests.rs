use super::*;
use crate::platform::env::random_id;
use axum::routing::get;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::path::PathBuf;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};

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

/// The first line of the answer to a request with these headers.
async fn status(mut stream: impl AsyncRead + AsyncWrite + Unpin, headers: &str) -> String {
    let request = format!("GET / HTTP/1.1\r\n{headers}Connection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer.lines().next().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn web_pages_are_not_answered() {
    let router = || Router::new().route("/", get(async || "hello"));
    let (good, forbidden) = ("HTTP/1.1 200 OK", "HTTP/1.1 403 Forbidden");
    let tcp = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = tcp.local_addr().unwrap();
    let path = path();
    let (file, unix) = SocketFile::bind(&path).await.unwrap();
    let serving = [
        tokio::spawn(Listener::Tcp(tcp).serve(router())),
        tokio::spawn(Listener::Unix(file, unix).serve(router())),
    ];

    for (headers, by_port, by_socket) in [
        ("Host: localhost\r\n", good, good),
        ("Host: example.com\r\n", forbidden, good),
        ("Host: localhost\r\nOrigin: null\r\n", forbidden, forbidden),
    ] {
        let stream = TcpStream::connect(port).await.unwrap();
        assert_eq!(status(stream, headers).await, by_port, "{headers}");
        let stream = UnixStream::connect(&path).await.unwrap();
        assert_eq!(status(stream, headers).await, by_socket, "{headers}");
    }
    for one in serving {
        one.abort();
    }
}
