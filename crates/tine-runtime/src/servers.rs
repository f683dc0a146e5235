//! The knowledge of the servers that answer: which members of requests they refuse.
//!
//! Known hosts stand in `tine-wire`; everything else was learnt from a refusal and is kept in the store, by host. A host that refuses a
//! member of messages refuses it for every model, one that refuses a setting does so for that model.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tine_fork::run::ServerDialect;
use tine_model::{DialectChange, ModelRef, WireFormat};
use tine_store::{ServerNote, Store, StoreError};
use tine_wire::{Dialect, Member};

/// The beginning of the name of a note that says what a server refuses; the member follows.
const REFUSES: &str = "refuses ";

/// The knowledge that this process has of servers.
#[derive(Debug, Default)]
pub(crate) struct Servers {
    /// By host and model.
    known: Mutex<HashMap<(String, String), Dialect>>,
}

/// One model at one server.
#[derive(Debug, Clone)]
pub(crate) struct Server {
    /// Host and port; `None` where it has no name that a later process would know it by.
    pub(crate) host: Option<String>,
    pub(crate) model: String,
}

impl Servers {
    /// Brings together what is known of a host by its name and what the store has of it.
    pub(crate) async fn look_up(
        &self,
        store: &dyn Store,
        server: &Server,
        format: WireFormat,
    ) -> Result<(), StoreError> {
        let Some(host) = &server.host else { return Ok(()) };
        let name = host.rsplit_once(':').map_or(host.as_str(), |(name, _)| name);
        let notes = store.server_notes(host).await?;
        let learnt =
            notes.iter().filter(|note| note.model.is_empty() || note.model == server.model);
        let learnt = learnt.filter_map(|note| Member::parse(note.name.strip_prefix(REFUSES)?));
        let known = Dialect::of_host(name, format).and(&Dialect::of(learnt));
        self.add(host, &server.model, &known);
        Ok(())
    }

    /// Returns the dialect of a server, as far as it is known.
    pub(crate) fn dialect(&self, server: &Server) -> ServerDialect {
        let Some(host) = &server.host else { return ServerDialect::default() };
        let key = (host.clone(), server.model.clone());
        let refuses = self.known().get(&key).cloned().unwrap_or_default();
        ServerDialect { host: host.clone(), refuses }
    }

    /// Keeps what a refusal has taught, for all runs of this process and for later ones.
    pub(crate) async fn learn(
        &self,
        store: &dyn Store,
        server: &Server,
        (change, now_ms): (&DialectChange, i64),
    ) -> Result<(), StoreError> {
        let (Some(host), Some(words)) = (&server.host, &change.refusal) else { return Ok(()) };
        let members: Vec<Member> =
            change.left_out.iter().filter_map(|text| Member::parse(text)).collect();
        self.add(host, &server.model, &Dialect::of(members.iter().cloned()));
        for member in members {
            let model = if member.is_of_messages() { "" } else { &server.model };
            let note = ServerNote {
                host: host.clone(),
                model: model.to_owned(),
                name: format!("{REFUSES}{member}"),
                value: words.clone(),
                at_ms: now_ms,
            };
            store.note_server(note).await?;
        }
        Ok(())
    }

    fn add(&self, host: &str, model: &str, more: &Dialect) {
        let mut known = self.known();
        let dialect = known.entry((host.to_owned(), model.to_owned())).or_default();
        *dialect = dialect.and(more);
    }

    fn known(&self) -> MutexGuard<'_, HashMap<(String, String), Dialect>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Server {
    /// The server of a model.
    pub(crate) fn of(model: &ModelRef, host: Option<String>) -> Self {
        Self { host, model: model.to_string() }
    }
}
