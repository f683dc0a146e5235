//! A refusal in parts: what kind, why, and what to do instead.

use std::fmt;

/// The kind of a refusal, for programs that act on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum DenialCode {
    /// The name is no tool's canonical name.
    UnknownTool,
    /// The tool is not one of those that this run may call.
    ToolRefused,
    /// The arguments cannot be read without doubt: an envelope, a key twice, a wrong type.
    Arguments,
    /// The command would or could change something.
    NotReadOnly,
    /// The path leads out of the directory that may be written.
    Outside,
    /// What stands at the path must not be written: a folder, a device, a file with several names.
    Target,
    /// The path may hold keys or passwords.
    Secret,
    /// The call would touch what all worktrees of a repository share.
    SharedGit,
    /// The directory that a filter was made for is not there any more.
    DirectoryGone,
    /// A filter of somebody else refuses the call in its own words.
    Other,
}

impl DenialCode {
    /// The name that stands in output; stable.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::UnknownTool => "unknown_tool",
            Self::ToolRefused => "tool_refused",
            Self::Arguments => "arguments",
            Self::NotReadOnly => "not_read_only",
            Self::Outside => "outside",
            Self::Target => "target",
            Self::Secret => "secret",
            Self::SharedGit => "shared_git",
            Self::DirectoryGone => "directory_gone",
            Self::Other => "other",
        }
    }
}

/// Why a filter refuses a call. Its text is for the model.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Denial {
    code: DenialCode,
    reason: String,
    hint: String,
}

impl Denial {
    /// A refusal. `reason` is a lower-case fragment that reads after "Denied: ", `hint` whole sentences
    /// that say what may be done instead; it may be empty.
    pub fn new(code: DenialCode, reason: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { code, reason: reason.into(), hint: hint.into() }
    }

    /// A refusal of which only the whole text is known.
    pub(super) fn from_message(message: String) -> Self {
        Self::new(DenialCode::Other, message, "")
    }

    /// The same with another hint, where none was given.
    pub(super) fn or_hint(self, hint: &str) -> Self {
        if self.hint.is_empty() { Self { hint: hint.to_owned(), ..self } } else { self }
    }

    /// The same with another hint.
    pub(super) fn with_hint(self, hint: String) -> Self {
        Self { hint, ..self }
    }

    /// The kind.
    pub fn code(&self) -> DenialCode {
        self.code
    }

    /// Why, as a fragment.
    pub fn reason(&self) -> &str {
        &self.reason
    }

    /// What may be done instead; empty if nobody knows.
    pub fn hint(&self) -> &str {
        &self.hint
    }
}

impl fmt::Display for Denial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (self.code, self.hint.as_str()) {
            (DenialCode::Other, "") => f.write_str(&self.reason),
            (_, "") => write!(f, "Denied: {}.", self.reason),
            (_, hint) => write!(f, "Denied: {}. {hint}", self.reason),
        }
    }
}
