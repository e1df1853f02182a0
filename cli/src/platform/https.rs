//! The HTTP client of the AWS clients, which reads root certificates when a server requires them.
//!
//! The SDK's own client parses all root certificates for each AWS client that is built, and the bundle of an
//! image has some 140 of them. AWS servers have certificates of Amazon, whose five roots are compiled in. The
//! roots of the image are needed for every other server, above all for one behind a proxy that decrypts TLS.
//!
//! ```text
//!  http://   ─▶ no roots
//!  https://  ─▶ roots of Amazon ──certificate refused──▶ roots of the image, from then on for this host
//! ```
//! Requests go through the proxies that `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY` name, as with
//! other AWS tools (<https://docs.aws.amazon.com/cli/latest/userguide/cli-configure-proxy.html>). Requests to
//! this machine and to link-local addresses go to no proxy: the endpoints of credentials are there, and a
//! proxy would answer with its own credentials.

use aws_smithy_http_client::proxy::ProxyConfig;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use aws_smithy_http_client::tls::{Provider, TlsContext};
use aws_smithy_http_client::{Builder, Connector as SmithyConnector};
use aws_smithy_runtime_api::client::connector_metadata::ConnectorMetadata;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient,
    SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use lockstep::aws::trust::trusting;
use std::collections::HashSet;
use std::error::Error;
use std::io;
use std::iter::successors;
use std::net::IpAddr;
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError};

#[cfg(test)]
mod tests;

/// An HTTP client that trusts Amazon's roots and, for hosts whose certificate these roots refuse, the roots
/// of the image.
#[derive(Clone, Debug)]
pub(crate) struct HttpsClient {
    clients: Arc<Clients>,
}

#[derive(Debug)]
struct Clients {
    /// Trusts no roots: for requests without TLS.
    plain: SharedHttpClient,
    /// Trusts no roots and uses no proxy: for requests to this machine.
    direct: SharedHttpClient,
    /// Trusts the roots of Amazon; `None` if a setting names the roots.
    amazon: Option<SharedHttpClient>,
    /// Trusts the roots of the image.
    image: LazyLock<SharedHttpClient, Box<dyn FnOnce() -> SharedHttpClient + Send>>,
    /// The hosts whose certificates `amazon` refuses.
    refused: Mutex<HashSet<String>>,
}

impl HttpsClient {
    /// Creates a client that trusts `amazon` first, if there is one, and then the roots that `image` reads.
    pub(crate) fn new(
        amazon: Option<TlsContext>,
        image: impl FnOnce() -> TlsContext + Send + 'static,
    ) -> Self {
        let clients = Clients {
            plain: client(trusting(""), ProxyConfig::from_env()),
            direct: client(trusting(""), ProxyConfig::disabled()),
            amazon: amazon.map(|roots| client(roots, ProxyConfig::from_env())),
            image: LazyLock::new(Box::new(|| client(image(), ProxyConfig::from_env()))),
            refused: Mutex::default(),
        };
        Self {
            clients: Arc::new(clients),
        }
    }
}

/// Creates connectors without validating them, because the SDK would parse the roots for that.
impl HttpClient for HttpsClient {
    fn http_connector(
        &self,
        settings: &HttpConnectorSettings,
        components: &RuntimeComponents,
    ) -> SharedHttpConnector {
        SharedHttpConnector::new(Connector {
            clients: Arc::clone(&self.clients),
            settings: settings.clone(),
            components: components.clone(),
        })
    }

    fn connector_metadata(&self) -> Option<ConnectorMetadata> {
        self.clients.plain.connector_metadata()
    }
}

/// The clients, with the time-outs of the requests of one AWS client.
#[derive(Clone, Debug)]
struct Connector {
    clients: Arc<Clients>,
    settings: HttpConnectorSettings,
    components: RuntimeComponents,
}

impl HttpConnector for Connector {
    fn call(&self, request: HttpRequest) -> HttpConnectorFuture {
        let own = self.clone();
        HttpConnectorFuture::new(async move { own.send(request).await })
    }
}

impl Connector {
    /// Sends `request` with the client that trusts the server. If the certificate is refused, the handshake
    /// ends before anything of the request is sent, so the request can be sent again.
    async fn send(&self, request: HttpRequest) -> Result<HttpResponse, ConnectorError> {
        let clients = &self.clients;
        let Some(host) = host(request.uri()) else {
            let is_local = is_of_this_machine(request.uri());
            let client = if is_local {
                &clients.direct
            } else {
                &clients.plain
            };
            return self.through(client, request).await;
        };
        let is_refused = clients.refused().contains(&host);
        let Some(amazon) = clients.amazon.as_ref().filter(|_| !is_refused) else {
            let answer = self.through(&clients.image, request).await;
            return answer.map_err(|error| as_final_error(error, &host));
        };
        let repetition = request.try_clone();
        match (self.through(amazon, request).await, repetition) {
            (Err(error), Some(repetition)) if is_refusal(&error) => {
                clients.refused().insert(host.clone());
                let answer = self.through(&clients.image, repetition).await;
                answer.map_err(|error| as_final_error(error, &host))
            }
            (answer, _) => answer.map_err(|error| as_final_error(error, &host)),
        }
    }

