//! Attempts to reach somebody: every kind of socket, and programs that have their own.

/// To listeners of the internet, on this machine.
pub(super) const INTERNET: &[&str] = &[
    "echo @ID > /dev/tcp/127.0.0.1/@TCP",
    "echo @ID > /dev/tcp/localhost/@TCP",
    "echo @ID > /dev/tcp/0.0.0.0/@TCP",
    "echo @ID > /dev/tcp/127.9.9.9/@NINE",
    "echo @ID > /dev/udp/127.0.0.1/@UDP",
    "exec 3<>/dev/tcp/127.0.0.1/@TCP; echo @ID >&3",
    "% socket S, 2, 1, 0; connect S, sockaddr_in(@TCP, inet_aton(q(127.0.0.1))); syswrite S, q(@ID)",
    "% socket S, 2, 1, 6; connect S, sockaddr_in(@TCP, inet_aton(q(127.0.0.1))); syswrite S, q(@ID)",
    "% socket S, 2, 2, 0; send S, q(@ID), 0, sockaddr_in(@UDP, inet_aton(q(127.0.0.1)))",
    "% socket S, 2, 2, 17; connect S, sockaddr_in(@UDP, inet_aton(q(127.0.0.1))); syswrite S, q(@ID)",
    // The first bytes go with the connection: no `connect`.
    "% socket S, 2, 1, 0; send S, q(@ID), 0x20000000, sockaddr_in(@TCP, inet_aton(q(127.0.0.1)))",
    "% socket S, 2, 0x80801, 0; connect S, sockaddr_in(@TCP, inet_aton(q(127.0.0.1))); select undef, undef, undef, 0.05; syswrite S, q(@ID)",
    "timeout 30 git ls-remote http://127.0.0.1:@TCP/@ID",
    "timeout 30 git -c protocol.allow=always ls-remote git://127.0.0.1:@TCP/@ID",
    "timeout 30 git archive --remote=git://127.0.0.1:@TCP/@ID HEAD",
];

/// To listeners of the internet of the newer kind, where the machine has it.
pub(super) const INTERNET_SIX: &[&str] = &[
    "echo @ID > /dev/tcp/::1/@SIX",
    "% socket S, 10, 1, 0; connect S, Socket::pack_sockaddr_in6(@SIX, Socket::inet_pton(10, q(::1))); syswrite S, q(@ID)",
    "% socket S, 10, 1, 0; connect S, Socket::pack_sockaddr_in6(@TCP, Socket::inet_pton(10, q(::ffff:127.0.0.1))); syswrite S, q(@ID)",
];

