//! The way to a provider: TCP, a proxy of the environment, TLS.

use std::error::Error;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use http::Uri;
use http::uri::Scheme;
use hyper::rt::{Read, ReadBufCursor, Write};
use hyper_rustls::{ConfigBuilderExt, HttpsConnector, MaybeHttpsStream};
use hyper_util::client::legacy::connect::proxy::Tunnel;
use hyper_util::client::legacy::connect::{Connected, Connection, HttpConnector};
use hyper_util::client::proxy::matcher::Intercept;
use hyper_util::rt::TokioIo;
use rustls::{ClientConfig, RootCertStore};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tower::util::BoxCloneSyncService;
use tower::{ServiceExt, service_fn};

/// The time limit for a connection, with its TLS and its proxy; that of tine's own requests. Nothing else has one.
const CONNECT_TIME_MAX: Duration = Duration::from_secs(10);

pub(crate) type BoxError = Box<dyn Error + Send + Sync>;

/// Makes connections.
pub(crate) type Connector = BoxCloneSyncService<Uri, MaybeHttpsStream<Hop>, BoxError>;

/// TLS as tine's own requests have it. Without certificates for an upstream that needs none: a container may have none.
pub(crate) fn tls(is_unused: bool) -> Result<ClientConfig, rustls::Error> {
    let ring = Arc::new(rustls::crypto::ring::default_provider());
    let builder =
        ClientConfig::builder_with_provider(ring).with_safe_default_protocol_versions()?;
    let builder = match is_unused {
        true => builder.with_root_certificates(RootCertStore::empty()),
        false => builder.try_with_platform_verifier()?,
    };
    Ok(builder.with_no_client_auth())
}

/// Connects to the upstream, through a proxy if there is one.
pub(crate) fn connector(proxy: Option<Intercept>, tls: Arc<ClientConfig>) -> Connector {
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    tcp.set_nodelay(true);
    let near = HttpsConnector::from((tcp.clone(), Arc::clone(&tls)));
    let hop = service_fn(move |target: Uri| hop(target, proxy.clone(), tcp.clone(), near.clone()));
    let far = HttpsConnector::from((hop, tls));
    BoxCloneSyncService::new(service_fn(move |target: Uri| {
        let connecting = timeout(CONNECT_TIME_MAX, far.clone().oneshot(target));
        async move {
            let late = |_| io::Error::new(io::ErrorKind::TimedOut, "no connection after 10 s");
            connecting.await.map_err(late)?
        }
    }))
}

/// The connection below the upstream's own TLS.
async fn hop(
    target: Uri,
    proxy: Option<Intercept>,
    tcp: HttpConnector,
    near: HttpsConnector<HttpConnector>,
) -> Result<Hop, BoxError> {
    let Some(proxy) = proxy else {
        let stream = MaybeHttpsStream::Http(tcp.oneshot(target).await?);
        return Ok(Hop { stream, is_proxy: false });
    };
    if !matches!(proxy.uri().scheme_str(), Some("http" | "https")) {
        return Err("the environment names a proxy that is neither http:// nor https://".into());
    }
    if target.scheme() == Some(&Scheme::HTTP) {
        let stream = near.oneshot(proxy.uri().clone()).await?;
        return Ok(Hop { stream, is_proxy: true });
    }
    let mut tunnel = Tunnel::new(proxy.uri().clone(), near);
    if let Some(value) = proxy.basic_auth() {
        tunnel = tunnel.with_auth(value.clone());
    }
    Ok(Hop { stream: tunnel.oneshot(target).await?, is_proxy: false })
}

/// A connection to the upstream, or to a proxy that is sent whole URLs.
pub(crate) struct Hop {
    stream: MaybeHttpsStream<TokioIo<TcpStream>>,
    is_proxy: bool,
}

impl Connection for Hop {
    fn connected(&self) -> Connected {
        self.stream.connected().proxy(self.is_proxy)
    }
}

impl Read for Hop {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl Write for Hop {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
