//! One message as text.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};
use std::fmt::Write;

use tine_model::{Block, Message, RawJson, Role, ToolCallId, ToolInput};
use tine_wire::CLEARED_RESULT;

use super::profile::{DigestProfile, at_char};
use super::quote::{on_one_line, quote, quote_below, word};

/// Parts of the names of tools whose output says at its end how it went.
const COMMAND_TOOLS: [&str; 5] = ["bash", "shell", "pty", "exec", "terminal"];

/// Words of a failure, whose end tells the cause.
const ERROR_WORDS: [&str; 6] = ["error", "exception", "failed", "failure", "panic", "traceback"];

/// Of a result whose end is kept, the end gets one part of so many.
const TAIL_SHARE: usize = 5;

/// A message as text, and what it lacks.
#[derive(Debug, Default)]
pub(super) struct Rendered {
    /// Lines without a line end after the last; empty for a message of reasoning alone.
    pub(super) text: String,
    pub(super) results: usize,
    pub(super) results_cut: usize,
    pub(super) results_cleared: usize,
    pub(super) calls_cut: usize,
    pub(super) has_thinking: bool,
    pub(super) pictures: usize,
}

impl Rendered {
    /// Keeps the beginning, and says so, within `cost`.
    pub(super) fn cut(&mut self, cost: usize, profile: DigestProfile) {
        let most = self.text.chars().count();
        // As long as the note can be: no count has more digits than that of all.
        let note = |left_out: usize| format!("\n[message cut: {left_out} characters left out]");
        let kept = cost.saturating_sub(profile.cost(&note(most)));
        let end = profile.beginning(&self.text, kept);
        let within_a_line = self.text[end..].chars().next().is_some_and(|next| next != '\n');
        self.text.truncate(end);
        // A line of the first column is ours, whole or not at all.
        if let Some(line) = self.text.rfind('\n').filter(|_| within_a_line)
            && !self.text[line + 1..].starts_with(' ')
        {
            self.text.truncate(line);
        }
        // A cut may fall between a line end and the indentation behind it.
        self.text.truncate(self.text.trim_end().len());
        let left_out = most - self.text.chars().count();
        self.text.push_str(&note(left_out));
    }
}

/// Renders messages from the newest back: what is kept of a result depends on how many came after it.
pub(super) struct Renderer<'a> {
    profile: DigestProfile,
    tools: HashMap<&'a ToolCallId, &'a str>,
    answered: HashSet<&'a ToolCallId>,
    results_seen: usize,
    calls_seen: usize,
}

impl<'a> Renderer<'a> {
    pub(super) fn new(messages: &[&'a Message], profile: DigestProfile) -> Self {
        let (mut tools, mut answered) = (HashMap::new(), HashSet::new());
        for block in messages.iter().flat_map(|message| message.blocks()) {
            match block {
                Block::ToolUse { id, name, .. } => {
                    tools.insert(id, name.as_str());
                }
                Block::ToolResult { call, .. } => {
                    answered.insert(call);
                }
                Block::Text(_)
                | Block::Thinking { .. }
                | Block::RedactedThinking(_)
                | Block::Image(_)
                | Block::Document(_)
                | Block::Unknown(_) => {}
            }
        }
        Self { profile, tools, answered, results_seen: 0, calls_seen: 0 }
    }

    /// The next message, going back.
    pub(super) fn message(&mut self, message: &Message) -> Rendered {
        let mut rendered = Rendered::default();
        let count = |is: fn(&Block) -> bool| message.blocks().iter().filter(|b| is(b)).count();
        let results = count(|block| matches!(block, Block::ToolResult { .. }));
        let calls = count(|block| matches!(block, Block::ToolUse { .. }));
        // Within the message the last one is the newest.
        let mut result_rank = self.results_seen + results;
        let mut call_rank = self.calls_seen + calls;
        for block in message.blocks() {
            match block {
                Block::Text(text) => rendered.said(message.role(), text),
                Block::Thinking { .. } | Block::RedactedThinking(_) => rendered.has_thinking = true,
                Block::ToolUse { id, name, input } => {
                    call_rank -= 1;
                    self.call(&mut rendered, (id, name, input), call_rank);
                }
                Block::ToolResult { call, content, is_error } => {
                    result_rank -= 1;
                    self.result(&mut rendered, (call, content, *is_error), result_rank);
                }
                Block::Image(_) => rendered.picture("image"),
                Block::Document(_) => rendered.picture("document"),
                Block::Unknown(json) => rendered.picture(&kind_of(json)),
            }
        }
        self.results_seen += results;
        self.calls_seen += calls;
        rendered
    }

    fn call(
        &self,
        rendered: &mut Rendered,
        (id, name, input): (&ToolCallId, &str, &ToolInput),
        rank: usize,
    ) {
        let input = match input {
            ToolInput::Valid(json) => json.as_str(),
            ToolInput::Invalid(text) => text,
        };
        let end = at_char(input, self.profile.preview_chars(rank));
        let is_cut = end < input.len();
        rendered.calls_cut += usize::from(is_cut);
        let (preview, dots) = (on_one_line(&input[..end]), if is_cut { "..." } else { "" });
        let open = if self.answered.contains(id) { "" } else { ", no result yet" };
        let (name, id) = (word(name), word(&id.0));
        let line = rendered.line();
        // Writing to a string cannot fail.
        let _ = write!(line, "[Tool: {name}] {preview}{dots} (call {id}{open})");
    }

    fn result(
        &self,
        rendered: &mut Rendered,
        (call, content, is_error): (&ToolCallId, &[Block], bool),
        rank: usize,
    ) {
        let name = self.tools.get(call).copied().unwrap_or_default();
        let (text, pictures) = text_of(content);
        rendered.results += 1;
        rendered.results_cleared += usize::from(text == CLEARED_RESULT);
        rendered.pictures += pictures;
        let who = match name {
            "" => format!("call {}", word(&call.0)),
            name => format!("{}, call {}", word(name), word(&call.0)),
        };
        let failed = if is_error { ", failed" } else { "" };
        let line = rendered.line();
        let _ = write!(line, "[Tool result] ({who}{failed})");
        let Some(kept) = self.shortened(&text, name, is_error, rank) else {
            if !text.trim_end().is_empty() {
                quote_below(line, &text);
            }
            return;
        };
        let Kept { head, tail, all, shown } = kept;
        quote_below(line, head);
        let _ = write!(line, "\n{}", self.profile.cut_note(all, shown));
        if !tail.is_empty() {
            quote_below(line, tail);
        }
        rendered.results_cut += 1;
    }

    /// What is kept of a result; `None` for all of it.
    fn shortened<'t>(
        &self,
        text: &'t str,
        name: &str,
        is_error: bool,
        rank: usize,
    ) -> Option<Kept<'t>> {
        let most = self.profile.result_chars(rank)?;
        // No text has more characters than bytes.
        if text.len() <= most {
            return None;
        }
        let all = text.chars().count();
        if all <= most {
            return None;
        }
        let keeps_end = self.profile.keeps_ends() && (is_error || tells_at_its_end(name, text));
        let tail_chars = if keeps_end { most / TAIL_SHARE } else { 0 };
        let head = &text[..at_char(text, most - tail_chars)];
        let tail = match tail_chars.checked_sub(1) {
            None => "",
            Some(before) => {
                let start = text.char_indices().rev().nth(before).map_or(0, |(at, _)| at);
                &text[start..]
            }
        };
        Some(Kept { head, tail, all, shown: most })
    }
}

