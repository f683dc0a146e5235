//! Tells addresses of the internet from those of networks of one's own, and of machines.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Returns true for an address of the internet: none of this machine, of a private or local network, of a service for machines
/// in a cloud, or of nobody. By IANA's registries of special addresses.
pub fn is_public(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => is_public_v6(address),
    }
}

/// Services that tell a machine in a cloud about itself, its keys among that, at addresses that look like those of a network. By the
/// documentation of Alibaba Cloud, Oracle Cloud and Azure, and of AWS and Google for the newer kind of address.
const CLOUD_V4: [Ipv4Addr; 3] = [
    Ipv4Addr::new(100, 100, 100, 200),
    Ipv4Addr::new(192, 0, 0, 192),
    Ipv4Addr::new(168, 63, 129, 16),
];
const CLOUD_V6: [Ipv6Addr; 2] = [
    Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254),
    Ipv6Addr::new(0xfd20, 0xce, 0, 0, 0, 0, 0, 0x254),
];

/// Returns true for an address of some network, public or private: none of this machine, of whatever is on the same cable (169.254/16,
/// fe80::/10), of a service that tells a machine in a cloud about itself, or of many machines at once.
pub fn is_of_a_network(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => is_of_a_network_v4(address),
        IpAddr::V6(address) => match translated(address) {
            Some(address) => is_of_a_network_v4(address),
            // Of a network of one's own, or public.
            None => is_public_v6(address) || is_unique_local(address),
        },
    }
}

fn is_of_a_network_v4(address: Ipv4Addr) -> bool {
    let [a, b, ..] = address.octets();
    !matches!((a, b), (0 | 127 | 224.., _) | (169, 254)) && !CLOUD_V4.contains(&address)
}

fn is_unique_local(address: Ipv6Addr) -> bool {
    address.segments()[0] & 0xfe00 == 0xfc00 && !CLOUD_V6.contains(&address)
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_special = matches!(
        (a, b, c),
        (0 | 10 | 127, _, _)
            | (224.., _, _)
            | (100, 64..=127, _)
            | (169, 254, _)
            | (172, 16..=31, _)
            | (192, 168, _)
            | (192, 0, 0 | 2)
            | (192, 88, 99)
            | (198, 18..=19, _)
            | (198, 51, 100)
            | (203, 0, 113)
    );
    !is_special && !CLOUD_V4.contains(&address)
}

/// The address of the older kind that one behind a translator stands for.
fn translated(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let [0x64, 0xff9b, 0, 0, 0, 0, high, low] = address.segments() else { return None };
    let [[a, b], [c, d]] = [high, low].map(u16::to_be_bytes);
    Some(Ipv4Addr::new(a, b, c, d))
}

fn is_public_v6(address: Ipv6Addr) -> bool {
    let segments = address.segments();
    if let Some(address) = translated(address) {
        return is_public_v4(address);
    }
    match (segments[0], segments[1]) {
        // Protocols of their own, tunnels to older addresses among them.
        (0x2001, 0..=0x1ff) | (0x2002, _) => false,
        // Examples in documents.
        (0x2001, 0xdb8) | (0x3fff, 0..=0xfff) => false,
        // Of all the others only these are given out.
        (first, _) => first & 0xe000 == 0x2000,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn networks_are_told_from_machines_and_their_services() {
        let is = |text: &str| is_of_a_network(text.parse().unwrap());
        for text in [
            "10.1.2.3",
            "172.17.0.9",
            "192.168.1.1",
            "100.64.0.1",
            "203.0.113.80",
            "1.1.1.1",
            "::ffff:10.1.2.3",
            "64:ff9b::10.1.2.3",
            "fd12:3456::1",
            "2606:4700::1111",
        ] {
            assert!(is(text), "{text}");
        }
        for text in [
            "0.0.0.0",
            "127.0.0.1",
            "127.9.9.9",
            "169.254.169.254",
            "100.100.100.200",
            "192.0.0.192",
            "168.63.129.16",
            "224.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::127.0.0.1",
            "::ffff:127.0.0.1",
            "64:ff9b::127.0.0.1",
            "64:ff9b:1::127.0.0.1",
            "2002:7f00:1::",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "fd00:ec2::254",
            "fd20:ce::254",
        ] {
            assert!(!is(text), "{text}");
        }
        assert!(!is_public("168.63.129.16".parse().unwrap()));
    }

    #[test]
    fn addresses_of_machines_and_networks_of_ones_own_are_not_public() {
        for text in [
            "0.0.0.0",
            "10.1.2.3",
            "100.64.0.1",
            "100.127.255.255",
            "127.0.0.1",
            "127.9.9.9",
            "169.254.169.254",
            "172.16.0.1",
            "172.31.255.255",
            "192.0.0.8",
            "192.0.2.1",
            "192.88.99.1",
            "192.168.1.1",
            "198.18.0.1",
            "198.19.255.255",
            "198.51.100.1",
            "203.0.113.9",
            "224.0.0.1",
            "239.1.1.1",
            "240.0.0.1",
            "255.255.255.255",
            "::",
            "::1",
            "::ffff:127.0.0.1",
            "::ffff:10.0.0.1",
            "::127.0.0.1",
            "64:ff9b::a00:1",
            "64:ff9b::7f00:1",
            "64:ff9b:1::1",
            "100::1",
            "2001::1",
            "2001:1ff::",
            "2001:db8::1",
            "2002:7f00:1::",
            "3fff::1",
            "fc00::1",
            "fd12:3456::1",
            "fe80::1",
            "fec0::1",
            "ff02::1",
            "4000::1",
        ] {
            assert!(!is_public(text.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn addresses_of_the_internet_are_public() {
        for text in [
            "1.1.1.1",
            "9.255.255.255",
            "11.0.0.0",
            "100.63.255.255",
            "100.128.0.0",
            "126.0.0.1",
            "128.0.0.1",
            "169.253.0.1",
            "172.15.255.255",
            "172.32.0.0",
            "192.0.1.1",
            "192.169.0.1",
            "198.17.0.1",
            "198.20.0.1",
            "223.255.255.255",
            "::ffff:1.1.1.1",
            "64:ff9b::101:101",
            "2001:200::1",
            "2606:4700::1111",
            "3ffe::1",
        ] {
            assert!(is_public(text.parse().unwrap()), "{text}");
        }
    }
}
