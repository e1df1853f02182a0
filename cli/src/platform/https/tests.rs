//! The client on real TLS handshakes, through an AWS client.

use super::*;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_credential_types::Credentials;
use aws_credential_types::provider::SharedCredentialsProvider;
use aws_sdk_sqs::Client;
use aws_smithy_types::error::display::DisplayErrorContext;
use aws_smithy_types::retry::RetryConfig;
use aws_smithy_types::timeout::TimeoutConfig;
use http_body_util::Full;
use hyper::Response;
use hyper::body::Bytes;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use std::convert::Infallible;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::TlsAcceptor;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring::default_provider;
use tokio_rustls::rustls::pki_types::PrivateKeyDer;

const UNPARSABLE: &str = "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n";

/// A root certificate, which issues those of servers.
struct Root {
    issuer: Issuer<'static, KeyPair>,
    pem: String,
}

impl Root {
    fn named(name: &str) -> Self {
        let mut root = CertificateParams::new(Vec::new()).unwrap();
        root.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        root.distinguished_name.push(DnType::CommonName, name);
        let key = KeyPair::generate().unwrap();
        let pem = root.self_signed(&key).unwrap().pem();
        let issuer = Issuer::new(root, key);
        Self { issuer, pem }
    }

    fn trusted(&self) -> Option<TlsContext> {
        Some(trusting(&self.pem))
    }

    /// Returns the server's side of TLS, with a certificate for `localhost`.
    fn acceptor(&self) -> TlsAcceptor {
        let key = KeyPair::generate().unwrap();
        let server = CertificateParams::new(["localhost".to_owned()]).unwrap();
        let certificate = server.signed_by(&key, &self.issuer).unwrap();
        let key = PrivateKeyDer::Pkcs8(key.serialize_der().into());
        let config = ServerConfig::builder_with_provider(Arc::new(default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![certificate.der().clone()], key);
        TlsAcceptor::from(Arc::new(config.unwrap()))
    }
}

/// A server, and what it has counted.
struct Server {
    port: u16,
    counts: Arc<Counts>,
}

#[derive(Default)]
struct Counts {
    handshakes: AtomicU32,
    completed: AtomicU32,
    requests: AtomicU32,
}

impl Server {
    /// Starts a server with a certificate that `root` has issued, or one without TLS.
    async fn start(root: Option<&Root>) -> Self {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let acceptor = root.map(Root::acceptor);
        let counts = Arc::<Counts>::default();
        let own = Arc::clone(&counts);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(serve(client, acceptor.clone(), Arc::clone(&own)));
            }
        });
        Self { port, counts }
    }

    /// Returns the numbers of handshakes, completed handshakes, and requests.
    fn counts(&self) -> [u32; 3] {
        let Counts {
            handshakes,
            completed,
            requests,
        } = &*self.counts;
        [handshakes, completed, requests].map(|count| count.load(Ordering::SeqCst))
    }
}

async fn serve(client: TcpStream, acceptor: Option<TlsAcceptor>, counts: Arc<Counts>) {
    let service = service_fn(|_| {
        counts.requests.fetch_add(1, Ordering::SeqCst);
        async { Ok::<_, Infallible>(Response::new(Full::new(Bytes::from("{}")))) }
    });
    let server = http1::Builder::new();
    let Some(acceptor) = acceptor else {
        server
            .serve_connection(TokioIo::new(client), service)
            .await
            .ok();
        return;
    };
    counts.handshakes.fetch_add(1, Ordering::SeqCst);
    if let Ok(client) = acceptor.accept(client).await {
        counts.completed.fetch_add(1, Ordering::SeqCst);
        let client = TokioIo::new(client);
        server.serve_connection(client, service).await.ok();
    }
}

/// The client, and the number of times that it has read the roots of the image.
struct Trusting {
    http: HttpsClient,
    reads: Arc<AtomicU32>,
}

impl Trusting {
    fn new(amazon: Option<TlsContext>, image: &str) -> Self {
        let reads = Arc::<AtomicU32>::default();
        let (own, image) = (Arc::clone(&reads), image.to_owned());
        let http = HttpsClient::new(amazon, move || {
            own.fetch_add(1, Ordering::SeqCst);
            trusting(&image)
        });
        Self { http, reads }
    }

    fn reads(&self) -> u32 {
        self.reads.load(Ordering::SeqCst)
    }

    /// Sends one request, as an AWS client does. Returns the text of the error.
    async fn send(&self, scheme: &str, port: u16) -> Result<(), String> {
        send(self.http.clone(), &format!("{scheme}://localhost:{port}")).await
    }
}

async fn send(http: impl HttpClient + 'static, endpoint: &str) -> Result<(), String> {
    let credentials = Credentials::new("id", "secret", None, None, "test");
    let within = Duration::from_millis(300);
    let sdk = SdkConfig::builder()
        .behavior_version(BehaviorVersion::latest())
        .region(Region::new("eu-west-1"))
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .endpoint_url(endpoint)
        .retry_config(RetryConfig::disabled())
        .timeout_config(TimeoutConfig::builder().connect_timeout(within).build())
        .http_client(SharedHttpClient::new(http))
        .build();
    let answer = Client::new(&sdk).list_queues().send().await;
    answer
        .map(drop)
        .map_err(|error| DisplayErrorContext(error).to_string())
}

