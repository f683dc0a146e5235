//! Conversations of other programs, as they are written down from their requests.

mod forks;
mod host;
mod law;
mod mail;
mod verdicts;

use serde_json::{Value, json};
use tine_model::{AgentId, ContextMode, Standing};
use tine_runtime::{AgentFilter, KillSpec};
use tine_store::UsageScope;

use self::host::{Host, Program, reply, said, user};

#[tokio::test]
async fn a_conversation_is_one_guest_with_each_message_once() {
    let mut host = Host::new().await;
    let mut program = Program::new("s");
    let guest = host.turn(&mut program, "Fix the parser", "Done.").await;
    assert_eq!(host.turn(&mut program, "Now test it", "It passes.").await, guest);
    assert_eq!(host.texts(guest).await, ["Fix the parser", "Done.", "Now test it", "It passes."]);
    let entries = host.runtime.store().own_entries(guest, None).await.unwrap();
    assert_eq!(entries.len(), 4);
    let record = host.runtime.agent(guest).await.unwrap();
    assert_eq!((record.standing, record.parent), (Standing::Guest, None));
    assert_eq!(record.title.as_deref(), Some("Fix the parser"));
    assert_eq!(record.settings.model.to_string(), "anthropic/claude-sonnet-5");
    assert_eq!(host.requests(guest).await, 2);
}

#[tokio::test]
async fn marks_that_move_on_and_texts_in_lists_are_the_same_messages() {
    let mut host = Host::new().await;
    let mut program = Program::new("s");
    let guest = host.turn(&mut program, "one", "two").await;
    let mark = json!({"type": "ephemeral"});
    program.messages[0]["content"] =
        json!([{"type": "text", "text": "one", "cache_control": mark}]);
    host.turn(&mut program, "three", "four").await;
    program.messages[0]["content"] = json!("one");
    assert_eq!(host.turn(&mut program, "five", "six").await, guest);
    assert_eq!(host.texts(guest).await, ["one", "two", "three", "four", "five", "six"]);
}

#[tokio::test]
async fn a_request_that_leaves_the_path_is_a_fork() {
    let mut host = Host::new().await;
    let mut program = Program::new("s");
    let guest = host.turn(&mut program, "one", "two").await;
    let mut other = program.clone();
    host.turn(&mut program, "three", "four").await;
    let fork = host.turn(&mut other, "another", "way").await;
    let record = host.runtime.agent(fork).await.unwrap();
    assert_eq!((record.parent, record.context), (Some(guest), ContextMode::Full));
    assert_eq!(host.texts(fork).await, ["one", "two", "another", "way"]);
    assert_eq!(host.texts(guest).await, ["one", "two", "three", "four"]);
    let own = host.runtime.store().own_entries(fork, None).await.unwrap();
    assert_eq!(own.len(), 3, "the event and two messages");
    // Both go on.
    assert_eq!(host.turn(&mut other, "5", "6").await, fork);
    assert_eq!(host.turn(&mut program, "5", "6").await, guest);
}

#[tokio::test]
async fn another_session_with_the_same_beginning_is_a_fork_and_with_the_same_prompt_alone_is_none()
{
    let mut host = Host::new().await;
    let mut program = Program::new("s");
    let guest = host.turn(&mut program, "hi", "hello").await;
    let mut copy = Program { session: Some("t".to_owned()), ..program.clone() };
    let fork = host.turn(&mut copy, "go on", "yes").await;
    assert_eq!(host.runtime.agent(fork).await.unwrap().parent, Some(guest));
    assert_eq!(host.texts(fork).await, ["hi", "hello", "go on", "yes"]);
    let stranger = host.turn(&mut Program::new("u"), "hi", "hello").await;
    assert_eq!(host.runtime.agent(stranger).await.unwrap().parent, None);
    assert_eq!(host.requests(stranger).await, 1);
}

#[tokio::test]
async fn a_program_that_names_no_session_is_found_by_the_longest_beginning() {
    let mut host = Host::new().await;
    let mut program = Program { session: None, ..Program::new("") };
    let guest = host.turn(&mut program, "one", "two").await;
    let mut other = program.clone();
    assert_eq!(host.turn(&mut program, "three", "four").await, guest);
    let fork = host.turn(&mut other, "another", "way").await;
    assert_eq!(host.runtime.agent(fork).await.unwrap().parent, Some(guest));
}

