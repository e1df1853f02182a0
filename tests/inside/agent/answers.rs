//! Answers of the lock table that are lost on their way.

use super::Agent;
use crate::support::{Inside, lock};
use lockstep::domain::RunOutcome;
use serde_json::json;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy};
use tokio::net::{TcpListener, TcpStream};

/// A way to the table on which requests get through, and answers can be lost.
struct Way {
    port: u16,
    is_mute: Arc<AtomicBool>,
}

impl Way {
    async fn open(endpoint: &str) -> Self {
        let target = endpoint.trim_start_matches("http://").to_owned();
        let listener = TcpListener::bind(("127.0.0.1", 0))
            .await
            .expect("a free port");
        let port = listener.local_addr().expect("its address").port();
        let is_mute = Arc::new(AtomicBool::new(false));
        let own = Arc::clone(&is_mute);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(&target).await.expect("the table");
                pass(client, server, Arc::clone(&own));
            }
        });
        Self { port, is_mute }
    }

    fn mute(&self, on: bool) {
        self.is_mute.store(on, Ordering::SeqCst);
    }
}

fn pass(client: TcpStream, server: TcpStream, is_mute: Arc<AtomicBool>) {
    let (mut requests, mut to_client) = client.into_split();
    let (mut answers, mut to_server) = server.into_split();
    tokio::spawn(async move { copy(&mut requests, &mut to_server).await });
    tokio::spawn(async move {
        let mut bytes = vec![0; 64 * 1024];
        while let Ok(count @ 1..) = answers.read(&mut bytes).await {
            let is_lost = is_mute.load(Ordering::SeqCst);
            if !is_lost && to_client.write_all(&bytes[..count]).await.is_err() {
                return;
            }
        }
    });
}

#[tokio::test]
async fn a_permit_that_nobody_heard_of_is_given_back_long_before_its_lease_ends() {
    let inside = Inside::open().await;
    let lock = lock("agent-unheard");
    let way = Way::open(inside.stack.setting("AWS_ENDPOINT_URL_DYNAMODB")).await;
    let endpoint = format!("http://127.0.0.1:{}", way.port);
    let agent = Agent::start_with(&inside, &["--lease", "1h"], |command| {
        command.env("AWS_ENDPOINT_URL_DYNAMODB", endpoint);
    })
    .await;
    let wish = json!({ "name": "export", "lock": lock });

    way.mute(true);
    let begun = agent.ask(wish.clone()).await;
    let held = inside.held(&lock).await;
    way.mute(false);
    inside.until_held(&lock, 0, 60).await;
    let run = inside.latest_run(&lock).await.expect("a history");
    let next = agent.ask(wish).await;

    assert_eq!(begun.error(), (503, "Lockstep.Unavailable"));
    assert_eq!(held, 1);
    assert_eq!(run.outcome(), Some(RunOutcome::Failed));
    assert_eq!(next.status, 201, "{next:?}");
}
