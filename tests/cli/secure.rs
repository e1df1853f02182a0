//! The command and HTTPS: a front with a certificate of the test's own stands before DynamoDB Local.

use crate::support::{Inside, Scene, output, scratch};
use lockstep_tests::wire::Wire;
use rcgen::{CertifiedKey, generate_simple_self_signed};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::process::Command;
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

    /// `command` through it, with the roots of an image that has its own in `roots`.
    fn before(&self, mut command: Command, roots: &Path) -> Command {
        let endpoint = format!("https://localhost:{}", self.port);
        command.env("AWS_ENDPOINT_URL_DYNAMODB", endpoint);
        command.env("SSL_CERT_FILE", roots);
        command
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

#[tokio::test]
async fn a_table_behind_https_is_used_if_the_image_has_its_root_and_an_unknown_issuer_is_refused() {
    let scene = Scene::open("https").await;
    let front = Front::of(&scene).await;

    let stranger = front.before(scene.run(&[], &["echo", "ran"]), Path::new("/none.pem"));
    let (code, out, stderr) = output(stranger).await;

    assert_eq!((code, out.as_str()), (69, ""), "{stderr}");
    assert!(stderr.contains("Lockstep.Unavailable"), "{stderr}");
    assert!(front.wire.take_counts().is_empty());

    let vouched = front.before(scene.run(&[], &["echo", "ran"]), &front.roots);
    let (code, out, stderr) = output(vouched).await;

    assert_eq!((code, out.as_str()), (0, "ran\n"), "{stderr}");
    let requests = front.wire.take_counts().into_values();
    assert!(requests.sum::<u32>() >= 2, "acquire and release");
    assert!(scene.latest_run(&scene.lock).await.is_some());
}
