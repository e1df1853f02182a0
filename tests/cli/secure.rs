//! The command over HTTPS: a front with a certificate of the test's own stands before DynamoDB
//! Local.

use crate::support::{Inside, Scene, output, scratch};
use lockstep_tests::stack::pause;
use lockstep_tests::wire::Wire;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

/// The host of a table that only a proxy reaches: no name server knows the host.
const BEHIND_PROXY: &str = "table.invalid";

/// A way to the table over HTTPS.
struct Front {
    port: u16,
    /// The wire behind the front, which counts the requests that come through.
    wire: Wire,
    /// The certificate that a client has to trust.
    roots: PathBuf,
}

impl Front {
    async fn of(inside: &Inside) -> Self {
        let wire = Wire::to(inside.stack.setting("AWS_ENDPOINT_URL_DYNAMODB")).await;
        let names = ["localhost", BEHIND_PROXY].map(str::to_owned);
        let own = generate_simple_self_signed(names).expect("a certificate");
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
            // A client that does not trust the front goes away in the handshake.
            let Ok(mut client) = acceptor.accept(client).await else {
                return;
            };
            let mut server = TcpStream::connect(behind).await.expect("the wire");
            copy_bidirectional(&mut client, &mut server).await.ok();
        });
    }
}

/// A proxy, and how many tunnels were asked of it.
struct Proxy {
    url: String,
    asked: Arc<AtomicU32>,
}

impl Proxy {
    /// Starts a proxy that answers CONNECT with this status line, `late` after the request. A
    /// tunnel leads to the port `to`.
    async fn answering(status: &'static str, late: Duration, to: u16) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await;
        let listener = listener.expect("a free port");
        let url = format!("http://{}", listener.local_addr().expect("its address"));
        let asked = Arc::<AtomicU32>::default();
        let own = Arc::clone(&asked);
        tokio::spawn(async move {
            while let Ok((mut client, _)) = listener.accept().await {
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    head.push(client.read_u8().await.unwrap_or(b'\n'));
                }
                let first = format!("CONNECT {BEHIND_PROXY}:443 ");
                assert!(head.starts_with(first.as_bytes()), "{head:?}");
                own.fetch_add(1, Ordering::SeqCst);
                tokio::spawn(async move {
                    pause(u64::try_from(late.as_millis()).expect("a short time")).await;
                    let answer = format!("HTTP/1.1 {status}\r\n\r\n");
                    client.write_all(answer.as_bytes()).await.ok();
                    if !status.starts_with("200") {
                        return;
                    }
                    let server = TcpStream::connect(("127.0.0.1", to)).await;
                    let mut server = server.expect("the front");
                    copy_bidirectional(&mut client, &mut server).await.ok();
                });
            }
        });
        Self { url, asked }
    }

    fn asked(&self) -> u32 {
        self.asked.swap(0, Ordering::SeqCst)
    }
}

/// Writes a file with this text, and returns its path.
fn file(name: &str, text: &str) -> String {
    let path = scratch(name);
    std::fs::write(&path, text).expect("a file");
    path.to_str().expect("a path of plain letters").to_owned()
}

/// Runs `echo ran` with these variables to its end. Returns exit code, standard output and standard
/// error.
async fn echo(scene: &Scene, variables: &[(&str, &str)]) -> (i32, String, String) {
    let mut run = scene.run(&[], &["echo", "ran"]);
    run.env_remove("AWS_ENDPOINT_URL")
        .envs(variables.iter().copied());
    output(run).await
}

#[tokio::test]
async fn https_trusts_the_roots_that_a_setting_names() {
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
async fn an_error_that_no_retry_fixes_ends_at_once_and_names_the_setting() {
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
    let proxy = Proxy::answering("200 OK", Duration::ZERO, front.port).await;
    let roots = front.roots.to_str().expect("a path of plain letters");

    for name in ["HTTPS_PROXY", "https_proxy", "ALL_PROXY"] {
        let tunnel = [
            ("AWS_ENDPOINT_URL_DYNAMODB", "https://table.invalid"),
            ("AWS_CA_BUNDLE", roots),
            (name, &proxy.url),
        ];
        let (code, out, stderr) = echo(&scene, &tunnel).await;
        assert_eq!((code, out.as_str()), (0, "ran\n"), "{name}: {stderr}");
        assert!(proxy.asked() >= 1, "{name}");
    }

    // Without TLS, the proxy gets the whole request.
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

/// A proxy asks a name server and connects before it answers, which takes time.
#[tokio::test]
async fn a_tunnel_may_take_more_than_a_second_to_open() {
    let scene = Scene::open("proxy-late").await;
    let front = Front::of(&scene).await;
    let late = Duration::from_millis(1_200);
    let proxy = Proxy::answering("200 OK", late, front.port).await;
    let roots = front.roots.to_str().expect("a path of plain letters");

    let tunnel = [
        ("AWS_ENDPOINT_URL_DYNAMODB", "https://table.invalid"),
        ("AWS_CA_BUNDLE", roots),
        ("HTTPS_PROXY", &proxy.url),
    ];
    let (code, out, stderr) = echo(&scene, &tunnel).await;

    assert_eq!((code, out.as_str()), (0, "ran\n"), "{stderr}");
    assert!(!stderr.contains("request_retried"), "{stderr}");
}

#[tokio::test]
async fn a_proxy_that_cannot_serve_ends_the_command_at_once_and_is_named() {
    let scene = Scene::open("proxy-refuses").await;
    let status = "407 Proxy Authentication Required";
    let proxy = Proxy::answering(status, Duration::ZERO, 0).await;

    for (name, value, ended, part) in [
        ("HTTPS_PROXY", proxy.url.as_str(), 69, "407"),
        ("HTTPS_PROXY", "nonsense:::", 64, "HTTPS_PROXY"),
        ("https_proxy", "socks5://proxy:1080", 64, "https_proxy"),
        ("ALL_PROXY", "http://proxy:99999", 64, "ALL_PROXY"),
    ] {
        let table = ("AWS_ENDPOINT_URL_DYNAMODB", "https://table.invalid");
        let (code, out, stderr) = echo(&scene, &[table, (name, value)]).await;

        let case = format!("{name}={value}: {stderr}");
        assert_eq!((code, out.as_str()), (ended, ""), "{case}");
        assert_eq!(stderr.lines().count(), 1, "{case}");
        assert!(stderr.contains(part), "{case}");
        // The value may contain a password.
        assert!(!stderr.contains(value), "{case}");
    }
    assert_eq!(proxy.asked(), 1);
}
