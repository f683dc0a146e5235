//! The way out of a confined command: a proxy of tine's on the loopback of the command alone.
//!
//! A command with a network has a network namespace of its own, in which only its loopback exists. Tine listens there with
//! listeners that the inner stage has made (`namespace/loopback.rs`): the first is a proxy for HTTP and its `CONNECT`, which
//! reaches what was named and nothing else (`reach.rs`); the others stand for named ports of this machine's loopback, for programs that
//! know no proxy. The proxy decides by name, resolves the name itself, checks the addresses, and connects to one that it has
//! checked. It never looks into what it passes on. Where this machine itself reaches others by a proxy, so does tine (`upstream.rs`).

#[cfg(any(test, feature = "fuzzing"))]
mod fuzzing;
mod head;
mod reach;
mod relay;
mod upstream;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tine_model::{Destination, Host, LOOPBACK, NetworkReach};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::timeout;

#[cfg(feature = "fuzzing")]
pub use fuzzing::read_request;
use head::{Head, Request};
use reach::{Denied, Names, SystemNames, connect};
use relay::relay;
use upstream::Upstream;

/// The port of the proxy where it is free. The network is the command's own, so nobody else listens there.
const PORT: u16 = 3128;

/// Connections of one command at a time; more wait. A package manager opens one or two dozen, and each takes two descriptors of
/// tine's, which often has a thousand for everything.
const CONNECTIONS_MAX: usize = 32;

/// The time limit for a client to send the head of its request.
const HEAD_TIME_MAX: Duration = Duration::from_secs(30);

/// The time for which a refused client is still read from, so that it can read the reason.
const FAREWELL_TIME_MAX: Duration = Duration::from_secs(2);

/// The pause after a failure to accept, which happens when descriptors run out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Refused hosts that are told at the end of a command.
const REFUSALS_MAX: usize = 8;

/// Names of variables by which programs find a proxy. Most know one case of the two.
const VARIABLES: [&str; 6] =
    ["HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"];

/// Names of variables for hosts that are reached without one.
const EXCEPT_VARIABLES: [&str; 2] = ["NO_PROXY", "no_proxy"];

/// A command's own loopback is reached without the proxy: its own servers listen there, and the named ports of this machine.
const EXCEPT: &str = "localhost,127.0.0.1,::1";

/// The network of the commands of a wall.
pub(crate) struct Proxy {
    reach: NetworkReach,
    port: u16,
    /// Ports of this machine's loopback that are reached without the proxy: where the command finds each, and where it leads.
    forwards: Vec<(SocketAddr, Vec<SocketAddr>)>,
    /// Resolves names to addresses.
    names: Arc<dyn Names>,
    upstream: Upstream,
}

/// The hosts that one command was refused.
pub(crate) type Refusals = Arc<Mutex<BTreeSet<String>>>;

impl Proxy {
    /// `None` without a network. `variables` name the proxy by which this machine itself reaches others.
    pub(super) fn new(reach: &NetworkReach, variables: &[(OsString, OsString)]) -> Option<Self> {
        let upstream = Upstream::of(variables);
        (!reach.is_none()).then(|| Self::with_names(reach, Arc::new(SystemNames), upstream))
    }

    fn with_names(reach: &NetworkReach, names: Arc<dyn Names>, upstream: Upstream) -> Self {
        let forwards: Vec<_> = reach.destinations().filter_map(forward).collect();
        let is_free = |port: &u16| forwards.iter().all(|(own, _)| own.port() != *port);
        let port = (PORT..u16::MAX).find(is_free).unwrap_or(PORT);
        Self { reach: reach.clone(), port, forwards, names, upstream }
    }

    /// Where commands may connect to.
    pub(super) fn reach(&self) -> &NetworkReach {
        &self.reach
    }

    /// The addresses to listen at in the command's network, the proxy's first.
    pub(super) fn addresses(&self) -> Vec<SocketAddr> {
        let own = SocketAddr::from((Ipv4Addr::LOCALHOST, self.port));
        std::iter::once(own).chain(self.forwards.iter().map(|(at, _)| *at)).collect()
    }

    /// The port at which it listens in the command's loopback.
    pub(super) fn port(&self) -> u16 {
        self.port
    }

    /// The ports of the command's loopback at which tine listens, as a list for people.
    pub(crate) fn taken_ports(&self) -> String {
        let ports = self.addresses().into_iter().map(|address| address.port());
        ports.map(|port| port.to_string()).collect::<Vec<_>>().join(", ")
    }

    /// The variables by which the command finds the proxy.
    pub(super) fn variables(&self) -> Vec<(OsString, OsString)> {
        let proxy = format!("http://127.0.0.1:{}", self.port);
        let all = VARIABLES.map(|name| (name.into(), proxy.clone().into()));
        let except = EXCEPT_VARIABLES.map(|name| (name.into(), EXCEPT.into()));
        // Node looks for the variables only when it is told to.
        let node = [("NODE_USE_ENV_PROXY".into(), "1".into())];
        all.into_iter().chain(except).chain(node).collect()
    }

