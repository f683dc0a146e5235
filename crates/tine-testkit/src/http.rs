//! As much of HTTP/1.1 as a capturing server needs: one request of known length in, one chunked answer out.

use std::io;

use tokio::io::{AsyncBufReadExt as _, AsyncRead, AsyncReadExt as _, BufReader};

/// Most bytes of a request's line and headers; real ones are under 2 KiB.
pub const HEAD_BYTES_MAX: u64 = 64 * 1024;

/// Most bytes of a request's body: well above the largest conversation in our tests (4 MB).
pub const BODY_BYTES_MAX: u64 = 64 * 1024 * 1024;

/// A request as it came over the wire.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HttpRequest {
    /// `POST`, `GET`.
    pub method: String,
    /// Path and query, as sent.
    pub path: String,
    /// Names in lower case, values as sent, in their order.
    pub headers: Vec<(String, String)>,
    /// The body, byte for byte.
    pub body: Vec<u8>,
}

impl HttpRequest {
    /// The value of the first header of this (lower-case) name.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| found == name).map(|(_, value)| value.as_str())
    }
}

/// Reads one request. A body needs a `content-length`: tine always sends one.
pub(crate) async fn read_request(stream: impl AsyncRead + Unpin) -> io::Result<HttpRequest> {
    let mut reader = BufReader::new(stream);
    let mut head = (&mut reader).take(HEAD_BYTES_MAX);
    let line = read_line(&mut head).await?;
    let mut words = line.split(' ');
    let (Some(method), Some(path), Some("HTTP/1.1")) = (words.next(), words.next(), words.next())
    else {
        return Err(invalid("the request line is not HTTP/1.1"));
    };
    let mut headers = Vec::new();
    loop {
        let line = read_line(&mut head).await?;
        if line.is_empty() {
            break;
        }
        let (name, value) =
            line.split_once(':').ok_or_else(|| invalid("a header without a colon"))?;
        headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
    }
    let mut request =
        HttpRequest { method: method.to_owned(), path: path.to_owned(), headers, body: Vec::new() };
    if request.header("transfer-encoding").is_some() {
        return Err(invalid("a body without a content-length"));
    }
    let length = match request.header("content-length").map(str::parse::<u64>) {
        None => 0,
        Some(Ok(length)) if length <= BODY_BYTES_MAX => length,
        Some(_) => return Err(invalid("a content-length that is no number or too large")),
    };
    let read = reader.take(length).read_to_end(&mut request.body).await?;
    if (read as u64) < length {
        return Err(invalid("the body is shorter than its content-length"));
    }
    Ok(request)
}

/// One line without its end. The end of the stream, or of the limit, is an error.
async fn read_line(reader: &mut (impl tokio::io::AsyncBufRead + Unpin)) -> io::Result<String> {
    let mut line = Vec::new();
    reader.read_until(b'\n', &mut line).await?;
    let Some(line) = line.strip_suffix(b"\n") else {
        return Err(invalid("the head of the request ends early"));
    };
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    String::from_utf8(line.to_vec()).map_err(|_| invalid("a header that is no text"))
}

fn invalid(what: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, what)
}

/// Status line and headers of an answer whose body comes in chunks; one connection serves one request.
pub(crate) fn answer_head(status: u16, headers: &[(String, String)]) -> Vec<u8> {
    let mut head = format!("HTTP/1.1 {status} Canned\r\n");
    for (name, value) in headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    head.push_str("transfer-encoding: chunked\r\nconnection: close\r\n\r\n");
    head.into_bytes()
}

/// One chunk. An empty one would end the body, so nothing is written for it.
pub(crate) fn chunk(bytes: &[u8]) -> Vec<u8> {
    if bytes.is_empty() {
        return Vec::new();
    }
    [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat()
}

/// What ends the body.
pub(crate) const LAST_CHUNK: &[u8] = b"0\r\n\r\n";

#[cfg(test)]
mod tests {
    use super::*;

    async fn check(wire: &str, expected: Result<&str, &str>) {
        let found = read_request(wire.as_bytes()).await;
        let found = found.map(|request| String::from_utf8(request.body).unwrap());
        assert_eq!(
            found.map_err(|e| e.to_string()),
            expected.map(str::to_owned).map_err(str::to_owned),
            "{wire:?}"
        );
    }

    #[tokio::test]
    async fn a_body_has_the_length_it_declares() {
        check("POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}more", Ok("{}")).await;
        check("GET / HTTP/1.1\r\n\r\n", Ok("")).await;
        check(
            "POST / HTTP/1.1\r\ncontent-length: 9\r\n\r\n{}",
            Err("the body is shorter than its content-length"),
        )
        .await;
    }

    #[tokio::test]
    async fn what_is_no_request_is_named() {
        check("nonsense\r\n\r\n", Err("the request line is not HTTP/1.1")).await;
        check("GET / HTTP/1.1\r\nno colon\r\n\r\n", Err("a header without a colon")).await;
        check("GET / HTTP/1.1\r\n", Err("the head of the request ends early")).await;
        check(
            "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n",
            Err("a body without a content-length"),
        )
        .await;
        let long = format!("GET / HTTP/1.1\r\na: {}\r\n\r\n", "x".repeat(70_000));
        check(&long, Err("the head of the request ends early")).await;
    }
}
