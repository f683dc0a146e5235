//! A provider: its address, and requests to it.

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use http::header::{CONTENT_LENGTH, HeaderValue, PROXY_AUTHORIZATION, TRANSFER_ENCODING};
use http::uri::{Authority, PathAndQuery, Scheme};
use http::{Request, Response, Uri, Version, request};
use hyper::body::{Body, Incoming};
use hyper_util::client::legacy::Client;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use hyper_util::rt::TokioTimer;

use crate::ahead::Ahead;
use crate::connect::{BoxError, Connector, connector, tls};
use crate::gateway::{Format, GatewayError};
use crate::serve::Tasks;

/// Connections that are kept open for later requests.
const IDLE_CONNECTIONS_MAX: usize = 32;

/// A provider. Requests are sent in HTTP/1.1, each on a connection of its own: streams do not wait for one another, and no provider's
/// limit on the streams of a connection counts.
pub(crate) struct Upstream {
    scheme: Scheme,
    authority: Authority,
    host: HeaderValue,
    /// Stands before each path; without a slash at its end.
    base_path: String,
    /// For requests without TLS, which a proxy reads itself.
    proxy_authorization: Option<HeaderValue>,
    client: Client<Connector, Ahead>,
}

impl Upstream {
    /// Connects to nothing yet.
    pub(crate) fn new(
        format: Format,
        base_url: &str,
        proxies: &Matcher,
        tasks: &Tasks,
    ) -> Result<Self, GatewayError> {
        let bad = |reason| GatewayError::BaseUrl { format, reason };
        let base: Uri = base_url.trim().parse().map_err(|_| bad("it is no URL"))?;
        let any = base.clone();
        let base = base.into_parts();
        let (Some(scheme), Some(authority)) = (base.scheme, base.authority) else {
            return Err(bad("it does not begin with http:// or https://"));
        };
        if scheme != Scheme::HTTP && scheme != Scheme::HTTPS {
            return Err(bad("it does not begin with http:// or https://"));
        }
        if authority.as_str().contains('@') {
            return Err(bad("it holds a name or password"));
        }
        let path = base.path_and_query.as_ref().map_or("", PathAndQuery::as_str);
        if path.contains('?') || base_url.contains('#') {
            return Err(bad("it holds a `?` or `#`"));
        }
        let base_path = path.trim_end_matches('/').to_owned();
        let host = HeaderValue::from_str(authority.as_str()).map_err(|_| bad("it is no URL"))?;
        let is_loopback = is_loopback(authority.host());
        let is_plain = scheme == Scheme::HTTP;
        let proxy = proxies.intercept(&any).filter(|_| !is_loopback);
        let tls = tls(is_loopback && is_plain).map_err(GatewayError::Tls)?;
        let authorization = proxy.as_ref().and_then(Intercept::basic_auth).filter(|_| is_plain);
        let proxy_authorization = authorization.cloned();
        let client = Client::builder(tasks.clone())
            .pool_timer(TokioTimer::new())
            .pool_max_idle_per_host(IDLE_CONNECTIONS_MAX)
            .http1_preserve_header_case(true)
            .build(connector(proxy, Arc::new(tls)));
        Ok(Self { scheme, authority, host, base_path, proxy_authorization, client })
    }

    /// The value of the header `host`.
    pub(crate) fn host(&self) -> HeaderValue {
        self.host.clone()
    }

    /// The provider's address without a path, for messages.
    pub(crate) fn origin(&self) -> impl fmt::Display {
        format!("{}://{}", self.scheme, self.authority)
    }

    /// Sends a request to the path (and query) `rest` behind the base URL. Returns the reply when its head is there. Dropping the future,
    /// or the reply's body, ends the request.
    pub(crate) async fn send(
        &self,
        mut head: request::Parts,
        rest: &str,
        body: Ahead,
    ) -> Result<Response<Incoming>, BoxError> {
        let mut uri = http::uri::Parts::default();
        uri.scheme = Some(self.scheme.clone());
        uri.authority = Some(self.authority.clone());
        let path = format!("{}{rest}", self.base_path);
        uri.path_and_query = Some(match path.starts_with('/') {
            true => PathAndQuery::try_from(path)?,
            false => PathAndQuery::try_from(format!("/{path}"))?,
        });
        head.uri = Uri::from_parts(uri)?;
        head.version = Version::HTTP_11;
        if !body.is_end_stream() && !head.headers.contains_key(CONTENT_LENGTH) {
            // Else hyper would leave out the body of a GET.
            head.headers.insert(TRANSFER_ENCODING, HeaderValue::from_static("chunked"));
        }
        if let Some(value) = &self.proxy_authorization {
            head.headers.insert(PROXY_AUTHORIZATION, value.clone());
        }
        Ok(self.client.request(Request::from_parts(head, body)).await?)
    }
}

/// Returns true for this machine, by the rule for tine's own requests.
fn is_loopback(host: &str) -> bool {
    let host = host.trim_matches(['[', ']']);
    match host.parse::<IpAddr>() {
        Ok(address) => address.is_loopback(),
        Err(_) => host == "localhost" || host.ends_with(".localhost"),
    }
}

#[cfg(test)]
mod tests {
    use http::Method;
    use tokio::io::AsyncReadExt;
    use tokio::net::TcpListener;

    use super::*;

    /// The head of what a proxy gets first for a request to `base_url`.
    async fn at_proxy(base_url: &str) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let proxy = format!("http://me:secret@{}", listener.local_addr().unwrap());
        let proxies = Matcher::builder().all(proxy).build();
        let tasks = Tasks::default();
        let upstream = Upstream::new(Format::Anthropic, base_url, &proxies, &tasks).unwrap();
        let (head, ()) = Request::builder().method(Method::GET).body(()).unwrap().into_parts();
        let sending = upstream.send(head, "/x?y", Ahead::default());
        let reading = async {
            let (mut socket, _) = listener.accept().await.unwrap();
            let mut read = Vec::new();
            while !read.ends_with(b"\r\n\r\n") {
                assert_ne!(socket.read_buf(&mut read).await.unwrap(), 0);
            }
            String::from_utf8(read).unwrap().replace("\r\n", "\n")
        };
        let (sent, read) = tokio::join!(sending, reading);
        assert!(sent.is_err(), "the proxy hangs up");
        tasks.stop().await;
        read
    }

    #[tokio::test]
    async fn a_proxy_tunnels_tls_and_reads_plain_requests() {
        insta::assert_snapshot!(at_proxy("https://api.invalid/deep").await, @r"
        CONNECT api.invalid:443 HTTP/1.1
        Host: api.invalid:443
        Proxy-Authorization: Basic bWU6c2VjcmV0
        ");
        insta::assert_snapshot!(at_proxy("http://api.invalid/deep").await, @r"
        GET http://api.invalid/deep/x?y HTTP/1.1
        proxy-authorization: Basic bWU6c2VjcmV0
        host: api.invalid
        ");
    }

    #[tokio::test]
    async fn loopback_is_reached_without_a_proxy() {
        let check = |host: &str, expected| assert_eq!(is_loopback(host), expected, "{host}");
        check("localhost", true);
        check("127.8.0.1", true);
        check("[::1]", true);
        check("localhost.example", false);
        check("10.0.0.1", false);
    }
}
