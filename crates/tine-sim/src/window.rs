//! The window of the simulated model. A conversation that outgrows it is refused in the words of whoever's rules apply; a reply that
//! does not fit behind its prompt is refused beforehand by some, and cut by the others.

use crate::answer::{Answer, Stop};
use crate::endpoint::Endpoint;
use crate::profile::Profile;
use crate::refusal::Refusal;

/// The room that a window leaves for a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct ReplyRoom {
    /// Most tokens of the reply.
    pub(crate) tokens: u64,
    /// The window ends the reply, and not the request's own limit.
    is_windows_end: bool,
}

/// A request in tokens.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sizes {
    pub(crate) prompt: u64,
    /// The room that the request asks for its reply.
    pub(crate) reply: u64,
}

impl ReplyRoom {
    /// The room for a reply, or the refusal. Without a window everything fits.
    pub(crate) fn find(
        window: Option<u64>,
        (endpoint, profile): (Endpoint, Profile),
        sizes: Sizes,
    ) -> Result<Self, Refusal> {
        let Some(window) = window else {
            return Ok(Self { tokens: sizes.reply, is_windows_end: false });
        };
        let reserves = reserves_the_reply(endpoint, profile);
        let asked = if reserves { sizes.reply } else { 0 };
        // A prompt that fills the window to its end leaves no room to answer.
        if sizes.prompt + asked > window || sizes.prompt == window {
            return Err(refusal(window, (endpoint, profile), sizes));
        }
        let room = window - sizes.prompt;
        Ok(Self { tokens: sizes.reply.min(room), is_windows_end: room < sizes.reply })
    }

    /// Says of a reply that was cut at the window's end that it was, where the format can.
    pub(crate) fn told(self, answer: Answer, endpoint: Endpoint) -> Answer {
        let is_cut = self.is_windows_end && answer.stop == Stop::MaxTokens;
        match endpoint {
            Endpoint::Messages if is_cut => {
                Answer { stop: Stop::Given("model_context_window_exceeded".to_owned()), ..answer }
            }
            _ => answer,
        }
    }
}

/// Returns true where the prompt and the whole room that is asked for the reply must fit.
fn reserves_the_reply(endpoint: Endpoint, profile: Profile) -> bool {
    endpoint == Endpoint::Chat
        && matches!(profile, Profile::Vllm | Profile::Sglang | Profile::DeepSeek)
}

/// Sources: Anthropic, "Context windows"; OpenAI, "Error codes"; Google, answers of `generateContent`; MiniMax, "Error codes"; the
/// sources of vLLM (`entrypoints/openai`), SGLang (`tokenizer_manager`) and llama.cpp (`tools/server`).
fn refusal(window: u64, (endpoint, profile): (Endpoint, Profile), sizes: Sizes) -> Refusal {
    let Sizes { prompt, reply } = sizes;
    let total = prompt + reply;
    let long = |message: &str| Refusal::invalid(message);
    match (endpoint, profile) {
        (Endpoint::Messages, Profile::MiniMax) => {
            long("invalid params, context window exceeds limit (2013)")
        }
        (Endpoint::Messages | Endpoint::CountTokens, _) => {
            long(&format!("prompt is too long: {prompt} tokens > {window} maximum"))
        }
        (Endpoint::Gemini | Endpoint::CachedContents, _) => long(&format!(
            "The input token count ({prompt}) exceeds the maximum number of tokens allowed ({window})."
        )),
        (Endpoint::Responses, _) => long(
            "Your input exceeds the context window of this model. Please adjust your input and try again.",
        )
        .with_code("context_length_exceeded"),
        (_, Profile::Vllm) => long(&format!(
            "This model's maximum context length is {window} tokens. However, you requested {total} tokens ({prompt} in the messages, {reply} in the completion). Please reduce the length of the messages or completion."
        ))
        .of_engine("BadRequestError", None),
        (_, Profile::Sglang) if prompt >= window => long(&format!(
            "The input ({prompt} tokens) is longer than the model's context length ({window} tokens)."
        ))
        .of_engine("BadRequestError", None),
        (_, Profile::Sglang) => long(&format!(
            "Requested token count exceeds the model's maximum context length of {window} tokens. You requested a total of {total} tokens: {prompt} tokens from the input messages and {reply} tokens for the completion. Please reduce the number of tokens in the input messages or the completion to fit within the limit."
        ))
        .of_engine("BadRequestError", None),
        (_, Profile::LlamaCpp) => {
            long("the request exceeds the available context size, try increasing it")
                .of_engine("exceed_context_size_error", Some((prompt, window)))
        }
        (_, Profile::DeepSeek) => long(&format!(
            "This model's maximum context length is {window} tokens. However, you requested {total} tokens ({prompt} in the messages, {reply} in the completion). Please reduce the length of the messages or completion."
        )),
        (_, Profile::Kimi) => {
            long(&format!("Invalid request: Your request exceeded model token limit: {window}"))
        }
        _ => long(&format!(
            "This model's maximum context length is {window} tokens. However, your messages resulted in {prompt} tokens. Please reduce the length of the messages."
        ))
        .with_code("context_length_exceeded")
        .at("messages"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn find(endpoint: Endpoint, profile: Profile, prompt: u64, reply: u64) -> Result<u64, String> {
        let found = ReplyRoom::find(Some(100), (endpoint, profile), Sizes { prompt, reply });
        found.map(|room| room.tokens).map_err(|refusal| refusal.message)
    }

    #[test]
    fn the_reply_is_reserved_by_some_and_cut_by_others() {
        use Endpoint::{Chat, Gemini, Messages, Responses};
        assert_eq!(find(Chat, Profile::LlamaCpp, 60, 90), Ok(40));
        assert_eq!(find(Messages, Profile::Anthropic, 60, 90), Ok(40));
        assert_eq!(find(Messages, Profile::Anthropic, 60, 10), Ok(10));
        assert_eq!(find(Chat, Profile::Vllm, 60, 40), Ok(40));
        assert!(find(Chat, Profile::Vllm, 60, 41).is_err());
        for (endpoint, profile) in [
            (Chat, Profile::LlamaCpp),
            (Chat, Profile::OpenAi),
            (Messages, Profile::Anthropic),
            (Responses, Profile::OpenAi),
            (Gemini, Profile::Gemini),
        ] {
            assert!(find(endpoint, profile, 99, 1).is_ok());
            assert!(find(endpoint, profile, 100, 1).is_err());
        }
        let none = ReplyRoom::find(None, (Chat, Profile::Vllm), Sizes { prompt: 999, reply: 9 });
        assert_eq!(none.map(|room| room.tokens), Ok(9));
    }
}
