//! A conversation as text: entry ids in the margin, one paragraph a block.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::PathBuf;

use anstyle::Style;
use tine_fork::merge_note::MergeNote;
use tine_fork::worker::directive_task;
use tine_guard::{Call, describe, redact, redact_json};
use tine_model::{
    Block, Entry, EntryBody, ForkRole, Message, RawJson, Role, ToolCallId, ToolInput,
};

use crate::render::entry::role_word;
use tine_tui::figures::plural;
use tine_tui::words::{CYAN, DIM, GREEN, RED, YELLOW, cut, harmless, one_line};

/// Lines of a tool's result that are shown unless everything is asked for.
const RESULT_LINES: usize = 4;

/// Columns of one line of a result, unless everything is asked for.
const LINE_COLUMNS: usize = 120;

/// Text of a block that is looked at for a one-line summary, in characters: enough for any terminal's width.
const SUMMARY_CHARS: usize = 1_000;

/// Keys and passwords in what is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Secrets {
    /// Each is replaced, before anything is cut: the beginning of a key may not be known as one.
    Redacted,
    /// Left in.
    Raw,
}

impl Secrets {
    /// For a command that was told to leave them in, or not.
    pub(crate) fn of(raw: bool) -> Self {
        if raw { Self::Raw } else { Self::Redacted }
    }

    fn text(self, text: &str) -> Cow<'_, str> {
        match self {
            Self::Redacted => redact(text),
            Self::Raw => Cow::Borrowed(text),
        }
    }

    fn json(self, json: &RawJson) -> RawJson {
        let redacted = || RawJson::parse(&redact_json(json.as_str())).ok();
        (self == Self::Redacted).then(redacted).flatten().unwrap_or_else(|| json.clone())
    }
}

/// How much is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Detail {
    /// Thinking folded, results and arguments cut.
    Short,
    /// All of it.
    Full,
}

/// Writes entries one after the other.
#[derive(Debug)]
pub(crate) struct Transcript {
    text: String,
    detail: Detail,
    secrets: Secrets,
    margin: usize,
    /// Where the agent works: paths of its calls are shown from there.
    directory: PathBuf,
    /// The tool behind each call, to name it beside its result.
    tools: HashMap<ToolCallId, String>,
}

impl Transcript {
    /// A transcript whose entry ids have at most `margin` digits.
    pub(crate) fn new(
        (detail, secrets): (Detail, Secrets),
        margin: usize,
        directory: PathBuf,
    ) -> Self {
        Self { text: String::new(), detail, secrets, margin, directory, tools: HashMap::new() }
    }

    /// A line across, which tells one part from the next.
    pub(crate) fn rule(&mut self, words: &str) {
        let _ = writeln!(self.text, "\n{DIM}── {words} ──{DIM:#}");
    }

    /// One entry. `counts` says whether it is still part of the conversation; for events it means nothing.
    pub(crate) fn entry(&mut self, entry: &Entry, counts: bool) {
        let id = entry.id.to_string();
        let margin = self.margin;
        match &entry.body {
            EntryBody::Message(message) => {
                let style = if counts { role_style(message.role()) } else { DIM };
                let role = role_word(message.role());
                let note = if counts { "" } else { " (no longer counts)" };
                let _ = writeln!(
                    self.text,
                    "\n{DIM}{id:>margin$}{DIM:#}  {style}{role}{note}{style:#}"
                );
                self.message(message);
            }
            event => {
                let words = self.fit(&event_words(event));
                let _ = writeln!(self.text, "\n{DIM}{id:>margin$}  {words}{DIM:#}");
                if let (EntryBody::Compact { preface, .. }, true) = (event, counts) {
                    self.message(preface);
                }
            }
        }
    }

    /// The whole text.
    pub(crate) fn into_text(self) -> String {
        self.text
    }

    fn message(&mut self, message: &Message) {
        for block in message.blocks() {
            self.block(block);
        }
    }