#[tokio::test]
async fn a_conversation_in_fewer_words_and_a_worker_are_lines_below() {
    let mut host = Host::new().await;
    let mut program = Program::new("s");
    let guest = host.turn(&mut program, "one", "two").await;
    let mut worker = Program { tools: vec!["Read"], ..Program::new("s") };
    let worker = host.turn(&mut worker, "Look around", "Nothing there.").await;
    let mut alike = Program { is_worker: true, ..Program::new("s") };
    let alike = host.turn(&mut alike, "Look there", "Nothing either.").await;
    host.turn(&mut program, "three", "four").await;
    program.messages = vec![user("In short: one to four.")];
    let shorter = host.turn(&mut program, "five", "six").await;
    let below = async |agent: AgentId| {
        let record = host.runtime.agent(agent).await.unwrap();
        (record.parent, record.context)
    };
    assert_eq!(below(worker).await, (Some(guest), ContextMode::Fresh));
    assert_eq!(below(alike).await.1, ContextMode::Fresh, "it is told to be one");
    assert_eq!(below(shorter).await, (Some(guest), ContextMode::Digest));
    assert_eq!(host.texts(shorter).await, ["In short: one to four.", "five", "six"]);
}

#[tokio::test]
async fn a_title_is_a_cost_of_its_conversation_and_none_itself() {
    let mut host = Host::new().await;
    let title = Program { tools: Vec::new(), ..Program::new("s") };
    host.turn(&mut title.clone(), "Give it a title", "Parser").await;
    assert_eq!(host.runtime.agents(AgentFilter::All).await.unwrap(), []);
    let guest = host.turn(&mut Program::new("s"), "one", "two").await;
    host.turn(&mut title.clone(), "And another", "Parsers").await;
    assert_eq!(host.requests(guest).await, 3);
    assert_eq!(host.runtime.agents(AgentFilter::All).await.unwrap().len(), 1);
}

#[tokio::test]
async fn an_export_says_what_was_sent() {
    let mut host = Host::new().await;
    let mut program = Program::new("s");
    program.messages = vec![user("one"), json!({"role": "system", "content": "Surroundings"})];
    let guest = host.exchange(&program, &reply(&said("two"), (1, 0))).await;
    let fold = host.runtime.fold(guest, None).await.unwrap();
    let items: Vec<_> = fold.items().collect();
    let exported = tine_runtime::to_messages(
        items.iter().map(|item| &*item.message),
        tine_model::WireFormat::Anthropic,
    );
    let exported: Vec<Value> = serde_json::from_str(&exported).unwrap();
    let roles: Vec<&Value> = exported.iter().map(|message| &message["role"]).collect();
    assert_eq!(roles, ["user", "system", "assistant"]);
    assert_eq!(exported[1]["content"][0]["text"], "Surroundings");
}

#[tokio::test]
async fn a_program_without_tools_has_conversations_too() {
    let mut host = Host::new().await;
    let mut program = Program { tools: Vec::new(), ..Program::new("s") };
    host.turn(&mut program, "one", "two").await;
    let guest = host.turn(&mut program, "three", "four").await;
    assert_eq!(host.texts(guest).await, ["one", "two", "three", "four"]);
    assert_eq!(host.requests(guest).await, 2, "the first one was no title");
    // A question of which nothing more comes is one, too.
    host.turn(&mut Program { tools: Vec::new(), ..Program::new("t") }, "five", "six").await;
    host.guests.finish().await.unwrap();
    let last = host.runtime.agents(AgentFilter::All).await.unwrap().pop().unwrap().id;
    assert_eq!(host.texts(last).await, ["five", "six"]);
    assert_eq!(host.requests(last).await, 1);
}

#[tokio::test]
async fn gateways_that_take_turns_write_one_conversation() {
    let mut host = Host::new().await;
    let mut program = Program::new("s");
    let mut other = host.gateway();
    let guest = host.turn(&mut program, "0", "a").await;
    for number in 1..6 {
        std::mem::swap(&mut host.guests, &mut other);
        assert_eq!(host.turn(&mut program, &number.to_string(), "a").await, guest);
    }
    assert_eq!(host.texts(guest).await.len(), 12);
}

#[tokio::test]
async fn a_guest_that_was_killed_begins_anew_where_the_program_goes_on() {
    let mut host = Host::new().await;
    let mut program = Program::new("s");
    let guest = host.turn(&mut program, "one", "two").await;
    host.runtime.kill(KillSpec { agent: guest, roots: true }).await.unwrap();
    let again = host.turn(&mut program, "three", "four").await;
    assert_ne!(again, guest);
    assert_eq!(host.texts(again).await, ["one", "two", "three", "four"]);
}

