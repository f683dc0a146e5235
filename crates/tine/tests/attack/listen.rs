//! Listeners of every kind outside the wall. Whoever reaches one says which attempt it is.

use std::collections::BTreeSet;
use std::io::Read;
use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};
use std::path::Path;
use std::time::Duration;

use crate::world::ids_in;

/// How long a caller that has reached a listener may take for its words.
const WORDS_TIME_MAX: Duration = Duration::from_millis(500);

/// Of the internet: each is named by its hole in an attempt.
const ADDRESSES: [(&str, &str); 3] =
    [("@TCP", "127.0.0.1:0"), ("@SIX", "[::1]:0"), ("@NINE", "127.9.9.9:0")];

/// The listeners. They keep who came until they are asked.
pub(crate) struct Listeners {
    tcp: Vec<(&'static str, TcpListener)>,
    udp: UdpSocket,
    streams: Vec<UnixListener>,
    datagrams: Vec<UnixDatagram>,
    name: String,
}

impl Listeners {
    /// Opens all, those of the file system in `directory`.
    pub(crate) fn open(directory: &Path) -> Self {
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
        };
        own.tcp.iter().for_each(|(_, one)| one.set_nonblocking(true).unwrap());
        own.streams.iter().for_each(|one| one.set_nonblocking(true).unwrap());
        own.datagrams.iter().for_each(|one| one.set_nonblocking(true).unwrap());
        own.udp.set_nonblocking(true).unwrap();
        own
    }

    /// Puts the addresses into an attempt's holes.
    pub(crate) fn fill(&self, text: &str) -> String {
        let mut text = text.replace("@NAME", &self.name);
        for (hole, listener) in &self.tcp {
            text = text.replace(hole, &listener.local_addr().unwrap().port().to_string());
        }
        text.replace("@UDP", &self.udp.local_addr().unwrap().port().to_string())
    }

    /// The ids of the attempts that were heard, and how many callers said nothing.
    pub(crate) fn heard(&self) -> (BTreeSet<usize>, usize) {
        let (mut ids, mut silent) = (BTreeSet::new(), 0);
        let mut note = |said: &[u8]| {
            let found = ids_in(&String::from_utf8_lossy(said));
            silent += usize::from(found.is_empty());
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
        (ids, silent)
    }
}

/// The first bytes that a caller sends.
fn words(mut stream: impl Read) -> Vec<u8> {
    let mut buffer = vec![0; 512];
    let length = stream.read(&mut buffer).unwrap_or(0);
    buffer.truncate(length);
    buffer
}
