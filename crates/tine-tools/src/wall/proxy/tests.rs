use std::io::{Read, Write};
use std::net::{TcpListener as Listener, TcpStream as Stream};
use std::thread::JoinHandle;

use async_trait::async_trait;

use super::*;

/// Names of a world without a resolver. Others must not be asked for.
struct Fixed(&'static [(&'static str, &'static str)]);

#[async_trait]
impl Names for Fixed {
    async fn addresses(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let found = self.0.iter().filter(|(own, _)| *own == name);
        let found: Vec<IpAddr> = found.map(|(_, address)| address.parse().unwrap()).collect();
        assert!(!found.is_empty(), "`{name}` was resolved");
        Ok(found)
    }
}

/// A server of this machine: it reads what comes and answers each connection with its own words.
fn server() -> (u16, Listener) {
    let listener = Listener::bind("127.0.0.1:0").unwrap();
    (listener.local_addr().unwrap().port(), listener)
}

/// Takes one connection and reads up to the end of a head.
fn one_visit(listener: Listener) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut seen = Vec::new();
        while !seen.ends_with(b"\r\n\r\n") {
            let mut byte = [0];
            stream.read_exact(&mut byte).unwrap();
            seen.push(byte[0]);
        }
        stream.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok").unwrap();
        String::from_utf8(seen).unwrap()
    })
}

struct Serving {
    port: u16,
    forwards: Vec<u16>,
    refusals: Refusals,
    serving: JoinSet<()>,
}

/// A proxy at free ports of this machine, in place of those of a command's network.
fn serving(reach: &str, names: Fixed) -> Serving {
    serving_behind(reach, names, &[])
}

/// A proxy of a machine whose environment names another one.
fn serving_behind(reach: &str, names: Fixed, variables: &[(&str, String)]) -> Serving {
    let variables: Vec<(OsString, OsString)> =
        variables.iter().map(|(name, value)| (name.into(), value.into())).collect();
    let (reach, upstream) = (reach.parse().unwrap(), Upstream::of(&variables));
    let proxy = Arc::new(Proxy::with_names(&reach, Arc::new(names), upstream));
    let listeners: Vec<_> =
        proxy.addresses().iter().map(|_| Listener::bind("127.0.0.1:0").unwrap()).collect();
    let ports: Vec<u16> =
        listeners.iter().map(|listener| listener.local_addr().unwrap().port()).collect();
    let refusals = Refusals::default();
    let mut all = JoinSet::new();
    let served = proxy.serve(listeners, Arc::clone(&refusals));
    all.spawn(async { drop(served.await) });
    Serving { port: ports[0], forwards: ports[1..].to_vec(), refusals, serving: all }
}

impl Serving {
    /// Sends this to the proxy and reads until it closes.
    async fn ask(&self, request: &str) -> String {
        exchange(self.port, request).await
    }

    fn refused(&self) -> Vec<String> {
        self.refusals.lock().unwrap().iter().cloned().collect()
    }
}

async fn exchange(port: u16, request: &str) -> String {
    let request = request.to_owned();
    let asked = tokio::task::spawn_blocking(move || {
        let mut stream = Stream::connect(("127.0.0.1", port)).unwrap();
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = Vec::new();
        // A client that is refused early may find the connection reset behind the answer.
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8(answer).unwrap()
    });
    asked.await.unwrap()
}

fn is_unvisited(listener: &Listener) -> bool {
    listener.set_nonblocking(true).unwrap();
    listener.accept().is_err()
}