    fn block(&mut self, block: &Block) {
        match block {
            Block::Text(text) => match self.detail {
                Detail::Short => self.short_text(text),
                Detail::Full => self.lines(text, Style::new()),
            },
            Block::Thinking { text, .. } => match self.detail {
                Detail::Full => self.lines(text, DIM),
                Detail::Short => {
                    let lines = plural(text.lines().count() as u64, "line");
                    self.lines(&format!("(thinking, {lines})"), DIM);
                }
            },
            Block::RedactedThinking(_) => self.lines("(thinking, sealed by the provider)", DIM),
            Block::ToolUse { id, name, input } => {
                self.tools.insert(id.clone(), name.clone());
                self.call(name, input);
            }
            Block::ToolResult { call, content, is_error } => self.result(call, content, *is_error),
            Block::Image(_) => self.lines("(an image)", DIM),
            Block::Document(_) => self.lines("(a document)", DIM),
            Block::Unknown(json) => {
                let line = self.fit(json.as_str());
                self.lines(&format!("(a block of unknown kind) {line}"), DIM);
            }
        }
    }

    /// A text without the frames that are the same for all.
    fn short_text(&mut self, text: &str) {
        if let Some(task) = directive_task(text) {
            self.lines("(a worker's rules)", DIM);
            self.lines(&format!("Task: {task}"), Style::new());
        } else if let Some(note) = MergeNote::parse(text) {
            self.lines(&format!("({})", brought_back(&note)), DIM);
            self.lines(&note.text, Style::new());
        } else {
            self.lines(text, Style::new());
        }
    }

    fn call(&mut self, name: &str, input: &ToolInput) {
        let line = match (input, self.detail) {
            (ToolInput::Valid(input), Detail::Short) => {
                let input = &self.secrets.json(input);
                describe(&Call::new(name, input, &self.directory))
            }
            (ToolInput::Valid(input), Detail::Full) => {
                format!("{name}: {}", one_line(input.as_str()))
            }
            (ToolInput::Invalid(text), _) => {
                let text = self.fit(text);
                return self.lines(&format!("→ {name} (not a JSON object): {text}"), RED);
            }
        };
        self.lines(&format!("→ {line}"), Style::new());
    }

    fn result(&mut self, call: &ToolCallId, content: &[Block], is_error: bool) {
        let tool = self.tools.get(call).map_or("a tool", String::as_str);
        let tool = one_line(tool);
        let (head, style) = if is_error {
            (format!("✗ {tool} failed"), RED)
        } else {
            (format!("← {tool}"), DIM)
        };
        self.lines(&head, style);
        for block in content {
            let Some(text) = block.as_text() else {
                self.block(block);
                continue;
            };
            let shown = match self.detail {
                Detail::Full => usize::MAX,
                Detail::Short => RESULT_LINES,
            };
            let text = self.secrets.text(text);
            for line in text.lines().take(shown) {
                let line = match self.detail {
                    Detail::Full => line.to_owned(),
                    Detail::Short => cut(&harmless(line), LINE_COLUMNS),
                };
                self.lines(&format!("  {line}"), DIM);
            }
            let hidden = text.lines().count().saturating_sub(shown);
            if hidden > 0 {
                self.lines(&format!("  … {}", plural(hidden as u64, "more line")), DIM);
            }
        }
    }

    fn fit(&self, text: &str) -> String {
        match self.detail {
            Detail::Full => one_line(text),
            Detail::Short => cut(&one_line(&self.secrets.text(text)), LINE_COLUMNS),
        }
    }

    /// Lines behind the margin.
    fn lines(&mut self, text: &str, style: Style) {
        let indent = self.margin + 2;
        for line in text.lines() {
            if line.is_empty() {
                self.text.push('\n');
            } else {
                let line = harmless(line);
                let _ = writeln!(self.text, "{:indent$}{style}{line}{style:#}", "");
            }
        }
    }
}

/// One entry on one line of at most `columns` columns, for a log.
pub(crate) fn summary(entry: &Entry, columns: usize, secrets: Secrets) -> String {
    let line = match &entry.body {
        EntryBody::Message(message) => {
            let parts: Vec<String> =
                message.blocks().iter().map(|block| block_summary(block, secrets)).collect();
            format!("{:<9}  {}", role_word(message.role()), parts.join("  "))
        }
        event => one_line(&secrets.text(&event_words(event))),
    };
    cut(&line, columns)
}

