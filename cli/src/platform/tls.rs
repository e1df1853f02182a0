//! The root certificates that are trusted.

use super::env::variable;
use super::https::HttpsClient;
use aws_smithy_http_client::tls::TlsContext;
use aws_smithy_runtime_api::client::http::SharedHttpClient;
use aws_smithy_types::base64;
use lockstep::aws::trust::{amazon, trusting};
use rustls::pki_types::CertificateDer;
use rustls_native_certs::{load_certs_from_paths, load_native_certs};
use std::env;
use std::path::Path;
use webpki::anchor_from_trusted_cert;
use webpki_root_certs::TLS_SERVER_ROOT_CERTS;

/// The variables that name the certificates of the image.
const NAMED: [&str; 2] = ["SSL_CERT_FILE", "SSL_CERT_DIR"];

/// The variable for the roots that all AWS tools trust
/// (<https://docs.aws.amazon.com/sdkref/latest/guide/feature-gen-config.html>).
const BUNDLE: &str = "AWS_CA_BUNDLE";

/// Returns the HTTP client for the endpoints of `region`. `bundle` is `ca_bundle` of the profile, which is
/// used if `AWS_CA_BUNDLE` is not set.
///
/// # Errors
/// Names the setting, its value and the rule, if a file that a setting names has no certificate.
pub(crate) fn client(region: &str, bundle: Option<&str>) -> Result<SharedHttpClient, String> {
    let named = variable(BUNDLE).map(|path| (BUNDLE.to_owned(), path));
    let named = named.or_else(|| Some(("ca_bundle in the profile".to_owned(), bundle?.to_owned())));
    if let Some((setting, path)) = named {
        let found = load_certs_from_paths(Some(Path::new(&path)), None).certs;
        let roots = usable(&found).ok_or_else(|| without_certificate(&setting, &path))?;
        return Ok(SharedHttpClient::new(HttpsClient::new(None, move || {
            trusting(&roots)
        })));
    }
    if let Some(setting) = NAMED.iter().find(|name| env::var_os(name).is_some()) {
        let path = env::var_os(setting).unwrap_or_default();
        if usable(&load_native_certs().certs).is_none() {
            return Err(without_certificate(setting, &path.display().to_string()));
        }
    }
    Ok(SharedHttpClient::new(HttpsClient::new(
        amazon(region),
        roots,
    )))
}

fn without_certificate(setting: &str, path: &str) -> String {
    format!(
        "{setting} is {path:?}, but must be a file of certificates in PEM (SSL_CERT_DIR: a folder of such files)"
    )
}

/// Returns those of `found` that the client can parse, as PEM; `None` if there are none. The client panics on
/// any other certificate, and an image may have some.
fn usable(found: &[impl AsRef<[u8]>]) -> Option<String> {
    let usable = found
        .iter()
        .map(AsRef::as_ref)
        .filter(|root| anchor_from_trusted_cert(&CertificateDer::from(*root)).is_ok());
    let found = pem(usable);
    (!found.is_empty()).then_some(found)
}

/// Returns the root certificates of the image or, if it has none, the built-in ones.
///
/// Many small images have none, because nothing in them uses HTTPS, and they should not need a package only
/// for `lockstep`. Most images have them twice, in one file and in a folder of links. The file is enough,
/// unless variables name other places.
fn roots() -> TlsContext {
    if NAMED.iter().any(|name| env::var_os(name).is_some()) {
        return TlsContext::default();
    }
    // On macOS the certificates are in the keychain.
    let file = (!cfg!(target_os = "macos")).then(|| openssl_probe::probe().cert_file);
    let mut found = load_certs_from_paths(file.flatten().as_deref(), None).certs;
    if found.is_empty() {
        found = load_native_certs().certs;
    }
    if let Some(found) = usable(&found) {
        return trusting(&found);
    }
    tracing::debug!(
        event = "roots_missing",
        "the image has no root certificates; using the built-in ones"
    );
    trusting(&built_in())
}

/// Returns Mozilla's root certificates, as PEM.
fn built_in() -> String {
    pem(TLS_SERVER_ROOT_CERTS.iter().map(AsRef::as_ref))
}

fn pem<'a>(certificates: impl Iterator<Item = &'a [u8]>) -> String {
    let texts = certificates.map(|certificate| {
        let text = base64::encode(certificate);
        format!("-----BEGIN CERTIFICATE-----\n{text}\n-----END CERTIFICATE-----\n")
    });
    texts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_smithy_http_client::Builder;
    use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};

    #[test]
    fn a_client_accepts_the_built_in_roots() {
        // Panics on a certificate that cannot be parsed.
        Builder::new()
            .tls_provider(Provider::Rustls(CryptoMode::Ring))
            .tls_context(trusting(&built_in()))
            .build_https();

        assert!(built_in().matches("BEGIN").count() > 100);
    }

    #[test]
    fn the_built_in_roots_contain_the_one_of_amazon() {
        let amazon = TLS_SERVER_ROOT_CERTS.iter().filter(|certificate| {
            let name = b"Amazon Root CA 1";
            certificate.windows(name.len()).any(|part| part == name)
        });

        assert_eq!(amazon.count(), 1);
    }
}