    /// Answers at these listeners, which stand for [`Proxy::addresses`], until it is dropped.
    pub(crate) async fn serve(
        self: Arc<Self>,
        listeners: Vec<std::net::TcpListener>,
        refusals: Refusals,
    ) -> io::Result<()> {
        let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        let mut all = JoinSet::new();
        for (number, listener) in listeners.into_iter().enumerate() {
            listener.set_nonblocking(true)?;
            let listener = TcpListener::from_std(listener)?;
            let (own, places, refusals) =
                (Arc::clone(&self), Arc::clone(&places), Arc::clone(&refusals));
            all.spawn(async move {
                let mut connections = JoinSet::new();
                loop {
                    let Ok((client, _)) = listener.accept().await else {
                        tokio::time::sleep(ACCEPT_PAUSE).await;
                        continue;
                    };
                    // Only behind a connection: one that nobody uses must not take a place from the others.
                    let Ok(place) = Arc::clone(&places).acquire_owned().await else { return };
                    while connections.try_join_next().is_some() {}
                    let (own, refusals) = (Arc::clone(&own), Arc::clone(&refusals));
                    connections.spawn(async move {
                        match number.checked_sub(1) {
                            None => own.answer(client, &refusals).await,
                            Some(forward) => own.forward(client, forward).await,
                        }
                        drop(place);
                    });
                }
            });
        }
        while all.join_next().await.is_some() {}
        Ok(())
    }

    /// One connection of the proxy: one request, and what follows it.
    async fn answer(&self, mut client: TcpStream, refusals: &Refusals) {
        let Ok(head) = timeout(HEAD_TIME_MAX, read_head(&mut client)).await else {
            return refuse(client, "408 Request Timeout", "no request came").await;
        };
        let Head { request, rest } = match head {
            Ok(Some(head)) => head,
            Ok(None) => return,
            Err(malformed) => {
                return refuse(client, malformed.status(), malformed.words()).await;
            }
        };
        let (host, port) = request.target();
        let upstream = self.upstream.to(host, port, matches!(request, Request::Plain { .. }));
        let target = request.target();
        let reached = connect(&self.reach, &*self.names, upstream.as_ref(), target).await;
        let mut server = match reached {
            Ok(server) => server,
            Err(denied @ (Denied::NotNamed | Denied::Inside(_) | Denied::Machine(_))) => {
                let target = Destination { host: host.clone(), port }.to_string();
                let words = self.refusal(&target, &denied);
                note(refusals, &target, &denied);
                return refuse(client, &format!("403 {target} is not allowed"), &words).await;
            }
            Err(Denied::Unreachable(error)) => {
                return refuse(client, "502 Bad Gateway", &format!("{host}:{port}: {error}")).await;
            }
        };
        let begun = match &request {
            Request::Tunnel { .. } => {
                client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await
            }
            Request::Plain { head, .. } => server.write_all(head).await,
        };
        if begun.is_ok() && server.write_all(&rest).await.is_ok() {
            relay(client, server).await;
        }
    }

    fn refusal(&self, target: &str, denied: &Denied) -> String {
        let (why, reach) = (denied.reason(), &self.reach);
        let more = match denied {
            Denied::Machine(address) => address.to_string(),
            Denied::Inside(_) | Denied::NotNamed | Denied::Unreachable(_) => target.to_owned(),
        };
        format!(
            "tine: this command may not reach {target}: {why}. It may reach: {reach}. A person allows more with `--network {more}`"
        )
    }

    /// One connection to a port of this machine.
    async fn forward(&self, client: TcpStream, number: usize) {
        let Some((_, targets)) = self.forwards.get(number) else { return };
        // Who waits there, and whether anybody does, is the machine's to say.
        if let Ok(server) = reach::connect_to(targets).await {
            relay(client, server).await;
        }
    }
}

/// Where a command finds a port of this machine's loopback that was named, and where that leads.
fn forward(destination: &Destination) -> Option<(SocketAddr, Vec<SocketAddr>)> {
    let Destination { host, port } = destination;
    let at = |address: IpAddr| SocketAddr::from((address, *port));
    match host {
        Host::Localhost => Some((at(LOOPBACK[0]), LOOPBACK.map(at).into())),
        Host::Address(address) if address.is_loopback() => Some((at(*address), vec![at(*address)])),
        Host::Address(_)
        | Host::Internet
        | Host::Name(_)
        | Host::PublicName(_)
        | Host::Subdomains(_) => None,
    }
}

/// Reads until the head is whole; `None` if the client goes before it says anything.
async fn read_head(client: &mut TcpStream) -> Result<Option<Head>, head::Malformed> {
    let mut bytes = Vec::new();
    loop {
        let room = head::BYTES_MAX - bytes.len();
        let read = (&mut *client).take(room as u64).read_buf(&mut bytes).await;
        if !matches!(read, Ok(1..)) {
            return if bytes.is_empty() { Ok(None) } else { Err(head::Malformed::Short) };
        }
        if let Some(head) = head::parse(&bytes)? {
            return Ok(Some(head));
        }
        if bytes.len() == head::BYTES_MAX {
            return Err(head::Malformed::Long);
        }
    }
}

/// Says no, and waits a little for the client to read it.
async fn refuse(mut client: TcpStream, status: &str, words: &str) {
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{words}\n",
        words.len() + 1
    );
    let farewell = async {
        client.write_all(answer.as_bytes()).await?;
        client.shutdown().await?;
        // A connection that is closed over unread bytes is reset, and the answer with it.
        let mut waste = [0; 4096];
        while client.read(&mut waste).await? > 0 {}
        io::Result::Ok(())
    };
    // Whether the client has read it is the client's matter.
    drop(timeout(FAREWELL_TIME_MAX, farewell).await);
}

fn note(refusals: &Refusals, target: &str, denied: &Denied) {
    let text = format!("{target} ({})", denied.reason());
    let mut all = refusals.lock().unwrap_or_else(PoisonError::into_inner);
    if all.len() < REFUSALS_MAX {
        all.insert(text);
    }
}

#[cfg(test)]
mod tests;