fn block_summary(block: &Block, secrets: Secrets) -> String {
    let start = |text: &str| start(&secrets.text(text));
    match block {
        Block::Text(text) => match MergeNote::parse(text) {
            Some(note) => format!("({}) {}", brought_back(&note), start(&note.text)),
            None => start(text),
        },
        Block::Thinking { .. } | Block::RedactedThinking(_) => "(thinking)".to_owned(),
        Block::ToolUse { name, input, .. } => {
            let input = match input {
                ToolInput::Valid(json) => json.as_str(),
                ToolInput::Invalid(text) => text,
            };
            format!("→ {} {}", one_line(name), start(input))
        }
        Block::ToolResult { content, is_error, .. } => {
            let texts: Vec<String> =
                content.iter().map(|block| block_summary(block, secrets)).collect();
            format!("{} {}", if *is_error { "✗" } else { "←" }, texts.join("  "))
        }
        Block::Image(_) => "(an image)".to_owned(),
        Block::Document(_) => "(a document)".to_owned(),
        Block::Unknown(_) => "(a block of unknown kind)".to_owned(),
    }
}

/// Whose conclusions a text has.
fn brought_back(note: &MergeNote) -> String {
    let name = note.name.as_deref().map(|name| format!(" {}", one_line(name)));
    let (first, last) = (note.first, note.last);
    format!(
        "from fork {}{}, entries {first} to {last}",
        note.source.short(),
        name.unwrap_or_default()
    )
}

/// The beginning of a text, on one line. What is left out lies far behind the end of any line.
fn start(text: &str) -> String {
    one_line(&text.chars().take(SUMMARY_CHARS).collect::<String>())
}

fn event_words(event: &EntryBody) -> String {
    match event {
        EntryBody::Message(_) => String::new(),
        EntryBody::Fork { role: ForkRole::Parent, other, .. } => {
            format!("fork: {} was forked from here", other.short())
        }
        EntryBody::Fork { role: ForkRole::Child, other, fork_point } => match fork_point {
            Some(entry) => format!("fork: forked from {} at entry {entry}", other.short()),
            None => format!("fork: forked from {}, inheriting nothing", other.short()),
        },
        EntryBody::Clear => "clear: the conversation starts anew".to_owned(),
        EntryBody::Mark { label: Some(label) } => format!("mark: {}", one_line(label)),
        EntryBody::Mark { label: None } => "mark".to_owned(),
        EntryBody::Rewind { to: Some(entry) } => format!("rewind: back to entry {entry}"),
        EntryBody::Rewind { to: None } => "rewind: back to the beginning".to_owned(),
        EntryBody::Notice(text) => format!("notice: {text}"),
        EntryBody::Dialect(change) => match &change.refusal {
            Some(words) => format!("dialect: {change}. Its words: {}", one_line(words)),
            None => format!("dialect: {change}"),
        },
        EntryBody::Compact { keep: Some(entry), .. } => {
            format!("compact: this stands for everything before entry {entry}")
        }
        EntryBody::Compact { keep: None, .. } => {
            "compact: this stands for everything before".to_owned()
        }
    }
}

fn role_style(role: Role) -> Style {
    match role {
        Role::User => CYAN.bold(),
        Role::Assistant => GREEN.bold(),
        Role::System => YELLOW.bold(),
    }
}

#[cfg(test)]
mod tests {
    use tine_model::{AgentId, EntryId};

    use super::*;

    fn entry(id: i64, body: EntryBody) -> Entry {
        Entry { id: EntryId(id), agent: AgentId::from_random([1; 16]), at_ms: 0, body }
    }

