//! The Gemini format over real sockets: replies, cached contents, and the implicit cache.

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::{client, manual, post, send_as, start};

const ECHO: &str = "name = \"echo\"\ncache_min_tokens = 100\n[[turn]]\ntext = \"Yes.\"\n";
const GENERATE: &str = "/v1beta/models/gemini-3.8-flash:generateContent";
const STREAM: &str = "/v1beta/models/gemini-3.8-flash:streamGenerateContent?alt=sse";

fn ask(text: &str) -> Value {
    json!({"contents": [{"role": "user", "parts": [{"text": text}]}]})
}

fn resource(text_bytes: usize) -> Value {
    json!({
        "model": "models/gemini-3.8-flash", "ttl": "600s",
        "systemInstruction": {"parts": [{"text": "p".repeat(text_bytes)}]},
        "contents": [{"role": "user", "parts": [{"text": "the plan"}]}],
    })
}

#[tokio::test]
async fn a_stream_is_a_row_of_whole_responses_and_simply_ends() {
    let server = start(
        "name = \"s\"\n[[turn]]\nthinking = \"hm\"\ntext = \"I look.\"\ntool_calls = [{ name = \"ls\", input = { path = \".\" } }, { name = \"ls\" }]\n",
    )
    .await;
    let mut body = ask("go");
    body["generationConfig"] = json!({"thinkingConfig": {"includeThoughts": true}});
    let text = post(&server, STREAM, &body).await.text();
    let events = text.split("\n\n").filter(|event| !event.is_empty());
    let shown: Vec<String> = events
        .map(|event| {
            let data: Value =
                serde_json::from_str(event.trim_start_matches("data: ")).expect("JSON");
            let candidate = &data["candidates"][0];
            let mut parts = candidate["content"]["parts"].clone();
            for part in parts.as_array_mut().expect("parts") {
                if let Some(signature) = part.get_mut("thoughtSignature") {
                    *signature = json!("...");
                }
            }
            let usage = data["usageMetadata"]["totalTokenCount"].as_u64().expect("a count");
            format!("{parts} {} {usage}", candidate["finishReason"])
        })
        .collect();
    insta::assert_snapshot!(shown.join("\n"), @r#"
    [{"text":""}] null 5
    [{"text":"hm","thought":true}] null 6
    [{"text":"I look."}] null 8
    [{"functionCall":{"id":"call_sim_000001","name":"ls","args":{"path":"."}},"thoughtSignature":"..."},{"functionCall":{"id":"call_sim_000002","name":"ls","args":{}}}] null 13
    [{"text":""}] "STOP" 13
    "#);
}

#[tokio::test]
async fn a_reply_that_is_not_streamed_is_one_response() {
    let server = start(ECHO).await;
    let (status, body) = send_as(&server, Method::POST, GENERATE, ask("go")).await;
    assert_eq!(status, 200);
    insta::assert_snapshot!(serde_json::to_string_pretty(&body).expect("JSON"), @r#"
    {
      "candidates": [
        {
          "content": {
            "parts": [
              {
                "text": "Yes."
              }
            ],
            "role": "model"
          },
          "finishReason": "STOP",
          "index": 0
        }
      ],
      "usageMetadata": {
        "promptTokenCount": 5,
        "candidatesTokenCount": 1,
        "totalTokenCount": 6,
        "promptTokensDetails": [
          {
            "modality": "TEXT",
            "tokenCount": 5
          }
        ]
      },
      "modelVersion": "sim/echo",
      "responseId": "resp_sim_000001"
    }
    "#);
}

#[tokio::test]
async fn a_signed_call_comes_back_and_an_unsigned_one_is_refused() {
    let server = start(
        "name = \"s\"\n[[turn]]\nwhen = { tool_results = 0 }\ntool_calls = [{ name = \"ls\" }]\n[[turn]]\ntext = \"Seen: {{tool_result.last}}\"\n",
    )
    .await;
    let (_, first) = send_as(&server, Method::POST, GENERATE, ask("go")).await;
    let content = first["candidates"][0]["content"].clone();
    let follow = |content: Value| {
        let id = content["parts"][0]["functionCall"]["id"].clone();
        let mut body = ask("go");
        let answer =
            json!({"functionResponse": {"id": id, "name": "ls", "response": {"output": "a b"}}});
        let contents = body["contents"].as_array_mut().expect("contents");
        contents.extend([content, json!({"role": "user", "parts": [answer]})]);
        body
    };
    let (_, second) = send_as(&server, Method::POST, GENERATE, follow(content.clone())).await;
    assert_eq!(second["candidates"][0]["content"]["parts"][0]["text"], "Seen: a b");
    let mut unsigned = content;
    unsigned["parts"][0].as_object_mut().expect("a part").remove("thoughtSignature");
    let (status, refused) = send_as(&server, Method::POST, GENERATE, follow(unsigned)).await;
    let message = "Function call is missing a thought_signature in functionCall parts. Function call `default_api:ls`, position 2.";
    let error = json!({"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}});
    assert_eq!((status, refused), (400, error));
}

#[tokio::test]
async fn every_child_reads_exactly_the_named_content() {
    let (server, clock) = manual(ECHO).await;
    let (status, made) =
        send_as(&server, Method::POST, "/v1beta/cachedContents", resource(4_000)).await;
    assert_eq!(status, 200);
    let tokens = made["usageMetadata"]["totalTokenCount"].as_u64().expect("a count");
    for child in ["aaaa", "bbbb", "cccc"] {
        let mut body = ask(child);
        body["cachedContent"] = made["name"].clone();
        let (_, reply) = send_as(&server, Method::POST, GENERATE, body).await;
        let usage = &reply["usageMetadata"];
        assert_eq!(usage["cachedContentTokenCount"].as_u64(), Some(tokens));
        // `<user>{"text":"aaaa"}` and a line's end.
        assert_eq!(usage["promptTokenCount"].as_u64(), Some(tokens + 6));
    }
    clock.advance(600_000);
    let mut late = ask("late");
    late["cachedContent"] = made["name"].clone();
    let (status, body) = send_as(&server, Method::POST, GENERATE, late).await;
    assert_eq!((status, &body["error"]["status"]), (403, &json!("PERMISSION_DENIED")));
    assert_eq!(server.cached_content_token_ms(), u128::from(tokens) * 600_000);
}

#[tokio::test]
async fn a_cached_content_can_be_shown_prolonged_listed_and_deleted() {
    let (server, clock) = manual(ECHO).await;
    let path = "/v1beta/cachedContents";
    let (_, made) = send_as(&server, Method::POST, path, resource(400)).await;
    let one = format!("/v1beta/{}", made["name"].as_str().expect("a name"));
    clock.advance(500_000);
    let (_, patched) = send_as(&server, Method::PATCH, &one, json!({"ttl": "600s"})).await;
    assert_eq!(patched["expireTime"], "1970-01-01T00:35:00Z");
    let (status, _) = send_as(&server, Method::PATCH, &one, json!({"displayName": "x"})).await;
    assert_eq!(status, 400);
    clock.advance(500_000);
    let (_, shown) = send_as(&server, Method::GET, &one, json!({})).await;
    assert_eq!(shown["name"], made["name"]);
    let (_, listed) = send_as(&server, Method::GET, path, json!({})).await;
    assert_eq!(listed["cachedContents"].as_array().map(Vec::len), Some(1));
    let (status, _) = send_as(&server, Method::DELETE, &one, json!({})).await;
    assert_eq!(status, 200);
    let (status, _) = send_as(&server, Method::GET, &one, json!({})).await;
    assert_eq!(status, 403);
    let (status, small) = send_as(&server, Method::POST, path, resource(40)).await;
    assert_eq!(status, 400);
    assert_eq!(
        small["error"]["message"],
        "Cached content is too small. total_token_count=22, min_total_token_count=100"
    );
}

#[tokio::test]
async fn the_implicit_cache_hits_as_often_as_the_scenario_says() {
    for (key, reads) in [("", [0, 1_005]), ("implicit_hit_rate = 0.0\n", [0, 0])] {
        let server = start(&format!("{key}{ECHO}")).await;
        let text = "p".repeat(4_000);
        for read in reads {
            let (_, reply) = send_as(&server, Method::POST, GENERATE, ask(&text)).await;
            let cached = reply["usageMetadata"]["cachedContentTokenCount"].as_u64();
            assert_eq!(cached.unwrap_or(0), read, "{key}");
        }
    }
}

#[tokio::test]
async fn a_key_in_the_url_will_do_and_none_will_not() {
    let server = start(ECHO).await;
    let bare = |path: &str| {
        client().post(format!("{}{path}", server.base_url())).body(ask("go").to_string())
    };
    let with_key = bare(&format!("{GENERATE}?key=k")).send().await.expect("a response");
    assert_eq!(with_key.status(), 200);
    let without = bare(GENERATE).send().await.expect("a response");
    assert_eq!(without.status(), 403);
    let unknown = bare("/v1beta/models/x:predict?key=k").send().await.expect("a response");
    assert_eq!(unknown.status(), 404);
}

#[tokio::test]
async fn tokens_are_counted_without_an_answer_and_arrays_hold_the_stream() {
    let server = start(ECHO).await;
    let path = "/v1beta/models/gemini-3.8-flash:countTokens";
    assert_eq!(
        send_as(&server, Method::POST, path, ask("aaaa")).await,
        (200, json!({"totalTokens": 6}))
    );
    let path = STREAM.trim_end_matches("?alt=sse");
    let (_, array) = send_as(&server, Method::POST, path, ask("aaaa")).await;
    let last = array.as_array().and_then(|items| items.last()).expect("items");
    assert_eq!(last["candidates"][0]["finishReason"], "STOP");
}
