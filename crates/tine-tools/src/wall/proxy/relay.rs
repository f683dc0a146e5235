//! Passes bytes between two connections until both directions have ended, or neither had any for long.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

/// The time limit for a connection without a byte in either direction. A build server that thinks this long has gone away.
const IDLE_TIME_MAX: Duration = Duration::from_secs(300);

/// Bytes taken at once.
const BUFFER_BYTES: usize = 16 * 1024;

/// Ends with both connections closed.
pub(super) async fn relay(mut client: TcpStream, mut server: TcpStream) {
    let passed = AtomicU64::new(0);
    let (from_client, to_client) = client.split();
    let (from_server, to_server) = server.split();
    tokio::join!(pass(from_client, to_server, &passed), pass(from_server, to_client, &passed));
}

/// One direction. `passed` grows with every read of either one.
async fn pass(
    mut from: impl AsyncRead + Unpin,
    mut to: impl AsyncWrite + Unpin,
    passed: &AtomicU64,
) {
    let mut buffer = vec![0; BUFFER_BYTES];
    loop {
        let before = passed.load(Ordering::Relaxed);
        match timeout(IDLE_TIME_MAX, from.read(&mut buffer)).await {
            Ok(Ok(length)) if length > 0 => {
                passed.fetch_add(1, Ordering::Relaxed);
                let written = timeout(IDLE_TIME_MAX, to.write_all(&buffer[..length])).await;
                if !matches!(written, Ok(Ok(()))) {
                    break;
                }
            }
            Err(_) if passed.load(Ordering::Relaxed) != before => {}
            Ok(_) | Err(_) => break,
        }
    }
    // The other direction may go on; whether the end is still heard there is its matter.
    let _ = to.shutdown().await;
}