    fn sample() -> Vec<Entry> {
        let call = || ToolCallId("c1".into());
        let input = ToolInput::Valid(RawJson::parse("{\"command\":\n\"ls\"}").unwrap());
        let reply = vec![
            Block::Thinking { text: "first\nsecond".into(), signature: None },
            Block::Text("I look.\n\nNow.".into()),
            Block::ToolUse { id: call(), name: "Bash".into(), input },
        ];
        let message = |role, blocks| EntryBody::Message(Message::new(role, blocks).into());
        let result =
            |text: &str, is_error| message(Role::User, vec![Block::result(call(), text, is_error)]);
        let other = AgentId::from_random([2; 16]);
        vec![
            entry(1, message(Role::User, vec![Block::Text("hello\u{1b}[2J".into())])),
            entry(2, message(Role::Assistant, reply)),
            entry(3, result("a\n  b\nc\nd\ne\nf", false)),
            entry(4, result("no", true)),
            entry(5, EntryBody::Fork { role: ForkRole::Parent, other, fork_point: None }),
            entry(12, EntryBody::Rewind { to: Some(EntryId(1)) }),
        ]
    }

    fn transcript(detail: Detail) -> String {
        let mut transcript = Transcript::new((detail, Secrets::Raw), 2, "/home/user".into());
        transcript.rule("inherited");
        for entry in sample() {
            transcript.entry(&entry, entry.id.0 == 1);
        }
        anstream::adapter::strip_str(&transcript.into_text()).to_string()
    }

    #[test]
    fn a_short_transcript_folds_thinking_and_cuts_results() {
        insta::assert_snapshot!(transcript(Detail::Short), @r"
        ── inherited ──

         1  user
            hello\u{1b}[2J

         2  assistant (no longer counts)
            (thinking, 2 lines)
            I look.

            Now.
            → Bash: ls

         3  user (no longer counts)
            ← Bash
              a
                b
              c
              d
              … 2 more lines

         4  user (no longer counts)
            ✗ Bash failed
              no

         5  fork: 02020202 was forked from here

        12  rewind: back to entry 1
        ");
    }

    #[test]
    fn a_full_transcript_leaves_nothing_out() {
        let text = transcript(Detail::Full);
        for line in ["first", "second", "  d", "  f"] {
            assert!(text.lines().any(|found| found.ends_with(line)), "{line}: {text}");
        }
        assert!(!text.contains('…'));
    }

    #[test]
    fn a_log_line_sums_a_message_up() {
        let lines: Vec<String> =
            sample().iter().map(|entry| summary(entry, 60, Secrets::Raw)).collect();
        insta::assert_snapshot!(lines.join("\n"), @r#"
        user       hello\u{1b}[2J
        assistant  (thinking)  I look. Now.  → Bash {"command": "ls…
        user       ← a b c d e f
        user       ✗ no
        fork: 02020202 was forked from here
        rewind: back to entry 1
        "#);
    }

    /// The end of this key is what it is known by.
    #[test]
    fn a_key_at_the_end_of_a_line_is_known_before_the_line_is_cut() {
        let key = format!("xoxp-{0}-{0}-{0}-{1}", "123456789012", "0123456789abcdef".repeat(2));
        let text = format!("{}{key}", "word ".repeat(18));
        let message = |block| EntryBody::Message(Message::new(Role::User, vec![block]).into());
        let json = RawJson::parse(&format!("{{\"command\":\"{text}{text}\"}}")).unwrap();
        let call = ToolCallId("c1".into());
        let (name, input) = ("Bash".to_owned(), ToolInput::Valid(json));
        let entries = [
            entry(1, message(Block::result(call.clone(), &text, false))),
            entry(2, message(Block::ToolUse { id: call, name, input })),
        ];
        for (secrets, is_shown) in [(Secrets::Redacted, false), (Secrets::Raw, true)] {
            let mut transcript = Transcript::new((Detail::Short, secrets), 2, "/home/user".into());
            for entry in &entries {
                let line = summary(entry, 130, secrets);
                assert_eq!(line.contains("xoxp"), is_shown, "{line}");
                transcript.entry(entry, true);
            }
            let shown = transcript.into_text();
            assert_eq!(shown.contains("xoxp"), is_shown, "{shown}");
        }
    }
}
