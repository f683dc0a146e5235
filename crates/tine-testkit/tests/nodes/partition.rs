//! Partitions, in front of a server of the test's own.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};

use tine_testkit::nats::Partition;
use tine_testkit::until_some;

/// A client and a server with a partition between them.
struct Line {
    client: TcpStream,
    server: TcpStream,
}

impl Line {
    fn through(address: SocketAddr, listener: &TcpListener) -> Self {
        let client = TcpStream::connect(address).unwrap();
        Self { client, server: listener.accept().unwrap().0 }
    }

    /// There and back.
    fn passes(&mut self) {
        for (from, to) in [(&self.client, &self.server), (&self.server, &self.client)] {
            passes(from, to, b"whole");
        }
    }
}

fn passes(mut from: &TcpStream, to: &TcpStream, bytes: &[u8]) {
    from.write_all(bytes).unwrap();
    comes(to, bytes);
}

fn comes(mut to: &TcpStream, bytes: &[u8]) {
    let mut read = vec![0; bytes.len()];
    to.read_exact(&mut read).unwrap();
    assert_eq!(read, bytes);
}

fn is_silent(stream: &TcpStream) -> bool {
    stream.set_nonblocking(true).unwrap();
    let peeked = stream.peek(&mut [0]);
    stream.set_nonblocking(false).unwrap();
    peeked.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
}

fn listening() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

#[test]
fn a_cut_network_passes_no_byte_and_no_end_and_then_all_of_them() {
    let (listener, address) = listening();
    let (partition, other) = (Partition::before(address), Partition::before(address));
    let mut cut = Line::through(partition.address(), &listener);
    let mut whole = Line::through(other.address(), &listener);
    cut.passes();
    partition.cut();
    (&cut.client).write_all(b"up").unwrap();
    (&cut.server).write_all(b"down").unwrap();
    cut.server.shutdown(Shutdown::Write).unwrap();
    // As long as it takes elsewhere.
    for _ in 0..20 {
        whole.passes();
    }
    assert!(is_silent(&cut.server) && is_silent(&cut.client));
    partition.heal();
    comes(&cut.server, b"up");
    comes(&cut.client, b"down");
    assert_eq!((&cut.client).read(&mut [0]).unwrap(), 0);
    passes(&cut.client, &cut.server, b"half open");
}

#[test]
fn who_connects_to_a_cut_network_is_heard_when_it_is_whole() {
    let (listener, address) = listening();
    let partition = Partition::before(address);
    partition.cut();
    let client = TcpStream::connect(partition.address()).unwrap();
    (&client).write_all(b"early").unwrap();
    let other = Partition::before(address);
    Line::through(other.address(), &listener).passes();
    listener.set_nonblocking(true).unwrap();
    assert_eq!(listener.accept().unwrap_err().kind(), ErrorKind::WouldBlock);
    assert!(is_silent(&client));
    partition.heal();
    let (server, _) = until_some("the connection", || listener.accept().ok());
    server.set_nonblocking(false).unwrap();
    comes(&server, b"early");
    passes(&server, &client, b"late");
}

#[test]
fn connections_end_with_the_server_and_with_the_partition() {
    let (listener, address) = listening();
    let partition = Partition::before(address);
    let [first, second] = [(), ()].map(|()| Line::through(partition.address(), &listener));
    drop((first.server, listener));
    assert_eq!((&first.client).read(&mut [0]).unwrap(), 0);
    let mut refused = TcpStream::connect(partition.address()).unwrap();
    assert_eq!(refused.read(&mut [0]).unwrap(), 0);
    drop(partition);
    assert_eq!((&second.server).read(&mut [0]).unwrap(), 0);
    assert_eq!((&second.client).read(&mut [0]).unwrap(), 0);
}
