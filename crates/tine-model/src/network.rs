//! The network of confined commands: hosts and ports by name, never all that the machine can reach.

use std::collections::BTreeSet;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::str::FromStr;

use crate::public_address::is_public;

/// Ports of a host that is named without one: the web's.
pub const WEB_PORTS: [u16; 2] = [80, 443];

/// Most destinations of one reach: more than a person writes, and few enough to compare and to listen for.
pub const DESTINATIONS_MAX: usize = 100;

/// The longest name of a host, as in the domain name system.
const NAME_BYTES_MAX: usize = 253;

/// The word for every public address.
const INTERNET: &str = "internet";

/// The word in front of a name that counts only where it leads to a public address.
const PUBLIC: &str = "public ";

/// The name of this machine for itself.
const LOCALHOST: &str = "localhost";

/// A host, or a set of hosts.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Host {
    /// Every host with a public address.
    Internet,
    /// This machine, by `127.0.0.1` and `::1`.
    Localhost,
    /// The host at this address, public or not.
    Address(IpAddr),
    /// The host of this name, in whatever network it is, but not on this machine. Lower case.
    Name(String),
    /// The host of this name, where it leads to a public address: what a name and a set that it is in have in common. Lower case.
    PublicName(String),
    /// All hosts whose names end with a dot and this one, where they lead to a public address. Lower case.
    Subdomains(String),
}

/// A port of a host.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Destination {
    /// The host.
    pub host: Host,
    /// The port.
    pub port: u16,
}

/// The destinations that confined commands may connect to. Without any there is no network. None covers another.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct NetworkReach(BTreeSet<Destination>);

/// Why a text names no host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NetworkError {
    /// It is neither a name nor an address.
    #[error(
        "`{0}` is not a host: hosts are written crates.io, *.npmjs.org:443, localhost:5432, or internet for all of them"
    )]
    Host(String),
    /// The port is none.
    #[error("`{0}` has no port between 1 and 65535 behind its colon")]
    Port(String),
    /// There are too many.
    #[error("there are more than {DESTINATIONS_MAX} hosts and ports")]
    TooMany,
}

impl Host {
    /// The one host that a request names: an address, this machine, or a name. Never a set of hosts.
    pub fn of_request(text: &str) -> Option<Self> {
        if let Ok(address) = text.parse::<IpAddr>() {
            return Some(Self::Address(address.to_canonical()));
        }
        let name = text.strip_suffix('.').unwrap_or(text).to_ascii_lowercase();
        if name == LOCALHOST {
            return Some(Self::Localhost);
        }
        is_name(&name).then_some(Self::Name(name))
    }

    fn parse(text: &str) -> Option<Self> {
        match text {
            INTERNET | "*" => Some(Self::Internet),
            _ => {
                let below = text.strip_prefix("*.");
                let Some(rest) = below.or_else(|| text.strip_prefix(PUBLIC)) else {
                    return Self::of_request(text);
                };
                match (Self::of_request(rest)?, below) {
                    (Self::Name(name), Some(_)) => Some(Self::Subdomains(name)),
                    (Self::Name(name), None) => Some(Self::PublicName(name)),
                    _ => None,
                }
            }
        }
    }

    /// The host of a name without what a person's own word for it adds.
    fn publicly(&self) -> Self {
        match self {
            Self::Name(name) => Self::PublicName(name.clone()),
            other => other.clone(),
        }
    }

    /// Returns true if each host of `other` is one of these.
    fn covers(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Internet, Self::PublicName(_) | Self::Subdomains(_)) => true,
            (Self::Internet, Self::Address(address)) => is_public(*address),
            (Self::Localhost, Self::Address(address)) => LOOPBACK.contains(address),
            (Self::Name(own), Self::PublicName(name)) => own == name,
            (Self::Subdomains(above), Self::PublicName(name)) => is_below(name, above),
            (Self::Subdomains(above), Self::Subdomains(name)) => {
                name == above || is_below(name, above)
            }
            (own, other) => own == other,
        }
    }
}

/// The addresses of [`Host::Localhost`], in the order in which they are tried.
pub const LOOPBACK: [IpAddr; 2] =
    [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];

