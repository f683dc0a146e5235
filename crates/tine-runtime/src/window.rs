//! The windows of models as they are served. The table of models knows what a vendor sells; a server of one's own may serve less, and
//! says so when it refuses a conversation. What it said is kept by host and model.

use tine_fork::run::Conversation;
use tine_llm::LlmError;
use tine_model::ModelRef;
use tine_store::ServerNote;
use tine_wire::Overflow;

use crate::error::RuntimeError;
use crate::runtime::Runtime;

/// The note's name in the store.
const NOTE: &str = "window_tokens";

/// The life of a note, in milliseconds. A server may have been started anew with a larger window; to ask it costs one refusal.
const NOTE_LIFE_MS: i64 = 7 * 24 * 3_600 * 1_000;

/// Windows that are believed. A smaller one holds no conversation.
const BELIEVED: std::ops::RangeInclusive<u64> = 256..=100_000_000;

/// The largest window of which a reply gets a share. In larger ones the usual limit of a reply is small.
pub(crate) const SMALL_WINDOW: u64 = 65_536;

/// A reply gets one part of so many of a small window.
const REPLY_PART: u64 = 4;

/// The least limit of a reply, in tokens: an answer of two paragraphs.
pub(crate) const REPLY_MIN: u64 = 256;

impl Runtime {
    /// Returns the window of a model: what its server has said of it, else what the table says. None where nobody knows.
    pub async fn window(&self, model: &ModelRef) -> Result<Option<u64>, RuntimeError> {
        let host = self.ports().models.account(model);
        let notes = self.store().server_notes(&host).await?;
        let since_ms = self.now_ms().saturating_sub(NOTE_LIFE_MS);
        let note = notes
            .iter()
            .find(|note| note.model == model.name && note.name == NOTE && note.at_ms >= since_ms);
        let told = note.and_then(|note| note.value.parse().ok());
        Ok(told.or_else(|| self.facts(model).context_tokens))
    }

    /// Keeps the window that a refusal names. Returns it.
    pub(crate) async fn learn_window(
        &self,
        model: &ModelRef,
        overflow: &Overflow,
    ) -> Result<Option<u64>, RuntimeError> {
        let Some(tokens) = overflow.window.filter(|tokens| BELIEVED.contains(tokens)) else {
            return Ok(None);
        };
        let note = ServerNote {
            host: self.ports().models.account(model),
            model: model.name.clone(),
            name: NOTE.to_owned(),
            value: tokens.to_string(),
            at_ms: self.now_ms(),
        };
        self.store().note_server(note).await?;
        tracing::info!(%model, tokens, "the server named the model's window");
        Ok(Some(tokens))
    }

    /// Keeps the window that the error of a run names, if it names one.
    pub(crate) async fn learn_from(
        &self,
        model: &ModelRef,
        error: &LlmError,
    ) -> Result<(), RuntimeError> {
        if let Some(overflow) = error.overflow() {
            self.learn_window(model, &overflow).await?;
        }
        Ok(())
    }
}

/// Returns the limit of replies in a window. None in large windows, where the usual limit fits.
pub(crate) fn reply_max(window: Option<u64>, conversation: &Conversation) -> Option<u32> {
    let window = window.filter(|window| *window <= SMALL_WINDOW)?;
    let head = (conversation.head().bytes().len() as u64).div_ceil(tine_cache::BYTES_PER_TOKEN);
    let room = window.saturating_sub(head);
    let most = (window / REPLY_PART).min(room / 2).max(REPLY_MIN);
    u32::try_from(most).ok()
}
