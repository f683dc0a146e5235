//! The facts that servers of models have told about themselves.

/// A fact that a server's own answer told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerNote {
    /// The server, as text.
    pub host: String,
    /// The model that the fact holds for; empty for every model of the host.
    pub model: String,
    /// The fact's name.
    pub name: String,
    /// The fact's value.
    pub value: String,
    /// When it was told, in milliseconds since the Unix epoch.
    pub at_ms: i64,
}
