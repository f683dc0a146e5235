//! Questions to a server: the greeting that each connection gets, and the pages of its monitoring port.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::Value;

/// A server on loopback answers in far less. One that is stopped does not answer at all.
const ANSWER_WAIT: Duration = Duration::from_secs(2);

/// Most bytes of a greeting or a page; real ones are below 100 KB.
const ANSWER_BYTES_MAX: u64 = 4 << 20;

/// Reads what a server says first on each connection: `INFO` and JSON.
pub(super) fn info(address: SocketAddr) -> io::Result<Value> {
    let mut line = String::new();
    BufReader::new(connect(address)?).take(ANSWER_BYTES_MAX).read_line(&mut line)?;
    let json = line.strip_prefix("INFO ").ok_or_else(|| no_answer(&line))?;
    Ok(serde_json::from_str(json)?)
}

/// Gets a page of the monitoring port, such as `/jsz`, whatever its status is.
pub(super) fn page(address: SocketAddr, path: &str) -> io::Result<Value> {
    let mut stream = connect(address)?;
    write!(stream, "GET {path} HTTP/1.0\r\n\r\n")?;
    let mut answer = String::new();
    stream.take(ANSWER_BYTES_MAX).read_to_string(&mut answer)?;
    let (_, body) = answer.split_once("\r\n\r\n").ok_or_else(|| no_answer(&answer))?;
    Ok(serde_json::from_str(body)?)
}

fn connect(address: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&address, ANSWER_WAIT)?;
    stream.set_read_timeout(Some(ANSWER_WAIT))?;
    stream.set_write_timeout(Some(ANSWER_WAIT))?;
    Ok(stream)
}

fn no_answer(text: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, format!("no answer of nats-server: {text:?}"))
}
