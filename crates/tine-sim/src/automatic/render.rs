//! A Chat request as the text that an engine sees: a template of the simulator's own, message by message.
//!
//! What is rendered is what was sent: an assistant message with its reasoning, text and calls gives the same line as the
//! answer that it repeats, so an answer that comes back whole is found in a cache that keeps answers. Ids of calls are not
//! rendered, as real templates leave them out.

use serde_json::Value;

use crate::answer::Answer;

/// Where the template puts the tools.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ToolsAt {
    /// Before everything: changing a tool changes the whole prompt.
    Start,
    /// Behind the leading system messages, which survive a change of tools.
    AfterSystem,
}

/// A whole prompt, a tool or message to a line.
pub(crate) fn prompt(tools: &[Value], messages: &[Value], tools_at: ToolsAt) -> Vec<String> {
    let is_system = |message: &&Value| matches!(role(message), "system" | "developer");
    let before = match tools_at {
        ToolsAt::Start => 0,
        ToolsAt::AfterSystem => messages.iter().take_while(is_system).count(),
    };
    let (before, after) = messages.split_at(before);
    let tools = tools.iter().map(|tool| format!("<|tool|>{tool}<|end|>"));
    before.iter().map(message_text).chain(tools).chain(after.iter().map(message_text)).collect()
}

/// The line of an answer, as a later request repeats it.
pub(crate) fn answer(answer: &Answer) -> Vec<String> {
    let calls = answer.calls.iter().map(|call| (call.name.as_str(), call.input.as_str()));
    let thinking = answer.thinking.as_deref().unwrap_or_default();
    vec![assistant(thinking, answer.text.as_deref().unwrap_or_default(), calls)]
}

fn role(message: &Value) -> &str {
    text_of(message, "role")
}

fn text_of<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

fn message_text(message: &Value) -> String {
    let content = match message.get("content") {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Array(parts)) => parts.iter().map(part_text).collect(),
        None | Some(_) => String::new(),
    };
    match role(message) {
        "assistant" => {
            let calls = message.get("tool_calls").and_then(Value::as_array).into_iter().flatten();
            let calls = calls.filter_map(|call| call.get("function"));
            let calls = calls.map(|call| (text_of(call, "name"), text_of(call, "arguments")));
            assistant(text_of(message, "reasoning_content"), &content, calls)
        }
        role => format!("<|{role}|>{content}<|end|>"),
    }
}

fn part_text(part: &Value) -> String {
    match part.get("text").and_then(Value::as_str) {
        Some(text) => text.to_owned(),
        None => part.to_string(),
    }
}

fn assistant<'a>(
    thinking: &str,
    text: &str,
    calls: impl Iterator<Item = (&'a str, &'a str)>,
) -> String {
    let mut whole = "<|assistant|>".to_owned();
    if !thinking.is_empty() {
        whole.push_str("<|think|>");
        whole.push_str(thinking);
        whole.push_str("<|/think|>");
    }
    whole.push_str(text);
    for (name, input) in calls {
        whole.push_str("<|call|>");
        whole.push_str(name);
        whole.push_str(input);
    }
    whole.push_str("<|end|>");
    whole
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::answer::{Call, Stop};
    use crate::automatic::tokens::{common, of};

    #[test]
    fn an_answer_has_the_line_of_the_message_that_repeats_it() {
        let given = Answer {
            thinking: Some("hm".into()),
            text: Some("I look.".into()),
            calls: vec![Call { name: "bash".into(), input: "{\"command\": \"ls\"}".into() }],
            stop: Stop::ToolUse,
            ..Answer::default()
        };
        let repeated = json!({
            "role": "assistant", "content": "I look.", "reasoning_content": "hm",
            "tool_calls": [{"id": "call_1", "type": "function",
                "function": {"name": "bash", "arguments": "{\"command\": \"ls\"}"}}],
        });
        assert_eq!(answer(&given), prompt(&[], &[repeated], ToolsAt::Start));
    }

    #[test]
    fn tools_behind_the_system_text_leave_it_in_place() {
        let messages = [
            json!({"role": "system", "content": "You are careful."}),
            json!({"role": "user", "content": [{"type": "text", "text": "go"}]}),
        ];
        let shared = |tools_at| {
            let with = |name: &str| prompt(&[json!({"name": name})], &messages, tools_at);
            common(&of(&with("aaaa_bbbb")), &of(&with("cccc_dddd")))
        };
        assert_eq!((shared(ToolsAt::Start), shared(ToolsAt::AfterSystem)), (4, 13));
    }
}
