//! The configuration of the AWS SDK: Region, credentials and endpoints, found where other AWS tools find
//! them.
//!
//! ```text
//!  variables ─▶ profile ─▶ container ─▶ instance      the first that has a Region, and the first with credentials
//! ```
//!
//! The SDK supports all sources of credentials except MFA codes, which [`mfa`] asks for. The modules here
//! report each mistake in one line that names the setting, before the first request. If variables have the
//! Region and the keys, no other source is read for them.

mod ahead;
mod container;
mod endpoints;
mod failure;
mod identity;
mod mfa;
mod process;
mod profiles;
mod region;
mod source;
mod text;
mod usable;

pub(crate) use region::Region;
pub(crate) use text::line;

use super::empty::setting_that_is_not_utf8;
use super::proxies;
use super::tls;
use crate::exit::{EarlyExit, Exit};
use ahead::Ahead;
use aws_config::SdkConfig;
use aws_config::identity::IdentityCache;
use aws_config::provider_config::ProviderConfig;
use aws_credential_types::Credentials;
use aws_credential_types::provider::{self, SharedCredentialsProvider};
use aws_smithy_runtime_api::client::http::SharedHttpClient;
use aws_smithy_types::timeout::TimeoutConfig;
use aws_types::service_config::ServiceConfigKey;
use failure::{Failure, Kind};
use lockstep::aws::{load_sdk_config, timeouts};
use profiles::Profiles;
use source::Source;
use std::pin::pin;
use std::time::Duration;
use tokio::time::timeout;

/// Longest wait for the credentials of a container at the start. If they are later, the first request waits
/// for them.
const CREDENTIALS_WITHIN: Duration = Duration::from_secs(6);

/// Time after which a log line says which credentials are waited for.
const CREDENTIALS_SLOW: Duration = Duration::from_secs(6);

/// Longest wait for credentials from any other source, because a credential process may ask a person for
/// something. The providers of the SDK itself give up within seconds.
const OTHER_CREDENTIALS_WITHIN: Duration = Duration::from_secs(300);

/// The configuration that all AWS clients share, and the source of its Region.
#[derive(Debug)]
pub(crate) struct Loaded {
    pub(crate) sdk: SdkConfig,
    pub(crate) region: Region,
}

/// Loads the configuration of a process that guards work. If the credentials are late, the first request
/// waits for them.
///
/// # Errors
/// The exit code, and why there is no Region or why there are no credentials. Without credentials no request
/// can be signed, and no retry helps.
pub(crate) async fn sdk_config() -> Result<SdkConfig, EarlyExit> {
    // A Lambda function has to decide within six seconds. A process has more time, for a table that takes
    // seconds to answer. A connection through a proxy, or to a table far away, takes several of its round
    // trips.
    let patient = timeouts()
        .to_builder()
        .connect_timeout(Duration::from_secs(2))
        .operation_attempt_timeout(Duration::from_secs(4))
        .operation_timeout(Duration::from_secs(8));
    let (loaded, late) = load(patient.build()).await?;
    if let Some(Failure { text, .. }) = late {
        tracing::warn!(event = "credentials_late", "no AWS credentials yet: {text}");
    }
    Ok(loaded.sdk)
}

/// Loads the configuration of an operator's command, which may run far from its Region.
///
/// # Errors
/// The errors of [`sdk_config`], and why credentials are late.
pub(crate) async fn operators_config() -> Result<Loaded, EarlyExit> {
    let far = TimeoutConfig::builder()
        .connect_timeout(Duration::from_secs(5))
        .operation_attempt_timeout(Duration::from_secs(10))
        .operation_timeout(Duration::from_secs(30));
    match load(far.build()).await? {
        (loaded, None) => Ok(loaded),
        (_, Some(failure)) => Err(no_credentials(failure)),
    }
}

