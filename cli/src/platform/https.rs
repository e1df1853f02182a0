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

use aws_smithy_http_client::tls::TlsContext;
use aws_smithy_runtime_api::client::connector_metadata::ConnectorMetadata;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnector, HttpConnectorFuture, HttpConnectorSettings, SharedHttpClient,
    SharedHttpConnector,
};
use aws_smithy_runtime_api::client::orchestrator::{HttpRequest, HttpResponse};
use aws_smithy_runtime_api::client::result::ConnectorError;
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;
use lockstep::aws::lazy_http_client;
use lockstep::aws::trust::trusting;
use std::collections::HashSet;
use std::error::Error;
use std::io;
use std::iter::successors;
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
            plain: lazy_http_client(trusting("")),
            amazon: amazon.map(lazy_http_client),
            image: LazyLock::new(Box::new(|| lazy_http_client(image()))),
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
            return self.through(&clients.plain, request).await;
        };
        let is_refused = clients.refused().contains(&host);
        let Some(amazon) = clients.amazon.as_ref().filter(|_| !is_refused) else {
            return self.through(&clients.image, request).await;
        };
        let repetition = request.try_clone();
        match (self.through(amazon, request).await, repetition) {
            (Err(error), Some(repetition)) if is_refusal(&error) => {
                clients.refused().insert(host);
                self.through(&clients.image, repetition).await
            }
            (answer, _) => answer,
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

/// Whether the certificate of the server was refused: mostly as one of an unknown issuer, but a proxy may also give
/// its own root the name of another.
fn is_refusal(error: &ConnectorError) -> bool {
    let mut chain = successors(Some(error as &(dyn Error + 'static)), |&error| {
        // The source of an I/O error is that of the error in it.
        match error.downcast_ref::<io::Error>() {
            Some(error) => error.get_ref().map(|inner| inner as _),
            None => error.source(),
        }
    });
    chain.any(|error| {
        let error = error.downcast_ref::<rustls::Error>();
        matches!(error, Some(rustls::Error::InvalidCertificate(_)))
    })
}
