//! Identities. Made from bytes that the caller supplies: randomness comes in as a parameter.

use std::fmt;
use std::str::FromStr;

use uuid::Uuid;

/// Fewest hexadecimal characters that name an agent; shorter prefixes are refused, not guessed.
pub const PREFIX_CHARS_MIN: usize = 4;

/// Why a text is not an id.
#[derive(Debug, thiserror::Error, PartialEq, Eq)]
pub enum IdError {
    /// Fewer than [`PREFIX_CHARS_MIN`] characters.
    #[error("`{0}` is too short: an agent is named by at least 4 characters of its id")]
    TooShort(String),
    /// A character that no id has.
    #[error("`{0}` is not an agent id")]
    NotHex(String),
}

/// One agent. Random (v4), so that a short unique prefix is enough to name it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct AgentId(Uuid);

/// One request to a provider; usage is keyed by it, so that nothing is counted twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestId(Uuid);

/// One request for somebody's permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PermissionId(Uuid);

macro_rules! random_id {
    ($name:ident) => {
        impl $name {
            /// Makes a v4 id of 16 random bytes; version and variant bits are set here.
            pub fn from_random(bytes: [u8; 16]) -> Self {
                Self(uuid::Builder::from_random_bytes(bytes).into_uuid())
            }

            /// Restores an id from its stored bytes.
            pub fn from_bytes(bytes: [u8; 16]) -> Self {
                Self(Uuid::from_bytes(bytes))
            }

            /// The 16 bytes, as stored.
            pub fn as_bytes(&self) -> &[u8; 16] {
                self.0.as_bytes()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                self.0.hyphenated().fmt(f)
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                Uuid::parse_str(text).map(Self).map_err(|_| IdError::NotHex(text.to_owned()))
            }
        }
    };
}

random_id!(AgentId);
random_id!(RequestId);
random_id!(PermissionId);

impl AgentId {
    /// The first eight characters: what people read and type.
    pub fn short(&self) -> String {
        self.to_string()[..8].to_owned()
    }
}

impl PermissionId {
    /// The first eight characters: what people read and type.
    pub fn short(&self) -> String {
        self.to_string()[..8].to_owned()
    }
}

/// What a user typed to name an agent: at least [`PREFIX_CHARS_MIN`] hexadecimal characters, hyphens ignored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentPrefix(String);

impl AgentPrefix {
    /// Reads a prefix, in any case and with or without hyphens.
    pub fn parse(text: &str) -> Result<Self, IdError> {
        let hex: String = text.trim().chars().filter(|c| *c != '-').collect();
        if hex.is_empty() || hex.len() > 32 || !hex.chars().all(|c| c.is_ascii_hexdigit()) {
            return Err(IdError::NotHex(text.to_owned()));
        }
        if hex.len() < PREFIX_CHARS_MIN {
            return Err(IdError::TooShort(text.to_owned()));
        }
        Ok(Self(hex.to_ascii_lowercase()))
    }

    /// The lower-case hexadecimal characters, without hyphens.
    pub fn as_hex(&self) -> &str {
        &self.0
    }

    /// Whether `id` begins with this prefix.
    pub fn matches(&self, id: &AgentId) -> bool {
        let mut buffer = [0; 32];
        id.0.simple().encode_lower(&mut buffer).starts_with(&self.0)
    }
}

impl fmt::Display for AgentPrefix {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One row of the log; increasing over the whole store, never reused. The first is 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct EntryId(pub i64);

impl fmt::Display for EntryId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The id a provider gave to one tool call; opaque, replayed as it came.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ToolCallId(pub String);

impl fmt::Display for ToolCallId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn random_ids_are_version_4_and_survive_their_text() {
        let id = AgentId::from_random([0xff; 16]);
        assert_eq!(id.to_string(), "ffffffff-ffff-4fff-bfff-ffffffffffff");
        assert_eq!(id.to_string().parse(), Ok(id));
    }

    #[test]
    fn prefixes_ignore_case_and_hyphens() {
        let id = AgentId::from_random([0xab; 16]);
        for text in ["abab", "ABAB", "abababab-ab", &id.to_string()] {
            assert!(AgentPrefix::parse(text).unwrap().matches(&id), "{text}");
        }
        assert!(!AgentPrefix::parse("abac").unwrap().matches(&id));
        assert_eq!(AgentPrefix::parse("aba"), Err(IdError::TooShort("aba".into())));
        assert_eq!(AgentPrefix::parse("wxyz"), Err(IdError::NotHex("wxyz".into())));
        assert_eq!(AgentPrefix::parse(""), Err(IdError::NotHex(String::new())));
    }
}