/// Loads the configuration. Also returns the failure of the credentials, if that is temporary.
async fn load(timeouts: TimeoutConfig) -> Result<(Loaded, Option<Failure>), EarlyExit> {
    let wrong = |why: String| (Exit::CONFIGURATION, why);
    if let Some(name) = setting_that_is_not_utf8() {
        return Err(wrong(format!("{name} is not UTF-8: correct or unset it")));
    }
    proxies::check().map_err(wrong)?;
    endpoints::check_imds().map_err(wrong)?;
    let has_keys = identity::has_keys().map_err(wrong)?;
    let (region, profiles) = match Region::of_environment() {
        Some(region) if has_keys && !Profiles::is_chosen() => (region, None),
        found => {
            let profiles = Profiles::read().await.map_err(wrong)?;
            if !has_keys {
                identity::check(&profiles).map_err(wrong)?;
            }
            let region = match found {
                Some(region) => region,
                None => Region::elsewhere(&profiles).await.map_err(wrong)?,
            };
            (region, Some(profiles))
        }
    };
    let region = region.check().map_err(wrong)?;
    let load = async |bundle: Option<String>| {
        let http = tls::client(&region.name, bundle.as_deref())?;
        let sdk = load_sdk_config(http.clone(), region.name.clone(), timeouts.clone()).await;
        Ok((http, sdk))
    };
    let (mut http, mut sdk) = load(None).await.map_err(wrong)?;
    // The SDK reads the setting `ca_bundle`, but does not use it.
    if let Some(bundle) = setting(&sdk, "ca_bundle") {
        (http, sdk) = load(Some(bundle)).await.map_err(wrong)?;
    }
    if profiles.is_none() && setting(&sdk, "services").is_some() {
        Profiles::read().await.map_err(wrong)?;
    }
    endpoints::check(&sdk).map_err(wrong)?;
    let Some(provider) = sdk.credentials_provider() else {
        let why = "no credentials provider is configured".into();
        return Err(no_credentials(Failure::permanent(why)));
    };
    let profiles = profiles.filter(|_| !has_keys);
    let found = resolve(&sdk, provider.clone(), http, profiles).await;
    let (credentials, late) = match found {
        Ok(found) => found,
        Err(failure) if failure.kind == Kind::Temporary => {
            (Ahead::after(None, provider), Some(failure))
        }
        Err(failure) => return Err(no_credentials(failure)),
    };
    let sdk = sdk
        .into_builder()
        .credentials_provider(SharedCredentialsProvider::new(credentials))
        .identity_cache(IdentityCache::lazy().buffer_time(ahead::BY).build())
        .build();
    Ok((Loaded { sdk, region }, late))
}

fn no_credentials(Failure { text, kind }: Failure) -> EarlyExit {
    match kind {
        Kind::Setting => (Exit::CONFIGURATION, text),
        Kind::Permanent | Kind::Temporary => {
            (Exit::UNAVAILABLE, format!("no AWS credentials: {text}"))
        }
    }
}

/// Loads the first credentials. Returns a provider of credentials, and why they are late, if they are.
/// `profiles` is `None` if variables have the keys.
async fn resolve(
    sdk: &SdkConfig,
    provider: SharedCredentialsProvider,
    http: SharedHttpClient,
    profiles: Option<Profiles>,
) -> Result<(Ahead, Option<Failure>), Failure> {
    if let Some(profiles) = &profiles {
        let chain = profiles.chain();
        let asked = mfa::roles_to_assume(&chain);
        if !asked.is_empty() {
            let conf = provider_config(sdk, http);
            let first = mfa::assume(asked, profiles, sdk, &conf).await?;
            let then = SharedCredentialsProvider::new(mfa::Ended(profiles.name().to_owned()));
            return Ok((Ahead::until_expiry(first, then), None));
        }
    }
    let credentials = Ahead::after(None, provider);
    match in_time(credentials.provide(), profiles.as_ref()).await {
        Ok(_) => Ok((credentials, None)),
        // The load of late credentials goes on.
        Err(failure) if failure.kind == Kind::Temporary => Ok((credentials, Some(failure))),
        Err(failure) => Err(failure),
    }
}

/// Waits for `load` within the time limit of the source of the credentials, which is found in `profiles`.
async fn in_time(
    load: impl Future<Output = provider::Result>,
    profiles: Option<&Profiles>,
) -> Result<Credentials, Failure> {
    let within = if Source::of(profiles.and_then(Profiles::base)) == Source::Container {
        CREDENTIALS_WITHIN
    } else {
        OTHER_CREDENTIALS_WITHIN
    };
    let mut load = pin!(load);
    let mut found = timeout(CREDENTIALS_SLOW, &mut load).await;
    if found.is_err() && within > CREDENTIALS_SLOW {
        let text = Failure::late(CREDENTIALS_SLOW, profiles).text;
        tracing::warn!(event = "credentials_late", "no AWS credentials yet: {text}");
        found = timeout(within - CREDENTIALS_SLOW, load).await;
    }
    match found {
        Ok(found) => usable::checked(found).map_err(|error| Failure::of(&error, profiles)),
        Err(_) => Err(Failure::late(within, profiles)),
    }
}

/// Returns a setting of the chosen profile, as the SDK has read it.
fn setting(sdk: &SdkConfig, name: &str) -> Option<String> {
    // A key of a service's setting is the only access to the profile that the SDK gives. The name of its
    // variable is empty, so only the profile is read.
    let key = ServiceConfigKey::builder()
        .service_id("Lockstep")
        .env("")
        .profile(name);
    sdk.service_config()?.load_config(key.build().ok()?)
}

/// Returns the configuration of a provider of credentials, with the settings of `sdk`.
fn provider_config(sdk: &SdkConfig, http: SharedHttpClient) -> ProviderConfig {
    let mut conf = ProviderConfig::without_region()
        .with_region(sdk.region().cloned())
        .with_use_fips(sdk.use_fips())
        .with_use_dual_stack(sdk.use_dual_stack())
        .with_http_client(http);
    if let Some(retries) = sdk.retry_config() {
        conf = conf.with_retry_config(retries.clone());
    }
    if let Some(timeouts) = sdk.timeout_config() {
        conf = conf.with_timeout_config(timeouts.clone());
    }
    conf
}
