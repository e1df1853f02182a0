//! The host of a URL.

use hyper::Uri;

/// Returns whether `uri` names a host and, besides it, at most a user and a valid port. `Uri` itself accepts
/// `http://[::1]x:80`.
pub(super) fn has_host(uri: &Uri) -> bool {
    let Some(authority) = uri.authority() else {
        return false;
    };
    let host = authority.host();
    let (_, after) = authority.as_str().rsplit_once(host).unwrap_or_default();
    let is_port = match after.strip_prefix(':') {
        Some(_) => authority.port_u16().is_some(),
        None => after.is_empty(),
    };
    !host.is_empty() && is_port
}

#[cfg(test)]
mod tests {
    use super::has_host;

    #[test]
    fn a_host_may_have_a_port_and_nothing_else() {
        for (uri, expected) in [
            ("http://host", true),
            ("http://host:80/path", true),
            ("http://user:pw@host:80", true),
            ("http://[::1]", true),
            ("http://[::1]:80", true),
            ("http://[::1]x:80", false),
            ("http://host:99999", false),
            ("http://:80", false),
            ("/path", false),
        ] {
            let is_host = uri.parse().is_ok_and(|uri| has_host(&uri));
            assert_eq!(is_host, expected, "{uri}");
        }
    }
}
