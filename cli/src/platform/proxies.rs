//! Checks the proxies that the environment names.
//!
//! The HTTP client ignores the value of a variable that it cannot parse, and would send its requests past the
//! proxy.

use super::host::has_host;
use hyper::Uri;
use hyper_util::client::proxy::matcher::Matcher;
use std::env;

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

/// The variable that a web server sets for its CGI programs. If it is set, the client uses no proxy, because
/// a web server puts the header `Proxy` of a request into `HTTP_PROXY`.
const CGI_VARIABLE: &str = "REQUEST_METHOD";

/// # Errors
/// Names the first variable whose value is not a proxy. The value is not shown, because it may have a
/// password.
pub(super) fn check() -> Result<(), String> {
    let given = VARIABLES.map(|name| (name, env::var_os(name).unwrap_or_default()));
    for (name, value) in given.into_iter().filter(|(_, value)| !value.is_empty()) {
        if !value.to_str().is_some_and(is_proxy) {
            return Err(format!(
                "{name} is not the address of a proxy, as in http://proxy.example.com:3128"
            ));
        }
        if env::var_os(CGI_VARIABLE).is_some() {
            return Err(format!(
                "{CGI_VARIABLE} is set, and then {name} has no effect: unset {CGI_VARIABLE}"
            ));
        }
    }
    Ok(())
}

/// Returns whether the client uses `value` as a proxy that speaks HTTP. The scheme `http://` may be left out.
fn is_proxy(value: &str) -> bool {
    let matcher = Matcher::builder().all(value.to_owned()).build();
    let any = Uri::from_static("https://aws.example.com");
    let Some(proxy) = matcher.intercept(&any) else {
        return false;
    };
    let uri = proxy.uri();
    let is_http = matches!(uri.scheme_str(), Some("http" | "https"));
    // A port that is not a number of 16 bits would only fail at the connection, without the name of the
    // variable.
    is_http && has_host(uri)
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
            (":3128", false),
            ("http://:3128", false),
            ("http://[::1]x:3128", false),
            ("127.0.0.1:8080/", false),
            ("user:pw@proxy:3128/", false),
            ("proxy:3128?x", false),
            ("http//proxy:3128", false),
        ] {
            assert_eq!(is_proxy(value), expected, "{value}");
        }
    }
}
