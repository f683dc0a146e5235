//! Hosts of the Chat format that are stricter than the format: each takes only the members that it knows, and refuses others in words
//! and with a status of its own.
//!
//! Sources for the words: Groq's "property 'reasoning' is unsupported" (gptel#774, jan#8136; of the request itself: fanenr/chatbot#21);
//! Mistral's `extra_forbidden` (crush#1590, litellm#30835; `stream_options`: avante.nvim#2347); Cerebras's "property 'store' is
//! unsupported" (huggingface.js#2268, free-claude-code#1136); OpenAI, "Error codes", `unknown_parameter`.

mod members;

use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::openai::unknown_parameter;
use crate::profile::Profile;
use crate::refusal::{OwnWords, Refusal};
use crate::schema::{Spelling, Step, Stranger, strangers};

/// A strict host: a scenario's `host`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Host {
    /// `api.cerebras.ai`.
    Cerebras,
    /// `api.groq.com`.
    Groq,
    /// `api.mistral.ai`.
    Mistral,
    /// `api.openai.com`.
    OpenAi,
}

/// The place in which a host says the model's thoughts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Reasoning {
    /// As text in a member of the message.
    Member(&'static str),
    /// As a part of the content.
    Part,
    /// Not at all.
    Hidden,
}

impl Host {
    /// The host that answers for a model: the scenario's, or OpenAI for its own models. None for servers that take everything.
    pub(crate) fn of(fixed: Option<Self>, model: &str, profile: Profile) -> Option<Self> {
        // Models whose weights are open run on anybody's server.
        let is_openai = model.starts_with("gpt-")
            && !model.starts_with("gpt-oss")
            && matches!(profile, Profile::OpenAi | Profile::OpenAiLegacy);
        fixed.or(is_openai.then_some(Self::OpenAi))
    }

    /// The place in which this host says the model's thoughts.
    pub(crate) fn reasoning(self) -> Reasoning {
        match self {
            Self::Cerebras | Self::Groq => Reasoning::Member("reasoning"),
            Self::Mistral => Reasoning::Part,
            Self::OpenAi => Reasoning::Hidden,
        }
    }

    /// Refuses the members of a request that the host does not know.
    pub(crate) fn check(self, fields: &Map<String, Value>) -> Result<(), Refusal> {
        let found = strangers(fields, members::of(self), Spelling::Exact);
        match found.first() {
            None => Ok(()),
            Some(first) => Err(match self {
                Self::Cerebras => cerebras(&found),
                Self::Groq => groq(first),
                Self::Mistral => mistral(&found, fields),
                Self::OpenAi => unknown_parameter(first),
            }),
        }
    }
}

impl Host {
    /// Refuses ids of calls that the host does not take. Sources: Mistral's "must be a-z, A-Z, 0-9, with a length of 9" and "Duplicate tool
    /// call id" (hermes-agent#11722, litellm#9090); OpenAI's `string_above_max_length`.
    pub(crate) fn check_ids(self, messages: &[Value]) -> Result<(), Refusal> {
        let mut known = std::collections::HashSet::new();
        for (index, message) in messages.iter().enumerate() {
            let calls = message.get("tool_calls").and_then(Value::as_array).into_iter().flatten();
            for (place, call) in calls.enumerate() {
                let id = call.get("id").and_then(Value::as_str).unwrap_or_default();
                let is_nine = id.len() == 9 && id.bytes().all(|byte| byte.is_ascii_alphanumeric());
                let length = id.chars().count();
                match self {
                    Self::Mistral if !is_nine => {
                        return Err(Refusal::invalid(format!(
                            "Tool call id was {id} but must be a-z, A-Z, 0-9, with a length of 9."
                        )));
                    }
                    Self::Mistral if !known.insert(id) => {
                        return Err(Refusal::invalid(
                            "Duplicate tool call id in assistant message",
                        ));
                    }
                    Self::OpenAi if length > 40 => {
                        return Err(Refusal::invalid(format!(
                            "Invalid 'messages[{index}].tool_calls[{place}].id': string too long. Expected a string with maximum length 40, but got a string with length {length} instead."
                        )));
                    }
                    Self::Mistral | Self::OpenAi | Self::Cerebras | Self::Groq => {}
                }
            }
        }
        Ok(())
    }
}

