//! A cluster of servers.

use std::net::{Ipv4Addr, TcpListener};

use tempfile::TempDir;

use super::Node;
use super::node::{PortTaken, START_MAX, Settings};
use crate::scratch;
use crate::until::find_within;

/// Ports are free when they are chosen. Somebody else may be faster, but not so often.
const ATTEMPTS: usize = 8;

/// Servers that are one JetStream cluster on loopback. Clients are told of no other server than the one that they connect to, so that
/// they find no way around a [`Partition`](super::Partition).
#[derive(Debug)]
pub struct Nodes {
    nodes: Vec<Node>,
    _place: TempDir,
}

impl Nodes {
    /// Starts `count` servers with `config` as [`Node::start`] has it, and waits until all of them know the same leader of JetStream.
    ///
    /// # Panics
    ///
    /// With the ends of the servers' logs where there is no leader within a minute, and as [`Node::start`].
    pub fn start(count: usize, config: &str) -> Self {
        let started = (0..ATTEMPTS).find_map(|_| Self::try_start(count, config).ok());
        started.unwrap_or_else(|| panic!("the servers' ports were taken {ATTEMPTS} times"))
    }

    /// The server of this number, from 0 on.
    pub fn node(&mut self, number: usize) -> &mut Node {
        &mut self.nodes[number]
    }

    /// [`Node::url`] of each server.
    pub fn urls(&self) -> Vec<String> {
        self.nodes.iter().map(Node::url).collect()
    }

    /// The number of the server that leads JetStream (the leader of its meta group, not of a stream), once all servers that were not
    /// killed name the same one, it is none of the killed, and all are as far as it is. None may be paused.
    ///
    /// # Panics
    ///
    /// With the ends of the servers' logs where there is none within a minute.
    pub fn wait_for_leader(&mut self) -> usize {
        self.try_leader().unwrap_or_else(|PortTaken| panic!("a server's port was taken"))
    }

    fn try_start(count: usize, config: &str) -> Result<Self, PortTaken> {
        let place = scratch();
        let ports = free_ports(count);
        let routes: Vec<String> =
            ports.iter().map(|port| format!("\"nats://127.0.0.1:{port}\"")).collect();
        let routes = routes.join(", ");
        let mut nodes = Vec::new();
        for (number, port) in ports.iter().enumerate() {
            let cluster = format!(
                "cluster {{ name: nodes, listen: \"127.0.0.1:{port}\", no_advertise: true, routes: [{routes}] }}"
            );
            let settings =
                Settings { name: format!("node{number}"), config: format!("{cluster}\n{config}") };
            nodes.push(Node::try_start(&place.path().join(&settings.name), settings)?);
        }
        let mut cluster = Self { nodes, _place: place };
        cluster.try_leader()?;
        Ok(cluster)
    }

    /// A server fails to listen for routes only after it has come up.
    fn try_leader(&mut self) -> Result<usize, PortTaken> {
        let found = find_within(START_MAX, || {
            let alive = self.nodes.iter_mut().try_for_each(Node::check_alive);
            alive.map(|()| self.leader()).transpose()
        });
        found.unwrap_or_else(|| {
            let logs: Vec<String> = self.nodes.iter().map(Node::shown_log).collect();
            panic!("the servers have no leader\n{}", logs.join("\n"))
        })
    }

    fn leader(&self) -> Option<usize> {
        let mut leader = None;
        for node in self.nodes.iter().filter(|node| node.is_running()) {
            let found = node.page("/jsz")?["meta_cluster"]["leader"].as_str()?.to_owned();
            let is_healthy = node.page("/healthz")?["status"] == "ok";
            if !is_healthy || leader.as_ref().is_some_and(|leader| *leader != found) {
                return None;
            }
            leader = Some(found);
        }
        let is_it = |node: &Node| node.is_running() && leader.as_deref() == Some(node.name());
        self.nodes.iter().position(is_it)
    }
}

/// Ports that nobody listens at. They are all held until the last one is chosen, so that no two are equal.
fn free_ports(count: usize) -> Vec<u16> {
    let listen = |_| TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let listeners: Vec<TcpListener> = (0..count).map(listen).collect();
    listeners.iter().map(|listener| listener.local_addr().unwrap().port()).collect()
}
