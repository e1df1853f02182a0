//! The command and HTTPS: a front with a certificate of the test's own stands before DynamoDB Local.

use crate::support::{Inside, Scene, output, scratch};
use lockstep_tests::wire::Wire;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

/// A way to the table over HTTPS.
struct Front {
    port: u16,
    /// The wire behind it, which counts what comes through.
    wire: Wire,
    /// The certificate that vouches for it.
    roots: PathBuf,
}

impl Front {
    async fn of(inside: &Inside) -> Self {
        let wire = Wire::to(inside.stack.setting("AWS_ENDPOINT_URL_DYNAMODB")).await;
        let own = generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
        let roots = scratch("roots");
        std::fs::write(&roots, own.cert.pem()).expect("a place to write");
        let listener = TcpListener::bind(("127.0.0.1", 0)).await;
        let listener = listener.expect("a free port");
        let port = listener.local_addr().expect("its address").port();
        let behind = wire.endpoint().trim_start_matches("http://").to_owned();
        tokio::spawn(serve(listener, acceptor(own), behind));
        Self { port, wire, roots }
    }
}

fn acceptor(own: CertifiedKey<rcgen::KeyPair>) -> TlsAcceptor {
    let key = PrivateKeyDer::Pkcs8(own.signing_key.serialize_der().into());
    let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
        .with_safe_default_protocol_versions()
        .expect("versions that the provider has")
        .with_no_client_auth()
        .with_single_cert(vec![own.cert.der().clone()], key);
    TlsAcceptor::from(Arc::new(config.expect("a key of this certificate")))
}

async fn serve(listener: TcpListener, acceptor: TlsAcceptor, behind: String) {
    while let Ok((client, _)) = listener.accept().await {
        let (acceptor, behind) = (acceptor.clone(), behind.clone());
        tokio::spawn(async move {
            // A client that does not trust this front goes away in the handshake.
            let Ok(mut client) = acceptor.accept(client).await else {
                return;
            };
            let mut server = TcpStream::connect(behind).await.expect("the wire");
            copy_bidirectional(&mut client, &mut server).await.ok();
        });
    }
}

/// A proxy that opens a tunnel for CONNECT, and how many it has opened.
async fn proxy(to: u16) -> (String, Arc<AtomicU32>) {
    let listener = TcpListener::bind(("127.0.0.1", 0))
        .await
        .expect("a free port");
    let url = format!("http://{}", listener.local_addr().expect("its address"));
    let tunnels = Arc::<AtomicU32>::default();
    let own = Arc::clone(&tunnels);
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            let mut head = Vec::new();
            while !head.ends_with(b"\r\n\r\n") {
                head.push(client.read_u8().await.unwrap_or(b'\n'));
            }
            assert!(head.starts_with(b"CONNECT table.invalid:443 "), "{head:?}");
            own.fetch_add(1, Ordering::SeqCst);
            tokio::spawn(async move {
                client.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.ok();
                let mut server = TcpStream::connect(("127.0.0.1", to))
                    .await
                    .expect("the front");
                copy_bidirectional(&mut client, &mut server).await.ok();
            });
        }
    });
    (url, tunnels)
}

/// The path of a file with this text.
fn file(name: &str, text: &str) -> String {
    let path = scratch(name);
    std::fs::write(&path, text).expect("a file");
    path.to_str().expect("a path of plain letters").to_owned()
}

/// Runs `echo ran` with these variables to its end: exit code, standard output and standard error.
async fn echo(scene: &Scene, variables: &[(&str, &str)]) -> (i32, String, String) {
    let mut run = scene.run(&[], &["echo", "ran"]);
    run.env_remove("AWS_ENDPOINT_URL")
        .envs(variables.iter().copied());
    output(run).await
}

#[tokio::test]
async fn a_table_behind_https_is_used_by_the_roots_that_a_setting_names() {
    let scene = Scene::open("https").await;
    let front = Front::of(&scene).await;
    let endpoint = format!("https://localhost:{}", front.port);
    let roots = front.roots.to_str().expect("a path of plain letters");
    let config = file(
        "config",
        &format!("[profile corporate]\nca_bundle = {roots}\n"),
    );
    let config = config.as_str();

    for variables in [
        &[("SSL_CERT_FILE", roots)][..],
        &[("AWS_CA_BUNDLE", roots)],
        &[("AWS_CA_BUNDLE", roots), ("SSL_CERT_FILE", "/none.pem")],
        &[("AWS_CONFIG_FILE", config), ("AWS_PROFILE", "corporate")],
    ] {
        let variables = [
            &[("AWS_ENDPOINT_URL_DYNAMODB", endpoint.as_str())],
            variables,
        ]
        .concat();
        let (code, out, stderr) = echo(&scene, &variables).await;

        assert_eq!(
            (code, out.as_str()),
            (0, "ran\n"),
            "{variables:?}: {stderr}"
        );
        let requests = front.wire.take_counts().into_values();
        assert!(requests.sum::<u32>() >= 2, "acquire and release");
    }
    assert!(scene.latest_run(&scene.lock).await.is_some());
}

