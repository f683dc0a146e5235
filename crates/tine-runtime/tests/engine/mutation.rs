//! One byte is changed in each kind of segment of a conversation that was already sent. The verdict names the segment every
//! time, and the provider's own diagnosis, where there is one, agrees.

use std::sync::Arc;

use tine_fork::run::Conversation;
use tine_history::History;
use tine_model::{Block, Effort, Message, Outcome, RawJson, WireFormat};
use tine_wire::{Diagnosis, Head, HeadParts, ToolDeclaration, read_message};

use crate::lab::{Heard, Lab, conversation, history, parts};
use crate::{MODELS, SCENARIO};

/// What is changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Effort,
    ToolSchema,
    System,
    UserText,
    Signature,
    AssistantText,
    CallArguments,
    ToolResult,
}

const KINDS: [Kind; 8] = [
    Kind::Effort,
    Kind::ToolSchema,
    Kind::System,
    Kind::UserText,
    Kind::Signature,
    Kind::AssistantText,
    Kind::CallArguments,
    Kind::ToolResult,
];

/// Reasoning may stand behind other words than it was signed behind, for that is what these tests do.
fn unbound() -> String {
    SCENARIO.replacen("name = \"harbour\"", "name = \"harbour\"\nthinking_binding = \"off\"", 1)
}

/// Changes the case of the first byte of `at`, which stands in `text`.
fn flipped(text: &str, at: &str) -> Option<String> {
    let place = text.find(at)?;
    let mut bytes = text.as_bytes().to_vec();
    bytes[place] ^= 0x20;
    String::from_utf8(bytes).ok()
}

fn changed_head(model: &str, kind: Kind) -> Head {
    let mut parts = parts(model);
    match kind {
        Kind::Effort => parts.settings.effort = Some(Effort::High),
        Kind::System => parts.system = flipped(&parts.system, "harbour").unwrap(),
        Kind::ToolSchema => {
            let tool = parts.tools.remove(0);
            let schema = flipped(tool.schema.as_str(), "a pattern").unwrap();
            let schema = RawJson::parse(&schema).unwrap();
            parts = HeadParts { tools: vec![ToolDeclaration { schema, ..tool }], ..parts };
        }
        Kind::UserText
        | Kind::Signature
        | Kind::AssistantText
        | Kind::CallArguments
        | Kind::ToolResult => {}
    }
    Head::render(parts)
}

/// The provider's own text of a message, with one byte changed behind one of these words.
fn changed_raw(message: &Message, words: &[&str]) -> Option<Message> {
    let raw = message.raw()?;
    let json = words.iter().find_map(|word| flipped(raw.json.as_str(), word))?;
    Some(read_message(raw.format, &json).unwrap())
}

/// The first letter of what seals the reasoning of a message, wherever the format puts it.
fn changed_seal(message: &Message) -> Option<Message> {
    let raw = message.raw()?;
    let text = raw.json.as_str();
    let fields = ["\"signature\":\"", "\"encrypted_content\":\"", "\"thoughtSignature\":\""];
    let begin = fields.iter().find_map(|field| Some(text.find(field)? + field.len()))?;
    let letter = begin + text[begin..].find(|c: char| c.is_ascii_lowercase())?;
    let mut bytes = text.as_bytes().to_vec();
    bytes[letter] = if bytes[letter] == b'a' { b'b' } else { b'a' };
    Some(read_message(raw.format, &String::from_utf8(bytes).unwrap()).unwrap())
}

/// The same messages with one byte changed; `None` where the conversation has no such segment.
fn changed_history(before: &History, kind: Kind) -> Option<History> {
    let mut messages: Vec<Message> = before.iter().map(|item| (*item.message).clone()).collect();
    let change: (usize, Message) = match kind {
        Kind::Effort | Kind::ToolSchema | Kind::System => return Some(history(messages)),
        Kind::UserText => (0, Message::user("please look around.")),
        Kind::Signature => (1, changed_seal(&messages[1])?),
        Kind::AssistantText => (1, changed_raw(&messages[1], &["I look."])?),
        Kind::CallArguments => (1, changed_raw(&messages[1], &["ledger"])?),
        Kind::ToolResult => {
            let call = messages[1].tool_calls().next().cloned()?;
            let role = messages[2].role();
            (2, Message::new(role, vec![Block::result(call, "Two ledgers", false)]))
        }
    };
    messages[change.0] = change.1;
    Some(history(messages))
}

/// A conversation with tools and reasoning, all of which has been sent but for the last answer.
async fn sent(lab: &Lab, model: &str) -> Conversation {
    let mut conversation = conversation(model);
    for prompt in ["Please look around.", "Good day."] {
        let heard = lab.say(model, &mut conversation, prompt).await;
        assert_eq!(heard.report.outcome, Outcome::Completed, "{model}: {:?}", heard.report.error);
    }
    conversation
}

fn told(diagnosis: Option<&Diagnosis>) -> &str {
    match diagnosis {
        None => "-",
        Some(Diagnosis::Miss { reason, .. }) => reason,
        Some(Diagnosis::Hit) => "hit",
        Some(Diagnosis::Pending) => "pending",
        Some(Diagnosis::NotFound) => "not found",
        Some(Diagnosis::Unavailable) => "unavailable",
    }
}

/// Our verdict, the first difference that it names, and the provider's word. Reasoning whose seal the provider refuses is left out, and
/// that is the difference then.
fn line(kind: Kind, heard: &Heard) -> String {
    let record = &heard.requests[0];
    let cache = record.cache.as_ref().unwrap();
    let verdict = &cache.judgement.verdict;
    let segment = verdict.segment().map_or_else(|| "none".to_owned(), ToString::to_string);
    let word = told(cache.diagnosis.as_ref());
    format!("{kind:?}: {}, {segment} | {word}", verdict.as_str())
}

