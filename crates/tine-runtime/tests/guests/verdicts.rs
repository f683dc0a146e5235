//! Verdicts on a guest's requests: the part that the cache should have served, and why it did not.

use serde_json::json;
use tine_runtime::ExplainedRequest;

use super::host::{Host, Program, reply, said, user};

const MINUTE_MS: i64 = 60_000;

/// A long prompt: caches keep nothing short.
fn long() -> String {
    "word ".repeat(8_000)
}

/// The explanation of the last request, in a line.
async fn explained(host: &Host, guest: tine_model::AgentId) -> String {
    let all = host.runtime.explain_cache(guest).await.unwrap();
    let ExplainedRequest { verdict, note, .. } = all.last().unwrap().clone();
    let note = note.unwrap();
    let difference = note.difference.map(|part| format!(", {part}")).unwrap_or_default();
    format!("{}: expected {}, missed {}{difference}", verdict.unwrap(), note.expected, note.missed)
}

#[tokio::test]
async fn each_request_is_judged_by_what_the_one_before_left() {
    let mut host = Host::new().await;
    let mut program = Program::new("s");
    program.messages.push(user(&long()));
    let guest = host.exchange(&program, &reply(&said("two"), (9_000, 0))).await;
    insta::assert_snapshot!(explained(&host, guest).await, @"cold: expected 0, missed 0");
    program.messages.extend([said("two"), user("three")]);
    host.exchange(&program, &reply(&said("four"), (20, 9_000))).await;
    insta::assert_snapshot!(explained(&host, guest).await, @"ok: expected 9000, missed 0");
    // A tool is declared otherwise.
    program.messages.extend([said("four"), user("five")]);
    program.tools = vec!["Bash", "Write"];
    host.exchange(&program, &reply(&said("six"), (9_040, 0))).await;
    insta::assert_snapshot!(explained(&host, guest).await, @"diverged: expected 0, missed 9041, tool `Write`");
    // So is the system prompt.
    program.messages.extend([said("six"), user("six and a half")]);
    program.system = "Be long.";
    host.exchange(&program, &reply(&said("six"), (9_060, 0))).await;
    insta::assert_snapshot!(explained(&host, guest).await, @"diverged: expected 0, missed 9061, block 2 of the system prompt");
    // An hour goes by.
    host.clock.advance_ms(60 * MINUTE_MS);
    program.messages.extend([said("six"), user("seven")]);
    host.exchange(&program, &reply(&said("eight"), (9_060, 0))).await;
    insta::assert_snapshot!(explained(&host, guest).await, @"expired: expected 0, missed 9060");
    // An earlier message is written anew.
    program.messages.extend([said("eight"), user("nine")]);
    program.messages[2] = json!({"role": "user", "content": "three, cleared"});
    let fork = host.exchange(&program, &reply(&said("ten"), (9_080, 0))).await;
    assert_ne!(fork, guest);
    insta::assert_snapshot!(explained(&host, fork).await, @"diverged: expected 0, missed 9081, message 3, block 1 (user message)");
    // So is the first one, which is no shorter conversation.
    let mut first = Program::new("t");
    first.messages = vec![user(&long()), said("two"), user("three"), said("four"), user("five")];
    host.exchange(&first, &reply(&said("six"), (9_000, 0))).await;
    first.messages[0] = user(&format!("changed {}", long()));
    first.messages.extend([said("six"), user("seven")]);
    let fork = host.exchange(&first, &reply(&said("eight"), (9_000, 0))).await;
    insta::assert_snapshot!(explained(&host, fork).await, @"diverged: expected 0, missed 9001, message 1, block 1 (user message)");
}
