use super::*;

fn reach(text: &str) -> NetworkReach {
    text.parse().unwrap()
}

#[test]
fn hosts_are_read_as_they_are_shown() {
    let shown = |text: &str| match text.parse::<NetworkReach>() {
        Ok(reach) => format!("{text} -> {reach}\n"),
        Err(error) => format!("{text} -> error: {error}\n"),
    };
    let texts = [
        "crates.io",
        "crates.io:443",
        "Crates.IO.:443, *.npmjs.org",
        "localhost:5432,127.0.0.1:5432,[::1]:8080",
        "internet",
        "*:22",
        "internet,crates.io,crates.io:8080",
        "10.0.0.7:5432,db:5432",
        "db",
        "::1",
        "::ffff:10.0.0.1",
        "",
        ",",
        "fix the bug",
        "https://crates.io",
        "a@b",
        "crates.io:0",
        "crates.io:65536",
        "crates.io:",
        "*.",
        "*.1.2.3.4",
        "*.localhost",
        "*x.io",
        "0x7f000001",
        "127.1",
        "2130706433",
        "[crates.io]:1",
        "[::1",
        "-a.io",
        "a..b",
    ];
    assert!("\u{430}.io".parse::<NetworkReach>().is_err(), "a letter that looks like another");
    insta::assert_snapshot!(texts.map(shown).concat(), @"
    crates.io -> crates.io
    crates.io:443 -> crates.io:443
    Crates.IO.:443, *.npmjs.org -> crates.io:443, *.npmjs.org
    localhost:5432,127.0.0.1:5432,[::1]:8080 -> localhost:5432, [::1]:8080
    internet -> internet
    *:22 -> internet:22
    internet,crates.io,crates.io:8080 -> internet, crates.io, crates.io:8080
    10.0.0.7:5432,db:5432 -> 10.0.0.7:5432, db:5432
    db -> error: `db` is not a host: hosts are written crates.io, *.npmjs.org:443, localhost:5432, or internet for all of them
    ::1 -> ::1
    ::ffff:10.0.0.1 -> 10.0.0.1
     -> error: `` is not a host: hosts are written crates.io, *.npmjs.org:443, localhost:5432, or internet for all of them
    , -> error: `,` is not a host: hosts are written crates.io, *.npmjs.org:443, localhost:5432, or internet for all of them
    fix the bug -> error: `fix the bug` is not a host: hosts are written crates.io, *.npmjs.org:443, localhost:5432, or internet for all of them
    https://crates.io -> error: `https://crates.io` is not a host: hosts are written crates.io, *.npmjs.org:443, localhost:5432, or internet for all of them
    a@b -> error: `a@b` is not a host: hosts are written crates.io, *.npmjs.org:443, localhost:5432, or internet for all of them
    crates.io:0 -> error: `crates.io:0` has no port between 1 and 65535 behind its colon
    crates.io:65536 -> error: `crates.io:65536` has no port between 1 and 65535 behind its colon
    crates.io: -> error: `crates.io:` has no port between 1 and 65535 behind its colon
    *. -> error: `*.` is not a host: hosts are written crates.io, *.npmjs.org:443, localhost:5432, or internet for all of them
    *.1.2.3.4 -> error: `*.1.2.3.4` is not a host: hosts are written crates.io, *.npmjs.org:443, localhost:5432, or internet for all of them
    *.localhost -> error: `*.localhost` is not a host: hosts are written crates.io, *.npmjs.org:443, localhost:5432, or internet for all of them
    *x.io -> error: `*x.io` is not a host: hosts are written crates.io, *.npmjs.org:443, localhost:5432, or internet for all of them
    0x7f000001 -> error: `0x7f000001` is not a host: hosts are written crates.io, *.npmjs.org:443, localhost:5432, or internet for all of them
    127.1 -> error: `127.1` is not a host: hosts are written crates.io, *.npmjs.org:443, localhost:5432, or internet for all of them
    2130706433 -> error: `2130706433` is not a host: hosts are written crates.io, *.npmjs.org:443, localhost:5432, or internet for all of them
    [crates.io]:1 -> error: `[crates.io]:1` is not a host: hosts are written crates.io, *.npmjs.org:443, localhost:5432, or internet for all of them
    [::1 -> error: `[::1` is not a host: hosts are written crates.io, *.npmjs.org:443, localhost:5432, or internet for all of them
    -a.io -> error: `-a.io` is not a host: hosts are written crates.io, *.npmjs.org:443, localhost:5432, or internet for all of them
    a..b -> error: `a..b` is not a host: hosts are written crates.io, *.npmjs.org:443, localhost:5432, or internet for all of them
    ");
}

#[test]
fn no_more_hosts_are_taken_than_can_be_compared() {
    let all: Vec<String> =
        (0..=DESTINATIONS_MAX).map(|port| format!("a.io:{}", port + 1)).collect();
    assert_eq!(all.join(",").parse::<NetworkReach>(), Err(NetworkError::TooMany));
    assert!(all[1..].join(",").parse::<NetworkReach>().is_ok());
}

/// Every reach that a few destinations make.
fn all() -> Vec<NetworkReach> {
    let destinations = [
        "internet:80",
        "*.example.com:80",
        "a.example.com:80",
        "public b.io:80",
        "10.0.0.1:80",
        "localhost:80",
        "127.0.0.1:80",
    ];
    let mut all: Vec<NetworkReach> = vec![NetworkReach::none()];
    for destination in destinations {
        let more: Vec<_> = all.iter().map(|one| one.and(&reach(destination)).unwrap()).collect();
        all.extend(more);
    }
    // Some say the same.
    let mut seen = std::collections::HashSet::new();
    all.retain(|one| seen.insert(one.clone()));
    all
}

#[test]
fn reaches_are_partially_ordered() {
    let all = all();
    for a in &all {
        assert!(a.is_within(a) && NetworkReach::none().is_within(a));
        for b in &all {
            assert!(!(a.is_within(b) && b.is_within(a)) || a == b, "{a} / {b}");
            for c in &all {
                assert!(!(a.is_within(b) && b.is_within(c)) || a.is_within(c), "{a} / {b} / {c}");
            }
        }
    }
}

/// A law over all triples: narrowed is within both, and nothing that is within both is wider.
#[test]
fn narrowed_is_the_widest_reach_within_both() {
    let all = all();
    for a in &all {
        for b in &all {
            let narrowed = a.narrowed(b);
            assert!(narrowed.is_within(a) && narrowed.is_within(b), "{a} / {b}");
            assert_eq!(narrowed, b.narrowed(a));
            for c in all.iter().filter(|c| c.is_within(a) && c.is_within(b)) {
                assert!(c.is_within(&narrowed), "{a} / {b}: {c} is not within {narrowed}");
            }
        }
    }
}

/// A narrowed reach permits exactly what both permit.
#[test]
fn narrowed_permits_what_both_permit() {
    let hosts = [
        "a.example.com",
        "b.example.com",
        "example.com",
        "b.io",
        "localhost",
        "127.0.0.1",
        "::1",
        "10.0.0.1",
        "1.1.1.1",
    ];
    let hosts = hosts.map(|text| Host::of_request(text).unwrap());
    let all = all();
    for a in &all {
        for b in &all {
            let narrowed = a.narrowed(b);
            for host in &hosts {
                let both = a.permits(host, 80) && b.permits(host, 80);
                assert_eq!(narrowed.permits(host, 80), both, "{a} / {b}: {host}");
                assert!(!narrowed.permits(host, 81));
                let both = a.names(host, 80) && b.names(host, 80);
                assert_eq!(narrowed.names(host, 80), both, "{a} / {b}: {host}");
            }
        }
    }
}

#[test]
fn the_internet_is_neither_this_machine_nor_a_network_of_ones_own() {
    let internet = NetworkReach::internet();
    let permits = |host: &str, port| internet.permits(&Host::of_request(host).unwrap(), port);
    assert!(permits("example.com", 443) && permits("1.1.1.1", 80));
    for host in [
        "localhost",
        "LOCALHOST.",
        "127.0.0.1",
        "::1",
        "::ffff:127.0.0.1",
        "10.0.0.1",
        "169.254.169.254",
    ] {
        assert!(!permits(host, 80), "{host}");
    }
    assert!(!permits("example.com", 22));
    assert!(!internet.names(&Host::of_request("127.0.0.1").unwrap(), 80));
}

#[test]
fn a_wildcard_is_for_names_below_it_alone() {
    let permits =
        |host: &str| reach("*.npmjs.org:443").permits(&Host::of_request(host).unwrap(), 443);
    assert!(permits("registry.npmjs.org") && permits("a.b.npmjs.org"));
    for host in ["npmjs.org", "evilnpmjs.org", "npmjs.org.evil.io", "registry.npmjs.org.evil.io"] {
        assert!(!permits(host), "{host}");
    }
}