#[tokio::test]
async fn a_server_of_amazon_needs_no_root_of_the_image() {
    let amazon = Root::named("Amazon");
    let server = Server::start(Some(&amazon)).await;
    let client = Trusting::new(amazon.trusted(), UNPARSABLE);

    let answers = [
        client.send("https", server.port).await,
        client.send("https", server.port).await,
    ];

    assert_eq!(answers, [Ok(()), Ok(())]);
    assert_eq!(server.counts(), [1, 1, 2]);
    assert_eq!(client.reads(), 0);
}

#[tokio::test]
async fn a_server_that_only_the_image_trusts_gets_each_request_once() {
    let proxy = Root::named("Proxy");
    for amazon in ["Amazon", "Proxy"].map(Root::named) {
        let server = Server::start(Some(&proxy)).await;
        let client = Trusting::new(amazon.trusted(), &proxy.pem);

        let first = client.send("https", server.port).await;
        let after_first = server.counts();
        let second = client.send("https", server.port).await;

        assert_eq!([first, second], [Ok(()), Ok(())]);
        assert_eq!(after_first, [2, 1, 1]);
        assert_eq!(server.counts(), [2, 1, 2]);
        assert_eq!(client.reads(), 1);
    }
}

#[tokio::test]
async fn the_roots_of_amazon_stay_trusted_beside_those_of_the_image() {
    let (amazon, proxy) = (Root::named("Amazon"), Root::named("Proxy"));
    let [aws, opened] = [&amazon, &proxy].map(|root| Server::start(Some(root)));
    let (aws, opened) = (aws.await, opened.await);
    let client = Trusting::new(amazon.trusted(), &proxy.pem);

    let answers = [
        client.send("https", opened.port).await,
        client.send("https", aws.port).await,
    ];

    assert_eq!(answers, [Ok(()), Ok(())]);
    assert_eq!(aws.counts(), [1, 1, 1]);
}

#[tokio::test]
async fn an_untrusted_server_gets_no_request() {
    let server = Server::start(Some(&Root::named("Stranger"))).await;
    let (amazon, image) = (Root::named("Amazon"), Root::named("Image"));
    let client = Trusting::new(amazon.trusted(), &image.pem);

    let error = client.send("https", server.port).await.unwrap_err();

    let host = format!(
        "the certificate of localhost:{} is not trusted",
        server.port
    );
    for part in [host.as_str(), "UnknownIssuer", "AWS_CA_BUNDLE"] {
        assert!(error.contains(part), "{error}");
    }
    assert_eq!(server.counts(), [2, 0, 0]);
}

#[tokio::test]
async fn a_server_without_tls_is_named_where_tls_was_asked_for() {
    let server = Server::start(None).await;
    let client = Trusting::new(None, &Root::named("Image").pem);

    let error = client.send("https", server.port).await.unwrap_err();

    assert!(error.contains("does not speak TLS"), "{error}");
}

#[test]
fn no_proxy_is_asked_for_this_machine_and_link_local_addresses() {
    for (uri, is_local) in [
        ("http://127.0.0.1:8000/", true),
        ("http://localhost:8000", true),
        ("http://169.254.170.2/v2/credentials/a", true),
        ("http://169.254.169.254?a=b", true),
        ("http://[::1]:8000/", true),
        ("http://[fd00:ec2::254]/latest", true),
        ("http://LOCALHOST.:8000/", true),
        ("http://0.0.0.0:8000/", true),
        ("http://[::ffff:127.0.0.1]:8000/", true),
        ("http://[fe80::1]/", true),
        ("http://10.0.0.7:8000/", false),
        ("http://localhost.example.com/", false),
        ("http://dynamodb.example.com/127.0.0.1", false),
        ("http://[2001:db8::1]/", false),
    ] {
        assert_eq!(is_of_this_machine(uri), is_local, "{uri}");
    }
}

#[tokio::test]
async fn named_roots_are_the_only_ones() {
    let amazon = Root::named("Amazon");
    let server = Server::start(Some(&amazon)).await;
    let client = Trusting::new(None, &Root::named("Named").pem);

    let answer = client.send("https", server.port).await;

    assert!(answer.unwrap_err().contains("UnknownIssuer"));
    assert_eq!(server.counts(), [1, 0, 0]);
}

#[tokio::test]
async fn a_request_without_tls_reads_no_roots() {
    let server = Server::start(None).await;
    let client = Trusting::new(Some(trusting(UNPARSABLE)), UNPARSABLE);

    let answer = client.send("http", server.port).await;

    assert_eq!(answer, Ok(()));
    assert_eq!(server.counts(), [0, 0, 1]);
    assert_eq!(client.reads(), 0);
}

#[tokio::test]
async fn a_handshake_without_an_answer_ends_at_the_connect_timeout() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let port = listener.local_addr().unwrap().port();
    let client = Trusting::new(Root::named("Amazon").trusted(), UNPARSABLE);

    let error = client.send("https", port).await.unwrap_err();

    assert!(error.contains("connect timeout"), "{error}");
    assert_eq!(client.reads(), 0);
}
