//! A server of raw bytes: it answers connection after connection by a script and keeps what it was sent.
//!
//! It knows no HTTP beyond where a request ends, so that what the client wrote is seen as it was written.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

/// What the server does once it has read a request.
pub(crate) enum Step {
    /// Writes these bytes, in one piece.
    Send(Vec<u8>),
    /// Leaves the connection open until the client closes it.
    Hold,
}

/// A request as it came.
#[derive(Debug)]
pub(crate) struct Captured {
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Captured {
    /// The value of a header.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().find_map(|line| {
            let (found, value) = line.split_once(':')?;
            found.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

pub(crate) struct Server {
    pub(crate) base_url: String,
    captured: Receiver<Captured>,
}

impl Server {
    /// A server that serves one connection for each script, and then refuses.
    pub(crate) fn start(scripts: Vec<Vec<Step>>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let base_url = format!("http://{}", listener.local_addr().unwrap());
        let (sender, captured) = channel();
        thread::spawn(move || {
            for script in scripts {
                let (connection, _) = listener.accept().unwrap();
                serve(connection, script, &sender);
            }
        });
        Self { base_url, captured }
    }

    /// A server that answers each connection with these bytes and closes it.
    pub(crate) fn answering(answers: impl IntoIterator<Item = Vec<u8>>) -> Self {
        Self::start(answers.into_iter().map(|answer| vec![Step::Send(answer)]).collect())
    }

    /// All requests, once the script is played.
    pub(crate) fn requests(self) -> Vec<Captured> {
        self.captured.iter().collect()
    }
}

fn serve(mut connection: TcpStream, script: Vec<Step>, sender: &Sender<Captured>) {
    if let Some(request) = read_request(&mut connection) {
        let _ = sender.send(request);
    }
    for step in script {
        match step {
            Step::Send(bytes) => {
                if connection.write_all(&bytes).is_err() {
                    return;
                }
            }
            Step::Hold => {
                let _ = connection.read_to_end(&mut Vec::new());
            }
        }
    }
    let _ = connection.shutdown(Shutdown::Write);
    // Reading to the end keeps the kernel from answering with a reset, which would discard what was written.
    let _ = connection.read_to_end(&mut Vec::new());
}

/// `None` when what comes is no HTTP (a TLS handshake).
fn read_request(connection: &mut TcpStream) -> Option<Captured> {
    let mut bytes = Vec::new();
    let head_len = loop {
        if let Some(position) = bytes.windows(4).position(|window| window == b"\r\n\r\n") {
            break position + 4;
        }
        if bytes.first().is_some_and(|byte| !b"GP".contains(byte)) {
            return None;
        }
        let mut buffer = [0; 4096];
        let count = connection.read(&mut buffer).ok().filter(|count| *count > 0)?;
        bytes.extend_from_slice(&buffer[..count]);
    };
    let body = bytes.split_off(head_len);
    let mut captured = Captured { head: String::from_utf8(bytes).unwrap(), body };
    let len: usize =
        captured.header("content-length").and_then(|len| len.parse().ok()).unwrap_or(0);
    let mut rest = vec![0; len.saturating_sub(captured.body.len())];
    connection.read_exact(&mut rest).ok()?;
    captured.body.extend_from_slice(&rest);
    Some(captured)
}

/// An answer whose body ends with the connection.
pub(crate) fn answer(status: &str, headers: &[&str], body: &str) -> Vec<u8> {
    let headers: String = headers.iter().map(|line| format!("{line}\r\n")).collect();
    format!("HTTP/1.1 {status}\r\nconnection: close\r\n{headers}\r\n{body}").into_bytes()
}

/// A failure in the Messages format.
pub(crate) fn failure(status: &str, headers: &[&str], kind: &str, message: &str) -> Vec<u8> {
    let body = format!(
        r#"{{"type":"error","error":{{"type":"{kind}","message":"{message}"}},"request_id":"req_1"}}"#
    );
    answer(status, &[&["content-type: application/json"], headers].concat(), &body)
}

/// A stream of these records.
pub(crate) fn stream(records: &[&str]) -> Vec<u8> {
    let body: String = records.iter().map(|record| format!("data: {record}\n\n")).collect();
    answer("200 OK", &["content-type: text/event-stream"], &body)
}

pub(crate) const START: &str = r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":7,"output_tokens":1}}}"#;
pub(crate) const PING: &str = r#"{"type":"ping"}"#;
pub(crate) const BLOCK: &str =
    r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#;
pub(crate) const TEXT: &str =
    r#"{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello"}}"#;
pub(crate) const BLOCK_STOP: &str = r#"{"type":"content_block_stop","index":0}"#;
pub(crate) const DELTA: &str = r#"{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":3}}"#;
pub(crate) const STOP: &str = r#"{"type":"message_stop"}"#;
pub(crate) const OVERLOADED: &str =
    r#"{"type":"error","error":{"type":"overloaded_error","message":"too busy"}}"#;

/// A whole streamed reply that says `Hello`.
pub(crate) fn hello() -> Vec<u8> {
    stream(&[START, PING, BLOCK, TEXT, BLOCK_STOP, DELTA, STOP])
}