impl Destination {
    fn covers(&self, other: &Self) -> bool {
        self.port == other.port && self.host.covers(&other.host)
    }

    fn publicly(&self) -> Self {
        Self { host: self.host.publicly(), port: self.port }
    }
}

impl NetworkReach {
    /// No network.
    pub const fn none() -> Self {
        Self(BTreeSet::new())
    }

    /// The web of every public address.
    pub fn internet() -> Self {
        Self(WEB_PORTS.map(|port| Destination { host: Host::Internet, port }).into())
    }

    /// All of these, without those that others cover.
    pub fn new(destinations: impl IntoIterator<Item = Destination>) -> Result<Self, NetworkError> {
        let own = Self::widest(destinations.into_iter().collect());
        if own.0.len() > DESTINATIONS_MAX { Err(NetworkError::TooMany) } else { Ok(own) }
    }

    fn widest(all: BTreeSet<Destination>) -> Self {
        let is_covered =
            |own: &Destination| all.iter().any(|other| other != own && other.covers(own));
        Self(all.iter().filter(|own| !is_covered(own)).cloned().collect())
    }

    /// The union: everything that either of them reaches.
    pub fn and(&self, other: &Self) -> Result<Self, NetworkError> {
        Self::new(self.0.iter().chain(&other.0).cloned())
    }

    /// Returns true if there is no network.
    pub fn is_none(&self) -> bool {
        self.0.is_empty()
    }

    /// The destinations, in a fixed order.
    pub fn destinations(&self) -> impl Iterator<Item = &Destination> {
        self.0.iter()
    }

    /// Returns true if this reaches nothing that `other` does not.
    pub fn is_within(&self, other: &Self) -> bool {
        self.0.iter().all(|own| other.0.iter().any(|others| others.covers(own)))
    }

    /// The intersection: everything that both reach. Two destinations have nothing in common unless one covers the other, or what the other
    /// is where it is public.
    #[must_use]
    pub fn narrowed(&self, other: &Self) -> Self {
        let within = |one: &Self, other: &Self| -> Vec<Destination> {
            let is_covered = |own: &Destination| other.0.iter().any(|others| others.covers(own));
            let all = one.0.iter().flat_map(|own| [own.clone(), own.publicly()]);
            all.filter(is_covered).collect()
        };
        let both = within(self, other).into_iter().chain(within(other, self));
        Self::widest(both.collect())
    }

    /// Returns true if a connection to this host of a request may be tried. The address that the host leads to counts as well.
    pub fn permits(&self, host: &Host, port: u16) -> bool {
        let has = |host: Host| {
            let wanted = Destination { host, port };
            self.0.iter().any(|own| own.covers(&wanted))
        };
        match host {
            Host::Localhost => LOOPBACK.iter().any(|address| has(Host::Address(*address))),
            one => has(one.publicly()),
        }
    }

    /// Returns true if the host is named itself, and not only as one of a set: then it counts in a private network as well, since below
    /// some names everybody can have one that leads anywhere. An address is given as [`IpAddr::to_canonical`] makes it.
    pub fn names(&self, host: &Host, port: u16) -> bool {
        let is_named = |own: &Destination| match own.host {
            Host::Localhost | Host::Address(_) | Host::Name(_) => {
                own.port == port && own.host.covers(host)
            }
            Host::Internet | Host::PublicName(_) | Host::Subdomains(_) => false,
        };
        self.0.iter().any(is_named)
    }
}

impl fmt::Display for Destination {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.host {
            Host::Address(IpAddr::V6(address)) => write!(formatter, "[{address}]:{}", self.port),
            Host::Address(IpAddr::V4(_))
            | Host::Internet
            | Host::Localhost
            | Host::Name(_)
            | Host::PublicName(_)
            | Host::Subdomains(_) => write!(formatter, "{}:{}", self.host, self.port),
        }
    }
}

