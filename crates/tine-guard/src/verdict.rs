//! What the guard can say, and how strict it is asked to be.

use std::fmt;
use std::str::FromStr;

/// What guard says of a tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The call may run without a question: a rule, the mode or the tool's own nature allows it.
    Allow,
    /// The call is a command that only reads, as far as its text tells, and nothing else allows it. It may run without a
    /// question, behind the read-only wall. Where the command was judged as [`Width::Strict`](crate::Width::Strict), it
    /// may run without a wall as well.
    Read,
    /// The call may run once somebody with the authority has said yes.
    Ask(Reason),
    /// The call must not run; the model is told why.
    Deny(Reason),
}

impl Verdict {
    /// Returns true where the call may run without a question.
    pub fn is_free(&self) -> bool {
        match self {
            Self::Allow | Self::Read => true,
            Self::Ask(_) | Self::Deny(_) => false,
        }
    }
}

/// Why a call is not free; names the rule where one decided.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Reason(String);

impl Reason {
    /// Takes a lower-case fragment that reads after "denied: ".
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// How much may happen without a question.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum PermissionMode {
    /// Reads inside the directory are free, everything else is asked.
    #[default]
    Default,
    /// As `Default`, and files inside the directory may be written.
    AcceptEdits,
    /// As `Default`, and nothing is written or run, whatever the rules allow.
    ReadOnly,
    /// Everything may happen that no deny rule names.
    Bypass,
}

impl PermissionMode {
    /// Every mode, in the order in which help texts name them.
    pub const ALL: [Self; 4] = [Self::Default, Self::AcceptEdits, Self::ReadOnly, Self::Bypass];

    /// Names that other programs give the modes.
    const OTHER_NAMES: [(&str, Self); 3] = [
        ("acceptEdits", Self::AcceptEdits),
        ("plan", Self::ReadOnly),
        ("bypassPermissions", Self::Bypass),
    ];

    /// Returns the stricter of two modes.
    pub fn stricter(self, other: Self) -> Self {
        let strictness = |mode: Self| match mode {
            Self::Bypass => 0,
            Self::AcceptEdits => 1,
            Self::Default => 2,
            Self::ReadOnly => 3,
        };
        if strictness(other) > strictness(self) { other } else { self }
    }

    /// The name that is written in settings and on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::AcceptEdits => "accept-edits",
            Self::ReadOnly => "read-only",
            Self::Bypass => "bypass",
        }
    }
}

impl fmt::Display for PermissionMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The text names no permission mode.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown permission mode `{0}`, expected default, accept-edits, read-only or bypass")]
pub struct ModeError(pub String);

impl FromStr for PermissionMode {
    type Err = ModeError;

    fn from_str(text: &str) -> Result<Self, ModeError> {
        let own = Self::ALL.into_iter().map(|mode| (mode.as_str(), mode));
        own.chain(Self::OTHER_NAMES)
            .find(|(name, _)| *name == text)
            .map(|(_, mode)| mode)
            .ok_or_else(|| ModeError(text.to_owned()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mode_is_read_back_from_its_name() {
        for mode in PermissionMode::ALL {
            assert_eq!(mode.to_string().parse(), Ok(mode));
        }
        let names = ["acceptEdits", "plan", "bypassPermissions", "default"];
        let modes = names.map(|name| name.parse::<PermissionMode>().unwrap().as_str());
        assert_eq!(modes, ["accept-edits", "read-only", "bypass", "default"]);
    }

    #[test]
    fn an_unknown_mode_is_named_with_the_choices() {
        let error = "Bypass".parse::<PermissionMode>().unwrap_err();
        insta::assert_snapshot!(error, @"unknown permission mode `Bypass`, expected default, accept-edits, read-only or bypass");
    }
}