#[tokio::test]
async fn repeated_requests_stand_side_by_side() {
    let mut host = Host::new().await;
    let mut program = Program::new("s");
    let guest = host.turn(&mut program, "one", "two").await;
    for reply in ["three", "four", "five"] {
        program.messages.truncate(1);
        host.exchange(&program, &host::reply(&said(reply), (1, 0))).await;
    }
    let agents = host.runtime.agents(AgentFilter::All).await.unwrap();
    let parents: Vec<_> = agents.iter().map(|agent| agent.parent).collect();
    assert_eq!(parents, [None, Some(guest), Some(guest), Some(guest)]);
}

#[tokio::test]
async fn a_reply_counts_in_the_words_in_which_it_is_sent_back() {
    let mut host = Host::new().await;
    let mut program = Program::new("s");
    let guest = host.turn(&mut program, "one", "two \n").await;
    *program.messages.last_mut().unwrap() = said("two");
    assert_eq!(host.turn(&mut program, "three", "four").await, guest);
    assert_eq!(host.texts(guest).await, ["one", "two", "three", "four"]);
    // JSON that is written otherwise says the same.
    let call = |input: &str| {
        let text = format!(
            r#"{{"role":"assistant","content":[{{"type":"tool_use","id":"t","name":"Bash","input":{input}}}]}}"#
        );
        serde_json::from_str::<Value>(&text).unwrap()
    };
    program.messages.push(user("five"));
    host.exchange(&program, &reply(&call(r#"{ "command" : "l\u0073" }"#), (1, 0))).await;
    program.messages.push(call(r#"{"command":"ls"}"#));
    let result = json!({"type": "tool_result", "tool_use_id": "t", "content": "x"});
    program.messages.push(json!({"role": "user", "content": [result]}));
    assert_eq!(host.exchange(&program, &reply(&said("six"), (1, 0))).await, guest);
    let entries = host.runtime.store().own_entries(guest, None).await.unwrap();
    assert_eq!(entries.len(), 4 + 2 + 4, "one reply was sent back in other words");
}

#[tokio::test]
async fn what_is_refused_or_breaks_off_is_no_message() {
    let mut host = Host::new().await;
    let mut program = Program::new("s");
    program.messages.push(user("one"));
    assert_eq!(host.refused(&program).await, None);
    assert_eq!(host.runtime.agents(AgentFilter::All).await.unwrap(), []);
    let guest = host.broken(&program).await;
    assert_eq!(host.texts(guest).await, ["one"]);
    let rows = host.runtime.store().requests(guest, UsageScope::Own).await.unwrap();
    assert_eq!(rows[0].usage.unwrap().prompt(), 7, "what the stream said before it broke");
    // The program tries again.
    assert_eq!(host.exchange(&program, &reply(&said("two"), (1, 0))).await, guest);
    assert_eq!(host.texts(guest).await, ["one", "two"]);
    // And asks once more for another reply.
    let again = host.exchange(&program, &reply(&said("other"), (1, 0))).await;
    assert_eq!(again, guest, "until its end it may be any reply");
    let all = host.runtime.agents(AgentFilter::All).await.unwrap();
    assert_eq!(host.texts(all.last().unwrap().id).await, ["one", "other"]);
}

#[tokio::test]
async fn guests_of_which_nothing_was_heard_go_with_all_below_them() {
    let mut host = Host::new().await;
    let mut old = Program::new("old");
    let named = host.turn(&mut Program::new("named"), "one", "two").await;
    host.runtime.rename(named, Some("kept".to_owned())).await.unwrap();
    host.turn(&mut old, "one", "two").await;
    let mut kept = Program::new("kept");
    let parent = host.turn(&mut kept, "one", "two").await;
    let mut fork = Program { session: Some("fork".to_owned()), ..kept.clone() };
    host.clock.advance_ms(1_000);
    let child = host.turn(&mut fork, "three", "four").await;
    let last_ms = host.now_ms() - 1_000;
    assert_eq!(host.guests.remove_older(last_ms).await.unwrap(), 1);
    let left: Vec<AgentId> =
        host.runtime.agents(AgentFilter::All).await.unwrap().iter().map(|one| one.id).collect();
    assert_eq!(left, [named, parent, child]);
    let again = host.turn(&mut old, "three", "four").await;
    assert_eq!(host.texts(again).await, ["one", "two", "three", "four"], "it begins anew");
}

#[tokio::test]
async fn a_guest_is_read_and_never_run() {
    let mut host = Host::new().await;
    let guest = host.turn(&mut Program::new("s"), "one", "two").await;
    let refused = host.runtime.send_next(None, guest, "hi".to_owned()).await.unwrap_err();
    insta::assert_snapshot!(refused.to_string().replace(&guest.to_string(), "ID"), @"agent ID is a guest: another program holds its conversation");
}
