//! The proxy by which this machine itself reaches other hosts, where its environment names one. Commands never see it, or what it is told
//! to let them in.

use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::time::Duration;

use http::Uri;
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use tine_model::{Destination, Host};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::head;

/// The time limit for the proxy to answer.
const ANSWER_TIME_MAX: Duration = Duration::from_secs(30);

/// The variables `HTTP_PROXY`, `HTTPS_PROXY`, `ALL_PROXY` and `NO_PROXY`, in small letters or large ones.
pub(super) struct Upstream(Matcher);

impl Upstream {
    pub(super) fn of(variables: &[(OsString, OsString)]) -> Self {
        let value = |name: &str| {
            let named = |wanted: &str| variables.iter().find(|(known, _)| known == wanted);
            let found = named(name).or_else(|| named(&name.to_uppercase()));
            found.and_then(|(_, value)| value.to_str()).unwrap_or_default().to_owned()
        };
        let builder = Matcher::builder().all(value("all_proxy")).http(value("http_proxy"));
        Self(builder.https(value("https_proxy")).no(value("no_proxy")).build())
    }

    /// The proxy for this host; `None` where it is reached without one.
    pub(super) fn to(&self, host: &Host, port: u16, is_plain: bool) -> Option<Intercept> {
        let is_near = match host {
            Host::Localhost => true,
            Host::Address(address) => address.is_loopback(),
            Host::Internet | Host::Name(_) | Host::PublicName(_) | Host::Subdomains(_) => false,
        };
        let scheme = if is_plain { "http" } else { "https" };
        let target = Destination { host: host.clone(), port };
        let uri: Uri = format!("{scheme}://{target}/").parse().ok()?;
        self.0.intercept(&uri).filter(|_| !is_near)
    }
}

/// Connects to the proxy.
async fn open(proxy: &Intercept) -> io::Result<TcpStream> {
    let uri = proxy.uri();
    let (Some("http"), Some(host)) = (uri.scheme_str(), uri.host()) else {
        let scheme = uri.scheme_str().unwrap_or_default();
        let error =
            format!("this machine's own proxy is one of {scheme}://, and tine knows http:// alone");
        return Err(io::Error::new(ErrorKind::Unsupported, error));
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let connected =
        timeout(ANSWER_TIME_MAX, TcpStream::connect((host, uri.port_u16().unwrap_or(80))));
    let error = |error: io::Error| {
        io::Error::new(error.kind(), format!("this machine's own proxy cannot be reached: {error}"))
    };
    let stream = connected.await.map_err(|_| error(ErrorKind::TimedOut.into()))?.map_err(error)?;
    stream.set_nodelay(true)?;
    Ok(stream)
}

/// A connection to the target through the proxy.
pub(super) async fn tunnel(proxy: &Intercept, target: &Destination) -> io::Result<TcpStream> {
    let mut stream = open(proxy).await?;
    let mut request = format!("CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n").into_bytes();
    request.extend(authorization(proxy));
    request.extend(b"\r\n");
    stream.write_all(&request).await?;
    let answer = timeout(ANSWER_TIME_MAX, status(&mut stream));
    match answer.await.map_err(|_| io::Error::from(ErrorKind::TimedOut))?? {
        200..=299 => Ok(stream),
        status => Err(io::Error::other(format!(
            "this machine's own proxy refused it with status {status}"
        ))),
    }
}

/// Reads a head and nothing behind it.
async fn status(stream: &mut TcpStream) -> io::Result<u16> {
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"\r\n\r\n") {
        if bytes.len() == head::BYTES_MAX {
            return Err(ErrorKind::InvalidData.into());
        }
        bytes.push(stream.read_u8().await?);
    }
    let mut fields = [httparse::EMPTY_HEADER; head::FIELDS_MAX];
    let mut response = httparse::Response::new(&mut fields);
    response.parse(&bytes).map_err(|error| io::Error::new(ErrorKind::InvalidData, error))?;
    response.code.ok_or_else(|| ErrorKind::InvalidData.into())
}

/// The field that lets tine in; nothing where the proxy lets in everybody.
fn authorization(proxy: &Intercept) -> Vec<u8> {
    let field =
        |value: &http::HeaderValue| [b"Proxy-Authorization: ", value.as_bytes(), b"\r\n"].concat();
    proxy.basic_auth().map(field).unwrap_or_default()
}
