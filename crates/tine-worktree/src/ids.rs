//! Names of git objects and of worktrees.

use std::fmt;

use crate::error::{Refusal, WorktreeError};

macro_rules! object {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Clone, Debug, PartialEq, Eq, Hash)]
        pub struct $name(String);

        impl $name {
            /// The object's name in hexadecimal, as git prints it.
            pub fn parse(text: &str) -> Result<Self, WorktreeError> {
                let text = text.trim_end();
                // SHA-1 or SHA-256.
                let is_name = matches!(text.len(), 40 | 64)
                    && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
                if is_name { Ok(Self(text.to_owned())) } else { Err(WorktreeError::Output { what: stringify!($name), text: text.to_owned() }) }
            }

            /// The object's name in hexadecimal.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
                formatter.write_str(&self.0)
            }
        }
    };
}

object! {
    /// A commit.
    Commit
}
object! {
    /// A directory with all below it.
    Tree
}

/// The name of a worktree, unique in its repository: letters, digits and `-`, at most 64.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Name(String);

/// Longest name of a worktree, in bytes: it becomes a file's name and a part of a ref's.
const NAME_BYTES_MAX: usize = 64;

impl Name {
    /// Checks a name.
    pub fn new(text: &str) -> Result<Self, WorktreeError> {
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
        let is_name = (1..=NAME_BYTES_MAX).contains(&text.len())
            && !text.starts_with('-')
            && text.bytes().all(is_plain);
        if is_name { Ok(Self(text.to_owned())) } else { Err(Refusal::Name(text.to_owned()).into()) }
    }

    /// The name as it is written.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The ref that holds what a worktree of this name started from.
    pub(crate) fn start_ref(&self) -> String {
        format!("refs/tine/{}/start", self.0)
    }

    /// The ref that holds what a worktree of this name held last.
    pub fn end_ref(&self) -> String {
        format!("refs/tine/{}/end", self.0)
    }

    /// The ref that holds the list of ignored files that came along into a worktree of this name.
    pub(crate) fn included_ref(&self) -> String {
        format!("refs/tine/{}/included", self.0)
    }

    /// The ref that holds those files as a worktree of this name had them last, where it had changed any.
    pub fn ignored_ref(&self) -> String {
        format!("refs/tine/{}/ignored", self.0)
    }

    /// The ref that holds the state of a worktree of this name that was last packed for another machine.
    pub(crate) fn sent_ref(&self) -> String {
        format!("refs/tine/{}/sent", self.0)
    }

    /// The ref that holds the state that last came from another machine for a worktree of this name.
    pub fn arrived_ref(&self) -> String {
        format!("refs/tine/{}/arrived", self.0)
    }

    /// The ref that holds what a checkout held before commits of this worktree came into it.
    pub(crate) fn before_ref(&self) -> String {
        format!("refs/tine/{}/before", self.0)
    }
}

impl fmt::Display for Name {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_plain() {
        for good in ["a", "3f2a91bc", "3f2a91bc-1111-4222-8333-123456789abc"] {
            assert_eq!(Name::new(good).unwrap().as_str(), good);
        }
        let long = "a".repeat(65);
        for bad in ["", "-a", "a/b", "..", "a b", "ä", long.as_str()] {
            assert!(Name::new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn objects_are_full_names() {
        assert!(Commit::parse("4b825dc642cb6eb9a060e54bf8d69288fbee4904\n").is_ok());
        for bad in ["", "HEAD", "4b825dc", "4B825DC642CB6EB9A060E54BF8D69288FBEE4904"] {
            assert!(Tree::parse(bad).is_err(), "{bad}");
        }
    }
}
