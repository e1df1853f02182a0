//! A way from containers to a port of this machine's loopback.

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};

/// Opens a port that containers can reach, and that leads to `port` here. Answers its number.
pub(super) async fn relay(port: String) -> u16 {
    let listener = TcpListener::bind(("0.0.0.0", 0)).await;
    let listener = listener.expect("a free port");
    let own = listener.local_addr().expect("its address").port();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let target = format!("127.0.0.1:{port}");
            tokio::spawn(async move {
                let mut server = TcpStream::connect(target).await.expect("the service");
                // Either side may go away at any time.
                copy_bidirectional(&mut client, &mut server).await.ok();
            });
        }
    });
    own
}
