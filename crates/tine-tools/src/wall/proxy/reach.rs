//! From a host of a request to a connection: by what was named, and only to an address that was checked.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use async_trait::async_trait;
use hyper_util::client::proxy::matcher::Intercept;
use tine_model::{Destination, Host, LOOPBACK, NetworkReach, is_of_a_network, is_public};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::upstream;

/// The time limit for a name to resolve, and for each address to answer.
const RESOLVE_TIME_MAX: Duration = Duration::from_secs(20);
const CONNECT_TIME_MAX: Duration = Duration::from_secs(10);

/// Addresses of one name that are tried.
const ADDRESSES_MAX: usize = 6;

/// Why there is no connection.
#[derive(Debug)]
pub(super) enum Denied {
    /// The host was not named. Nothing was connected to.
    NotNamed,
    /// It is in a set that was named, and leads to this address, which is not public. Nothing was connected to.
    Inside(Destination),
    /// It was named, and leads to this address of this machine, or of a service for machines. Nothing was connected to.
    Machine(Destination),
    /// It was, and could not be reached.
    Unreachable(io::Error),
}

impl Denied {
    /// The reason, for whoever can name more.
    pub(super) fn reason(&self) -> String {
        match self {
            Self::NotNamed => "it was not named".to_owned(),
            Self::Inside(address) => {
                format!(
                    "only a set that it is in was named, and it leads to {address}, which is not public"
                )
            }
            Self::Machine(address) => {
                format!(
                    "it was named, but leads to {address}, an address of this machine or close to it, which has to be named as well"
                )
            }
            Self::Unreachable(error) => error.to_string(),
        }
    }
}

/// Resolves names to addresses.
#[async_trait]
pub(super) trait Names: Send + Sync {
    async fn addresses(&self, name: &str) -> io::Result<Vec<IpAddr>>;
}

/// As the system resolves them.
pub(super) struct SystemNames;

#[async_trait]
impl Names for SystemNames {
    async fn addresses(&self, name: &str) -> io::Result<Vec<IpAddr>> {
        let found = timeout(RESOLVE_TIME_MAX, tokio::net::lookup_host((name, 0))).await;
        Ok(found.map_err(|_| io::ErrorKind::TimedOut)??.map(|address| address.ip()).collect())
    }
}

/// Connects to the host if it may be reached, through the `upstream` proxy where there is one for it, always by a tunnel: whatever else the
/// command asks for on this connection, it asks that host. A name that was not named is
/// not even resolved: that alone would tell somebody. The upstream proxy resolves the name of a host that was named itself; one of a set it
/// reaches at an address that was checked here, since nobody knows where else the name leads.
pub(super) async fn connect(
    reach: &NetworkReach,
    names: &dyn Names,
    upstream: Option<&Intercept>,
    (host, port): (&Host, u16),
) -> Result<TcpStream, Denied> {
    if !reach.permits(host, port) {
        return Err(Denied::NotNamed);
    }
    let is_named = reach.names(host, port);
    let addresses = match host {
        Host::Address(address) => vec![*address],
        Host::Localhost => LOOPBACK.to_vec(),
        Host::Name(name) => match names.addresses(name).await {
            // Behind such a proxy often nobody but it resolves names.
            Err(_) if upstream.is_some() && is_named => Vec::new(),
            found => found.map_err(Denied::Unreachable)?,
        },
        // No request names a set of hosts.
        Host::Internet | Host::PublicName(_) | Host::Subdomains(_) => Vec::new(),
    };
    let allowed = |address: &IpAddr| may_be_at(reach, host, (*address, port).into());
    let (allowed, denied): (Vec<IpAddr>, Vec<IpAddr>) = addresses.into_iter().partition(allowed);
    if let (true, Some(address)) = (allowed.is_empty(), denied.first()) {
        let address = Destination { host: Host::Address(address.to_canonical()), port };
        return Err(if is_named { Denied::Machine(address) } else { Denied::Inside(address) });
    }
    let reached = match (upstream, allowed.first()) {
        (Some(proxy), _) if is_named => {
            upstream::tunnel(proxy, &Destination { host: host.clone(), port }).await
        }
        (Some(proxy), Some(address)) => {
            let target = Destination { host: Host::Address(*address), port };
            upstream::tunnel(proxy, &target).await
        }
        (Some(_), None) | (None, _) => {
            let allowed = allowed.into_iter().take(ADDRESSES_MAX);
            let allowed: Vec<SocketAddr> = allowed.map(|address| (address, port).into()).collect();
            connect_to(&allowed).await
        }
    };
    reached.map_err(Denied::Unreachable)
}

/// Returns true if a host that may be reached is reached at this address: one that was named itself in every network, another one at a
/// public address, and either on a machine only where the address was named.
pub(super) fn may_be_at(reach: &NetworkReach, host: &Host, at: SocketAddr) -> bool {
    let (address, port) = (at.ip().to_canonical(), at.port());
    let is_reached =
        if reach.names(host, port) { is_of_a_network(address) } else { is_public(address) };
    reach.names(&Host::Address(address), port) || is_reached && !is_of_this_machine(address)
}

/// Connects to the first of these addresses that answers.
pub(super) async fn connect_to(addresses: &[SocketAddr]) -> io::Result<TcpStream> {
    let mut last = io::Error::other("the name has no address");
    for address in addresses {
        last = match timeout(CONNECT_TIME_MAX, TcpStream::connect(address)).await {
            Ok(Ok(stream)) => {
                // What is passed on was put together by the two ends.
                let _ = stream.set_nodelay(true);
                return Ok(stream);
            }
            Ok(Err(error)) => error,
            Err(_) => io::ErrorKind::TimedOut.into(),
        };
    }
    Err(last)
}

/// Returns true for an address of one of this machine's devices: what is sent there comes from there. Sends nothing.
fn is_of_this_machine(address: IpAddr) -> bool {
    let any: SocketAddr = match address {
        IpAddr::V4(_) => (Ipv4Addr::UNSPECIFIED, 0).into(),
        IpAddr::V6(_) => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    let own = UdpSocket::bind(any).and_then(|socket| {
        socket.connect((address, 9))?;
        socket.local_addr()
    });
    own.is_ok_and(|own| own.ip() == address)
}