async fn lines(model: &str) -> Vec<String> {
    let lab = Lab::new(&unbound()).await;
    let mut base = sent(&lab, model).await;
    let mut lines = Vec::new();
    for kind in KINDS {
        let Some(history) = changed_history(base.history(), kind) else {
            lines.push(format!("{kind:?}: there is none"));
            continue;
        };
        let head = Arc::new(changed_head(model, kind));
        let mut rewritten = base.fork().rewritten(head, history);
        let heard = lab.say(model, &mut rewritten, "And now?").await;
        lines.push(line(kind, &heard));
    }
    let unchanged = lab.say(model, &mut base.fork(), "And now?").await;
    assert_eq!(unchanged.verdicts(), ["ok"], "{model}: what is not changed is not blamed");
    lines
}

/// Where nothing was missed nothing is blamed: DeepSeek's cache does not go by the effort. Numbers of messages are those of the
/// body, which in chat begins with the system prompt, and in Responses counts items.
#[tokio::test]
async fn a_changed_byte_is_named_wherever_it_is() {
    let mut report = String::new();
    for model in MODELS {
        report.push_str(&format!("{model}\n"));
        lines(model).await.iter().for_each(|line| report.push_str(&format!("  {line}\n")));
    }
    insta::assert_snapshot!(report, @"
    anthropic/claude-opus-5-5
      Effort: settings_changed, setting `output_config` | unavailable
      ToolSchema: diverged, tool `Glob` | tools_changed
      System: diverged, system prompt | system_changed
      UserText: diverged, message 1, block 1 (user text) | messages_changed
      Signature: diverged, message 2, block 1 (thinking signature) | messages_changed
      AssistantText: diverged, message 2, block 2 (assistant text) | messages_changed
      CallArguments: diverged, message 2, block 3 (tool call) | messages_changed
      ToolResult: diverged, message 3, block 1 (tool result) | messages_changed
    openai/gpt-6.1-sol
      Effort: settings_changed, setting `reasoning` | reasoning_effort_changed
      ToolSchema: diverged, tool `Glob` | tools_changed
      System: diverged, system prompt | input_changed
      UserText: diverged, message 1, block 1 (user text) | input_changed
      Signature: diverged, message 2, block 1 (assistant text) | input_changed
      AssistantText: diverged, message 3, block 1 (assistant text) | input_changed
      CallArguments: diverged, message 4, block 1 (tool call) | input_changed
      ToolResult: diverged, message 5, block 1 (tool result) | input_changed
    openai-chat/gpt-6.1-sol
      Effort: settings_changed, setting `reasoning_effort` | -
      ToolSchema: diverged, tool `Glob` | -
      System: diverged, system prompt | -
      UserText: diverged, message 2, block 1 (user text) | -
      Signature: there is none
      AssistantText: diverged, message 3, block 1 (assistant text) | -
      CallArguments: diverged, message 3, block 2 (tool call) | -
      ToolResult: diverged, message 4, block 1 (tool result) | -
    gemini/gemini-3.8-flash
      Effort: settings_changed, setting `generationConfig` | -
      ToolSchema: diverged, tool `Glob` | -
      System: diverged, system prompt | -
      UserText: diverged, message 1, block 1 (user text) | -
      Signature: diverged, message 2, block 1 (assistant text) | -
      AssistantText: diverged, message 2, block 2 (assistant text) | -
      CallArguments: diverged, message 2, block 3 (tool call) | -
      ToolResult: diverged, message 3, block 1 (tool result) | -
    deepseek/deepseek-v4-flash
      Effort: ok, none | -
      ToolSchema: diverged, tool `Glob` | -
      System: diverged, system prompt | -
      UserText: diverged, message 2, block 1 (user text) | -
      Signature: there is none
      AssistantText: diverged, message 3, block 2 (assistant text) | -
      CallArguments: diverged, message 3, block 3 (tool call) | -
      ToolResult: diverged, message 4, block 1 (tool result) | -
    minimax/MiniMax-M3
      Effort: settings_changed, setting `output_config` | -
      ToolSchema: diverged, tool `Glob` | -
      System: diverged, system prompt | -
      UserText: diverged, message 1, block 1 (user text) | -
      Signature: diverged, message 2, block 1 (thinking signature) | -
      AssistantText: diverged, message 2, block 2 (assistant text) | -
      CallArguments: diverged, message 2, block 3 (tool call) | -
      ToolResult: diverged, message 3, block 1 (tool result) | -
    ");
}

/// A model of another provider continues the same lineage: the words are the same, the request is not.
#[tokio::test]
async fn a_change_of_provider_is_a_new_prefix_and_asks_nobody_about_the_old_one() {
    let lab = Lab::new(&unbound()).await;
    let base = sent(&lab, "anthropic/claude-opus-5-5").await;
    let messages: Vec<Message> =
        base.history().iter().map(|item| (*item.message).clone()).collect();
    let model = "openai/gpt-6.1-sol";
    let head = Arc::new(Head::render(parts(model)));
    assert_eq!(head.format(), WireFormat::OpenAiResponses);
    let mut moved = base.rewritten(head, history(messages));
    let heard = lab.say(model, &mut moved, "And now?").await;
    assert_eq!(heard.report.outcome, Outcome::Completed, "{:?}", heard.report.error);
    assert_eq!(heard.requests[0].cache.as_ref().unwrap().diagnosis, None);
}
