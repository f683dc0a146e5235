//! The way of forks of another program's conversation to its provider: with a key of tine's own for that server, or else with the
//! credentials that the program sends there, which its gateway lends once the user has agreed.

use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use tine_llm::{LlmClient, LlmError, Progress, Request};

use tine_model::{AgentRecord, ModelRef};
use tine_runtime::{ConnectError, Connector as _, Lent, RuntimeError};
use tine_wire::Reply;
use tokio_util::sync::CancellationToken;

use crate::ask::{a_person_is_there, agrees};
use crate::config::Setting;
use crate::context::Context;
use crate::fail::Failure;
use crate::output;

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
    if reached.is_ok() {
        say_other_account(context, record, model).await?;
    }
    let Err(RuntimeError::Connect(ConnectError::NotLent(lent))) = &reached else {
        return Ok(reached.map(drop)?);
    };
    let Lent { host, upstream, .. } = lent;
    let question = format!(
        "tine has no key for {upstream}. The fork can send its requests through the gateway of {host}, with the credentials that {host} uses there."
    );
    if a_person_is_there() && agrees(&question) {
        agree(lent)?;
        return Ok(context.runtime.client_of(record, model).await.map(drop)?);
    }
    Ok(reached.map(drop)?)
}

/// Says that tine's own key is not the other program's: no cache serves the fork then.
async fn say_other_account(
    context: &Context,
    record: &AgentRecord,
    model: &ModelRef,
) -> Result<(), Failure> {
    let Some(guest) = context.runtime.guest_above(record, model).await? else { return Ok(()) };
    if context.models.guest_account(model, &guest) != guest.account {
        output::say(&format!(
            "note: tine's key for {} is not that of {}, so no cache serves the fork; --estimate says what it costs",
            guest.upstream, guest.host
        ));
    }
    Ok(())
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

/// A client that sends its requests through the gateway of another program. It ends with that gateway: nobody else has the credentials.
pub(crate) struct LentClient {
    pub(crate) client: Arc<dyn LlmClient>,
    pub(crate) lent: Lent,
}

#[async_trait]
impl LlmClient for LentClient {
    async fn send(
        &self,
        request: &Request,
        on_progress: &mut (dyn for<'p> FnMut(Progress<'p>) + Send),
        cancel: &CancellationToken,
    ) -> Result<Reply, LlmError> {
        let ended = cancel.child_token();
        let mut why = None;
        let mut watched = |progress: Progress<'_>| match progress {
            Progress::Retry { cause: LlmError::Unreachable { source, .. }, .. }
                if UnixStream::connect(&self.lent.gateway).is_err() =>
            {
                why = Some(source.clone());
                ended.cancel();
            }
            other => on_progress(other),
        };
        let sent = self.client.send(request, &mut watched, &ended).await;
        match why {
            Some(source) if !cancel.is_cancelled() => Err(LlmError::Unreachable {
                url: format!("{}: its gateway has ended", self.lent.upstream),
                attempts: 1,
                source,
            }),
            Some(_) | None => sent,
        }
    }

    fn patience(&self) -> Duration {
        self.client.patience()
    }

    fn backoff(&self) -> Duration {
        self.client.backoff()
    }
}

/// Returns true if a gateway listens at this socket.
pub(crate) async fn is_listening(socket: &Path) -> bool {
    tokio::net::UnixStream::connect(socket).await.is_ok()
}
