//! The way of forks of another program's conversation to its provider: with a key of tine's own for that server, or else with the
//! credentials that the program sends there, which its gateway lends once the user has agreed.

use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use tine_model::{AgentRecord, ModelRef};
use tine_runtime::{ConnectError, Lent, RuntimeError};

use crate::ask::{a_person_is_there, agrees};
use crate::config::Setting;
use crate::context::Context;
use crate::fail::Failure;

/// The user's word on credentials of other programs (`gateway.borrow_credentials`).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Borrowing {
    /// A person is asked each time.
    #[default]
    Ask,
    /// They are never used.
    Never,
    /// They are used.
    Always,
}

impl Borrowing {
    /// Reads the setting.
    pub(crate) fn of(setting: Option<&Setting<String>>) -> Result<Self, Failure> {
        let Some(Setting { value, origin }) = setting else { return Ok(Self::default()) };
        match value.as_str() {
            "ask" => Ok(Self::Ask),
            "never" => Ok(Self::Never),
            "always" => Ok(Self::Always),
            other => Err(Failure::input(format!(
                "unknown gateway.borrow_credentials `{other}` from {origin}"
            ))
            .hint("it is ask, never or always")),
        }
    }
}

/// Finds out whether an agent's requests to a model can be sent at all, before something is made for them. A person at the terminal is
/// asked where they would go out with the credentials of another program.
pub(crate) async fn reach(
    context: &Context,
    record: &AgentRecord,
    model: &ModelRef,
) -> Result<(), Failure> {
    let reached = context.runtime.client_of(record, model).await;
    let Err(RuntimeError::Connect(ConnectError::NotLent(lent))) = &reached else {
        return Ok(reached.map(drop)?);
    };
    let Lent { host, upstream, .. } = lent;
    let is_open = context.models.borrowing() == Borrowing::Ask;
    let question = format!(
        "tine has no key for {upstream}. The fork can send its requests through the gateway of {host}, with the credentials that {host} uses there."
    );
    if is_open && a_person_is_there() && agrees(&question) {
        agree(lent)?;
        return Ok(context.runtime.client_of(record, model).await.map(drop)?);
    }
    Ok(reached.map(drop)?)
}

/// Keeps a person's word for as long as the gateway lives.
fn agree(lent: &Lent) -> Result<(), Failure> {
    let file = agreed_file(Path::new(&lent.gateway));
    let mut options = std::fs::OpenOptions::new();
    let opened = options.append(true).create(true).mode(0o600).open(&file);
    let written = opened.and_then(|mut file| writeln!(file, "{}", lent.account));
    written.map_err(|error| {
        Failure::failed(format!("cannot write {}", file.display())).because(&error)
    })
}

/// Returns true where a person has agreed to the use of an account.
pub(crate) fn is_agreed(lent: &Lent) -> bool {
    let agreed = std::fs::read_to_string(agreed_file(Path::new(&lent.gateway)));
    agreed.is_ok_and(|text| text.lines().any(|line| line == lent.account))
}

/// The file beside a gateway's socket that lists the accounts whose use a person has agreed to.
pub(crate) fn agreed_file(socket: &Path) -> PathBuf {
    socket.with_extension("agreed")
}

/// Returns true if a gateway listens at this socket.
pub(crate) async fn is_listening(socket: &Path) -> bool {
    tokio::net::UnixStream::connect(socket).await.is_ok()
}
