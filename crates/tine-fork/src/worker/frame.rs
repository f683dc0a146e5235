//! Workers known by their directive, where nothing else tells: in histories that came from elsewhere.
//!
//! A directive is known by its frame and by where it stands, never by the tag alone: people quote tags, and read about them.

use std::borrow::Cow;

use tine_model::{Block, Message, Role};

use super::BOILERPLATE_TAG;
use crate::envelope::unescape_frame_tags;

/// What Claude Code writes before a fork's task, behind its frame; which, depends on its version.
const OTHERS_LABELS: [&str; 2] = ["fork-directive:", "Your directive: "];

/// The task of a text that is a worker's directive: the tag is its first line, rules stand in between, and behind the end tag and
/// an empty line stands `Task:`. `None` for any other text, whatever it quotes. The rules may be in other words than today's.
/// The directive of a fork of Claude Code is one, too: its rules stand between the same tags, on as many lines as they like, and
/// its task on a line of its own, behind one of the labels of its versions.
///
/// A text that somebody copied whole, from the first byte of a directive on, cannot be told from one.
pub fn directive_task(text: &str) -> Option<Cow<'_, str>> {
    let inside = text.strip_prefix('<')?.strip_prefix(BOILERPLATE_TAG)?.strip_prefix('>')?;
    // The first end tag is the one that counts: a task may speak of tags.
    let (rules, behind) = inside.split_once(&format!("</{BOILERPLATE_TAG}>"))?;
    if rules.trim().is_empty() || rules.contains(&format!("<{BOILERPLATE_TAG}>")) {
        return None;
    }
    let is_own = rules.starts_with('\n') && rules.ends_with('\n');
    let own = behind.strip_prefix("\n\nTask:").filter(|_| is_own);
    let others = || {
        let line = behind.trim_start_matches(['\r', '\n']);
        let is_line = line.len() < behind.len();
        OTHERS_LABELS.iter().find_map(|label| line.strip_prefix(label)).filter(|_| is_line)
    };
    let task = own.or_else(others)?;
    Some(unescape_frame_tags(task.strip_prefix(' ').unwrap_or(task)))
}

/// The latest directive in these messages: a text of the user's that is one, as in [`directive_task`]. What tools answered and what
/// models said is never one. A compacted history keeps it as a text of its own.
pub fn workers_directive<'a>(messages: impl IntoIterator<Item = &'a Message>) -> Option<&'a str> {
    let told = messages.into_iter().filter(|message| message.role() == Role::User);
    let texts = told.flat_map(Message::blocks).filter_map(Block::as_text);
    texts.filter(|text| directive_task(text).is_some()).last()
}

