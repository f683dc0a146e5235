//! The words of an error on a conversation that outgrew its model: the window, the prompt, and the room that was asked for the
//! reply. Providers and engines have no common form for it, so their sentences are read.
//!
//! Sources: Anthropic, "Errors" and "Context windows"; OpenAI, "Error codes"; Google, error texts of `generateContent`; the sources
//! of vLLM, SGLang, llama.cpp, TGI and LM Studio; error texts of Mistral, xAI, Moonshot and OpenRouter.

/// The figures of an overflow, in tokens, as far as the error tells them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Overflow {
    /// The model's window, as it is served.
    pub window: Option<u64>,
    /// The prompt of the request.
    pub prompt: Option<u64>,
    /// The room that the request asked for its reply.
    pub reply: Option<u64>,
}

/// Largest number that is read as a count of tokens.
const TOKENS_MAX: u64 = 100_000_000;

/// Phrases of overflows, in lower case. A sentence with none of them is about something else.
const PHRASES: [&str; 22] = [
    "prompt is too long",
    "input is too long",
    "input length and `max_tokens` exceed context limit",
    "maximum context length",
    "model's context length",
    "context length of only",
    "context length is only",
    "the input token count",
    "exceeds the available context size",
    "exceeds the context size",
    "exceed context limit",
    "context window exceeds",
    "exceeds the context window",
    "exceeds the model's context window",
    "exceed the context window",
    "maximum prompt length is",
    "exceeded model token limit",
    "too large for model with",
    "`inputs` tokens + `max_new_tokens` must be",
    "reduce the length of the messages",
    "longer than the context window",
    "contextwindowexceedederror",
];

/// Phrases that stand before the window. The more exact one stands first.
const BEFORE_WINDOW: [&str; 19] = [
    "maximum context length is only ",
    "maximum context length is ",
    "maximum context length of ",
    "maximum context length (",
    "model's context length (",
    "context length is only ",
    "context length of only ",
    "maximum number of tokens allowed (",
    "maximum number of tokens allowed ",
    "available context size (",
    "context size of ",
    "n_ctx ",
    "maximum prompt length is ",
    "must be <= ",
    "too large for model with ",
    "exceeded model token limit: ",
    "context window of ",
    "context length of ",
    " > ",
];

/// Phrases that stand before the size of the prompt.
const BEFORE_PROMPT: [&str; 9] = [
    "prompt is too long: ",
    "messages resulted in ",
    "input token count (",
    "n_prompt_tokens ",
    "prompt contains ",
    "exceed context limit: ",
    "the request contains ",
    "the input (",
    "request (",
];

/// Phrases that stand behind the size of the prompt.
const BEHIND_PROMPT: [&str; 5] = [
    " in the messages",
    " of text input",
    " input tokens",
    " tokens from the input messages",
    " tokens from the input",
];

/// Phrases that stand before the room for the reply.
const BEFORE_REPLY: [&str; 2] = ["is too large: ", " + "];

/// Phrases that stand behind the room for the reply.
const BEHIND_REPLY: [&str; 4] =
    [" in the completion", " in the output", " output tokens", " tokens for the completion"];

impl Overflow {
    /// Reads an error's message. None when it is about something else.
    pub fn read(message: &str) -> Option<Self> {
        let message = message.to_ascii_lowercase();
        if !PHRASES.iter().any(|phrase| message.contains(phrase)) {
            return None;
        }
        let before =
            |phrases: &[&str]| phrases.iter().find_map(|phrase| number_behind(&message, phrase));
        let behind =
            |phrases: &[&str]| phrases.iter().find_map(|phrase| number_before(&message, phrase));
        let window = before(&BEFORE_WINDOW);
        let prompt = before(&BEFORE_PROMPT).or_else(|| behind(&BEHIND_PROMPT));
        let reply = behind(&BEHIND_REPLY).or_else(|| before(&BEFORE_REPLY));
        Some(Self { window, prompt, reply })
    }

    /// Returns true when the prompt alone would fit: the room for the reply is what is too much.
    pub fn is_for_the_reply(&self) -> bool {
        match (self.window, self.prompt) {
            (Some(window), Some(prompt)) => prompt < window,
            _ => false,
        }
    }
}

/// The number right behind the first place of a phrase that has one.
fn number_behind(message: &str, phrase: &str) -> Option<u64> {
    message.match_indices(phrase).find_map(|(at, found)| leading(&message[at + found.len()..]))
}

/// The number right before the first place of a phrase that has one.
fn number_before(message: &str, phrase: &str) -> Option<u64> {
    message.match_indices(phrase).find_map(|(at, _)| {
        let before = &message[..at];
        let start = before.trim_end_matches(|c: char| c.is_ascii_digit() || c == ',').len();
        leading(&before[start..])
    })
}

