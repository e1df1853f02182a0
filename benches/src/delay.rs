//! A wire that delays requests, as a network does.

use crate::clock::{Stopwatch, pause};
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;
use std::time::Duration;

/// A piece of a request, and the time since it came.
type Piece = (Stopwatch, Vec<u8>);

/// A wire to DynamoDB Local on which each byte of a request arrives later.
///
/// It passes bytes on and knows nothing of HTTP. A request of several packets is delayed once, for each
/// packet waits since its own arrival. Responses pass at once.
#[derive(Debug)]
pub struct DelayedWire {
    endpoint: String,
}

impl DelayedWire {
    /// A wire to `endpoint`, an `http://host:port`, with `delay` for each request.
    ///
    /// # Panics
    /// When loopback has no free port.
    #[must_use]
    pub fn to(endpoint: &str, delay: Duration) -> Self {
        let upstream = endpoint.trim_start_matches("http://").to_owned();
        let listener = TcpListener::bind(("127.0.0.1", 0)).expect("a free port");
        let address = listener.local_addr().expect("an address");
        thread::spawn(move || {
            for client in listener.incoming().flatten() {
                // A connection that fails is closed, which its client sees.
                drop(connect(client, &upstream, delay));
            }
        });
        Self {
            endpoint: format!("http://{address}"),
        }
    }

    /// Where clients connect.
    #[must_use]
    pub fn endpoint(&self) -> &str {
        &self.endpoint
    }
}

fn connect(client: TcpStream, upstream: &str, delay: Duration) -> io::Result<()> {
    let server = TcpStream::connect(upstream)?;
    client.set_nodelay(true)?;
    server.set_nodelay(true)?;
    let (from_server, to_client) = (server.try_clone()?, client.try_clone()?);
    let (sender, receiver) = channel();
    thread::spawn(move || read(client, &sender));
    thread::spawn(move || write_later(server, receiver, delay));
    thread::spawn(move || pass(from_server, to_client));
    Ok(())
}

/// Notes when each piece of a request comes.
fn read(mut client: TcpStream, pieces: &Sender<Piece>) {
    let mut buffer = [0; 65_536];
    while let Ok(length @ 1..) = client.read(&mut buffer) {
        if pieces
            .send((Stopwatch::start(), buffer[..length].to_vec()))
            .is_err()
        {
            return;
        }
    }
}

fn write_later(mut server: TcpStream, pieces: Receiver<Piece>, delay: Duration) {
    for (since, bytes) in pieces {
        pause(delay.saturating_sub(since.elapsed()));
        if server.write_all(&bytes).is_err() {
            return;
        }
    }
    drop(server.shutdown(Shutdown::Both));
}

fn pass(mut server: TcpStream, mut client: TcpStream) {
    drop(io::copy(&mut server, &mut client));
    drop(client.shutdown(Shutdown::Both));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_of_two_packets_is_delayed_once() {
        let echo = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let endpoint = format!("http://{}", echo.local_addr().unwrap());
        thread::spawn(move || {
            let (server, _) = echo.accept().unwrap();
            let answers = server.try_clone().unwrap();
            pass(server, answers);
        });
        let wire = DelayedWire::to(&endpoint, Duration::from_millis(40));
        let mut client = TcpStream::connect(wire.endpoint().trim_start_matches("http://")).unwrap();
        client.set_nodelay(true).unwrap();

        let watch = Stopwatch::start();
        client.write_all(b"head ").unwrap();
        client.write_all(b"body").unwrap();
        let mut answer = [0; 9];
        client.read_exact(&mut answer).unwrap();

        assert_eq!(&answer, b"head body");
        assert!((40.0..80.0).contains(&watch.millis()), "{watch:?}");
    }
}
