//! Agents whose requests another program makes.

use tine_model::AgentId;

/// Most guests that one search returns: the ones that were used last.
pub const GUESTS_MAX: usize = 64;

/// The other program's side of a guest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GuestRow {
    /// The guest.
    pub agent: AgentId,
    /// The program, in the caller's word.
    pub host: String,
    /// The program's own id of the conversation; `None` where its requests hold none.
    pub session: Option<String>,
    /// Identity of the conversation's first message, computed by the caller.
    pub first: [u8; 32],
    /// Base URL that the program's requests go on to.
    pub upstream: String,
    /// Tells the caches of two accounts apart, in the caller's word. Never a key.
    pub account: String,
    /// Path of the socket of the gateway that the last request passed; `None` for a gateway without one.
    pub gateway: Option<String>,
    /// Time of the last request, in milliseconds since the Unix epoch.
    pub used_ms: i64,
}

/// Guests to be found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum GuestFilter {
    /// Those of one conversation of a program: it may have gone on in several ways.
    Session {
        /// The program.
        host: String,
        /// Its id of the conversation.
        session: String,
    },
    /// Those of a program.
    Host(String),
    /// Those that begin with one message.
    First([u8; 32]),
    /// This one.
    Agent(AgentId),
}
