//! What a provider reports of tokens, over the wire and in every format: what is missing, negative or absurd is unknown, and
//! never zero.

use tine_llm::{LlmClient as _, RateGates, Request};
use tine_model::{ModelRef, Usage, WireFormat};
use tine_testkit::{Canned, CaptureServer};
use tokio_util::sync::CancellationToken;

use crate::{client_of, limits, request_in};

/// Values that are no count, or none that a request can have.
const NONSENSE: [&str; 9] =
    ["-1", "1.5", "\"7\"", "null", "[]", "true", "1e300", "18446744073709551615", "1099511627777"];

/// How one format reports usage, and what its replies look like.
struct Form {
    model: &'static str,
    /// A usage object with a prompt of 50 tokens and an answer of 2; `READ` stands for what was read, `WRITTEN` for what was
    /// written.
    usage: &'static str,
    /// The key that the object stands under.
    key: &'static str,
    /// A streamed reply; `USAGE` stands for the last member of its object, comma included.
    stream: &'static str,
    whole: &'static str,
    /// Whether the prompt's count includes what was read.
    inclusive: bool,
}

const FORMS: [Form; 4] = [
    Form {
        model: "anthropic/m",
        usage: r#"{"input_tokens":50,"cache_read_input_tokens":READ,"cache_creation_input_tokens":WRITTEN,"cache_creation":{"ephemeral_5m_input_tokens":WRITTEN},"output_tokens":2}"#,
        key: "usage",
        stream: "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m1\",\"type\":\"message\",\"role\":\"assistant\",\"model\":\"m\",\"content\":[],\"stop_reason\":nullUSAGE}}\n\nevent: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\nevent: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"text_delta\",\"text\":\"Hi\"}}\n\nevent: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\nevent: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"}USAGE}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
        whole: r#"{"id":"m1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"Hi"}],"stop_reason":"end_turn"USAGE}"#,
        inclusive: false,
    },
    Form {
        model: "openai-chat/m",
        usage: r#"{"prompt_tokens":50,"prompt_tokens_details":{"cached_tokens":READ,"cache_write_tokens":WRITTEN},"completion_tokens":2}"#,
        key: "usage",
        stream: "data: {\"id\":\"c\",\"model\":\"m\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"Hi\"},\"finish_reason\":\"stop\"}]}\n\ndata: {\"id\":\"c\",\"model\":\"m\",\"choices\":[]USAGE}\n\ndata: [DONE]\n\n",
        whole: r#"{"id":"c","model":"m","choices":[{"index":0,"message":{"role":"assistant","content":"Hi"},"finish_reason":"stop"}]USAGE}"#,
        inclusive: true,
    },
    Form {
        model: "openai/m",
        usage: r#"{"input_tokens":50,"input_tokens_details":{"cached_tokens":READ,"cache_write_tokens":WRITTEN},"output_tokens":2}"#,
        key: "usage",
        stream: "event: response.created\ndata: {\"type\":\"response.created\",\"sequence_number\":0,\"response\":{\"id\":\"r\",\"model\":\"m\",\"output\":[]}}\n\nevent: response.output_item.done\ndata: {\"type\":\"response.output_item.done\",\"sequence_number\":1,\"output_index\":0,\"item\":{\"type\":\"message\",\"id\":\"i\",\"role\":\"assistant\",\"status\":\"completed\",\"content\":[{\"type\":\"output_text\",\"text\":\"Hi\",\"annotations\":[]}]}}\n\nevent: response.completed\ndata: {\"type\":\"response.completed\",\"sequence_number\":2,\"response\":{\"id\":\"r\",\"model\":\"m\",\"status\":\"completed\",\"output\":[]USAGE}}\n\n",
        whole: r#"{"id":"r","model":"m","status":"completed","output":[{"type":"message","id":"i","role":"assistant","status":"completed","content":[{"type":"output_text","text":"Hi","annotations":[]}]}]USAGE}"#,
        inclusive: true,
    },
    Form {
        model: "gemini/m",
        usage: r#"{"promptTokenCount":50,"cachedContentTokenCount":READ,"candidatesTokenCount":2}"#,
        key: "usageMetadata",
        stream: "data: {\"candidates\":[{\"content\":{\"role\":\"model\",\"parts\":[{\"text\":\"Hi\"}]},\"finishReason\":\"STOP\",\"index\":0}],\"modelVersion\":\"m\",\"responseId\":\"g\"USAGE}\n\n",
        whole: r#"{"candidates":[{"content":{"role":"model","parts":[{"text":"Hi"}]},"finishReason":"STOP","index":0}],"modelVersion":"m","responseId":"g"USAGE}"#,
        inclusive: true,
    },
];

