//! No network is reached, and no service of the machine.

use std::net::{TcpListener, UdpSocket};
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram, UnixListener};

use tine_tools::Place;

use super::world::{World, lacks_perl, lacks_wall, lacks_whole_wall, run};

/// Listeners of every kind, and whether somebody came.
pub(crate) struct Listeners {
    pub(crate) tcp: TcpListener,
    udp: UdpSocket,
    local: UnixListener,
    datagrams: UnixDatagram,
    hidden: UnixListener,
}

impl Listeners {
    pub(crate) fn new(world: &World) -> Self {
        let name = world.path("").to_string_lossy().into_owned();
        let hidden = SocketAddr::from_abstract_name(name).unwrap();
        let own = Self {
            tcp: TcpListener::bind("127.0.0.1:0").unwrap(),
            udp: UdpSocket::bind("127.0.0.1:0").unwrap(),
            local: UnixListener::bind(world.path("outside/local")).unwrap(),
            datagrams: UnixDatagram::bind(world.path("outside/datagrams")).unwrap(),
            hidden: UnixListener::bind_addr(&hidden).unwrap(),
        };
        own.tcp.set_nonblocking(true).unwrap();
        own.udp.set_nonblocking(true).unwrap();
        own.local.set_nonblocking(true).unwrap();
        own.datagrams.set_nonblocking(true).unwrap();
        own.hidden.set_nonblocking(true).unwrap();
        own
    }

    pub(crate) fn somebody_came(&self) -> bool {
        let mut byte = [0];
        self.tcp.accept().is_ok()
            || self.udp.recv(&mut byte).is_ok()
            || self.local.accept().is_ok()
            || self.datagrams.recv(&mut byte).is_ok()
            || self.hidden.accept().is_ok()
    }

    pub(crate) fn fill(&self, world: &World, command: &str) -> String {
        let port = |address: std::net::SocketAddr| address.port().to_string();
        world
            .fill(command)
            .replace("@TCP", &port(self.tcp.local_addr().unwrap()))
            .replace("@UDP", &port(self.udp.local_addr().unwrap()))
            .replace("@NAME", world.path("").to_str().unwrap())
    }
}

/// Commands that reach internet sockets.
pub(crate) const INTERNET: [&str; 3] = [
    "echo x > /dev/tcp/127.0.0.1/@TCP",
    "echo x > /dev/udp/127.0.0.1/@UDP",
    "perl -MSocket -e 'socket(S, PF_INET, SOCK_STREAM, 0); connect(S, sockaddr_in(@TCP, inet_aton(\"127.0.0.1\")))'",
];

/// Commands that reach sockets of the machine.
pub(crate) const LOCAL: [&str; 5] = [
    "perl -MSocket -e 'socket(S, PF_UNIX, SOCK_STREAM, 0); connect(S, sockaddr_un(\"@OUT/local\"))'",
    "perl -MSocket -e 'socket(S, PF_UNIX, SOCK_STREAM, 0); connect(S, pack(\"S a*\", 1, \"\\0@NAME\"))'",
    "perl -MSocket -e 'socket(S, PF_UNIX, SOCK_DGRAM, 0); send(S, \"x\", 0, sockaddr_un(\"@OUT/datagrams\"))'",
    // A pair needs no `socket`, and a datagram names its receiver.
    "perl -MSocket -e 'socketpair(A, B, PF_UNIX, SOCK_DGRAM, 0); send(A, \"x\", 0, sockaddr_un(\"@OUT/datagrams\"))'",
    "perl -MSocket -e 'socketpair(A, B, PF_UNIX, SOCK_DGRAM, 0); connect(A, sockaddr_un(\"@OUT/datagrams\")); syswrite(A, \"x\")'",
];

async fn reaches(command: &str, place: impl Fn(&World) -> Place) -> bool {
    let world = World::new();
    let listeners = Listeners::new(&world);
    run(&place(&world), &listeners.fill(&world, command)).await;
    listeners.somebody_came()
}

#[tokio::test]
async fn each_command_would_reach_somebody() {
    if lacks_perl() {
        return;
    }
    for command in INTERNET.iter().chain(&LOCAL) {
        assert!(reaches(command, World::open).await, "{command}");
    }
}

#[tokio::test]
async fn nobody_is_reached_from_behind_a_wall() {
    if lacks_whole_wall() {
        return;
    }
    for command in INTERNET.iter().chain(&LOCAL) {
        assert!(!reaches(command, World::worker).await, "{command}");
        assert!(!reaches(command, World::reader).await, "{command}");
    }
}

#[tokio::test]
async fn connected_pairs_still_work() {
    if lacks_wall() {
        return;
    }
    let world = World::new();
    let command = "perl -MSocket -e 'socketpair(A, B, PF_UNIX, SOCK_STREAM, 0) or die; \
        syswrite(A, \"hi\\n\"); sysread(B, $x, 3); print $x'";
    let output = run(&world.worker(), command).await;
    insta::assert_snapshot!(output.text, @"
    hi
    [exit code 0]
    ");
}
