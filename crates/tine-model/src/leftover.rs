//! Processes that are left of a tool call whose tine died.

use crate::ToolCallId;

/// Processes that a note names; of more there is a number.
const NAMED_MAX: usize = 5;

/// A process that outlived the tine that started its command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leftover {
    /// Its number.
    pub process: i32,
    /// Its command line on one line, cut to a usual length and without secrets.
    pub command: String,
    /// The agent whose call started it, as its environment says.
    pub agent: String,
    /// The call.
    pub call: ToolCallId,
    /// True if it was ended since it was found.
    pub is_ended: bool,
}

impl Leftover {
    /// Tells a model or a person of them in one sentence for those that were ended and one for those that may still run. Empty without any.
    pub fn note(left: &[Self]) -> String {
        let (ended, running): (Vec<&Self>, Vec<&Self>) = left.iter().partition(|one| one.is_ended);
        let part = |begin: &str, of: &[&Self]| {
            (!of.is_empty()).then(|| format!("{begin}: {}.", Self::named(of)))
        };
        let ended = part("Processes of it still ran and were ended now", &ended);
        let running = part("Processes of it may still run, and cannot be ended by tine", &running);
        ended.into_iter().chain(running).collect::<Vec<_>>().join(" ")
    }

    /// Names some, with their commands, and counts the rest.
    pub fn named(left: &[&Self]) -> String {
        let one = |left: &&Self| format!("{} (`{}`)", left.process, left.command);
        let named: Vec<String> = left.iter().take(NAMED_MAX).map(one).collect();
        match left.len().saturating_sub(NAMED_MAX) {
            0 => named.join(", "),
            more => format!("{} and {more} more", named.join(", ")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_note_says_what_was_ended_and_what_may_still_run() {
        let left = |process: i32| Leftover {
            process,
            command: "sleep 1000".to_owned(),
            agent: "a".to_owned(),
            call: ToolCallId("c1".to_owned()),
            is_ended: process > 1,
        };
        assert_eq!(Leftover::note(&[]), "");
        let all: Vec<Leftover> = (1..=8).map(left).collect();
        insta::assert_snapshot!(Leftover::note(&all[..3]), @"Processes of it still ran and were ended now: 2 (`sleep 1000`), 3 (`sleep 1000`). Processes of it may still run, and cannot be ended by tine: 1 (`sleep 1000`).");
        insta::assert_snapshot!(Leftover::note(&all[1..]), @"Processes of it still ran and were ended now: 2 (`sleep 1000`), 3 (`sleep 1000`), 4 (`sleep 1000`), 5 (`sleep 1000`), 6 (`sleep 1000`) and 2 more.");
    }
}
