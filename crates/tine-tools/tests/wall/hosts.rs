//! A command with a network reaches the hosts that were named, by the proxy or at the named ports of its own loopback.
//!
//! Servers are this machine's own, on its loopback. `curl` and `git` stand for programs that know a proxy, the shell for those
//! that know none.

use std::io::{Read, Write};
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use tine_testkit::{Ability, lacks, test_name};
use tine_tools::{Place, Wall};

use super::network::{INTERNET, LOCAL, Listeners};
use super::world::{World, lacks_wall, run};

/// A web server of this machine that counts its visitors.
struct Web {
    port: u16,
    visits: Arc<AtomicUsize>,
}

impl Web {
    fn new() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let visits = Arc::new(AtomicUsize::new(0));
        let counted = Arc::clone(&visits);
        // The thread waits for visitors until the test process ends.
        std::thread::spawn(move || {
            for stream in listener.incoming() {
                let mut stream = stream.unwrap();
                counted.fetch_add(1, Ordering::SeqCst);
                let mut bytes = [0; 4096];
                let _ = stream.read(&mut bytes);
                let _ = stream.write_all(
                    b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\nhello\n",
                );
            }
        });
        Self { port, visits }
    }

    fn visits(&self) -> usize {
        self.visits.load(Ordering::SeqCst)
    }
}

fn online(world: &World, hosts: &str) -> Place {
    world.behind(&Wall { network: hosts.parse().unwrap(), ..Wall::worker(&world.path("work")) })
}

/// A request to a proxy by hand, for a test that does not depend on `curl`.
fn by_hand(request: &str) -> String {
    format!("exec 3<>/dev/tcp/127.0.0.1/${{HTTP_PROXY##*:}}; printf '{request}' >&3; cat <&3")
}

#[tokio::test]
async fn a_named_port_of_this_machine_is_reached_in_every_way() {
    if lacks_wall() {
        return;
    }
    let (world, web) = (World::new(), Web::new());
    let port = web.port;
    let place = online(&world, &format!("localhost:{port}"));
    let tunnel = by_hand(&format!(
        "CONNECT localhost:{port} HTTP/1.1\\r\\n\\r\\nGET / HTTP/1.1\\r\\n\\r\\n"
    ));
    let plain = by_hand(&format!("GET http://127.0.0.1:{port}/ HTTP/1.1\\r\\n\\r\\n"));
    for (number, command) in [
        // Without the proxy, by a program that knows none.
        format!(
            "exec 3<>/dev/tcp/127.0.0.1/{port}; printf 'GET / HTTP/1.1\\r\\n\\r\\n' >&3; cat <&3"
        ),
        tunnel,
        plain,
    ]
    .iter()
    .enumerate()
    {
        let output = run(&place, command).await;
        assert!(output.text.contains("hello") && !output.is_error, "{command}: {}", output.text);
        assert_eq!(web.visits(), number + 1);
    }
}

#[tokio::test]
async fn programs_find_the_proxy_by_themselves() {
    if lacks_wall() || lacks(Ability::Program("curl"), &test_name()) {
        return;
    }
    let (world, web) = (World::new(), Web::new());
    let place = online(&world, &format!("localhost:{0}", web.port));
    let port = web.port;
    for command in [
        format!("curl -s http://localhost:{port}/"),
        format!("curl -s --noproxy '' http://localhost:{port}/"),
        format!("curl -s --noproxy '' --proxytunnel http://127.0.0.1:{port}/"),
    ] {
        let output = run(&place, &command).await;
        assert_eq!(output.text, "hello\n[exit code 0]", "{command}");
    }
    assert_eq!(web.visits(), 3);
    let output = run(&place, "curl -sS https://example.com/").await;
    assert!(output.is_error && output.text.contains("403"), "{}", output.text);
    let last = output.text.lines().last().unwrap().to_owned();
    insta::assert_snapshot!(last, @"[the network was refused: example.com:443 (it was not named); a person allows hosts with `--network HOST:PORT`]");
    let output = run(&place, "git ls-remote https://example.com/x").await;
    assert!(
        output.text.contains("403") && output.text.contains("example.com:443"),
        "{}",
        output.text
    );
}