    async fn through(
        &self,
        client: &SharedHttpClient,
        request: HttpRequest,
    ) -> Result<HttpResponse, ConnectorError> {
        let connector = client.http_connector(&self.settings, &self.components);
        connector.call(request).await
    }
}

impl Clients {
    fn refused(&self) -> MutexGuard<'_, HashSet<String>> {
        self.refused.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns host and port of a URI; `None` for a URI without TLS.
fn host(uri: &str) -> Option<String> {
    let (scheme, rest) = uri.split_once("://")?;
    let (host, _) = rest.split_once('/').unwrap_or((rest, ""));
    (scheme != "http").then(|| host.to_owned())
}

/// Returns whether a URI without TLS leads to this machine or to an address where AWS has an endpoint of
/// credentials: link-local, or one of the IPv6 addresses of EC2 and EKS.
fn is_of_this_machine(uri: &str) -> bool {
    let authority = uri.split_once("://").map_or(uri, |(_, rest)| rest);
    let authority = authority.split(['/', '?']).next().unwrap_or_default();
    let host = match authority.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => authority.split(':').next().unwrap_or_default(),
    };
    let Ok(address) = host.parse::<IpAddr>() else {
        let name = host.strip_suffix('.').unwrap_or(host);
        return name.eq_ignore_ascii_case("localhost");
    };
    match address.to_canonical() {
        IpAddr::V4(address) => {
            address.is_loopback() || address.is_link_local() || address.is_unspecified()
        }
        // fd00:ec2::254 of EC2, and fd00:ec2::23 of EKS.
        IpAddr::V6(address) => {
            let is_of_aws = address.segments()[..2] == [0xfd00, 0xec2];
            address.is_loopback() || address.is_unicast_link_local() || is_of_aws
        }
    }
}

/// Returns a client that trusts the certificates of `tls`. It reads them at its first request.
fn client(tls: TlsContext, proxies: ProxyConfig) -> SharedHttpClient {
    Builder::new().build_with_connector_fn(move |settings, components| {
        let mut connector = SmithyConnector::builder().proxy_config(proxies.clone());
        connector.set_connector_settings(settings.cloned());
        if let Some(components) = components {
            connector.set_sleep_impl(components.sleep_impl());
        }
        connector
            .tls_provider(Provider::Rustls(CryptoMode::Ring))
            .tls_context(tls.clone())
            .build()
    })
}

/// Converts the error of a connection that would fail again into one that the SDK does not retry, and that
/// names the setting to change. Returns any other error unchanged.
fn as_final_error(error: ConnectorError, host: &str) -> ConnectorError {
    if wants_password(&error) {
        let why =
            "the proxy refuses the requests (407): name it with user and password in HTTPS_PROXY";
        return ConnectorError::user(why.into());
    }
    let why = match tls_error(&error) {
        Some(rustls::Error::InvalidCertificate(why)) => {
            format!(
                "the certificate of {host} is not trusted ({why:?}): name its roots in AWS_CA_BUNDLE"
            )
        }
        Some(rustls::Error::InvalidMessage(_)) => {
            format!("{host} does not speak TLS: check the endpoint, or HTTPS_PROXY")
        }
        _ => return error,
    };
    ConnectorError::user(why.into())
}

/// Returns whether the certificate of the server was refused. In most cases its issuer is unknown, but a
/// proxy may also give its own root the name of another one.
fn is_refusal(error: &ConnectorError) -> bool {
    matches!(tls_error(error), Some(rustls::Error::InvalidCertificate(_)))
}

/// Returns the TLS error among the causes of `error`.
fn tls_error(error: &ConnectorError) -> Option<&rustls::Error> {
    causes(error).find_map(|error| error.downcast_ref::<rustls::Error>())
}

/// Returns whether a proxy has answered CONNECT with status 407. The type of that error is not public, so its
/// text is compared.
fn wants_password(error: &ConnectorError) -> bool {
    let words = "proxy authorization required";
    causes(error).any(|error| error.to_string().ends_with(words))
}

/// Returns the error and its causes, the outermost first.
fn causes(error: &ConnectorError) -> impl Iterator<Item = &(dyn Error + 'static)> {
    successors(Some(error as &(dyn Error + 'static)), |&error| {
        // The source of an I/O error is the source of the error in it, so the error in it would be skipped.
        match error.downcast_ref::<io::Error>() {
            Some(error) => error.get_ref().map(|inner| inner as _),
            None => error.source(),
        }
    })
}
