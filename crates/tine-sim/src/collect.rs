//! Bodies for the wire suite: with an environment variable set, every body that a server of a test receives from tine is written to
//! a directory, once, and so is every reply of the simulator. `cargo xtask hosts sdks` then holds them against the vendors' own types.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::{Value, json};

/// The environment variable that names the directory. Only `cargo xtask test` sets it. Tests that clear the environment of a
/// process they start keep this variable.
pub const WIRE_BODIES: &str = "TINE_WIRE_BODIES";

/// The headers that decide which members a vendor accepts.
const HEADERS: &[&str] = &["anthropic-version", "anthropic-beta"];

/// One request, as far as the suite judges it.
#[derive(Debug, Clone, Copy)]
pub struct CollectedBody<'a> {
    /// Path and query of the URL; the name of a wire format where no server was involved.
    pub path: &'a str,
    /// Names in lower case.
    pub headers: &'a [(&'a str, &'a str)],
    /// The exact bytes.
    pub body: &'a [u8],
}

/// Writes a request of tine's to the directory that [`WIRE_BODIES`] names; does nothing where the variable is not set, for other
/// clients' requests, and for requests without a body. Blocks on the disk.
///
/// Panics where the directory cannot be written: a suite that loses bodies would pass in silence.
pub fn collect(request: CollectedBody<'_>) {
    if !request.body.is_empty() && request.is_from_tine() {
        keep(|| (request.head(), request.body.to_vec()));
    }
}

/// Writes a reply of the simulator to the same directory: one that no fault was put into.
pub(crate) fn collect_reply(format: &str, is_stream: bool, bytes: &[u8]) {
    keep(|| (json!({ "reply": format, "stream": is_stream }), bytes.to_vec()));
}

fn keep(text: impl FnOnce() -> (Value, Vec<u8>)) {
    static DIRECTORY: OnceLock<Option<PathBuf>> = OnceLock::new();
    let directory = DIRECTORY.get_or_init(|| std::env::var_os(WIRE_BODIES).map(PathBuf::from));
    let Some(directory) = directory else { return };
    let (head, body) = text();
    if let Err(error) = write(directory, &head, &body) {
        panic!("cannot collect a body in {}: {error}", directory.display());
    }
}

/// Writes a line that says what the body is, and the body. The file's name is the hash of both, so that a body is kept once.
fn write(directory: &Path, head: &Value, body: &[u8]) -> io::Result<()> {
    let mut text = format!("{head}\n").into_bytes();
    text.extend_from_slice(body);
    let name = blake3::hash(&text).to_hex();
    let file = directory.join(&name[..32]);
    if file.exists() {
        return Ok(());
    }
    // A process may be killed here: a file appears whole, or under a name that is passed over.
    static NUMBER: AtomicU64 = AtomicU64::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let half = directory.join(format!("{}-{number}.half", std::process::id()));
    std::fs::create_dir_all(directory)?;
    std::fs::write(&half, text)?;
    std::fs::rename(&half, file)
}

impl CollectedBody<'_> {
    /// Tests of the simulator send bodies that are wrong on purpose, with clients of their own.
    fn is_from_tine(&self) -> bool {
        let has_server = !self.headers.is_empty();
        let client = self.header("user-agent");
        !has_server || client.is_some_and(|client| client.starts_with("tine/"))
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(found, _)| *found == name).map(|(_, value)| *value)
    }

    fn head(&self) -> Value {
        // Every server of a test has a port of its own; only the name of the host tells anything.
        let host = self.header("host").map(|host| host.split(':').next().unwrap_or(host));
        let headers: serde_json::Map<_, _> = HEADERS
            .iter()
            .filter_map(|name| Some(((*name).to_owned(), self.header(name)?.into())))
            .collect();
        json!({ "path": self.path, "host": host, "headers": headers })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_body_is_kept_once_with_where_it_went() {
        let directory = tempfile::tempdir().unwrap();
        for (host, body) in [("127.0.0.1:1", "{}"), ("127.0.0.1:2", "{}"), ("127.0.0.1:3", "{ }")] {
            let headers = [("host", host), ("anthropic-version", "1"), ("x-api-key", "secret")];
            let (path, body) = ("/v1/messages", body.as_bytes());
            let head = CollectedBody { path, headers: &headers, body }.head();
            write(directory.path(), &head, body).unwrap();
        }
        let files = std::fs::read_dir(directory.path()).unwrap();
        let mut found: Vec<(Value, String)> = files
            .map(|file| std::fs::read_to_string(file.unwrap().path()).unwrap())
            .map(|text| {
                let (head, body) = text.split_once('\n').unwrap();
                (serde_json::from_str(head).unwrap(), body.to_owned())
            })
            .collect();
        found.sort_by(|(_, a), (_, b)| a.cmp(b));
        let head = json!({ "path": "/v1/messages", "host": "127.0.0.1", "headers": { "anthropic-version": "1" } });
        assert_eq!(found, [(head.clone(), "{ }".to_owned()), (head, "{}".to_owned())]);
    }

    #[test]
    fn other_clients_requests_are_not_tines() {
        let sent_by = |client| {
            let headers = [("user-agent", client)];
            CollectedBody { path: "/", headers: &headers, body: b"{}" }.is_from_tine()
        };
        assert!(sent_by("tine/1.0.0"));
        assert!(!sent_by("curl/8"));
        let without_a_name = CollectedBody { path: "/", headers: &[("host", "h")], body: b"{}" };
        assert!(!without_a_name.is_from_tine());
        let without_a_server = CollectedBody { path: "gemini", headers: &[], body: b"{}" };
        assert!(without_a_server.is_from_tine());
    }
}
