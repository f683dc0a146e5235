//! From a rule and a conversation to an answer: holes filled, cut at `max_tokens`, tokens counted. The formats only
//! put it into their own shape.

use serde_json::Value;

use crate::conversation::Conversation;
use crate::limits::{BYTES_PER_TOKEN, tokens_of};
use crate::scenario::{AnswerTemplate, InputTemplate};
use crate::template::Template;

/// What the simulator says in one turn.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Answer {
    pub(crate) thinking: Option<String>,
    pub(crate) text: Option<String>,
    pub(crate) calls: Vec<Call>,
    pub(crate) stop: Stop,
    pub(crate) output_tokens: u64,
    pub(crate) thinking_tokens: u64,
}

/// One tool call; `input` is sent as it stands and need not be JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) name: String,
    pub(crate) input: String,
}

/// Why the answer ends.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) enum Stop {
    #[default]
    EndTurn,
    ToolUse,
    MaxTokens,
    /// As the scenario says, in the words of the format.
    Given(String),
}

/// The answer when no rule matches.
pub(crate) fn unmatched(scenario: &str, max_tokens: u64) -> Answer {
    let text = format!(
        "This is tine's simulator, not a model. No rule of the scenario {scenario} matches this request."
    );
    Builder::new(max_tokens).text(text).finish(None)
}

/// Fills a rule's answer. What does not fit into `max_tokens` is cut off, whole tool calls included.
pub(crate) fn fill(
    template: &AnswerTemplate,
    conversation: &Conversation<'_>,
    max_tokens: u64,
) -> Answer {
    let render = |part: &Option<Template>| part.as_ref().map(|part| part.render(conversation));
    let mut builder = Builder::new(max_tokens);
    if let Some(thinking) = render(&template.thinking) {
        builder = builder.thinking(thinking);
    }
    if let Some(text) = render(&template.text) {
        builder = builder.text(text);
    }
    for call in &template.tool_calls {
        let input = match &call.input {
            InputTemplate::Raw(text) => text.clone(),
            InputTemplate::Object(fields) => {
                filled(&Value::Object(fields.clone()), conversation).to_string()
            }
        };
        builder = builder.call(Call { name: call.name.clone(), input });
    }
    builder.finish(template.stop_reason.clone())
}

fn filled(value: &Value, conversation: &Conversation<'_>) -> Value {
    match value {
        Value::String(text) => Value::String(match Template::parse(text) {
            Ok(template) => template.render(conversation),
            // Not reached: the scenario was checked when it was loaded.
            Err(_) => text.clone(),
        }),
        Value::Array(items) => items.iter().map(|item| filled(item, conversation)).collect(),
        Value::Object(fields) => Value::Object(
            fields.iter().map(|(key, value)| (key.clone(), filled(value, conversation))).collect(),
        ),
        Value::Null | Value::Bool(_) | Value::Number(_) => value.clone(),
    }
}

struct Builder {
    left: u64,
    answer: Answer,
}

impl Builder {
    fn new(max_tokens: u64) -> Self {
        Self { left: max_tokens, answer: Answer::default() }
    }

    fn thinking(mut self, text: String) -> Self {
        let text = self.take(text);
        self.answer.thinking_tokens = tokens_of(text.len());
        self.answer.thinking = Some(text);
        self
    }

    fn text(mut self, text: String) -> Self {
        if self.answer.stop != Stop::MaxTokens {
            let text = self.take(text);
            self.answer.text = Some(text);
        }
        self
    }

    fn call(mut self, call: Call) -> Self {
        let tokens = tokens_of(call.name.len() + call.input.len());
        if self.answer.stop == Stop::MaxTokens {
            return self;
        }
        if tokens > self.left {
            self.answer.stop = Stop::MaxTokens;
            return self;
        }
        self.left -= tokens;
        self.answer.output_tokens += tokens;
        self.answer.calls.push(call);
        self.answer.stop = Stop::ToolUse;
        self
    }

    /// Takes as much of a text as still fits.
    fn take(&mut self, mut text: String) -> String {
        if tokens_of(text.len()) > self.left {
            let bytes = usize::try_from(self.left * BYTES_PER_TOKEN).unwrap_or(usize::MAX);
            text.truncate(text.floor_char_boundary(bytes));
            self.answer.stop = Stop::MaxTokens;
        }
        let tokens = tokens_of(text.len());
        self.left -= tokens;
        self.answer.output_tokens += tokens;
        text
    }

    fn finish(self, stop_reason: Option<String>) -> Answer {
        let mut answer = self.answer;
        if answer.stop != Stop::MaxTokens
            && let Some(given) = stop_reason
        {
            answer.stop = Stop::Given(given);
        }
        answer
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_cut_at_max_tokens() {
        let answer =
            Builder::new(3).text("0123456789ünf".to_owned()).finish(Some("end_turn".into()));
        assert_eq!(answer.text.as_deref(), Some("0123456789ü"));
        assert_eq!((answer.stop, answer.output_tokens), (Stop::MaxTokens, 3));
    }

    #[test]
    fn a_tool_call_that_does_not_fit_is_left_out() {
        let call = Call { name: "bash".into(), input: "{}".into() };
        let answer = Builder::new(2).text("1234".into()).call(call.clone()).finish(None);
        assert_eq!((answer.calls.len(), answer.stop), (0, Stop::MaxTokens));
        let answer = Builder::new(3).text("1234".into()).call(call).finish(None);
        assert_eq!((answer.calls.len(), answer.stop), (1, Stop::ToolUse));
    }
}
