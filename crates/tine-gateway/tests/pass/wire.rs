//! Both ends of the gateway, as sockets whose every byte the test reads and writes.

use std::sync::Arc;

use tine_gateway::{Format, Gateway, Observer, Options, Threads};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};

/// Kernel buffers of the test's own sockets, so that little is in flight there.
const SOCKET_BYTES: u32 = 64 << 10;

/// The head of a reply in chunks.
pub(crate) const CHUNKED: &str = "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n";

/// A provider that answers what the test writes.
pub(crate) struct Provider(TcpListener);

impl Provider {
    pub(crate) fn new() -> Self {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_send_buffer_size(SOCKET_BYTES).unwrap();
        socket.set_recv_buffer_size(SOCKET_BYTES).unwrap();
        socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
        Self(socket.listen(300).unwrap())
    }

    pub(crate) fn host(&self) -> String {
        self.0.local_addr().unwrap().to_string()
    }

    pub(crate) async fn accept(&self) -> Wire {
        Wire::new(self.0.accept().await.unwrap().0)
    }

    /// A gateway in front of it for both formats.
    pub(crate) async fn gateway(&self) -> Gateway {
        self.gateway_with(Threads::Refused).await
    }

    pub(crate) async fn gateway_with(&self, threads: Threads) -> Gateway {
        // Somebody looks on in every test: it must change nothing.
        self.observed(threads, Arc::new(|_| {})).await
    }

    pub(crate) async fn observed(&self, threads: Threads, observer: Observer) -> Gateway {
        let url = format!("http://{}", self.host());
        let (anthropic, openai) = (url.clone(), format!("{url}/deep/v1/"));
        let observer = Some(observer);
        let options = Options { anthropic, openai, threads, observer, ..Options::new([7; 16]) };
        Gateway::start(options).await.unwrap()
    }
}

/// The path of a format at the gateway, without a slash at its end.
pub(crate) fn path(gateway: &Gateway, format: Format) -> String {
    let url = gateway.base_url(format);
    url[url.match_indices('/').nth(2).unwrap().0..].to_owned()
}

/// One end of a connection.
pub(crate) struct Wire {
    socket: TcpStream,
    read: Vec<u8>,
}

impl Wire {
    fn new(socket: TcpStream) -> Self {
        socket.set_nodelay(true).unwrap();
        Self { socket, read: Vec::new() }
    }

    /// A host that connects to the gateway.
    pub(crate) async fn host(gateway: &Gateway) -> Self {
        let url = gateway.base_url(Format::Anthropic);
        let address = url.split('/').nth(2).unwrap();
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_send_buffer_size(SOCKET_BYTES).unwrap();
        socket.set_recv_buffer_size(SOCKET_BYTES).unwrap();
        Self::new(socket.connect(address.parse().unwrap()).await.unwrap())
    }

    pub(crate) async fn send(&mut self, bytes: impl AsRef<[u8]>) {
        self.socket.write_all(bytes.as_ref()).await.unwrap();
    }

    /// Sends as far as the other end takes it, and tells how far.
    pub(crate) async fn try_send(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.socket.write(bytes).await
    }

    /// Everything up to and with the mark.
    async fn until(&mut self, mark: &[u8]) -> Vec<u8> {
        loop {
            if let Some(at) = self.read.windows(mark.len()).position(|window| window == mark) {
                let rest = self.read.split_off(at + mark.len());
                return std::mem::replace(&mut self.read, rest);
            }
            let count = self.socket.read_buf(&mut self.read).await.unwrap();
            assert_ne!(count, 0, "closed after {:?}", String::from_utf8_lossy(&self.read));
        }
    }

    /// The first line, and name and value of each header.
    pub(crate) async fn head_bytes(&mut self) -> (Vec<u8>, Vec<(Vec<u8>, Vec<u8>)>) {
        let head = self.until(b"\r\n\r\n").await;
        let mut lines = head[..head.len() - 4].split(|byte| *byte == b'\n');
        let trimmed = |line: &[u8]| line.strip_suffix(b"\r").unwrap_or(line).to_vec();
        let first = trimmed(lines.next().unwrap());
        let headers = lines.map(|line| {
            let line = trimmed(line);
            let colon = line.iter().position(|byte| *byte == b':').unwrap();
            (line[..colon].to_vec(), line[colon + 1..].trim_ascii().to_vec())
        });
        (first, headers.collect())
    }

    /// The head as text, with `\n` between lines.
    pub(crate) async fn head(&mut self) -> String {
        let head = String::from_utf8(self.until(b"\r\n\r\n").await).unwrap();
        head.trim_end().replace("\r\n", "\n")
    }

    pub(crate) async fn bytes(&mut self, count: usize) -> Vec<u8> {
        while self.read.len() < count {
            let read = self.socket.read_buf(&mut self.read).await.unwrap();
            assert_ne!(read, 0, "closed after {} of {count} bytes", self.read.len());
        }
        let rest = self.read.split_off(count);
        std::mem::replace(&mut self.read, rest)
    }

    /// So many bytes of a chunked body, whose chunks may end elsewhere.
    pub(crate) async fn chunked(&mut self, count: usize) -> Vec<u8> {
        let mut body = Vec::new();
        while body.len() < count {
            body.extend(self.chunk().await);
        }
        assert_eq!(body.len(), count);
        body
    }

    /// One chunk; the last one is empty.
    pub(crate) async fn chunk(&mut self) -> Vec<u8> {
        let line = String::from_utf8(self.until(b"\r\n").await).unwrap();
        let length = usize::from_str_radix(line.trim(), 16).unwrap();
        let mut chunk = self.bytes(length + 2).await;
        chunk.truncate(length);
        chunk
    }

    pub(crate) async fn send_chunk(&mut self, data: &[u8]) {
        let mut chunk = format!("{:x}\r\n", data.len()).into_bytes();
        chunk.extend(data);
        chunk.extend(b"\r\n");
        self.send(chunk).await;
    }

    /// Waits until the other end closes or resets, and returns what came before.
    pub(crate) async fn closed(mut self) -> Vec<u8> {
        while let Ok(1..) = self.socket.read_buf(&mut self.read).await {}
        self.read
    }

    /// Breaks the connection off.
    pub(crate) fn reset(self) {
        self.socket.set_zero_linger().unwrap();
    }
}
