//! Connections of hosts, and the tasks that serve them.

use std::sync::Arc;
use std::time::Duration;

use hyper::rt::Executor;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use hyper_util::server::conn::auto::Builder;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, UnixListener};
use tokio::sync::Semaphore;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::lend::Lender;
use crate::relay::Relay;

/// Connections of hosts at once; others wait until one is closed. Each has one to the provider beside it, and many systems let a process
/// have 1,024 open files.
const CONNECTIONS_MAX: usize = 400;

/// Streams of one HTTP/2 connection at once.
const STREAMS_MAX: u32 = 256;

/// Bytes of a body that HTTP/2 may send before the upstream takes them.
const STREAM_WINDOW_BYTES: u32 = 256 << 10;

/// Bytes that all streams of a connection may send so. Streams that wait must not hold up the others.
const CONNECTION_WINDOW_BYTES: u32 = STREAMS_MAX * STREAM_WINDOW_BYTES;

/// Bytes of the headers of an HTTP/2 request. HTTP/1.1 allows about as much here.
const HEADERS_BYTES_MAX: u32 = 400 << 10;

/// The pause after a connection could not be accepted, which happens when no more files can be opened.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The gateway's tasks. All of them end when it is stopped.
#[derive(Clone, Default)]
pub(crate) struct Tasks {
    tracker: TaskTracker,
    stop: CancellationToken,
}

impl Tasks {
    /// Starts a task that is dropped when the gateway is stopped.
    pub(crate) fn spawn(&self, task: impl Future<Output: Send> + Send + 'static) {
        let stop = self.stop.clone();
        drop(self.tracker.spawn(async move { drop(stop.run_until_cancelled(task).await) }));
    }

    /// Ends all tasks without waiting.
    pub(crate) fn cancel(&self) {
        self.stop.cancel();
    }

    /// Ends all tasks, and waits until they have ended.
    pub(crate) async fn stop(&self) {
        self.stop.cancel();
        self.tracker.close();
        self.tracker.wait().await;
    }
}

impl<T: Future<Output: Send> + Send + 'static> Executor<T> for Tasks {
    fn execute(&self, task: T) {
        self.spawn(task);
    }
}

/// A place at which connections come in.
pub(crate) enum Listener {
    /// Those of hosts.
    Hosts(TcpListener),
    /// Those of forks, which go out with credentials that are lent.
    Forks(UnixListener, Lender),
}

/// Accepts connections for ever.
pub(crate) async fn accept(listener: Listener, relay: Arc<Relay>, tasks: Tasks) {
    let permits = Arc::new(Semaphore::new(CONNECTIONS_MAX));
    // The semaphore is never closed.
    while let Ok(permit) = Arc::clone(&permits).acquire_owned().await {
        let (relay, inner) = (Arc::clone(&relay), tasks.clone());
        let accepted = match &listener {
            Listener::Hosts(listener) => listener.accept().await.map(|(socket, _)| {
                // Small events must leave at once; a socket that cannot be told so is merely slower.
                drop(socket.set_nodelay(true));
                tasks.spawn(async move {
                    serve(socket, relay, None, inner).await;
                    drop(permit);
                });
            }),
            Listener::Forks(listener, lender) => listener.accept().await.map(|(socket, _)| {
                let lender = Some(Arc::clone(lender));
                tasks.spawn(async move {
                    serve(socket, relay, lender, inner).await;
                    drop(permit);
                });
            }),
        };
        if accepted.is_err() {
            sleep(ACCEPT_PAUSE).await;
        }
    }
}

/// Serves one connection, in HTTP/1.1 or HTTP/2 as the other side begins. With a `lender` it is one of a fork.
async fn serve<S: AsyncRead + AsyncWrite + Unpin + Send + 'static>(
    socket: S,
    relay: Arc<Relay>,
    lender: Option<Lender>,
    tasks: Tasks,
) {
    let mut builder = Builder::new(tasks).preserve_header_case(true);
    // No time limit for a head: connections that are kept open would be closed by it.
    builder.http1().auto_date_header(false).header_read_timeout(None);
    builder
        .http2()
        .auto_date_header(false)
        .max_concurrent_streams(STREAMS_MAX)
        .initial_stream_window_size(STREAM_WINDOW_BYTES)
        .initial_connection_window_size(CONNECTION_WINDOW_BYTES)
        .max_header_list_size(HEADERS_BYTES_MAX);
    let service = service_fn(move |request| {
        let (relay, lender) = (Arc::clone(&relay), lender.clone());
        async move {
            match lender {
                None => relay.answer(request).await,
                Some(lender) => relay.answer_fork(request, &lender).await,
            }
        }
    });
    // An error here is the end of this connection, which both sides notice by themselves.
    drop(builder.serve_connection(TokioIo::new(socket), service).await);
}
