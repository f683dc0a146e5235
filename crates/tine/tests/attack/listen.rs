//! Listeners of every kind outside the wall. Whoever reaches one says which attempt it is.

use std::collections::BTreeSet;
use std::io::Read;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::Path;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use crate::world::ids_in;

/// Only a caller that hangs takes longer for its words.
const WORDS_TIME_MAX: Duration = Duration::from_secs(30);

/// Between two looks for callers.
const PACE: Duration = Duration::from_millis(10);

/// Of the internet: each is named by its hole in an attempt.
const ADDRESSES: [(&str, &str); 3] =
    [("@TCP", "127.0.0.1:0"), ("@SIX", "[::1]:0"), ("@NINE", "127.9.9.9:0")];

/// The listeners. They hear who comes and hang up, so that no caller waits for an answer.
pub(crate) struct Listeners {
    sockets: Arc<Sockets>,
    /// Ends the thread that listens.
    _open: Sender<()>,
}

struct Sockets {
    tcp: Vec<(&'static str, TcpListener)>,
    udp: UdpSocket,
    streams: Vec<UnixListener>,
    datagrams: Vec<UnixDatagram>,
    name: String,
    heard: Mutex<Heard>,
}

/// The ids of the attempts that were heard, and how many callers said nothing.
type Heard = (BTreeSet<usize>, usize);

impl Listeners {
    /// Opens all, those of the file system in `directory`.
    pub(crate) fn open(directory: &Path) -> Self {
        let sockets = Arc::new(Sockets::open(directory));
        let (open, closed) = channel();
        let listening = Arc::clone(&sockets);
        std::thread::spawn(move || {
            while closed.recv_timeout(PACE) == Err(RecvTimeoutError::Timeout) {
                drop(listening.hear());
            }
        });
        Self { sockets, _open: open }
    }

    /// Puts the addresses into an attempt's holes.
    pub(crate) fn fill(&self, text: &str) -> String {
        let mut text = text.replace("@NAME", &self.sockets.name);
        for (hole, listener) in &self.sockets.tcp {
            text = text.replace(hole, &listener.local_addr().unwrap().port().to_string());
        }
        text.replace("@UDP", &self.sockets.udp.local_addr().unwrap().port().to_string())
    }

    /// Who has come since the last time.
    pub(crate) fn heard(&self) -> Heard {
        std::mem::take(&mut *self.sockets.hear())
    }
}

impl Sockets {
    fn open(directory: &Path) -> Self {
        let name = format!("tine-attack-{}", directory.display());
        let hidden = |what: &str| SocketAddr::from_abstract_name(format!("{name}{what}")).unwrap();
        let tcp = ADDRESSES
            .iter()
            // A machine may have no IPv6.
            .filter_map(|(hole, address)| Some((*hole, TcpListener::bind(address).ok()?)));
        let own = Self {
            tcp: tcp.collect(),
            udp: UdpSocket::bind("127.0.0.1:0").unwrap(),
            streams: vec![
                UnixListener::bind(directory.join("stream")).unwrap(),
                UnixListener::bind_addr(&hidden("")).unwrap(),
            ],
            datagrams: vec![
                UnixDatagram::bind(directory.join("datagram")).unwrap(),
                UnixDatagram::bind_addr(&hidden("-d")).unwrap(),
            ],
            name,
            heard: Mutex::default(),
        };
        own.tcp.iter().for_each(|(_, one)| one.set_nonblocking(true).unwrap());
        own.streams.iter().for_each(|one| one.set_nonblocking(true).unwrap());
        own.datagrams.iter().for_each(|one| one.set_nonblocking(true).unwrap());
        own.udp.set_nonblocking(true).unwrap();
        own
    }

    /// Hears all who have come by now.
    fn hear(&self) -> MutexGuard<'_, Heard> {
        let mut heard = self.heard.lock().unwrap();
        let (ids, silent) = &mut *heard;
        let mut note = |said: &[u8]| {
            let found = ids_in(&String::from_utf8_lossy(said));
            *silent += usize::from(found.is_empty());
            ids.extend(found);
        };
        for (_, listener) in &self.tcp {
            while let Ok((stream, _)) = listener.accept() {
                stream.set_nonblocking(false).unwrap();
                stream.set_read_timeout(Some(WORDS_TIME_MAX)).unwrap();
                note(&words(stream));
            }
        }
        for listener in &self.streams {
            while let Ok((stream, _)) = listener.accept() {
                stream.set_nonblocking(false).unwrap();
                stream.set_read_timeout(Some(WORDS_TIME_MAX)).unwrap();
                note(&words(stream));
            }
        }
        let mut buffer = [0; 512];
        while let Ok(length) = self.udp.recv(&mut buffer) {
            note(&buffer[..length]);
        }
        for socket in &self.datagrams {
            while let Ok(length) = socket.recv(&mut buffer) {
                note(&buffer[..length]);
            }
        }
        heard
    }
}

/// The first bytes that a caller sends.
fn words(mut stream: impl Read) -> Vec<u8> {
    let mut buffer = vec![0; 512];
    let length = stream.read(&mut buffer).unwrap_or(0);
    buffer.truncate(length);
    buffer
}