/// Parts of a text, and numbers of characters.
struct Kept<'t> {
    head: &'t str,
    tail: &'t str,
    all: usize,
    shown: usize,
}

impl Rendered {
    /// Where the next line of ours begins.
    fn line(&mut self) -> &mut String {
        if !self.text.is_empty() {
            self.text.push('\n');
        }
        &mut self.text
    }

    fn said(&mut self, role: Role, text: &str) {
        if text.trim().is_empty() {
            return;
        }
        let label = match role {
            Role::User => "User: ",
            Role::Assistant => "Agent: ",
            Role::System => "System: ",
        };
        let line = self.line();
        line.push_str(label);
        quote(line, text);
    }

    fn picture(&mut self, kind: &str) {
        self.pictures += 1;
        let line = self.line();
        let _ = write!(line, "[{kind}, not shown]");
    }
}

/// The texts of a result, and how much of it is none.
fn text_of(content: &[Block]) -> (Cow<'_, str>, usize) {
    if let [Block::Text(text)] = content {
        return (Cow::Borrowed(text), 0);
    }
    let (mut parts, mut pictures) = (Vec::new(), 0);
    for block in content {
        match block {
            Block::Text(text) => parts.push(text.trim_end()),
            Block::Image(_)
            | Block::Document(_)
            | Block::Unknown(_)
            | Block::Thinking { .. }
            | Block::RedactedThinking(_)
            | Block::ToolUse { .. }
            | Block::ToolResult { .. } => pictures += 1,
        }
    }
    if pictures > 0 {
        parts.push("(images or documents, not shown)");
    }
    (Cow::Owned(parts.join("\n")), pictures)
}

/// The provider's word for a block of a kind that tine does not know, and the name of its file.
fn kind_of(json: &RawJson) -> String {
    let value: Option<serde_json::Value> = serde_json::from_str(json.as_str()).ok();
    let member = |name: &str| value.as_ref().and_then(|value| value.get(name)?.as_str()).map(word);
    let kind = member("type").unwrap_or_else(|| "block of unknown kind".to_owned());
    member("filename").map_or_else(|| kind.clone(), |name| format!("{kind} {name}"))
}

fn tells_at_its_end(name: &str, text: &str) -> bool {
    let name = name.to_ascii_lowercase();
    if COMMAND_TOOLS.iter().any(|part| name.contains(part)) {
        return true;
    }
    let text = text.to_ascii_lowercase();
    ERROR_WORDS.iter().any(|word| text.contains(word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_leaves_no_half_of_a_line_of_ours() {
        let text = format!("User: a\n[image, x]\n[Tool: t] b\n  {}\n[image, y]", "z".repeat(80));
        for profile in DigestProfile::ALL {
            for cost in 60..text.len() {
                let mut rendered = Rendered { text: text.clone(), ..Rendered::default() };
                rendered.cut(cost, profile);
                let (kept, note) = rendered.text.rsplit_once('\n').unwrap();
                assert!(note.starts_with("[message cut: ") && note.ends_with(" left out]"));
                for line in kept.lines().skip(1) {
                    let whole = ["[image, x]", "[Tool: t] b", "[image, y]"].contains(&line);
                    assert!(whole || line.starts_with("  z"), "{cost}: {line:?}");
                }
            }
        }
    }
}