/// Whether these messages are a worker's history: a message of the user's *is* a worker's directive. For histories that
/// came from elsewhere; tine's own agents have their standing in the registry.
pub fn is_workers_history<'a>(messages: impl IntoIterator<Item = &'a Message>) -> bool {
    workers_directive(messages).is_some()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use tine_model::ToolCallId;

    use super::*;
    use crate::worker::{Inherits, fresh_directive, worker_directive};

    fn told(blocks: impl IntoIterator<Item = Block>) -> Message {
        Message::new(Role::User, blocks.into_iter().collect())
    }

    fn text(text: &str) -> Block {
        Block::Text(text.to_owned())
    }

    #[test]
    fn a_worker_is_known_wherever_its_directive_stands() {
        let directive = worker_directive("Find x.", &Inherits::default());
        let placeholder = Block::result(ToolCallId("c1".into()), "forked", false);
        let summary = text("Summary of what was said before: x was looked for.");
        let histories = [
            vec![Message::user(&*directive)],
            vec![Message::user(fresh_directive("Find x."))],
            vec![Message::user("Go on."), told([placeholder, text("Mind x."), text(&directive)])],
            // Compacted: the brief is one text of the preface.
            vec![told([summary, text(&directive)]), Message::user("Go on.")],
            vec![Message::user("<fork-boilerplate>\nOther rules.\n</fork-boilerplate>\n\nTask: x")],
            // Of a fork of Claude Code, as one text and behind the results of its calls.
            vec![Message::user(OTHERS)],
            vec![told([Block::result(ToolCallId("c1".into()), "forked", false), text(OTHERS)])],
        ];
        for history in &histories {
            assert!(is_workers_history(history), "{history:?}");
        }
    }

    /// A directive in the shape of Claude Code's, in words of our own.
    const OTHERS: &str = "<fork-boilerplate>Read this first. You are a fork.\n\n1. Start no other.\n</fork-boilerplate>\n\n\
        fork-directive: Find x.";

    #[test]
    fn the_task_of_another_tools_worker_is_read() {
        let versions = [
            OTHERS.to_owned(),
            OTHERS.replace("fork-directive:", "Your directive:"),
            OTHERS.replace("\n\nfork-directive:", "\nYour directive:"),
            OTHERS.replace('\n', "\r\n"),
        ];
        for version in versions {
            assert_eq!(directive_task(&version).as_deref(), Some("Find x."), "{version}");
            assert!(is_workers_history([&Message::user(&*version)]), "{version}");
        }
        let quotes = [
            format!("> {}", OTHERS.replace("fork-directive:", "Your directive:")),
            OTHERS.replace("fork-directive:", "What is `Your directive:`? It says: "),
            OTHERS.replace("\n\nfork-directive:", " Your directive:"),
            format!("It says: {OTHERS}"),
            OTHERS.replace("\n\nfork-directive:", " fork-directive:"),
            OTHERS.replace("</fork-boilerplate>", ""),
            "<fork-boilerplate></fork-boilerplate>\n\nfork-directive: x".to_owned(),
            "<fork-boilerplate>is the tag of forks</fork-boilerplate>\n\nTask: explain".to_owned(),
        ];
        for quote in quotes {
            assert_eq!(directive_task(&quote), None, "{quote}");
        }
    }

    #[test]
    fn whoever_quotes_the_tag_is_no_worker() {
        let directive = worker_directive("Find x.", &Inherits::default());
        let quotes = [
            "",
            "Task: find x.",
            "What does <fork-boilerplate> mean?",
            "<fork-boilerplate>",
            "<fork-boilerplate> is the tag around a worker's rules. Task: explain it.",
            "<fork-boilerplate>\nWhat is that?\n\nTask: explain the tag.",
            "<fork-boilerplate>\n</fork-boilerplate>\n\nTask: an empty frame",
            "<fork-boilerplate></fork-boilerplate>\n\nTask: on one line",
            "<fork-boilerplate>\nrules\n</fork-boilerplate>\n\nis the frame; behind it stands\n\nTask: …",
            "<fork-boilerplate>\nrules\n</fork-boilerplate> Task: x",
            "<fork-boilerplate>\nsee <fork-boilerplate> in the docs\n</fork-boilerplate>\n\nTask: x",
            "<fork-boilerplate-2>\nrules\n</fork-boilerplate-2>\n\nTask: x",
            "<FORK-BOILERPLATE>\nrules\n</FORK-BOILERPLATE>\n\nTask: x",
            "&lt;fork-boilerplate&gt;\nrules\n&lt;/fork-boilerplate&gt;\n\nTask: x",
            "```\n<fork-boilerplate>\nrules\n</fork-boilerplate>\n\nTask: x\n```",
            "> <fork-boilerplate>\n> rules\n> </fork-boilerplate>\n>\n> Task: x",
            "    <fork-boilerplate>\n    rules\n    </fork-boilerplate>\n\n    Task: x",
            "The docs say:\n<fork-boilerplate>\nrules\n</fork-boilerplate>\n\nTask: x",
        ];
        for quote in quotes {
            assert_eq!(directive_task(quote), None, "{quote}");
            assert!(!is_workers_history([&Message::user(quote)]), "{quote}");
        }
        let elsewhere = [
            Message::user(format!("My log ends with:\n\n{directive}")),
            Message::user(format!("`{directive}`")),
            Message::new(Role::Assistant, vec![text(&directive)]),
            Message::new(Role::System, vec![text(&directive)]),
            told([Block::result(ToolCallId("c1".into()), &*directive, false), text("Read it?")]),
            told([text("<fork-boilerplate>\nrules"), text("</fork-boilerplate>\n\nTask: x")]),
        ];
        for message in &elsewhere {
            assert!(!is_workers_history([message]), "{message:?}");
        }
    }

    #[test]
    fn the_latest_directive_counts() {
        let [one, other] = ["Do a.", "Do b."].map(|task| Message::user(fresh_directive(task)));
        let found = workers_directive([&one, &other]).and_then(directive_task);
        assert_eq!(found.as_deref(), Some("Do b."));
    }

    proptest! {
        /// Shows: every directive is known, whatever its task says and whatever the worker takes over.
        #[test]
        fn every_directive_is_known(task in "(<fork-boilerplate>|</fork-boilerplate>|\n|Task: |.){0,12}", bits in 0u8..8) {
            let inherits = Inherits { plans: bits & 1 != 0, todos: bits & 2 != 0, goals: bits & 4 != 0 };
            for directive in [worker_directive(&task, &inherits), fresh_directive(&task)] {
                let read = directive_task(&directive);
                prop_assert_eq!(read.as_deref(), Some(&*task));
            }
        }

        /// Shows: a directive with anything before it is a quote, and so is one that is cut before its task.
        #[test]
        fn what_is_quoted_or_cut_is_no_directive(before in ".{1,40}", task in ".{0,40}", cut in 0usize..4_000) {
            let directive = fresh_directive(&task);
            for quote in [format!("{before}{directive}"), format!("{before}\n{directive}")] {
                prop_assert_eq!(directive_task(&quote), None);
            }
            let head = directive.rfind("Task: ").unwrap_or_default();
            prop_assert_eq!(directive_task(&directive[..cut.min(head)]), None);
        }
    }
}
