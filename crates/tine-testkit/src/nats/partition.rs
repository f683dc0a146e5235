//! A network in front of a server that a test can break.

use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener as StdTcpListener};
use std::thread::JoinHandle;

use tokio::io::AsyncReadExt as _;
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::runtime::Builder;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// Bytes that are on the way at most, in each direction of a connection, beside what the kernel holds.
const BUFFER_BYTES: usize = 64 * 1024;

/// A proxy on loopback that passes bytes as they are, until it is cut. It runs on a thread of its own, so that a test may block. Its
/// connections break when it is dropped.
#[derive(Debug)]
pub struct Partition {
    address: SocketAddr,
    is_open: watch::Sender<bool>,
    stop: CancellationToken,
    thread: Option<JoinHandle<()>>,
}

impl Partition {
    /// Starts a proxy to the server at `address`, which need not run yet.
    ///
    /// # Panics
    ///
    /// Where the system gives no port or no thread.
    pub fn before(address: SocketAddr) -> Self {
        let listener = StdTcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        listener.set_nonblocking(true).unwrap();
        let own = listener.local_addr().unwrap();
        let (is_open, _) = watch::channel(true);
        let stop = CancellationToken::new();
        let runtime = Builder::new_current_thread().enable_io().build().unwrap();
        let proxy = Proxy {
            server: address,
            is_open: is_open.subscribe(),
            stop: stop.clone(),
            tasks: TaskTracker::new(),
        };
        let run = move || runtime.block_on(proxy.run(listener));
        Self { address: own, is_open, stop, thread: Some(std::thread::spawn(run)) }
    }

    /// `nats://127.0.0.1:PORT`, for clients.
    pub fn url(&self) -> String {
        format!("nats://{}", self.address)
    }

    /// The address of [`Self::url`].
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Cuts the network. From the return of this call on no byte and no end of a connection passes in either direction; new connections
    /// are accepted, and hear nothing. Nobody is told.
    pub fn cut(&self) {
        // Waits for a write that has looked already: it holds the value for so long.
        self.is_open.send_replace(false);
    }

    /// Mends the network. What was sent meanwhile passes, and so do ends of connections, and new connections reach the server.
    pub fn heal(&self) {
        self.is_open.send_replace(true);
    }
}

impl Drop for Partition {
    fn drop(&mut self) {
        self.stop.cancel();
        if let Some(thread) = self.thread.take() {
            // A panic of it is on the test's output.
            let _ = thread.join();
        }
    }
}

#[derive(Clone)]
struct Proxy {
    server: SocketAddr,
    is_open: watch::Receiver<bool>,
    stop: CancellationToken,
    tasks: TaskTracker,
}

impl Proxy {
    /// Takes connections until it is stopped, and waits for the tasks of all of them.
    async fn run(self, listener: StdTcpListener) {
        let listener = TcpListener::from_std(listener).unwrap();
        while let Some(accepted) = self.stop.run_until_cancelled(listener.accept()).await {
            // A client may be gone before it is accepted.
            let Ok((client, _)) = accepted else { continue };
            let proxy = self.clone();
            let stop = self.stop.clone();
            self.tasks.spawn(stop.run_until_cancelled_owned(proxy.connect(client)));
        }
        self.tasks.close();
        self.tasks.wait().await;
    }

    /// Connects a client to the server, now or when the network is whole again. Where nobody listens, the client's connection ends.
    async fn connect(mut self, client: TcpStream) {
        if self.opened().await.is_err() {
            return;
        }
        let Ok(server) = TcpStream::connect(self.server).await else { return };
        for stream in [&client, &server] {
            // A socket that is closed already has no such option, and ends in the tasks below.
            let _ = stream.set_nodelay(true);
        }
        let (from_client, to_client) = client.into_split();
        let (from_server, to_server) = server.into_split();
        self.tasks.spawn(self.clone().until_stopped(from_client, to_server));
        self.tasks.spawn(self.clone().until_stopped(from_server, to_client));
    }

    async fn until_stopped(self, from: OwnedReadHalf, to: OwnedWriteHalf) {
        // Where one end takes no more bytes, it sends none either: the other direction ends the connection.
        let _ = self.stop.clone().run_until_cancelled(self.pass_all(from, to)).await;
    }

    /// Passes one direction of a connection, and its end.
    async fn pass_all(mut self, mut from: OwnedReadHalf, to: OwnedWriteHalf) -> io::Result<()> {
        let mut buffer = vec![0; BUFFER_BYTES];
        loop {
            // A connection that was reset has ended, too.
            let read = from.read(&mut buffer).await.unwrap_or(0);
            if read == 0 {
                return self.close(to).await;
            }
            self.pass(&to, &buffer[..read]).await?;
        }
    }

    async fn pass(&mut self, to: &OwnedWriteHalf, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            to.writable().await?;
            self.opened().await?;
            // The value is held over the write, and no longer: a cut that comes now waits for it.
            let is_open = self.is_open.borrow();
            if !*is_open {
                continue;
            }
            match to.try_write(bytes) {
                Ok(written) => bytes = &bytes[written..],
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Tells the receiver that nothing more comes.
    async fn close(&mut self, to: OwnedWriteHalf) -> io::Result<()> {
        loop {
            self.opened().await?;
            let is_open = self.is_open.borrow();
            if *is_open {
                drop(to);
                return Ok(());
            }
        }
    }

    /// Waits until the network is whole. An error means that the partition is gone.
    async fn opened(&mut self) -> io::Result<()> {
        let opened = self.is_open.wait_for(|is_open| *is_open).await;
        opened.map(|_| ()).map_err(|_| io::ErrorKind::ConnectionAborted.into())
    }
}
