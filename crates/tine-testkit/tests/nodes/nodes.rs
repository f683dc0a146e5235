//! Real nats-servers, as tests of other crates have them. `cargo xtask hosts nats` runs these.

use std::io::{BufRead as _, BufReader, ErrorKind, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

use tine_testkit::nats::{Node, Nodes, Partition};
use tine_testkit::{scratch, until};

/// A paused server takes bytes, and answers none. Long enough for one that runs to answer.
const NO_ANSWER: Duration = Duration::from_millis(300);

/// A client of the protocol's first words.
struct Client(BufReader<TcpStream>);

impl Client {
    fn new(address: SocketAddr) -> Self {
        let mut client = Self(BufReader::new(TcpStream::connect(address).unwrap()));
        assert!(client.line().starts_with("INFO {"));
        client.send("CONNECT {\"verbose\":false}");
        client
    }

    fn send(&mut self, line: &str) {
        self.0.get_mut().write_all(format!("{line}\r\n").as_bytes()).unwrap();
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        self.0.read_line(&mut line).unwrap();
        line.trim_end().to_owned()
    }

    fn ping(&mut self) {
        self.send("PING");
        assert_eq!(self.line(), "PONG");
    }

    /// A request to JetStream: its answer, as JSON.
    fn request(&mut self, subject: &str, body: &str) -> String {
        self.send("SUB answers 1\r\nUNSUB 1 1");
        self.send(&format!("PUB {subject} answers {}\r\n{body}", body.len()));
        assert!(self.line().starts_with("MSG answers 1 "));
        self.line()
    }

    fn is_silent(&mut self) -> bool {
        let stream = self.0.get_mut();
        stream.set_nonblocking(true).unwrap();
        let peeked = stream.peek(&mut [0]);
        stream.set_nonblocking(false).unwrap();
        peeked.is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
    }
}

mod smoke {
    use super::*;

    #[test]
    #[ignore = "needs nats-server: cargo xtask hosts nats"]
    fn a_node_keeps_its_port_and_its_store_when_it_is_killed() {
        let place = scratch();
        let mut node = Node::start(place.path(), "");
        let (url, process) = (node.url(), node.process_id());
        let info = node.info().unwrap();
        assert_eq!((&info["jetstream"], &info["max_payload"]), (&true.into(), &8_388_608.into()));
        let mut client = Client::new(node.address());
        let stream = r#"{"name":"kept","subjects":["kept.>"]}"#;
        let made = client.request("$JS.API.STREAM.CREATE.kept", stream);
        assert!(made.contains(r#""did_create":true"#), "{made}");
        let written = client.request("kept.one", "1");
        assert_eq!(written, r#"{"stream":"kept", "seq":1}"#);
        node.kill();
        assert!(node.info().is_none() && client.line().is_empty());
        node.restart();
        assert_eq!(node.url(), url);
        assert_ne!(node.process_id(), process);
        let kept = Client::new(node.address()).request("$JS.API.STREAM.INFO.kept", "");
        assert!(kept.contains(r#""messages":1"#), "{kept}");
        let last = node.process_id();
        drop(node);
        assert!(!Path::new(&format!("/proc/{last}")).exists());
    }

    #[test]
    #[ignore = "needs nats-server: cargo xtask hosts nats"]
    fn settings_of_the_test_win() {
        let place = scratch();
        let node = Node::start(
            place.path(),
            "max_payload: 1MB\nauthorization { user: tine, password: fork }",
        );
        let info = node.info().unwrap();
        assert_eq!(
            (&info["auth_required"], &info["max_payload"]),
            (&true.into(), &1_048_576.into())
        );
    }
}

#[test]
#[ignore = "needs nats-server: cargo xtask hosts nats"]
fn a_cut_partition_in_front_of_a_node_passes_nothing_and_heals() {
    let place = scratch();
    let mut node = Node::start(place.path(), "");
    let partition = Partition::before(node.address());
    let (mut cut, mut whole) = (Client::new(partition.address()), Client::new(node.address()));
    cut.ping();
    partition.cut();
    cut.send("PING");
    for _ in 0..20 {
        whole.ping();
    }
    assert!(cut.is_silent());
    partition.heal();
    assert_eq!(cut.line(), "PONG");
    node.restart();
    assert_eq!(cut.line(), "");
    Client::new(partition.address()).ping();
}

#[test]
#[ignore = "needs nats-server: cargo xtask hosts nats"]
fn a_paused_node_answers_when_it_goes_on() {
    let place = scratch();
    let mut node = Node::start(place.path(), "");
    let mut client = Client::new(node.address());
    client.ping();
    node.pause();
    client.send("PING");
    client.0.get_mut().set_read_timeout(Some(NO_ANSWER)).unwrap();
    let silent = client.0.fill_buf().unwrap_err();
    assert_eq!(silent.kind(), ErrorKind::WouldBlock);
    client.0.get_mut().set_read_timeout(None).unwrap();
    node.resume();
    assert_eq!(client.line(), "PONG");
    node.pause();
    node.restart();
    Client::new(node.address()).ping();
}

#[test]
#[ignore = "needs nats-server: cargo xtask hosts nats"]
fn three_nodes_have_a_leader_and_find_another_one() {
    let mut nodes = Nodes::start(3, "");
    assert_eq!(nodes.urls().len(), 3);
    let first = nodes.wait_for_leader();
    let stream = r#"{"name":"shared","subjects":["shared"],"num_replicas":3}"#;
    let mut client = Client::new(nodes.node(first).address());
    let made = client.request("$JS.API.STREAM.CREATE.shared", stream);
    assert!(made.contains(r#""did_create":true"#), "{made}");
    let info = nodes.node(first).info().unwrap();
    assert_eq!(info.get("connect_urls"), None, "a client hears of the other nodes");
    nodes.node(first).kill();
    let second = nodes.wait_for_leader();
    assert_ne!(second, first);
    nodes.node(first).restart();
    nodes.wait_for_leader();
    until("the stream on all nodes", || {
        let pages = (0..3).filter_map(|number| nodes.node(number).page("/jsz"));
        pages.filter(|page| page["streams"] == 1).count() == 3
    });
}
