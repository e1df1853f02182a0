//! The HTTP client that the AWS clients of a process share.
//!
//! The SDK's own HTTP client builds a whole TLS configuration, with all trusted certificates parsed, for each
//! client of a service only to check it, and builds another one at the first request. This client builds it
//! once.

use super::CONNECT_TIMEOUT;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use aws_smithy_http_client::tls::{Provider, TlsContext};
use aws_smithy_http_client::{Builder, Connector};
use aws_smithy_runtime_api::client::connector_metadata::ConnectorMetadata;
use aws_smithy_runtime_api::client::http::{
    HttpClient, HttpConnectorSettings, SharedHttpClient, SharedHttpConnector,
};
use aws_smithy_runtime_api::client::runtime_components::RuntimeComponents;

/// TLS is rustls with ring. The default provider collects jitter entropy at the first handshake, which costs
/// some 40 ms of CPU (<https://github.com/aws/aws-lc-rs/issues/899>).
const TLS: Provider = Provider::Rustls(CryptoMode::Ring);

/// Creates an HTTP client whose TLS configuration trusts the certificates of `tls`.
pub(super) fn client(tls: TlsContext) -> SharedHttpClient {
    let settings = HttpConnectorSettings::builder().connect_timeout(CONNECT_TIMEOUT);
    let connector = Connector::builder()
        .connector_settings(settings.build())
        .tls_provider(TLS)
        .tls_context(tls.clone())
        .build();
    SharedHttpClient::new(Connectors {
        usual: SharedHttpConnector::new(connector),
        other: lazy_client(tls),
    })
}

/// Creates an HTTP client that parses the certificates of `tls` at its first request, and trusts no others.
#[must_use]
pub fn lazy_client(tls: TlsContext) -> SharedHttpClient {
    Builder::new()
        .tls_provider(TLS)
        .tls_context(tls)
        .build_https()
}

/// The connector for the timeouts that all clients of a function have, and a client that builds connectors
/// for other timeouts when they are needed.
#[derive(Debug)]
struct Connectors {
    usual: SharedHttpConnector,
    other: SharedHttpClient,
}

impl HttpClient for Connectors {
    fn http_connector(
        &self,
        settings: &HttpConnectorSettings,
        components: &RuntimeComponents,
    ) -> SharedHttpConnector {
        match (settings.connect_timeout(), settings.read_timeout()) {
            (Some(CONNECT_TIMEOUT), None) => self.usual.clone(),
            _ => self.other.http_connector(settings, components),
        }
    }

    fn connector_metadata(&self) -> Option<ConnectorMetadata> {
        self.other.connector_metadata()
    }
}