impl Form {
    /// The usage of replies with each of these members, streamed and whole.
    async fn read(&self, members: &[String]) -> Vec<Usage> {
        let model: ModelRef = self.model.parse().unwrap();
        let (mut answers, mut streams) = (Vec::new(), Vec::new());
        for member in members {
            answers.push(Canned::events().piece(self.stream.replace("USAGE", member)));
            answers.push(Canned::json(200, self.whole.replace("USAGE", member)));
            streams.extend([true, false]);
        }
        let server = CaptureServer::start(answers).await.unwrap();
        let client = client_of(self.model, &server.base_url(), limits(), &RateGates::new());
        let mut read = Vec::new();
        for stream in streams {
            let request = Request { stream, ..request_in(model.format(), "Hi") };
            let sent = client.send(&request, &mut |_| {}, &CancellationToken::new()).await;
            let reply = sent.unwrap();
            assert_eq!(reply.message.text(), "Hi");
            read.push(reply.usage);
        }
        read
    }

    /// The member that reports this as read and as written.
    fn member(&self, read: &str, written: &str) -> String {
        let usage = self.usage.replace("READ", read).replace("WRITTEN", written);
        format!(",\"{}\":{usage}", self.key)
    }
}

#[tokio::test]
async fn what_is_missing_or_absurd_is_unknown_in_every_format() {
    for form in &FORMS {
        let mut members: Vec<String> =
            NONSENSE.iter().map(|nonsense| form.member(nonsense, nonsense)).collect();
        if form.inclusive {
            // More than the whole prompt.
            members.push(form.member("51", "51"));
        }
        let expected = Usage { uncached: 50, output: 2, ..Usage::default() };
        let read = form.read(&members).await;
        for (index, usage) in read.into_iter().enumerate() {
            assert_eq!(usage, expected, "{}: {}", form.model, members[index / 2]);
        }
    }
}

#[tokio::test]
async fn no_usage_at_all_is_nothing_known() {
    for form in &FORMS {
        let mut members = vec![String::new()];
        members.extend(
            ["null", "[]", "7", "\"many\"", "{}"]
                .map(|nonsense| format!(",\"{}\":{nonsense}", form.key)),
        );
        for nonsense in NONSENSE {
            let usage = form.usage.replace(":50", &format!(":{nonsense}"));
            let usage = usage.replace(":2}", &format!(":{nonsense}}}"));
            // What is a part of nothing known is not known either.
            let part = if form.inclusive { "7" } else { "null" };
            let usage = usage.replace("READ", part).replace("WRITTEN", part);
            members.push(format!(",\"{}\":{usage}", form.key));
        }
        let read = form.read(&members).await;
        for (index, usage) in read.into_iter().enumerate() {
            assert_eq!(usage, Usage::default(), "{}: {}", form.model, members[index / 2]);
        }
    }
}

#[tokio::test]
async fn a_reported_zero_is_a_zero() {
    for form in &FORMS {
        for usage in form.read(&[form.member("0", "0")]).await {
            assert_eq!(usage.read, Some(0), "{}", form.model);
            assert_eq!(usage.prompt(), 50, "{}", form.model);
            let gemini = form.model.parse::<ModelRef>().unwrap().format() == WireFormat::Gemini;
            assert_eq!(usage.write_short, (!gemini).then_some(0), "{}", form.model);
        }
    }
}
