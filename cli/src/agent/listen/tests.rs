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
async fn a_socket_in_use_is_refused_and_a_stale_one_is_replaced() {
    let path = path();
    let first = UnixListener::bind(&path).unwrap();

    let second = SocketFile::bind(&path).await;

    assert!(second.is_err());
    drop(first);
    assert!(SocketFile::bind(&path).await.is_ok(), "its agent is dead");
}

#[tokio::test]
async fn a_socket_that_fails_otherwise_than_refused_is_not_replaced() {
    let path = path();
    // The socket is in use. A stream connection to it fails with EPROTOTYPE.
    let other = UnixDatagram::bind(&path).unwrap();

    assert!(SocketFile::bind(&path).await.is_err());

    assert!(UnixDatagram::unbound().unwrap().connect(&path).is_ok());
    drop(other);
    fs::remove_file(path).unwrap();
}

#[tokio::test]
async fn a_drop_keeps_the_socket_file_of_a_successor() {
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

/// Returns the status line of the response to a request with these headers.
async fn status(mut stream: impl AsyncRead + AsyncWrite + Unpin, headers: &str) -> String {
    let request = format!("GET / HTTP/1.1\r\n{headers}Connection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer.lines().next().unwrap_or_default().to_owned()
}

#[tokio::test]
async fn browser_requests_are_forbidden() {
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
