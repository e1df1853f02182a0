//! Checks the proxies that the environment names.
//!
//! The client takes a proxy that it cannot parse for none, and would send its requests past the proxy.

use super::env::variable;
use hyper::Uri;

/// The variables of other AWS tools
/// (<https://docs.aws.amazon.com/cli/latest/userguide/cli-configure-proxy.html>).
const VARIABLES: [&str; 6] = [
    "HTTPS_PROXY",
    "https_proxy",
    "HTTP_PROXY",
    "http_proxy",
    "ALL_PROXY",
    "all_proxy",
];

/// # Errors
/// The first variable that names no proxy. Its value is not shown: it may have a password.
pub(super) fn check() -> Result<(), String> {
    for name in VARIABLES {
        if let Some(value) = variable(name)
            && !is_proxy(&value)
        {
            return Err(format!(
                "{name} is not the address of a proxy, as in http://proxy.example.com:3128"
            ));
        }
    }
    Ok(())
}

/// Whether `value` is a URL of a proxy that speaks HTTP. The scheme `http://` may be left out.
fn is_proxy(value: &str) -> bool {
    let whole = match value.contains("://") {
        true => value.to_owned(),
        false => format!("http://{value}"),
    };
    let Ok(uri) = whole.parse::<Uri>() else {
        return false;
    };
    let is_http = matches!(uri.scheme_str(), Some("http" | "https"));
    let has_host = uri.host().is_some_and(|host| !host.is_empty());
    let port = uri.authority().map(|authority| authority.as_str());
    let port = port.and_then(|authority| authority.rsplit('@').next());
    let names_port = port.is_some_and(|address| !address.ends_with(']') && address.contains(':'));
    is_http && has_host && (!names_port || uri.port_u16().is_some())
}

#[cfg(test)]
mod tests {
    use super::is_proxy;

    #[test]
    fn a_proxy_is_a_url_of_http_whose_scheme_may_be_left_out() {
        for (value, expected) in [
            ("http://proxy.example.com:3128", true),
            ("https://proxy.example.com", true),
            ("proxy:3128", true),
            ("127.0.0.1:8080", true),
            ("http://user:pa%40ss@proxy:3128/", true),
            ("http://[::1]:3128", true),
            ("http://[::1]", true),
            ("nonsense:::", false),
            (" http://proxy:3128", false),
            ("ftp://proxy:21", false),
            ("socks5://proxy:1080", false),
            ("http://us er:pw@proxy", false),
            ("http://proxy:99999", false),
            ("http://", false),
        ] {
            assert_eq!(is_proxy(value), expected, "{value}");
        }
    }
}