impl fmt::Display for Host {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Internet => formatter.write_str(INTERNET),
            Self::Localhost => formatter.write_str(LOCALHOST),
            Self::Address(address) => write!(formatter, "{address}"),
            Self::Name(name) => formatter.write_str(name),
            Self::PublicName(name) => write!(formatter, "{PUBLIC}{name}"),
            Self::Subdomains(name) => write!(formatter, "*.{name}"),
        }
    }
}

/// As it is typed, each host once where it has the web's ports: `crates.io, localhost:5432`.
impl fmt::Display for NetworkReach {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut before = "";
        let has = |host: &Host, port| self.0.contains(&Destination { host: host.clone(), port });
        for destination in &self.0 {
            let Destination { host, port } = destination;
            let is_web = WEB_PORTS.iter().all(|web| has(host, *web));
            match (is_web, *port == WEB_PORTS[0], WEB_PORTS.contains(port)) {
                (true, true, _) => write!(formatter, "{before}{host}")?,
                (true, false, true) => continue,
                _ => write!(formatter, "{before}{destination}")?,
            }
            before = ", ";
        }
        Ok(())
    }
}

/// Hosts with or without ports, parted by commas.
impl FromStr for NetworkReach {
    type Err = NetworkError;

    fn from_str(text: &str) -> Result<Self, NetworkError> {
        let mut all = Vec::new();
        for one in text.split(',').map(str::trim).filter(|one| !one.is_empty()) {
            all.extend(parse(one)?);
        }
        if all.is_empty() { Err(NetworkError::Host(text.to_owned())) } else { Self::new(all) }
    }
}

fn parse(text: &str) -> Result<Vec<Destination>, NetworkError> {
    let is_path = text.contains(['/', '@']);
    let (host, port) =
        parts(text).filter(|_| !is_path).ok_or_else(|| NetworkError::Host(text.to_owned()))?;
    let ports = match port {
        None => WEB_PORTS.to_vec(),
        Some(port) => match port.parse::<u16>() {
            Ok(port) if port > 0 => vec![port],
            _ => return Err(NetworkError::Port(text.to_owned())),
        },
    };
    let host = Host::parse(host).ok_or_else(|| NetworkError::Host(text.to_owned()))?;
    if matches!(&host, Host::Name(name) if port.is_none() && !name.contains('.')) {
        // A word alone is rather one of a prompt that stands behind the option.
        return Err(NetworkError::Host(text.to_owned()));
    }
    Ok(ports.into_iter().map(|port| Destination { host: host.clone(), port }).collect())
}

/// The host and the port of an authority. An address with colons stands in brackets where it has a port.
fn parts(text: &str) -> Option<(&str, Option<&str>)> {
    if let Some(rest) = text.strip_prefix('[') {
        let (host, rest) = rest.split_once(']')?;
        host.parse::<Ipv6Addr>().ok()?;
        return match rest {
            "" => Some((host, None)),
            _ => Some((host, Some(rest.strip_prefix(':')?))),
        };
    }
    if text.parse::<Ipv6Addr>().is_ok() {
        return Some((text, None));
    }
    Some(match text.split_once(':') {
        Some((host, port)) => (host, Some(port)),
        None => (text, None),
    })
}

/// Returns true for a name of the domain name system, in lower case, that cannot be taken for an address in any notation.
fn is_name(name: &str) -> bool {
    let is_label = |label: &str| {
        let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        let bytes = label.as_bytes();
        (1..=63).contains(&bytes.len())
            && bytes.iter().all(|byte| plain(*byte) || matches!(byte, b'-' | b'_'))
            && bytes.first() != Some(&b'-')
            && bytes.last() != Some(&b'-')
    };
    // Resolvers take `127.1` and `0x7f000001` for addresses; no top-level name begins with a digit.
    let last = name.rsplit('.').next().unwrap_or_default();
    name.len() <= NAME_BYTES_MAX
        && name.split('.').all(is_label)
        && !last.starts_with(|first: char| first.is_ascii_digit())
}

fn is_below(name: &str, above: &str) -> bool {
    name.strip_suffix(above).is_some_and(|rest| rest.len() > 1 && rest.ends_with('.'))
}

#[cfg(test)]
#[path = "network_tests.rs"]
mod tests;