/// To services of the machine, which would do what the wall does not let through.
pub(super) const LOCAL: &[&str] = &[
    "% socket S, 1, 1, 0; connect S, sockaddr_un(q(@SOCKETS/stream)); syswrite S, q(@ID)",
    "% chdir q(@SOCKETS); socket S, 1, 1, 0; connect S, sockaddr_un(q(stream)); syswrite S, q(@ID)",
    "ln -s @SOCKETS/stream s; perl -MSocket -e 'socket S, 1, 1, 0; connect S, sockaddr_un(q(@SOCKETS/stream)); syswrite S, q(@ID)'",
    "% opendir my $d, q(@SOCKETS); my $n = k(257, -100, q(@SOCKETS), 0x10000, 0); socket S, 1, 1, 0; connect S, sockaddr_un(qq(/proc/self/fd/$n/stream)); syswrite S, q(@ID)",
    "% socket S, 1, 1, 0; connect S, sockaddr_un(q(/proc/self/root@SOCKETS/stream)); syswrite S, q(@ID)",
    "% socket S, 1, 1, 0; connect S, pack(q(S a*), 1, qq(\\0@NAME)); syswrite S, q(@ID)",
    "% socket S, 1, 2, 0; send S, q(@ID), 0, sockaddr_un(q(@SOCKETS/datagram))",
    "% socket S, 1, 2, 0; connect S, sockaddr_un(q(@SOCKETS/datagram)); syswrite S, q(@ID)",
    "% socket S, 1, 2, 0; send S, q(@ID), 0, pack(q(S a*), 1, qq(\\0@NAME-d))",
    // A pair needs no `socket`, and a datagram names its receiver.
    "% socketpair A, B, 1, 2, 0; send A, q(@ID), 0, sockaddr_un(q(@SOCKETS/datagram))",
    "% socketpair A, B, 1, 2, 0; send A, q(@ID), 0, pack(q(S a*), 1, qq(\\0@NAME-d))",
    "% socketpair A, B, 1, 3, 0; send A, q(@ID), 0, sockaddr_un(q(@SOCKETS/datagram)); connect A, sockaddr_un(q(@SOCKETS/datagram)); syswrite A, q(@ID); socketpair C, D, 1, 2, 0; send C, q(@ID), 0, sockaddr_un(q(@SOCKETS/datagram))",
    // By other names, other ways to the same file, and other kinds of call.
    "ln @SOCKETS/stream hard; perl -MSocket -e 'socket S, 1, 1, 0; connect S, sockaddr_un(q(hard)); syswrite S, q(@ID)'",
    "cd @SOCKETS; perl -MSocket -e 'socket S, 1, 1, 0; connect S, sockaddr_un(q(./stream)); syswrite S, q(@ID)'",
    "mv @SOCKETS/stream moved; perl -MSocket -e 'socket S, 1, 1, 0; connect S, sockaddr_un(q(moved)); syswrite S, q(@ID)'",
    "ln -s @SOCKETS far; perl -MSocket -e 'socket S, 1, 1, 0; connect S, sockaddr_un(q(far/stream)); syswrite S, q(@ID)'",
    "% chdir q(/proc/self/root); socket S, 1, 1, 0; connect S, sockaddr_un(q(.@SOCKETS/stream)); syswrite S, q(@ID)",
    "% chdir q(/); socket S, 1, 1, 0; connect S, sockaddr_un(q(.@SOCKETS/stream)); syswrite S, q(@ID)",
    "% symlink q(@SOCKETS/stream), q(far-stream); socket S, 1, 1, 0; connect S, sockaddr_un(q(far-stream)); syswrite S, q(@ID)",
    "% socket S, 1, 2, 0; bind S, sockaddr_un(q(mine)); send S, q(@ID), 0, sockaddr_un(q(@SOCKETS/datagram))",
    "% my $n = k(257, -100, q(@SOCKETS/stream), 0x200000, 0); socket S, 1, 1, 0; connect S, sockaddr_un(qq(/proc/self/fd/$n)); syswrite S, q(@ID)",
    "% opendir my $d, q(/); socket S, 1, 1, 0; connect S, sockaddr_un(q(/dev/../@SOCKETS/stream)); syswrite S, q(@ID)",
    "% k(53, 1, 0x80002, 0, my $p = pack(q(l2), 0, 0)); my ($a) = unpack q(l2), $p; socketpair A, B, 1, 2, 0; send A, q(@ID), 0, sockaddr_un(q(@SOCKETS/datagram))",
];

/// Kinds of sockets that have no listener here: tried behind walls alone, in case one opens a way.
pub(super) const OTHER_SOCKETS: &[&str] = &[
    // vsock to the host and to this machine.
    "% socket S, 40, 1, 0; connect S, pack(q(S S L L x4), 40, 0, @TCP, 2); syswrite S, q(@ID)",
    "% socket S, 40, 1, 0; connect S, pack(q(S S L L x4), 40, 0, @TCP, 1); syswrite S, q(@ID)",
    // Raw, packet, multipath, the kernel's crypto and its messages.
    "% socket S, 2, 3, 255; send S, q(@ID), 0, sockaddr_in(0, inet_aton(q(127.0.0.1)))",
    "% socket S, 17, 3, 0x300; syswrite S, q(@ID)",
    "% socket S, 2, 1, 262; connect S, sockaddr_in(@TCP, inet_aton(q(127.0.0.1))); syswrite S, q(@ID)",
    "% socket S, 38, 5, 0; bind S, pack(q(S a14 L L a64), 38, q(hash), 0, 0, q(sha256))",
    "% socket S, 16, 3, 15; bind S, pack(q(S S L L), 16, 0, 0, 1)",
    "% socket S, 16, 3, 9; syswrite S, pack(q(L S S L L), 16, 1, 0, 0, 0)",
];
