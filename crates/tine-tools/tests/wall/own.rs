//! What processes of a worker's command have for themselves: a loopback device, and terminals.

use tine_model::NetworkReach;
use tine_tools::Wall;

use super::network::Listeners;
use super::world::{World, lacks_wall, run};

/// A server on a port of the loopback device, and a client of it.
const TCP: &str = "perl -MIO::Socket::INET -e '$s = IO::Socket::INET->new(LocalAddr => \"127.0.0.1\", Listen => 1) or die \"no: $!\"; \
    if (fork) { $c = $s->accept; print <$c> } else { $c = IO::Socket::INET->new(PeerAddr => \"127.0.0.1\", PeerPort => $s->sockport) or die; \
    print $c \"came\\n\" }'";
const UDP: &str = "perl -MIO::Socket::INET -e '$s = IO::Socket::INET->new(LocalAddr => \"127.0.0.1\", Proto => \"udp\") or die \"no: $!\"; \
    IO::Socket::INET->new(PeerAddr => \"127.0.0.1\", PeerPort => $s->sockport, Proto => \"udp\")->send(\"came\"); $s->recv($b, 9); print $b'";

#[tokio::test]
async fn servers_of_a_command_are_reached_by_itself_and_nobody_elses_are() {
    if lacks_wall() {
        return;
    }
    let world = World::new();
    let listeners = Listeners::new(&world);
    for network in ["", "localhost:9"] {
        let network = match network {
            "" => NetworkReach::none(),
            hosts => hosts.parse().unwrap(),
        };
        let place = world.behind(&Wall { network, ..Wall::worker(&world.path("work")) });
        for command in [TCP, UDP] {
            let told = run(&place, command).await.text;
            assert!(told.starts_with("came"), "{command}: {told}");
        }
        let listeners = &listeners;
        run(
            &place,
            &listeners
                .fill(&world, "echo x > /dev/tcp/127.0.0.1/@TCP; echo x > /dev/udp/127.0.0.1/@UDP"),
        )
        .await;
        assert!(!listeners.somebody_came());
    }
}

#[tokio::test]
async fn terminals_of_a_command_are_its_own() {
    if lacks_wall() {
        return;
    }
    let world = World::new();
    let make = "perl -e 'use POSIX; open(M, \"+<\", \"/dev/ptmx\") or die \"no: $!\"; $n = pack(\"i\", 0); ioctl(M, 0x40045431, $n) // die; \
        ioctl(M, 0x80045430, $n) // die; $n = unpack(\"i\", $n); open(S, \"+<\", \"/dev/pts/$n\") or die \"no: $!\"; \
        syswrite(S, \"came\\n\"); sysread(M, $b, 9); print \"$n $b\"'; ls /dev/pts";
    for _ in 0..2 {
        let told = run(&world.worker(), make).await.text;
        // The first of all, whatever terminals there are outside.
        assert!(told.starts_with("0 came"), "{told}");
        assert!(told.contains("ptmx"), "{told}");
    }
}

/// A server at a socket file, and a client of it.
const LOCAL: &str = "perl -MIO::Socket::UNIX -e '$s = IO::Socket::UNIX->new(Local => $ARGV[0], Listen => 1) or die \"no: $!\"; \
    if (fork) { $c = $s->accept; print <$c> } else { $c = IO::Socket::UNIX->new(Peer => $ARGV[0]) or die; print $c \"came\\n\" }' ";

#[tokio::test]
async fn socket_files_work_where_a_worker_writes() {
    if lacks_wall() {
        return;
    }
    let world = World::new();
    let place = world.worker();
    for file in ["own.sock", "$TMPDIR/own.sock", "@OUT/../shared-tmp/own.sock"] {
        let told = run(&place, &world.fill(&format!("{LOCAL} {file}"))).await.text;
        assert!(told.starts_with("came"), "{file}: {told}");
    }
    // Its own from an earlier command are no others'.
    let serve = "perl -MIO::Socket::UNIX -e '$s = IO::Socket::UNIX->new(Local => \"two.sock\", Listen => 1) or die'; test -S two.sock";
    assert!(!run(&place, serve).await.is_error);
    assert!(!run(&place, "test -S two.sock && rm two.sock").await.is_error);
}

#[tokio::test]
async fn no_socket_file_of_another_process_is_reached() {
    if lacks_wall() {
        return;
    }
    let world = World::new();
    let bind = |name: &str| {
        let listener = std::os::unix::net::UnixListener::bind(world.path(name)).unwrap();
        listener.set_nonblocking(true).unwrap();
        listener
    };
    for name in ["work/deep/folder", "home/.agent"] {
        std::fs::create_dir_all(world.path(name)).unwrap();
    }
    let before = ["outside/a.sock", "work/b.sock", "work/deep/folder/c.sock", "home/.agent/d.sock"];
    let listeners: Vec<_> = before.iter().map(|name| bind(name)).collect();
    let renamed = bind("outside/new.sock");
    std::fs::rename(world.path("outside/new.sock"), world.path("outside/e.sock")).unwrap();
    let place = world.worker();
    // A service that begins while the worker works.
    let later = bind("outside/later.sock");
    let linked = bind("outside/linked.sock");
    std::os::unix::fs::symlink(world.path("outside"), world.path("work/link")).unwrap();
    let reach = |path: &str| {
        format!(
            "perl -MIO::Socket::UNIX -e 'IO::Socket::UNIX->new(Peer => $ARGV[0]) or die \"no: $!\"; print \"came\"' {path}"
        )
    };
    for command in [
        reach("@OUT/a.sock"),
        reach("b.sock"),
        reach("deep/folder/c.sock"),
        format!("mv deep moved; {}", reach("moved/folder/c.sock")),
        reach("moved/folder/c.sock"),
        reach("@HOME/.agent/d.sock"),
        reach("@OUT/e.sock"),
        reach("@OUT/later.sock"),
        reach("link/linked.sock"),
        format!(
            "cp -a b.sock copy.sock; ln b.sock hard.sock; {}; {}",
            reach("copy.sock"),
            reach("hard.sock")
        ),
    ] {
        let told = run(&place, &world.fill(&command)).await.text;
        assert!(!told.contains("came"), "{command}: {told}");
    }
    let all = listeners.iter().chain([&renamed, &later, &linked]);
    assert!(all.map(|listener| listener.accept()).all(|came| came.is_err()));
    let told = run(&world.open(), &world.fill(&reach("@OUT/a.sock"))).await.text;
    assert!(told.contains("came"), "without a wall it is reached: {told}");
}
