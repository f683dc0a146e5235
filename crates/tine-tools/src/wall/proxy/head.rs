//! The head of a request to the proxy, and what is passed on of it.

use std::fmt::Write as _;

use tine_model::Host;

/// The largest head: what large servers take.
pub(super) const BYTES_MAX: usize = 16 * 1024;

/// Most header fields of one request.
pub(super) const FIELDS_MAX: usize = 100;

/// Fields about the connection to the proxy alone, or that are written anew.
const OWN_FIELDS: [&str; 8] = [
    "host",
    "connection",
    "keep-alive",
    "proxy-connection",
    "proxy-authorization",
    "proxy-authenticate",
    "te",
    "upgrade",
];

/// The request of a client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Request {
    /// A connection to this host (`CONNECT`).
    Tunnel { host: Host, port: u16 },
    /// An answer of this server (`GET http://…`). `head` is what the server is sent.
    Plain { host: Host, port: u16, head: Vec<u8> },
}

impl Request {
    pub(super) fn target(&self) -> (&Host, u16) {
        match self {
            Self::Tunnel { host, port } | Self::Plain { host, port, .. } => (host, *port),
        }
    }
}

/// A request, and the bytes that came behind its head.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Head {
    pub(super) request: Request,
    pub(super) rest: Vec<u8>,
}

/// Why a request is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Malformed {
    /// It is not HTTP.
    Syntax,
    /// It ends in the middle.
    Short,
    /// It has more bytes or fields than are read.
    Long,
    /// It names no host and port, or a path alone.
    Target,
    /// It is for another scheme than `http`.
    Scheme,
}

impl Malformed {
    pub(super) fn status(self) -> &'static str {
        match self {
            Self::Long => "431 Request Header Fields Too Large",
            Self::Syntax | Self::Short | Self::Target | Self::Scheme => "400 Bad Request",
        }
    }

    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Syntax => "tine: this is a proxy for HTTP, and that was no request",
            Self::Short => "tine: the request ended in the middle",
            Self::Long => {
                "tine: the head of the request is longer than 16 KiB or has more than 100 fields"
            }
            Self::Target => {
                "tine: this is a proxy: ask with CONNECT host:port or for a whole http:// address"
            }
            Self::Scheme => "tine: this proxy knows http:// and CONNECT",
        }
    }
}

/// Reads the head; `None` while it is not whole.
pub(super) fn parse(bytes: &[u8]) -> Result<Option<Head>, Malformed> {
    let mut fields = [httparse::EMPTY_HEADER; FIELDS_MAX];
    let mut request = httparse::Request::new(&mut fields);
    let length = match request.parse(bytes) {
        Ok(httparse::Status::Complete(length)) => length,
        Ok(httparse::Status::Partial) => return Ok(None),
        Err(httparse::Error::TooManyHeaders) => return Err(Malformed::Long),
        Err(_) => return Err(Malformed::Syntax),
    };
    let (Some(method), Some(target), Some(version)) =
        (request.method, request.path, request.version)
    else {
        return Err(Malformed::Syntax);
    };
    let rest = bytes.get(length..).unwrap_or_default().to_vec();
    let request = match method {
        "CONNECT" => tunnel(target)?,
        _ => plain((method, version), target, request.headers)?,
    };
    Ok(Some(Head { request, rest }))
}

fn tunnel(target: &str) -> Result<Request, Malformed> {
    match authority(target) {
        Some((host, Some(port))) => Ok(Request::Tunnel { host, port }),
        Some((_, None)) | None => Err(Malformed::Target),
    }
}

