//! The root certificates that are compiled in, and where they are trusted.

use crate::config;
use aws_smithy_http_client::tls::{TlsContext, TrustStore};
use std::env;

/// The five roots of Amazon Trust Services, which Amazon recommends for a custom trust store
/// (<https://www.amazontrust.com/repository/>).
const AMAZON: &str = include_str!("amazon-roots.pem");

/// The variables that name the certificates of the system.
const NAMED: [&str; 2] = ["SSL_CERT_FILE", "SSL_CERT_DIR"];

/// The prefix of the variables that name custom endpoints: `AWS_ENDPOINT_URL` for all services, and one
/// variable for each service (<https://docs.aws.amazon.com/sdkref/latest/guide/feature-ss-endpoints.html>).
const ENDPOINT: &str = "AWS_ENDPOINT_URL";

/// Returns the trusted certificates of a function: the roots of Amazon, which are compiled in, or those of
/// the system.
///
/// Reading the trust store of the system takes more CPU than everything else before the first event. It is
/// read only
///
/// - if `SSL_CERT_FILE` or `SSL_CERT_DIR` names a private certificate authority;
/// - if a variable names a custom endpoint;
/// - in the partitions whose endpoints may have other roots.
#[must_use]
pub fn of_functions() -> TlsContext {
    amazon(&config::variable("AWS_REGION").unwrap_or_default()).unwrap_or_default()
}

/// Returns the roots of Amazon, or `None` if `region` is not of the partition `aws`, or the environment names
/// an endpoint or certificates.
#[must_use]
pub fn amazon(region: &str) -> Option<TlsContext> {
    let named = NAMED.iter().any(|name| config::variable(name).is_some());
    let endpoint = env::vars_os()
        .any(|(name, value)| name.to_string_lossy().starts_with(ENDPOINT) && !value.is_empty());
    uses_amazon_roots(region, named || endpoint).then(|| trusting(AMAZON))
}

/// Returns a TLS context that trusts the certificates `pem` and no others.
#[must_use]
pub fn trusting(pem: &str) -> TlsContext {
    let store = TrustStore::empty().with_pem_certificate(pem);
    let built = TlsContext::builder().with_trust_store(store).build();
    built.unwrap_or_default()
}

/// Returns whether the certificates of the endpoints of `region` are signed by a root of Amazon. `is_private`
/// is true if the environment names an endpoint or certificates.
///
/// Regions of the partition `aws` have three parts, such as `eu-west-1`. Those of all others have four, or
/// begin with `cn`.
fn uses_amazon_roots(region: &str, is_private: bool) -> bool {
    let is_commercial = region.split('-').count() == 3 && !region.starts_with("cn-");
    is_commercial && !is_private
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_smithy_http_client::Builder;
    use aws_smithy_http_client::tls::{Provider, rustls_provider::CryptoMode};
    use aws_smithy_types::base64;
    use webpki_root_certs::TLS_SERVER_ROOT_CERTS;

    #[test]
    fn compiled_in_roots_are_for_aws_endpoints_of_the_partition_aws() {
        let commercial = ["eu-west-1", "us-east-2", "ap-southeast-7", "il-central-1"];
        for region in commercial {
            assert!(uses_amazon_roots(region, false), "{region}");
            assert!(!uses_amazon_roots(region, true), "{region}");
        }
        let partitions = "cn-north-1 us-gov-west-1 us-iso-east-1 us-isob-east-1 eu-isoe-west-1 \
                          eusc-de-east-1";
        for region in partitions.split(' ').chain([""]) {
            assert!(!uses_amazon_roots(region, false), "{region}");
        }
    }

    #[test]
    fn each_compiled_in_root_is_one_that_mozilla_trusts() {
        let pems = AMAZON.split("-----BEGIN CERTIFICATE-----").skip(1);
        assert_eq!(pems.clone().count(), 5);
        for pem in pems {
            let (text, _) = pem.split_once("-----END").expect("an end");
            let der = base64::decode(text.split_whitespace().collect::<String>()).unwrap();
            let mut trusted = TLS_SERVER_ROOT_CERTS.iter();
            assert!(trusted.any(|root| root.as_ref() == der), "{pem}");
        }
    }

    #[test]
    fn a_client_accepts_the_compiled_in_roots() {
        // Panics on a certificate that cannot be parsed.
        Builder::new()
            .tls_provider(Provider::Rustls(CryptoMode::Ring))
            .tls_context(trusting(AMAZON))
            .build_https();
    }
}
