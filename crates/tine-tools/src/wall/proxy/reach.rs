//! From a host of a request to a connection: by what was named, and only to an address that was checked.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, UdpSocket};
use std::time::Duration;

use async_trait::async_trait;
use tine_model::{Destination, Host, LOOPBACK, NetworkReach, is_public};
use tokio::net::TcpStream;
use tokio::time::timeout;

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
    /// Its name leads to this address, which is not public and was not named. Nothing was connected to.
    Inside(Destination),
    /// It was, and could not be reached.
    Unreachable(io::Error),
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

/// Connects to the host if it may be reached. A name that was not named is not even resolved: that alone would tell somebody.
pub(super) async fn connect(
    reach: &NetworkReach,
    names: &dyn Names,
    host: &Host,
    port: u16,
) -> Result<TcpStream, Denied> {
    if !reach.permits(host, port) {
        return Err(Denied::NotNamed);
    }
    let addresses = match host {
        Host::Address(address) => vec![*address],
        Host::Localhost => LOOPBACK.to_vec(),
        Host::Name(name) => names.addresses(name).await.map_err(Denied::Unreachable)?,
        // No request names a set of hosts.
        Host::Internet | Host::Subdomains(_) => Vec::new(),
    };
    let allowed = |address: &IpAddr| {
        reach.names(*address, port) || is_public(*address) && !is_of_this_machine(*address)
    };
    let (allowed, denied): (Vec<IpAddr>, Vec<IpAddr>) = addresses.into_iter().partition(allowed);
    match (allowed.is_empty(), denied.first()) {
        (true, Some(address)) => {
            let host = Host::Address(address.to_canonical());
            Err(Denied::Inside(Destination { host, port }))
        }
        _ => {
            let allowed: Vec<SocketAddr> = allowed
                .into_iter()
                .take(ADDRESSES_MAX)
                .map(|address| SocketAddr::from((address, port)))
                .collect();
            connect_to(&allowed).await.map_err(Denied::Unreachable)
        }
    }
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