/// The request as the server gets it: the path alone, one `Host`, and no further request on the same connection.
fn plain(
    (method, version): (&str, u8),
    target: &str,
    fields: &[httparse::Header<'_>],
) -> Result<Request, Malformed> {
    let (scheme, rest) = target.split_once("://").ok_or(Malformed::Target)?;
    if !scheme.eq_ignore_ascii_case("http") {
        return Err(Malformed::Scheme);
    }
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (named, path) = rest.split_at(end);
    let (host, port) = authority(named).ok_or(Malformed::Target)?;
    let path = path.split('#').next().unwrap_or_default();
    let slash = if path.starts_with('/') { "" } else { "/" };
    let mut text = String::new();
    // Writing to a text cannot fail.
    let _ = write!(text, "{method} {slash}{path} HTTP/1.{version}\r\nHost: {named}\r\n");
    let mut head = text.into_bytes();
    for field in fields {
        if OWN_FIELDS.iter().any(|own| field.name.eq_ignore_ascii_case(own)) {
            continue;
        }
        head.extend([field.name.as_bytes(), b": ", field.value, b"\r\n"].concat());
    }
    head.extend(b"Connection: close\r\n\r\n");
    Ok(Request::Plain { host, port: port.unwrap_or(80), head })
}

/// A host and the port behind it. Names and passwords in front of a host are not read.
fn authority(text: &str) -> Option<(Host, Option<u16>)> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest.split_once(']')?;
            host.parse::<std::net::Ipv6Addr>().ok()?;
            (host, rest)
        }
        None => text.split_at(text.find(':').unwrap_or(text.len())),
    };
    let port = match port.strip_prefix(':') {
        Some(digits) if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            Some(digits.parse::<u16>().ok().filter(|port| *port > 0)?)
        }
        Some(_) => return None,
        None if port.is_empty() => None,
        None => return None,
    };
    Some((Host::of_request(host)?, port))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::fuzzing::read_request;
    use super::*;

    fn shown(text: &str) -> String {
        let what = match parse(text.as_bytes()) {
            Ok(None) => "more is to come".to_owned(),
            Ok(Some(Head { request: Request::Tunnel { host, port }, rest })) => {
                format!("tunnel to {host} {port}, then {} bytes", rest.len())
            }
            Ok(Some(Head { request: Request::Plain { host, port, head }, rest })) => {
                let head = String::from_utf8_lossy(&head).replace("\r\n", "|");
                format!("{host} {port} gets {head} and {} bytes", rest.len())
            }
            Err(malformed) => format!("{malformed:?}"),
        };
        format!("{} -> {what}\n", text.escape_debug())
    }

    #[test]
    fn requests_name_a_host_and_a_port() {
        let texts = [
            "CONNECT crates.io:443 HTTP/1.1\r\nHost: crates.io:443\r\n\r\nhello",
            "CONNECT [::1]:8080 HTTP/1.1\r\n\r\n",
            "CONNECT LOCALHOST.:5432 HTTP/1.0\r\n\r\n",
            "CONNECT crates.io HTTP/1.1\r\n\r\n",
            "CONNECT crates.io:0 HTTP/1.1\r\n\r\n",
            "CONNECT crates.io:+80 HTTP/1.1\r\n\r\n",
            "CONNECT a:b@crates.io:443 HTTP/1.1\r\n\r\n",
            "CONNECT 0x7f.1:443 HTTP/1.1\r\n\r\n",
            "CONNECT http://crates.io:443 HTTP/1.1\r\n\r\n",
            "GET http://a.io/x?y#z HTTP/1.1\r\nHost: b.io\r\nAccept: */*\r\nProxy-Authorization: x\r\n\r\n",
            "POST http://a.io:81?q HTTP/1.1\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nok",
            "GET HTTP://[::1]/ HTTP/1.0\r\n\r\n",
            "GET https://a.io/ HTTP/1.1\r\n\r\n",
            "GET http:///x HTTP/1.1\r\n\r\n",
            "GET http://u:p@a.io/ HTTP/1.1\r\n\r\n",
            "GET /x HTTP/1.1\r\nHost: a.io\r\n\r\n",
            "GET http://a.io/\nX: y\n\n",
            "GET http://a.io/ HTTP/1.1\r\nX: y\r\n z\r\n\r\n",
            "GET http://a.io/ HTTP/1.1\r\nX: y",
            "\u{16}\u{3}\u{1}",
        ];
        insta::assert_snapshot!(texts.map(shown).concat(), @r"
        CONNECT crates.io:443 HTTP/1.1\r\nHost: crates.io:443\r\n\r\nhello -> tunnel to crates.io 443, then 5 bytes
        CONNECT [::1]:8080 HTTP/1.1\r\n\r\n -> tunnel to ::1 8080, then 0 bytes
        CONNECT LOCALHOST.:5432 HTTP/1.0\r\n\r\n -> tunnel to localhost 5432, then 0 bytes
        CONNECT crates.io HTTP/1.1\r\n\r\n -> Target
        CONNECT crates.io:0 HTTP/1.1\r\n\r\n -> Target
        CONNECT crates.io:+80 HTTP/1.1\r\n\r\n -> Target
        CONNECT a:b@crates.io:443 HTTP/1.1\r\n\r\n -> Target
        CONNECT 0x7f.1:443 HTTP/1.1\r\n\r\n -> Target
        CONNECT http://crates.io:443 HTTP/1.1\r\n\r\n -> Target
        GET http://a.io/x?y#z HTTP/1.1\r\nHost: b.io\r\nAccept: */*\r\nProxy-Authorization: x\r\n\r\n -> a.io 80 gets GET /x?y HTTP/1.1|Host: a.io|Accept: */*|Connection: close|| and 0 bytes
        POST http://a.io:81?q HTTP/1.1\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nok -> a.io 81 gets POST /?q HTTP/1.1|Host: a.io:81|Content-Length: 2|Connection: close|| and 2 bytes
        GET HTTP://[::1]/ HTTP/1.0\r\n\r\n -> ::1 80 gets GET / HTTP/1.0|Host: [::1]|Connection: close|| and 0 bytes
        GET https://a.io/ HTTP/1.1\r\n\r\n -> Scheme
        GET http:///x HTTP/1.1\r\n\r\n -> Target
        GET http://u:p@a.io/ HTTP/1.1\r\n\r\n -> Target
        GET /x HTTP/1.1\r\nHost: a.io\r\n\r\n -> Target
        GET http://a.io/\nX: y\n\n -> Syntax
        GET http://a.io/ HTTP/1.1\r\nX: y\r\n z\r\n\r\n -> Syntax
        GET http://a.io/ HTTP/1.1\r\nX: y -> more is to come
        \u{16}\u{3}\u{1} -> Syntax
        ");
        let many =
            format!("GET http://a.io/ HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(FIELDS_MAX + 1));
        assert_eq!(parse(many.as_bytes()), Err(Malformed::Long));
    }

    proptest! {
        #[test]
        fn any_bytes_are_answered(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
            read_request(&bytes);
        }

        /// What a server is sent is one request, whatever the client has written.
        #[test]
        fn what_is_passed_on_is_one_request(
            method in "[A-Z]{1,6}",
            target in "(http://)?[a-z0-9.:@\\[\\]/?#%-]{0,30}",
            fields in prop::collection::vec(("[A-Za-z-]{1,12}", "[ -~\\t\\x80-\\xff]{0,20}"), 0..6),
            end in prop::sample::select(vec!["\r\n", "\n", "\r"]),
        ) {
            let mut text = format!("{method} {target} HTTP/1.1{end}");
            for (name, value) in fields {
                text.push_str(&format!("{name}: {value}{end}"));
            }
            text.push_str(end);
            read_request(text.as_bytes());
        }
    }
}