#[tokio::test]
async fn what_no_retry_mends_ends_at_once_with_its_cause_and_the_setting() {
    let scene = Scene::open("https-refused").await;
    let front = Front::of(&scene).await;
    let secure = format!("https://localhost:{}", front.port);
    let own = generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let (stranger, garbage) = (
        file("stranger", &own.cert.pem()),
        file("garbage", "no certificate"),
    );
    let (stranger, garbage) = (stranger.as_str(), garbage.as_str());
    let plain = scene
        .stack
        .setting("AWS_ENDPOINT_URL_DYNAMODB")
        .replace("http:", "https:");

    for (endpoint, variable, value, ended, parts) in [
        (
            &secure,
            "SSL_CERT_FILE",
            stranger,
            69,
            "is not trusted|AWS_CA_BUNDLE",
        ),
        (
            &secure,
            "AWS_CA_BUNDLE",
            stranger,
            69,
            "is not trusted|localhost",
        ),
        (
            &secure,
            "SSL_CERT_FILE",
            "/none.pem",
            64,
            "/none.pem|must be",
        ),
        (
            &secure,
            "SSL_CERT_FILE",
            garbage,
            64,
            "SSL_CERT_FILE|must be",
        ),
        (
            &secure,
            "AWS_CA_BUNDLE",
            garbage,
            64,
            "AWS_CA_BUNDLE|must be",
        ),
        (
            &plain,
            "AWS_CA_BUNDLE",
            stranger,
            69,
            "does not speak TLS|endpoint",
        ),
    ] {
        let endpoint = ("AWS_ENDPOINT_URL_DYNAMODB", endpoint.as_str());
        let (code, out, stderr) = echo(&scene, &[endpoint, (variable, value)]).await;

        let case = format!("{variable}={value}: {stderr}");
        assert_eq!((code, out.as_str()), (ended, ""), "{case}");
        // No request was repeated.
        assert_eq!(stderr.lines().count(), 1, "{case}");
        assert!(parts.split('|').all(|part| stderr.contains(part)), "{case}");
    }
    assert!(front.wire.take_counts().is_empty());
}

#[tokio::test]
async fn requests_go_through_the_proxy_that_the_environment_names() {
    let scene = Scene::open("proxy").await;
    let front = Front::of(&scene).await;
    let (proxy, tunnels) = proxy(front.port).await;
    let roots = front.roots.to_str().expect("a path of plain letters");
    let tunnel = |name| {
        [
            ("AWS_ENDPOINT_URL_DYNAMODB", "https://table.invalid"),
            ("AWS_CA_BUNDLE", roots),
            name,
        ]
    };

    // The certificate is for `localhost`, so the handshake in the tunnel is what fails.
    for name in ["HTTPS_PROXY", "https_proxy", "ALL_PROXY"] {
        let (code, _, stderr) = echo(&scene, &tunnel((name, &proxy))).await;
        assert_eq!(code, 69, "{name}: {stderr}");
        assert!(
            stderr.contains("the certificate of table.invalid is not trusted"),
            "{stderr}"
        );
        assert_eq!(tunnels.swap(0, Ordering::SeqCst), 1, "{name}");
    }

    // Without TLS the proxy takes the whole request.
    let wire = scene.table_proxy().await.endpoint();
    let plain = [
        ("AWS_ENDPOINT_URL_DYNAMODB", "http://table.invalid"),
        ("HTTP_PROXY", wire.as_str()),
    ];
    let (code, out, stderr) = echo(&scene, &plain).await;
    assert_eq!((code, out.as_str()), (0, "ran\n"), "{stderr}");

    let direct = [&plain[..], &[("NO_PROXY", "table.invalid")]].concat();
    let (code, _, stderr) = echo(&scene, &direct).await;
    assert_eq!(code, 69, "no name server knows it: {stderr}");
}
