//! Conversations of other tools that a provider would refuse for ever: they go on at the first prompt.

use serde_json::{Value, json};

use crate::sim_serve::Server;
use crate::support::{Home, Ran};

/// Messages of each file.
const MESSAGES: usize = 2_000;

/// A picture that is none.
const PICTURE: &str = "bm9uZQ==";

/// A transcript of Claude Code: one thought that another account signed, one picture that is none, and ids of another provider's calls,
/// the same in two turns.
fn claude_code() -> String {
    let mut lines = Vec::new();
    let mut add = |kind: &str, content: Value| {
        let number = lines.len();
        let parent = number.checked_sub(1).map(|parent| format!("u{parent}"));
        let message = json!({ "id": format!("m{number}"), "role": kind, "model": "claude-opus-5-5", "content": content });
        let line = json!({ "parentUuid": parent, "isSidechain": false, "sessionId": "s", "type": kind, "message": message, "uuid": format!("u{number}") });
        lines.push(line.to_string());
    };
    add(
        "user",
        json!([{ "type": "text", "text": "see" }, { "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": PICTURE } }]),
    );
    for turn in 0..2 {
        let call = json!({ "type": "tool_use", "id": "functions.Bash:0", "name": "Bash", "input": { "command": "ls" } });
        let thought = json!({ "type": "thinking", "thinking": "hm", "signature": "EqQBother" });
        add("assistant", if turn == 0 { json!([thought, call]) } else { json!([call]) });
        add(
            "user",
            json!([{ "type": "tool_result", "tool_use_id": "functions.Bash:0", "content": "x" }]),
        );
    }
    add("assistant", json!([{ "type": "text", "text": "seen" }]));
    for number in 0..MESSAGES / 2 {
        add("user", json!(format!("What is {number} and one?")));
        add("assistant", json!([{ "type": "text", "text": format!("It is {}.", number + 1) }]));
    }
    lines.join("\n")
}

/// A rollout of Codex with the same: reasoning that another account sealed, a picture that is none, one id of two calls.
fn codex() -> String {
    let mut lines = vec![
        json!({ "timestamp": "t", "type": "session_meta", "payload": { "id": "i", "cwd": "/w" } })
            .to_string(),
        json!({ "timestamp": "t", "type": "turn_context", "payload": { "model": "gpt-5.6" } })
            .to_string(),
    ];
    let mut add = |payload: Value| {
        lines.push(
            json!({ "timestamp": "t", "type": "response_item", "payload": payload }).to_string(),
        );
    };
    let said = |role: &str, kind: &str, text: &str| json!({ "type": "message", "role": role, "content": [{ "type": kind, "text": text }] });
    add(
        json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "see" }, { "type": "input_image", "detail": "auto", "image_url": format!("data:image/png;base64,{PICTURE}") }] }),
    );
    add(
        json!({ "type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2VhbGVk" }),
    );
    for _ in 0..2 {
        add(
            json!({ "type": "function_call", "call_id": "c".repeat(80), "name": "shell", "arguments": "{}" }),
        );
        add(json!({ "type": "function_call_output", "call_id": "c".repeat(80), "output": "x" }));
    }
    add(said("assistant", "output_text", "seen"));
    for number in 0..MESSAGES / 2 {
        add(said("user", "input_text", &format!("What is {number} and one?")));
        add(said("assistant", "output_text", &format!("It is {}.", number + 1)));
    }
    lines.join("\n")
}