#[tokio::test]
async fn what_was_not_named_is_refused_and_nothing_connects() {
    if lacks_wall() {
        return;
    }
    let (world, web) = (World::new(), Web::new());
    let port = web.port;
    for hosts in ["crates.io:PORT", "internet:PORT", "internet:PORT, localhost:1", "127.0.0.2:PORT"]
    {
        let place = online(&world, &hosts.replace("PORT", &port.to_string()));
        for target in
            ["localhost", "127.0.0.1", "[::1]", "[::ffff:127.0.0.1]", "0.0.0.0", "169.254.169.254"]
        {
            for request in [
                format!("CONNECT {target}:{port} HTTP/1.1\\r\\n\\r\\nGET / HTTP/1.1\\r\\n\\r\\n"),
                format!("GET http://{target}:{port}/ HTTP/1.1\\r\\n\\r\\n"),
            ] {
                let output = run(&place, &by_hand(&request)).await;
                assert!(
                    output.text.starts_with("HTTP/1.1 403 "),
                    "{hosts} {request}: {}",
                    output.text
                );
                assert!(output.text.contains("[the network was refused: "), "{}", output.text);
            }
        }
    }
    assert_eq!(web.visits(), 0);
}

#[tokio::test]
async fn nothing_of_the_machine_is_reached_past_the_proxy() {
    if lacks_wall() {
        return;
    }
    for command in INTERNET.iter().chain(&LOCAL) {
        let world = World::new();
        let listeners = Listeners::new(&world);
        for hosts in ["internet", "localhost:1"] {
            run(&online(&world, hosts), &listeners.fill(&world, command)).await;
            assert!(!listeners.somebody_came(), "{hosts}: {command}");
        }
    }
}

#[tokio::test]
async fn no_other_sockets_can_be_made() {
    if lacks_wall() {
        return;
    }
    let world = World::new();
    let place = online(&world, "internet");
    // Family, type, protocol: raw ones, packets, netlink, raw local ones, SCTP and MPTCP, the host of a virtual machine.
    for socket in
        ["2, 3, 1", "17, 3, 768", "16, 3, 0", "1, 3, 0", "2, 1, 132", "2, 1, 262", "40, 1, 0"]
    {
        let command = format!("perl -e 'socket(S, {socket}) and print \"made\"; print $!'");
        let output = run(&place, &command).await;
        insta::allow_duplicates! {
            insta::assert_snapshot!(output.text, socket, @"
            Permission denied
            [exit code 0]
            ");
        }
    }
}

#[tokio::test]
async fn a_command_talks_to_its_own_servers() {
    if lacks_wall() {
        return;
    }
    let world = World::new();
    let server = "perl -MSocket -e 'socket(S, PF_INET, SOCK_STREAM, 0); bind(S, sockaddr_in(8080, INADDR_LOOPBACK)); listen(S, 1); \
        print STDERR \"up\\n\"; accept(C, S); syswrite(C, \"own\\n\")'";
    let command = format!("{{ {server} & }} 2>&1 | head -1; cat </dev/tcp/127.0.0.1/8080");
    // The server may still be on its way out when the shell ends, which the last line would say.
    let printed = async |place: &Place| -> String {
        let output = run(place, &command).await;
        output.text.lines().filter(|line| !line.starts_with('[')).collect::<Vec<_>>().join(" ")
    };
    // Two commands of one wall have a network each.
    let place = online(&world, "crates.io");
    let (first, second) = tokio::join!(printed(&place), printed(&place));
    assert_eq!([first, second], ["up own", "up own"]);
}

#[tokio::test]
async fn a_quick_command_does_not_wait_for_its_network() {
    if lacks_wall() {
        return;
    }
    let (world, web) = (World::new(), Web::new());
    let place = online(&world, &format!("localhost:{}", web.port));
    for _ in 0..20 {
        assert_eq!(run(&place, "true").await.text, "[exit code 0]");
        assert_eq!(
            run(&place, "kill -9 $$").await.text.lines().next(),
            Some("[ended by signal 9]")
        );
    }
    assert_eq!(web.visits(), 0);
}
