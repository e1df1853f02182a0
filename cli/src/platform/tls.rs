//! Whose certificates are trusted, and whether there are credentials.

use crate::exit::Exit;
use aws_config::SdkConfig;
use aws_credential_types::provider::ProvideCredentials;
use aws_credential_types::provider::error::CredentialsError;
use aws_smithy_http_client::tls::{TlsContext, TrustStore};
use aws_smithy_types::base64;
use lockstep::aws::sdk_config_trusting;
use rustls_native_certs::load_native_certs;
use std::error::Error;
use std::time::Duration;
use tokio::time::timeout;
use webpki_root_certs::TLS_SERVER_ROOT_CERTS;

/// Longest time for the credentials. A source that is slow is asked again by the first request.
const CREDENTIALS_WITHIN: Duration = Duration::from_secs(6);

/// The settings that all clients of AWS share, if there are credentials.
///
/// # Errors
/// The exit code, and why there are no credentials: no request could be signed, however often it is
/// retried.
pub(crate) async fn sdk_config() -> Result<SdkConfig, (Exit, String)> {
    let sdk = sdk_config_trusting(roots()).await;
    let Some(credentials) = sdk.credentials_provider() else {
        return Err(none("no source of them is configured"));
    };
    match timeout(CREDENTIALS_WITHIN, credentials.provide_credentials()).await {
        Ok(Err(error)) => match why_none(&error) {
            Some(why) => Err(none(&why)),
            None => Ok(sdk),
        },
        Ok(Ok(_)) | Err(_) => Ok(sdk),
    }
}

fn none(why: &str) -> (Exit, String) {
    let why = format!("the lock table cannot be used: no AWS credentials ({why})");
    (Exit::UNAVAILABLE, why)
}

/// Why there are none, unless that may pass.
fn why_none(error: &CredentialsError) -> Option<String> {
    match error {
        CredentialsError::CredentialsNotLoaded(_) => {
            Some("neither environment, profile, task role nor instance role has any".into())
        }
        CredentialsError::InvalidConfiguration(_) => {
            let cause = error.source().map(ToString::to_string);
            let cause = cause.unwrap_or_else(|| error.to_string());
            Some(cause.lines().next().unwrap_or_default().to_owned())
        }
        _ => None,
    }
}

/// The certificates of the image or, where it has none, those that this program brings along.
///
/// Many small images have none: nothing in them calls anybody by HTTPS. The program in the image
/// shall not need a package for the sake of its guard.
fn roots() -> TlsContext {
    if load_native_certs().certs.is_empty() {
        tracing::debug!("the image has no root certificates: those of this program are used");
        return context(TrustStore::empty().with_pem_certificate(built_in()));
    }
    TlsContext::default()
}

fn context(store: TrustStore) -> TlsContext {
    let built = TlsContext::builder().with_trust_store(store).build();
    built.unwrap_or_default()
}

/// Mozilla's list, as PEM.
fn built_in() -> String {
    let certificates = TLS_SERVER_ROOT_CERTS.iter().map(|certificate| {
        let text = base64::encode(certificate);
        format!("-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n")
    });
    certificates.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_smithy_http_client::Builder;
    use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};

    #[test]
    fn an_image_without_certificates_still_has_roots_that_a_client_takes() {
        let store = TrustStore::empty().with_pem_certificate(built_in());

        // It panics over a certificate that cannot be read.
        Builder::new()
            .tls_provider(Provider::Rustls(CryptoMode::Ring))
            .tls_context(context(store))
            .build_https();

        assert!(built_in().matches("BEGIN").count() > 100);
    }

    #[test]
    fn the_roots_of_amazon_are_among_those_that_are_built_in() {
        let amazon = TLS_SERVER_ROOT_CERTS.iter().filter(|certificate| {
            let name = b"Amazon Root CA 1";
            certificate.windows(name.len()).any(|part| part == name)
        });

        assert_eq!(amazon.count(), 1);
    }
}