/// An export of OpenCode with the same.
fn opencode() -> String {
    let mut messages = Vec::new();
    let mut add = |role: &str, parts: Value| {
        let id = format!("m{}", messages.len());
        messages.push(json!({ "info": { "id": id, "role": role, "modelID": "claude-opus-5-5", "providerID": "anthropic" }, "parts": parts }));
    };
    let tool = json!({ "type": "tool", "callID": "functions.bash:0", "tool": "bash", "state": { "status": "completed", "input": { "command": "ls" }, "output": "x" } });
    add(
        "user",
        json!([{ "type": "text", "text": "see" }, { "type": "file", "mime": "image/png", "filename": "a.png", "url": format!("data:image/png;base64,{PICTURE}") }]),
    );
    add(
        "assistant",
        json!([
            { "type": "step-start" }, { "type": "reasoning", "text": "hm", "metadata": { "anthropic": { "signature": "EqQBother" } } }, tool,
            { "type": "step-finish", "reason": "tool-calls" }, { "type": "step-start" }, tool, { "type": "step-finish", "reason": "tool-calls" },
            { "type": "step-start" }, { "type": "text", "text": "seen" },
        ]),
    );
    for number in 0..MESSAGES / 2 {
        add("user", json!([{ "type": "text", "text": format!("What is {number} and one?") }]));
        add("assistant", json!([{ "type": "text", "text": format!("It is {}.", number + 1) }]));
    }
    json!({ "info": { "id": "ses_1", "title": "Count" }, "messages": messages }).to_string()
}

/// Shows: whatever a provider refuses of 2,000 messages is left out at the first prompt, told in a line each, and the second prompt is read
/// from the cache; a fork begins with the same bytes.
#[test]
fn an_imported_conversation_goes_on_at_the_first_prompt_and_is_warm_at_the_second() {
    let home = Home::new();
    let bodies = home.path().join("bodies");
    let server = Server::start(&home, &["--log-bodies", bodies.to_str().unwrap()]);
    let tine = |arguments: &[&str]| {
        let mut command = home.tine(arguments);
        command.env("ANTHROPIC_API_KEY", "any").env("OPENAI_API_KEY", "any");
        command.env("ANTHROPIC_BASE_URL", server.field("anthropic"));
        Ran::of(command.env("OPENAI_BASE_URL", server.field("openai")))
    };
    for (name, text, model, kinds) in [
        ("cc", claude_code(), "anthropic/claude-opus-5-5", ["reasoning", "pictures"]),
        ("codex", codex(), "openai/gpt-5.6", ["reasoning", "pictures"]),
        ("opencode", opencode(), "anthropic/claude-opus-5-5", ["reasoning", "pictures"]),
    ] {
        home.write("session", &text);
        let ran = tine(&["import", "../session", "--model", model, "--name", name]);
        assert_eq!(ran.code, 0, "{name}: {}", ran.stderr);
        let run = |prompt: &str| {
            let ran = tine(&["run", "--resume", name, prompt, "--json"]);
            assert_eq!(ran.code, 0, "{name}: {}{}", ran.stdout, ran.stderr);
            serde_json::from_str::<Value>(ran.stdout.lines().last().unwrap()).unwrap()
        };
        run("go on");
        let shown = tine(&["show", name, "--json"]).stdout;
        for kind in kinds {
            assert!(shown.contains(&format!("\"left_out\":[\"{kind} ")), "{name}: {kind}");
        }
        let second = run("and on");
        let usage = &second["usage"];
        let (read, rest) = (usage["read"].as_u64().unwrap(), usage["uncached"].as_u64().unwrap());
        assert!(read > 20 * rest, "{name}: {usage}");
        let count = || std::fs::read_dir(&bodies).unwrap().count();
        let last = || {
            let number = format!("{:04}.json", count());
            std::fs::read_to_string(bodies.join(number)).unwrap_or_default()
        };
        let before = count();
        let parent = last();
        let forked = tine(&["fork", name, "and a fork", "--json"]);
        assert_eq!(forked.code, 0, "{name}: {}", forked.stderr);
        let fork = last();
        let shared =
            parent.bytes().zip(fork.bytes()).take_while(|(one, other)| one == other).count();
        assert!(shared + 200 > parent.len(), "{name}: {shared} of {}", parent.len());
        assert_eq!(count(), before + 1, "{name}: nothing is refused again");
    }
}
