//! Headers that go on, and those that belong to one connection.

use http::header::{
    AUTHORIZATION, CONNECTION, COOKIE, HOST, HeaderMap, HeaderName, HeaderValue, TE, TRAILER,
    TRANSFER_ENCODING, UPGRADE,
};

/// Headers that belong to one connection, beside `proxy-*` and those that `connection` names.
const OF_CONNECTION: [HeaderName; 6] =
    [CONNECTION, HeaderName::from_static("keep-alive"), TE, TRAILER, TRANSFER_ENCODING, UPGRADE];

/// Headers with a credential.
const SECRET: [HeaderName; 4] = [
    AUTHORIZATION,
    COOKIE,
    HeaderName::from_static("x-api-key"),
    HeaderName::from_static("x-goog-api-key"),
];

/// The headers that go on, in their order. With a `host`, it stands first and in place of what was there, as hosts write it. Credentials
/// are marked, so that no `Debug` of a library shows them.
pub(crate) fn pass_on(from: HeaderMap, host: Option<HeaderValue>) -> HeaderMap {
    let named: Vec<String> = listed(&from, &CONNECTION).map(str::to_ascii_lowercase).collect();
    let has_host = host.is_some();
    let mut kept = HeaderMap::with_capacity(from.len() + 1);
    kept.extend(host.map(|host| (HOST, host)));
    let mut name = None;
    for (next, mut value) in from {
        // A name comes with the first of its values alone.
        name = next.or(name);
        let Some(name) = &name else { continue };
        let is_left_out = OF_CONNECTION.contains(name)
            || name.as_str().starts_with("proxy-")
            || named.iter().any(|named| name == named.as_str())
            || (has_host && name == HOST);
        if is_left_out {
            continue;
        }
        if SECRET.contains(name) {
            value.set_sensitive(true);
        }
        kept.append(name.clone(), value);
    }
    kept
}

/// True if the request asks to become a WebSocket.
pub(crate) fn asks_for_websocket(headers: &HeaderMap) -> bool {
    listed(headers, &UPGRADE).any(|protocol| protocol.eq_ignore_ascii_case("websocket"))
}

fn listed<'a>(headers: &'a HeaderMap, name: &HeaderName) -> impl Iterator<Item = &'a str> {
    let values = headers.get_all(name).into_iter().filter_map(|value| value.to_str().ok());
    values.flat_map(|value| value.split(',')).map(str::trim)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_shows_no_credential() {
        for name in SECRET {
            let from = HeaderMap::from_iter([(name, HeaderValue::from_static("sk-secret"))]);
            assert!(!format!("{:?}", pass_on(from, None)).contains("secret"));
        }
    }
}
