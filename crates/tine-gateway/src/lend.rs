//! Lending a host's credentials to forks of its conversations.
//!
//! Forks come through a Unix socket that only its owner can open. Their requests name the account of a host, and go out to the provider
//! that this account's credentials were sent to, with them. Nothing is kept but in memory, and nobody is told of these requests.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use http::HeaderMap;
use http::header::{AUTHORIZATION, HeaderName};
use tokio::net::UnixListener;

use crate::gateway::Format;

/// Headers by which a provider knows a host and its account. Source: requests of Claude Code 2.1.330 and Codex 0.169.0.
const OF_ACCOUNT: [HeaderName; 8] = [
    AUTHORIZATION,
    HeaderName::from_static("x-api-key"),
    HeaderName::from_static("chatgpt-account-id"),
    HeaderName::from_static("openai-organization"),
    HeaderName::from_static("openai-project"),
    HeaderName::from_static("user-agent"),
    HeaderName::from_static("x-app"),
    HeaderName::from_static("originator"),
];

/// Longest path of a socket, in bytes (`sockaddr_un` of Linux and macOS, the shorter).
const PATH_BYTES_MAX: usize = 103;

/// The headers of an account, as its host sent them last; `None` for an account that has sent nothing.
pub type Lender = Arc<dyn Fn(&str) -> Option<HeaderMap> + Send + Sync>;

/// The way of forks to a gateway.
pub struct Lending {
    pub(crate) socket: Socket,
    pub(crate) listener: UnixListener,
    pub(crate) lender: Lender,
}

impl Lending {
    /// Makes a socket for its owner alone, in a directory that is made for it. Nothing may be there. It is removed with the gateway.
    pub fn open(path: &Path, lender: Lender) -> io::Result<Self> {
        let (socket, listener) = Socket::listen(path)?;
        Ok(Self { socket, listener, lender })
    }
}

/// The headers of a request by which its provider knows who pays. Others are left out.
pub fn account_headers(headers: &HeaderMap) -> HeaderMap {
    let mut kept = HeaderMap::new();
    for name in OF_ACCOUNT {
        if let Some(value) = headers.get(&name) {
            kept.insert(name, value.clone());
        }
    }
    kept
}

/// The base URL of a fork's requests on the socket. Its host means nothing.
pub fn lent_base_url(account: &str, format: Format) -> String {
    format!("http://localhost/{account}/{}", format.path())
}

/// The account, the format and the rest of a request's target on the socket.
pub(crate) fn route(target: &str) -> Option<(&str, Format, &str)> {
    let (account, rest) = target.strip_prefix('/')?.split_once('/')?;
    let (format, rest) = Format::of_path(rest)?;
    Some((account, format, rest))
}

/// A socket that is there as long as this lives.
pub(crate) struct Socket {
    path: PathBuf,
}

impl Socket {
    fn listen(path: &Path) -> io::Result<(Self, UnixListener)> {
        if path.as_os_str().len() > PATH_BYTES_MAX {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "the path is too long"));
        }
        if let Some(directory) = path.parent() {
            fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
        }
        let listener = UnixListener::bind(path)?;
        let socket = Self { path: path.to_owned() };
        fs::set_permissions(path, Permissions::from_mode(0o600))?;
        Ok((socket, listener))
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        drop(fs::remove_file(&self.path));
    }
}
