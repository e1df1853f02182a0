//! Rejects browser requests: `Origin` check and DNS-rebinding guard.
//!
//! A web page in a browser on this machine can send requests to a loopback port. Such a request has the
//! header `Origin`, or, if the domain of the page has been made to resolve to 127.0.0.1, this domain in
//! `Host` (<https://en.wikipedia.org/wiki/DNS_rebinding>).
//!
//! A program on this machine that can open the port is trusted. A web page is not, whatever server it comes
//! from.

use super::error::ApiError;
use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::http::header::{HOST, ORIGIN};
use axum::middleware::{Next, from_fn};
use axum::response::IntoResponse;
use std::net::{Ipv4Addr, Ipv6Addr};

/// How a request reaches the agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transport {
    /// A TCP port, which any domain name can resolve to.
    Port,
    /// A Unix socket, which no domain name resolves to.
    Socket,
}

/// Adds the checks of requests over `transport` to `router`.
pub(super) fn reject_browsers(router: Router, transport: Transport) -> Router {
    router.layer(from_fn(move |request: Request, next: Next| async move {
        match check(&request, transport) {
            Ok(()) => next.run(request).await,
            Err(forbidden) => forbidden.into_response(),
        }
    }))
}

fn check<B>(request: &axum::http::Request<B>, transport: Transport) -> Result<(), ApiError> {
    let headers = request.headers();
    if headers.contains_key(ORIGIN) {
        return Err(forbidden(
            "the agent refuses requests of web pages, which have the header Origin",
        ));
    }
    if transport == Transport::Socket {
        return Ok(());
    }
    // A request may name its host in the request line and in the header, and a proxy may use either one: both
    // have to be loopback.
    let in_line = request.uri().authority().map(|host| host.as_str());
    let in_head = headers.get_all(HOST).into_iter();
    let mut hosts: Vec<_> = in_head.map(|host| host.to_str().unwrap_or("")).collect();
    hosts.extend(in_line);
    if hosts.is_empty() || !hosts.into_iter().all(is_loopback) {
        let message = "the host has to be localhost, 127.0.0.1 or [::1], with or without a port";
        return Err(forbidden(message));
    }
    Ok(())
}

fn forbidden(message: &str) -> ApiError {
    ApiError::new(StatusCode::FORBIDDEN, "Agent.Forbidden", message)
}

/// Returns whether `host`, with or without a port, is loopback without a DNS lookup.
fn is_loopback(host: &str) -> bool {
    let (name, port) = match host.rsplit_once(':') {
        Some((name, port)) if !port.ends_with(']') => (name, port),
        _ => (host, ""),
    };
    let inner = name.strip_prefix('[').and_then(|v6| v6.strip_suffix(']'));
    let is_loopback = match inner {
        Some(v6) => v6.parse().is_ok_and(|v6: Ipv6Addr| v6.is_loopback()),
        None => {
            name.eq_ignore_ascii_case("localhost")
                || name.parse().is_ok_and(|v4: Ipv4Addr| v4.is_loopback())
        }
    };
    is_loopback && port.bytes().all(|digit| digit.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is_allowed(transport: Transport, host: &str, headers: &[(&str, &str)]) -> bool {
        let mut request = axum::http::Request::builder().uri(format!("{host}/v1/jobs"));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        check(&request.body(()).unwrap(), transport).is_ok()
    }

    #[test]
    fn only_names_that_need_no_dns_lookup_are_loopback() {
        let own = "localhost LocalHost:7414 127.0.0.1 127.0.0.1:7414 127.8.9.10:1 [::1] [::1]:7414";
        for own in own.split(' ') {
            assert!(is_loopback(own), "{own}");
        }
        let others = ":7414 example.com example.com:7414 localhost.example.com \
                      127.0.0.1.example.com:7414 example.com:127.0.0.1 localhost:80@example.com \
                      10.0.0.7:7414 0.0.0.0:7414 ::1 [::]:7414 [::1 [localhost]";
        for other in others.split(' ').chain([""]) {
            assert!(!is_loopback(other), "{other}");
        }
    }

    #[test]
    fn a_browser_request_is_refused_by_its_origin_or_its_host() {
        let own = ("host", "localhost:7414");
        let other = ("host", "example.com:7414");
        for transport in [Transport::Port, Transport::Socket] {
            assert!(is_allowed(transport, "", &[own]));
            for origin in ["null", "https://example.com", "http://localhost:7414"] {
                let headers = [own, ("origin", origin)];
                assert!(!is_allowed(transport, "", &headers), "{origin}");
            }
        }
        for headers in [&[][..], &[other], &[own, other]] {
            assert!(!is_allowed(Transport::Port, "", headers), "{headers:?}");
            assert!(is_allowed(Transport::Socket, "", headers), "{headers:?}");
        }
        let whole = "http://example.com:7414";
        assert!(!is_allowed(Transport::Port, whole, &[own]));
    }
}
