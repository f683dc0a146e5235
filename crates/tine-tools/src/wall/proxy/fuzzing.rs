//! The reader of requests, for the fuzz target `request` and for tests. Not there in any other build.

use super::head::{FIELDS_MAX, Head, Malformed, Request, parse};

/// Most beginnings of a request that are read by themselves.
const PIECES_MAX: usize = 512;

/// Reads bytes as a client's, whole and in pieces. What a server is sent is one request for the host that was named.
#[cfg_attr(not(feature = "fuzzing"), expect(unreachable_pub, reason = "only tests call it here"))]
pub fn read_request(bytes: &[u8]) {
    let whole = parse(bytes);
    for end in 0..bytes.len().min(PIECES_MAX) {
        check_piece(parse(&bytes[..end]), &whole);
    }
    let Ok(Some(Head { request, rest })) = whole else { return };
    assert!(bytes.ends_with(&rest));
    assert!(request.target().1 > 0);
    let Request::Plain { head, .. } = request else { return };
    // The two that tine adds.
    let mut fields = [httparse::EMPTY_HEADER; FIELDS_MAX + 2];
    let mut again = httparse::Request::new(&mut fields);
    assert_eq!(again.parse(&head), Ok(httparse::Status::Complete(head.len())));
    assert!(again.path.is_some_and(|path| path.starts_with('/')));
    let count = |wanted: &str| {
        again.headers.iter().filter(|field| field.name.eq_ignore_ascii_case(wanted)).count()
    };
    assert_eq!((count("host"), count("connection"), count("proxy-authorization")), (1, 1, 0));
    // It names no host in the way of a proxy, so no proxy behind this one passes it on.
    assert!(parse(&head).is_err());
}

/// A beginning of a request is refused only where the whole is, and read only as the same request.
fn check_piece(piece: Result<Option<Head>, Malformed>, whole: &Result<Option<Head>, Malformed>) {
    match (piece, whole) {
        (Ok(None), _) => {}
        (Ok(Some(piece)), Ok(Some(whole))) => assert_eq!(piece.request, whole.request),
        (Err(_), Err(_)) => {}
        (piece, whole) => panic!("{piece:?} of {whole:?}"),
    }
}