/// Tells the first member, and the message that it stands in.
fn groq(stranger: &Stranger<'_>) -> Refusal {
    let unsupported = format!("property '{}' is unsupported", stranger.name());
    let role = stranger.way.iter().find_map(|step| match step {
        Step::Tag(tag) => Some(tag),
        Step::Name(_) | Step::Index(_) => None,
    });
    let (Some(role), [Step::Name(list), Step::Index(index), ..]) = (role, &stranger.way[..]) else {
        return Refusal::invalid(unsupported);
    };
    let holder = dotted(&stranger.way[..stranger.way.len() - 1], false);
    Refusal::invalid(format!(
        "'{list}.{index}' : for 'role:{role}' the following must be satisfied[('{holder}' : {unsupported})]"
    ))
}

/// Tells every member, a line each, with the role in its place.
fn cerebras(strangers: &[Stranger<'_>]) -> Refusal {
    let lines = strangers.iter().map(|stranger| {
        let place = dotted(&stranger.way, true);
        format!("{place}: property '{place}' is unsupported")
    });
    let text = lines.collect::<Vec<_>>().join("\n");
    let body = json!({"message": text, "type": "invalid_request_error", "param": "validation_error", "code": "wrong_api_format"});
    Refusal::invalid(text).in_words(OwnWords::Body(body))
}

/// Tells every member as its validator does, with what stands there.
fn mistral(strangers: &[Stranger<'_>], fields: &Map<String, Value>) -> Refusal {
    let text = "Extra inputs are not permitted";
    let errors: Vec<Value> = strangers
        .iter()
        .map(|stranger| {
            let steps = stranger.way.iter().map(|step| match step {
                Step::Name(name) => json!(name),
                Step::Index(index) => json!(index),
                Step::Tag(tag) => json!(tag),
            });
            let place: Vec<Value> = std::iter::once(json!("body")).chain(steps).collect();
            json!({"type": "extra_forbidden", "loc": place, "msg": text, "input": value_at(fields, &stranger.way)})
        })
        .collect();
    let body = json!({"object": "error", "message": {"detail": errors}, "type": "invalid_request_error", "param": null, "code": null});
    Refusal::new(422, text).in_words(OwnWords::Body(body))
}

/// The names and numbers of a way, with the tags on it or without.
fn dotted(way: &[Step<'_>], with_tags: bool) -> String {
    let steps = way.iter().filter_map(|step| match step {
        Step::Name(name) => Some((*name).to_owned()),
        Step::Index(index) => Some(index.to_string()),
        Step::Tag(tag) => with_tags.then(|| (*tag).to_owned()),
    });
    steps.collect::<Vec<_>>().join(".")
}

/// The value at the end of a way.
fn value_at<'a>(fields: &'a Map<String, Value>, way: &[Step<'_>]) -> Option<&'a Value> {
    let mut steps = way.iter();
    let mut value = match steps.next()? {
        Step::Name(name) => fields.get(*name)?,
        Step::Index(_) | Step::Tag(_) => return None,
    };
    for step in steps {
        value = match step {
            Step::Name(name) => value.get(name)?,
            Step::Index(index) => value.get(index)?,
            Step::Tag(_) => value,
        };
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use insta::assert_snapshot;

    use super::*;
    use crate::endpoint::Endpoint;
    use crate::openai;

    fn told(host: Host, request: Value) -> String {
        match host.check(request.as_object().expect("an object")) {
            Ok(()) => "taken".to_owned(),
            Err(refusal) => format!("{} {}", refusal.status, openai::error_body(&refusal)),
        }
    }

    fn said(name: &str) -> Value {
        json!({"messages": [{"role": "user", "content": "x"}, {"role": "assistant", "content": "x", name: "y"}]})
    }

    fn called(host: Host, name: &str) -> String {
        let mut call =
            json!({"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}});
        call[name] = json!(0);
        told(
            host,
            json!({"messages": [{"role": "assistant", "content": null, "tool_calls": [call]}]}),
        )
    }

    #[test]
    fn groq_names_the_message() {
        assert_snapshot!(told(Host::Groq, said("reasoning")), @r#"400 {"error":{"message":"'messages.1' : for 'role:assistant' the following must be satisfied[('messages.1' : property 'reasoning' is unsupported)]","type":"invalid_request_error","param":null,"code":null}}"#);
        assert_snapshot!(called(Host::Groq, "index"), @r#"400 {"error":{"message":"'messages.0' : for 'role:assistant' the following must be satisfied[('messages.0.tool_calls.0' : property 'index' is unsupported)]","type":"invalid_request_error","param":null,"code":null}}"#);
        assert_snapshot!(told(Host::Groq, json!({"prompt_cache_key": "x"})), @r#"400 {"error":{"message":"property 'prompt_cache_key' is unsupported","type":"invalid_request_error","param":null,"code":null}}"#);
    }

    #[test]
    fn mistral_lists_what_it_does_not_take() {
        let mut request = said("reasoning_content");
        request["max_completion_tokens"] = json!(1);
        request["stream_options"] = json!({"include_usage": true});
        assert_snapshot!(told(Host::Mistral, request), @r#"422 {"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","messages",1,"assistant","reasoning_content"],"msg":"Extra inputs are not permitted","input":"y"},{"type":"extra_forbidden","loc":["body","max_completion_tokens"],"msg":"Extra inputs are not permitted","input":1},{"type":"extra_forbidden","loc":["body","stream_options","include_usage"],"msg":"Extra inputs are not permitted","input":true}]},"type":"invalid_request_error","param":null,"code":null}"#);
        assert_snapshot!(told(Host::Mistral, json!({"messages": [{"role": "user", "content": "x", "name": "y"}]})), @r#"422 {"object":"error","message":{"detail":[{"type":"extra_forbidden","loc":["body","messages",0,"user","name"],"msg":"Extra inputs are not permitted","input":"y"}]},"type":"invalid_request_error","param":null,"code":null}"#);
        assert_snapshot!(called(Host::Mistral, "index"), @"taken");
    }

    #[test]
    fn cerebras_tells_each_member_in_a_line() {
        let mut request = said("reasoning_content");
        request["store"] = json!(false);
        assert_snapshot!(told(Host::Cerebras, request), @r#"400 {"message":"messages.1.assistant.reasoning_content: property 'messages.1.assistant.reasoning_content' is unsupported\nstore: property 'store' is unsupported","type":"invalid_request_error","param":"validation_error","code":"wrong_api_format"}"#);
        assert_snapshot!(told(Host::Cerebras, said("reasoning")), @"taken");
        assert_snapshot!(called(Host::Cerebras, "x"), @r#"400 {"message":"messages.0.assistant.tool_calls.0.x: property 'messages.0.assistant.tool_calls.0.x' is unsupported","type":"invalid_request_error","param":"validation_error","code":"wrong_api_format"}"#);
    }

    #[test]
    fn openai_names_the_first_parameter() {
        assert_snapshot!(told(Host::OpenAi, said("annotations")), @r#"400 {"error":{"message":"Unknown parameter: 'messages[1].annotations'.","type":"invalid_request_error","param":"messages[1].annotations","code":"unknown_parameter"}}"#);
        assert_snapshot!(called(Host::OpenAi, "index"), @r#"400 {"error":{"message":"Unknown parameter: 'messages[0].tool_calls[0].index'.","type":"invalid_request_error","param":"messages[0].tool_calls[0].index","code":"unknown_parameter"}}"#);
        assert_snapshot!(told(Host::OpenAi, json!({"top_k": 1})), @r#"400 {"error":{"message":"Unknown parameter: 'top_k'.","type":"invalid_request_error","param":"top_k","code":"unknown_parameter"}}"#);
        assert_snapshot!(told(Host::OpenAi, said("refusal")), @"taken");
    }

    #[test]
    fn names_say_which_models_are_openais() {
        let of = |model| Host::of(None, model, Profile::of(None, model, Endpoint::Chat));
        assert_eq!(of("gpt-5.6"), Some(Host::OpenAi));
        assert_eq!(of("gpt-5.6@vllm"), None);
        assert_eq!(of("gpt-oss-120b"), None);
        assert_eq!(of("echo"), None);
        assert_eq!(Host::of(Some(Host::Groq), "gpt-5", Profile::OpenAi), Some(Host::Groq));
    }
}