#[tokio::test]
async fn a_named_host_is_reached_through_a_tunnel() {
    let (port, listener) = server();
    let serving = serving(&format!("localhost:{port}"), Fixed(&[]));
    for host in ["localhost", "127.0.0.1"] {
        let visit = one_visit(listener.try_clone().unwrap());
        let answer = serving
            .ask(&format!("CONNECT {host}:{port} HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n"))
            .await;
        insta::allow_duplicates! {
            insta::assert_snapshot!(answer.replace('\r', ""), @"
            HTTP/1.1 200 Connection established

            HTTP/1.1 200 OK
            Content-Length: 2

            ok
            ");
        }
        assert_eq!(visit.join().unwrap(), "GET / HTTP/1.1\r\n\r\n");
    }
    assert!(serving.refused().is_empty());
}

#[tokio::test]
async fn a_server_gets_a_plain_request_without_the_proxys_part() {
    let (port, listener) = server();
    let serving = serving(&format!("localhost:{port}"), Fixed(&[]));
    let visit = one_visit(listener);
    let request = format!(
        "GET http://localhost:{port}/a?b HTTP/1.1\r\nHost: elsewhere.io\r\nProxy-Connection: keep-alive\r\nAccept: */*\r\n\r\n"
    );
    assert!(serving.ask(&request).await.ends_with("\r\n\r\nok"));
    let seen = visit.join().unwrap().replace('\r', "").replace(&port.to_string(), "PORT");
    insta::assert_snapshot!(seen, @"
    GET /a?b HTTP/1.1
    Host: localhost:PORT
    Accept: */*
    Connection: close
    ");
}

#[tokio::test]
async fn a_host_that_was_not_named_is_refused_and_not_even_resolved() {
    let (port, listener) = server();
    let serving = serving("crates.io:443, internet", Fixed(&[]));
    let ask =
        async |request: String| serving.ask(&request).await.replace(&port.to_string(), "PORT");
    let tunnel = ask(format!("CONNECT evil.io:{port} HTTP/1.1\r\n\r\n")).await;
    insta::assert_snapshot!(tunnel.replace('\r', ""), @"
    HTTP/1.1 403 evil.io:PORT is not allowed
    Content-Type: text/plain; charset=utf-8
    Content-Length: 157
    Connection: close

    tine: this command may not reach evil.io:PORT: it was not named. It may reach: internet, crates.io:443. A person allows more with `--network evil.io:PORT`
    ");
    let plain = ask(format!("GET http://127.0.0.1:{port}/ HTTP/1.1\r\n\r\n")).await;
    insta::assert_snapshot!(plain.replace('\r', ""), @"
    HTTP/1.1 403 127.0.0.1:PORT is not allowed
    Content-Type: text/plain; charset=utf-8
    Content-Length: 161
    Connection: close

    tine: this command may not reach 127.0.0.1:PORT: it was not named. It may reach: internet, crates.io:443. A person allows more with `--network 127.0.0.1:PORT`
    ");
    for target in ["localhost", "LOCALHOST.", "[::1]", "[::ffff:127.0.0.1]"] {
        let answer = ask(format!("CONNECT {target}:{port} HTTP/1.1\r\n\r\n")).await;
        assert!(answer.starts_with("HTTP/1.1 403 "), "{target}: {answer}");
    }
    assert!(is_unvisited(&listener));
    let refused = serving.refused().join(" ").replace(&port.to_string(), "PORT");
    insta::assert_snapshot!(refused, @"127.0.0.1:PORT (it was not named) [::1]:PORT (it was not named) evil.io:PORT (it was not named) localhost:PORT (it was not named)");
}

#[tokio::test]
async fn a_name_that_leads_to_this_machine_is_refused_unless_the_address_is_named() {
    const NAMES: &[(&str, &str)] = &[
        ("rebound.io", "127.0.0.1"),
        ("mapped.io", "::ffff:127.0.0.1"),
        ("metadata.io", "169.254.169.254"),
        ("one.of.a.set.io", "10.1.2.3"),
    ];
    let (port, listener) = server();
    let named = ["rebound.io", "mapped.io", "metadata.io", "*.set.io"];
    let named = named.map(|name| format!("{name}:{port}")).join(",");
    let closed = serving(&named, Fixed(NAMES));
    let mut answers = String::new();
    for (name, _) in NAMES {
        let answer = closed.ask(&format!("CONNECT {name}:{port} HTTP/1.1\r\n\r\n")).await;
        answers.push_str(answer.lines().last().unwrap_or_default());
        answers.push('\n');
    }
    insta::assert_snapshot!(answers.replace(&port.to_string(), "PORT"), @"
    tine: this command may not reach rebound.io:PORT: it was named, but leads to 127.0.0.1:PORT, an address of this machine or close to it, which has to be named as well. It may reach: mapped.io:PORT, metadata.io:PORT, rebound.io:PORT, *.set.io:PORT. A person allows more with `--network 127.0.0.1:PORT`
    tine: this command may not reach mapped.io:PORT: it was named, but leads to 127.0.0.1:PORT, an address of this machine or close to it, which has to be named as well. It may reach: mapped.io:PORT, metadata.io:PORT, rebound.io:PORT, *.set.io:PORT. A person allows more with `--network 127.0.0.1:PORT`
    tine: this command may not reach metadata.io:PORT: it was named, but leads to 169.254.169.254:PORT, an address of this machine or close to it, which has to be named as well. It may reach: mapped.io:PORT, metadata.io:PORT, rebound.io:PORT, *.set.io:PORT. A person allows more with `--network 169.254.169.254:PORT`
    tine: this command may not reach one.of.a.set.io:PORT: only a set that it is in was named, and it leads to 10.1.2.3:PORT, which is not public. It may reach: mapped.io:PORT, metadata.io:PORT, rebound.io:PORT, *.set.io:PORT. A person allows more with `--network one.of.a.set.io:PORT`
    ");
    let visitor = listener.try_clone().unwrap();
    assert!(is_unvisited(&visitor));
    visitor.set_nonblocking(false).unwrap();
    let visit = one_visit(listener);
    let open = serving(&format!("rebound.io:{port},localhost:{port}"), Fixed(NAMES));
    let request = format!("CONNECT rebound.io:{port} HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n");
    assert!(open.ask(&request).await.ends_with("ok"));
    visit.join().unwrap();
}

#[test]
fn a_host_that_was_named_itself_may_be_in_a_private_network() {
    let host = Host::of_request("mirror.corp.io").unwrap();
    let private = "10.255.255.254".parse().unwrap();
    let reaches = |reach: &str, address: IpAddr| {
        reach::may_be_at(&reach.parse().unwrap(), &host, SocketAddr::from((address, 443)))
    };
    assert!(reaches("mirror.corp.io", private));
    assert!(reaches("mirror.corp.io, internet", private));
    for set in ["internet", "*.corp.io", "public mirror.corp.io", "mirror.corp.io:80, internet"] {
        assert!(!reaches(set, private), "{set}");
        assert!(reaches(set, "1.1.1.1".parse().unwrap()), "{set}");
    }
    for machine in ["127.0.0.1", "169.254.169.254", "100.100.100.200", "fe80::1"] {
        assert!(!reaches("mirror.corp.io", machine.parse().unwrap()), "{machine}");
    }
}

#[tokio::test]
async fn a_named_port_of_this_machine_needs_no_proxy() {
    let (port, listener) = server();
    let serving = serving(&format!("localhost:{port}, crates.io"), Fixed(&[]));
    let visit = one_visit(listener);
    let answer = exchange(serving.forwards[0], "anything\r\n\r\n").await;
    assert!(answer.ends_with("ok"), "{answer}");
    assert_eq!(visit.join().unwrap(), "anything\r\n\r\n");
}

#[tokio::test]
async fn what_is_no_request_is_told_so() {
    let serving = serving("crates.io", Fixed(&[]));
    let mut answers = String::new();
    let long = format!("GET http://a.io/{} HTTP/1.1\r\n", "x".repeat(head::BYTES_MAX));
    for request in
        ["SSH-2.0-x\r\n\r\n", "GET / HTTP/1.1\r\n\r\n", "GET ftp://a/ HTTP/1.1\r\n\r\n", &long]
    {
        let answer = serving.ask(request).await;
        answers.push_str(&format!(
            "{} / {}\n",
            answer.lines().next().unwrap(),
            answer.lines().last().unwrap()
        ));
    }
    insta::assert_snapshot!(answers, @"
    HTTP/1.1 400 Bad Request / tine: this is a proxy for HTTP, and that was no request
    HTTP/1.1 400 Bad Request / tine: this is a proxy: ask with CONNECT host:port or for a whole http:// address
    HTTP/1.1 400 Bad Request / tine: this proxy knows http:// and CONNECT
    HTTP/1.1 431 Request Header Fields Too Large / tine: the head of the request is longer than 16 KiB or has more than 100 fields
    ");
}

#[tokio::test]
async fn a_server_that_is_not_there_is_a_bad_gateway() {
    let (port, listener) = server();
    drop(listener);
    let serving = serving(&format!("localhost:{port}"), Fixed(&[]));
    let answer = serving.ask(&format!("CONNECT localhost:{port} HTTP/1.1\r\n\r\n")).await;
    assert!(answer.starts_with("HTTP/1.1 502 Bad Gateway"), "{answer}");
}

#[tokio::test]
async fn an_open_connection_ends_with_the_proxy() {
    let (port, listener) = server();
    let Serving { port: own, mut serving, .. } = serving(&format!("localhost:{port}"), Fixed(&[]));
    let mut client = TcpStream::connect(("127.0.0.1", own)).await.unwrap();
    let request = format!("CONNECT localhost:{port} HTTP/1.1\r\n\r\n");
    client.write_all(request.as_bytes()).await.unwrap();
    let mut answer = [0; 12];
    client.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 200");
    let (mut server, _) = listener.accept().unwrap();
    serving.shutdown().await;
    let end = tokio::task::spawn_blocking(move || server.read(&mut [0]).unwrap_or(0));
    assert_eq!(end.await.unwrap(), 0);
    assert!(TcpStream::connect(("127.0.0.1", own)).await.is_err());
}

#[tokio::test]
async fn only_so_many_connections_are_served_at_once() {
    let (port, listener) = server();
    let serving = serving(&format!("localhost:{port}"), Fixed(&[]));
    let mut clients = Vec::new();
    for _ in 0..CONNECTIONS_MAX {
        let mut client = TcpStream::connect(("127.0.0.1", serving.port)).await.unwrap();
        let request = format!("CONNECT localhost:{port} HTTP/1.1\r\n\r\n");
        client.write_all(request.as_bytes()).await.unwrap();
        let mut answer = [0; 12];
        client.read_exact(&mut answer).await.unwrap();
        clients.push((client, listener.accept().unwrap()));
    }
    let late = tokio::task::spawn_blocking({
        let own = serving.port;
        move || {
            let mut stream = Stream::connect(("127.0.0.1", own)).unwrap();
            stream.write_all(b"GET / HTTP/1.1\r\n\r\n").unwrap();
            let mut answer = String::new();
            stream.read_to_string(&mut answer).unwrap();
            answer
        }
    });
    // It is answered once another one has gone, and only then could be.
    drop(clients.pop());
    assert!(late.await.unwrap().starts_with("HTTP/1.1 400 "));
}

#[test]
fn the_proxys_port_gives_way_to_a_named_one() {
    let proxy =
        Proxy::new(&"localhost:3128, [::1]:3129, 127.0.0.9:1".parse().unwrap(), &[]).unwrap();
    let addresses: Vec<String> = proxy.addresses().iter().map(ToString::to_string).collect();
    insta::assert_snapshot!(addresses.join(" "), @"127.0.0.1:3130 127.0.0.1:3128 127.0.0.9:1 [::1]:3129");
    assert!(Proxy::new(&NetworkReach::none(), &[]).is_none());
}

#[tokio::test]
async fn the_proxy_of_the_environment_is_asked_for_named_hosts_by_name_and_for_others_by_address() {
    let (port, listener) = server();
    let upstream = format!("http://user:pass@127.0.0.1:{port}");
    let variables = [
        ("https_proxy", upstream.clone()),
        ("HTTP_PROXY", upstream),
        ("NO_PROXY", "near.example".to_owned()),
    ];
    let names = Fixed(&[
        ("named.example", "203.0.113.1"),
        ("a.set.example", "8.8.8.8"),
        ("b.set.example", "10.0.0.1"),
    ]);
    let reach = "named.example:443,plain.example:80,*.set.example";
    let serving = serving_behind(reach, names, &variables);
    for (request, expected) in [
        ("CONNECT named.example:443 HTTP/1.1\r\n\r\n", "CONNECT named.example:443 HTTP/1.1"),
        ("CONNECT a.set.example:443 HTTP/1.1\r\n\r\n", "CONNECT 8.8.8.8:443 HTTP/1.1"),
        ("GET http://a.set.example/x HTTP/1.1\r\n\r\n", "CONNECT 8.8.8.8:80 HTTP/1.1"),
    ] {
        let visit = one_visit(listener.try_clone().unwrap());
        serving.ask(request).await;
        let seen = visit.join().unwrap();
        assert_eq!(seen.lines().next(), Some(expected));
        assert!(seen.contains("\r\nProxy-Authorization: Basic dXNlcjpwYXNz\r\n"), "{seen}");
    }
    let answer = serving.ask("CONNECT b.set.example:443 HTTP/1.1\r\n\r\n").await;
    assert!(answer.contains("10.0.0.1:443, which is not public"), "{answer}");
    assert!(is_unvisited(&listener));
}

/// A server that honours no `Connection: close` would be asked for anything else on the same connection.
#[tokio::test]
async fn a_plain_request_goes_through_a_tunnel_of_the_proxy_of_the_environment() {
    let (port, listener) = server();
    let variables = [("http_proxy", format!("127.0.0.1:{port}"))];
    let names = Fixed(&[("plain.example", "203.0.113.1")]);
    let serving = serving_behind("plain.example:80", names, &variables);
    let seen = tokio::task::spawn_blocking(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut seen = vec![0; 4096];
        let length = stream.read(&mut seen).unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").unwrap();
        let mut rest = String::new();
        stream.read_to_string(&mut rest).unwrap();
        format!("{}--\n{rest}", String::from_utf8_lossy(&seen[..length]))
    });
    let two =
        "GET http://plain.example/x HTTP/1.1\r\n\r\nGET http://other.example/ HTTP/1.1\r\n\r\n";
    let asked = serving.port;
    // Neither end is waited for on the thread on which the proxy itself runs.
    let client = tokio::task::spawn_blocking(move || {
        let mut stream = Stream::connect(("127.0.0.1", asked)).unwrap();
        stream.write_all(two.as_bytes()).unwrap();
        stream.shutdown(std::net::Shutdown::Write).unwrap();
        let _ = stream.read_to_end(&mut Vec::new());
    });
    let seen = seen.await.unwrap();
    client.await.unwrap();
    // What follows is said to the host behind the tunnel, and not to the proxy.
    insta::assert_snapshot!(seen.replace('\r', ""), @"
    CONNECT plain.example:80 HTTP/1.1
    Host: plain.example:80

    --
    GET /x HTTP/1.1
    Host: plain.example
    Connection: close

    GET http://other.example/ HTTP/1.1

    ");
}

#[tokio::test]
async fn a_proxy_that_cannot_be_used_says_so_and_ports_of_this_machine_need_none() {
    let variables = [("all_proxy", "socks5://127.0.0.1:1".to_owned())];
    let (port, listener) = server();
    let names = Fixed(&[("a.example", "8.8.8.8")]);
    let serving = serving_behind(&format!("a.example,localhost:{port}"), names, &variables);
    let answer = serving.ask("CONNECT a.example:443 HTTP/1.1\r\n\r\n").await;
    assert!(answer.contains("this machine's own proxy is one of socks5://"), "{answer}");
    let visit = one_visit(listener);
    let request = format!("CONNECT localhost:{port} HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n\r\n");
    assert!(serving.ask(&request).await.contains("200 OK"));
    visit.join().unwrap();
}
