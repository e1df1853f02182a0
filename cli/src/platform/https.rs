//! The HTTP client of the AWS clients, which reads root certificates when a server requires them.
//!
//! The SDK's own client parses all its roots for each AWS client that is built, and the bundle of an image has a
//! hundred and forty. The servers of AWS have certificates of Amazon, whose five roots are compiled in. The roots of the image
//! decide about every other server: one behind a proxy that opens TLS, above all.
//!
//! ```text
//!  http://   ─▶ no roots
//!  https://  ─▶ roots of Amazon ──certificate refused──▶ roots of the image, from then on for this host
//! ```
//! Requests go by the proxies that `HTTPS_PROXY`, `HTTP_PROXY`, `ALL_PROXY` and `NO_PROXY` name, as with other AWS tools
//! (<https://docs.aws.amazon.com/cli/latest/userguide/cli-configure-proxy.html>), but for those to this machine: the
//! endpoints of credentials are link-local, and a proxy would answer with its own.

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

/// An HTTP client that trusts Amazon's roots, and the roots of the image for hosts that have no certificate of
/// Amazon.
#[derive(Clone, Debug)]
pub(crate) struct HttpsClient {
    clients: Arc<Clients>,
}

#[derive(Debug)]
struct Clients {
    /// Trusts no roots: for requests without TLS.
    plain: SharedHttpClient,
    /// The same without a proxy.
    direct: SharedHttpClient,
    /// Trusts the roots of Amazon.
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

/// Nothing is validated when an AWS client is built: for that, the SDK would parse the roots.
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

/// The clients, with the time-outs of one request.
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
    /// Sends `request` to a server that one of the clients trusts. A refused certificate ends the handshake, before
    /// anything of the request is sent.
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
            return answer.map_err(|error| without_remedy(error, &host));
        };
        let repetition = request.try_clone();
        match (self.through(amazon, request).await, repetition) {
            (Err(error), Some(repetition)) if is_refusal(&error) => {
                clients.refused().insert(host.clone());
                let answer = self.through(&clients.image, repetition).await;
                answer.map_err(|error| without_remedy(error, &host))
            }
            (answer, _) => answer.map_err(|error| without_remedy(error, &host)),
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

/// Host and port of a URI; `None` if it is one without TLS.
fn host(uri: &str) -> Option<String> {
    let (scheme, rest) = uri.split_once("://")?;
    let (host, _) = rest.split_once('/').unwrap_or((rest, ""));
    (scheme != "http").then(|| host.to_owned())
}

/// Whether a URI without TLS leads to this machine, or to a link-local address, where AWS has the endpoints of
/// credentials.
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

/// A client whose TLS configuration trusts the certificates of `tls`, read at its first request.
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

/// The error of a connection that fails again whenever it is repeated, as one that the SDK does not repeat, with the
/// setting that it is about. Any other error stays as it is.
fn without_remedy(error: ConnectorError, host: &str) -> ConnectorError {
    if wants_password(&error) {
        let why =
            "the proxy refuses the requests (407): name it with user and password in HTTPS_PROXY";
        return ConnectorError::user(why.into());
    }
    let why = match of_tls(&error) {
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

/// Whether the certificate of the server was refused: mostly as one of an unknown issuer, but a proxy may also give
/// its own root the name of another.
fn is_refusal(error: &ConnectorError) -> bool {
    matches!(of_tls(error), Some(rustls::Error::InvalidCertificate(_)))
}

/// The error of TLS among the causes of `error`.
fn of_tls(error: &ConnectorError) -> Option<&rustls::Error> {
    causes(error).find_map(|error| error.downcast_ref::<rustls::Error>())
}

/// Whether a proxy has answered CONNECT with 407. The type of that error is not public.
fn wants_password(error: &ConnectorError) -> bool {
    let words = "proxy authorization required";
    causes(error).any(|error| error.to_string().ends_with(words))
}

/// The error and its causes, from the outermost on.
fn causes(error: &ConnectorError) -> impl Iterator<Item = &(dyn Error + 'static)> {
    successors(Some(error as &(dyn Error + 'static)), |&error| {
        // The source of an I/O error is that of the error in it.
        match error.downcast_ref::<io::Error>() {
            Some(error) => error.get_ref().map(|inner| inner as _),
            None => error.source(),
        }
    })
}