/// The number that a text begins with. Thousands may be set apart by commas.
fn leading(text: &str) -> Option<u64> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != ',').unwrap_or(text.len());
    let digits = text[..end].replace(',', "");
    digits.parse().ok().filter(|count| (1..=TOKENS_MAX).contains(count))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The figures are window, prompt, reply; 0 where the error does not tell.
    fn check(message: &str, figures: [u64; 3]) {
        let read = Overflow::read(message).unwrap_or_else(|| panic!("{message}"));
        let told = [read.window, read.prompt, read.reply].map(Option::unwrap_or_default);
        assert_eq!(told, figures, "{message}");
    }

    #[test]
    fn every_vendors_sentence_is_read() {
        // Anthropic.
        check("prompt is too long: 210437 tokens > 200000 maximum", [200_000, 210_437, 0]);
        check(
            "input length and `max_tokens` exceed context limit: 188240 + 21333 > 200000, decrease input length or `max_tokens` and try again",
            [200_000, 188_240, 21_333],
        );
        // OpenAI.
        check(
            "This model's maximum context length is 128000 tokens. However, your messages resulted in 130154 tokens. Please reduce the length of the messages.",
            [128_000, 130_154, 0],
        );
        check(
            "Your input exceeds the context window of this model. Please adjust your input and try again.",
            [0, 0, 0],
        );
        // vLLM: both of its wordings.
        check(
            "This model's maximum context length is 2048 tokens. However, you requested 19732 tokens (3348 in the messages, 16384 in the completion). Please reduce the length of the messages or completion.",
            [2_048, 3_348, 16_384],
        );
        check(
            "'max_tokens' or 'max_completion_tokens' is too large: 16384. This model's maximum context length is 4096 tokens and your request has 3348 input tokens (16384 > 4096 - 3348). (parameter=max_tokens, value=16384)",
            [4_096, 3_348, 16_384],
        );
        // llama-server: the message and what stands beside it.
        check(
            "the request exceeds the available context size, try increasing it; n_prompt_tokens 4503, n_ctx 4096",
            [4_096, 4_503, 0],
        );
        check(
            "request (4503 tokens) exceeds the available context size (4096 tokens), try increasing it",
            [4_096, 4_503, 0],
        );
        // Google.
        check(
            "The input token count (1048599) exceeds the maximum number of tokens allowed (1048576).",
            [1_048_576, 1_048_599, 0],
        );
        check(
            "The input token count exceeds the maximum number of tokens allowed 32768.",
            [32_768, 0, 0],
        );
        // SGLang, Mistral, xAI, Moonshot, TGI, LM Studio, OpenRouter.
        check(
            "The input (5120 tokens) is longer than the model's context length (4096 tokens).",
            [4_096, 5_120, 0],
        );
        check(
            "Prompt contains 40123 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
            [32_768, 40_123, 0],
        );
        check(
            "This model's maximum prompt length is 131072 but the request contains 537812 tokens.",
            [131_072, 537_812, 0],
        );
        check(
            "Invalid request: Your request exceeded model token limit: 8192 (requested: 9000)",
            [8_192, 0, 0],
        );
        check(
            "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs` tokens and 100 `max_new_tokens`",
            [4_096, 0, 0],
        );
        check(
            "Trying to keep the first 5120 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens, which is not enough.",
            [4_096, 0, 0],
        );
        check(
            "This endpoint's maximum context length is 32,768 tokens. However, you requested about 41000 tokens (40000 of text input, 1000 in the output).",
            [32_768, 40_000, 1_000],
        );
    }

    #[test]
    fn other_sentences_are_about_something_else() {
        for message in [
            "max_tokens: 16384 > 8192, which is the maximum allowed number of output tokens for claude-3-5-haiku",
            "Your credit balance is too low",
            "context",
            "",
        ] {
            assert_eq!(Overflow::read(message), None, "{message}");
        }
    }

    #[test]
    fn the_room_for_the_reply_may_be_all_that_is_too_much() {
        let is_for_the_reply = |message: &str| Overflow::read(message).unwrap().is_for_the_reply();
        assert!(is_for_the_reply(
            "maximum context length is 4096 tokens and your request has 3348 input tokens"
        ));
        assert!(!is_for_the_reply("prompt is too long: 9 tokens > 8 maximum"));
    }

    proptest! {
        #[test]
        fn any_text_can_be_read(text in r"(maximum context length is |n_ctx |in the messages| \+ |[0-9,é]{1,30}|[a-z >]){0,12}") {
            let _ = Overflow::read(&text);
        }
    }
}
