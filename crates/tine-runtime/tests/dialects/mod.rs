//! Members that a server refuses: left out of requests once and for good, recorded, and never taken out of the log.

mod blocks;

use std::sync::{Arc, Mutex};

use serde_json::Value;
use tine_model::{AgentId, DialectChange, EntryBody, Message, Outcome, WireFormat};
use tine_runtime::{ForkSpec, HiddenSpec, Inherit, NewRoot};
use tine_testkit::{Answer, Captured, ScriptedModel};
use tine_wire::FailureKind;

use crate::fixture::{House, options};
use crate::say;

const REPLY: &str = r#"{"role":"assistant","reasoning":"hm","channel":"final","content":"yes"}"#;

fn reply(format: WireFormat, json: &str) -> Message {
    tine_wire::read_message(format, json).unwrap()
}

/// A server that speaks chat, and refuses these members of messages as Groq does, the first that it finds.
struct Strict(Arc<Mutex<Vec<&'static str>>>);

impl Strict {
    fn answer(&self, request: &Captured) -> Answer {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        for (index, message) in body["messages"].as_array().unwrap().iter().enumerate() {
            let refused = self.0.lock().unwrap();
            let found = refused.iter().find(|name| message.get(**name).is_some());
            if let Some(name) = found {
                let words = format!(
                    "'messages.{index}' : for 'role:assistant' the following must be satisfied[('messages.{index}' : property '{name}' is unsupported)]"
                );
                return Answer::refused(FailureKind::InvalidRequest, &words);
            }
        }
        Answer::message(reply(WireFormat::OpenAiChat, REPLY))
    }
}

async fn strict(refused: &[&'static str]) -> (House, Arc<Mutex<Vec<&'static str>>>) {
    let refused = Arc::new(Mutex::new(refused.to_vec()));
    let server = Strict(Arc::clone(&refused));
    (House::new(ScriptedModel::answering(move |request| server.answer(request))).await, refused)
}

async fn root(house: &House, model: &str) -> AgentId {
    let mut new = house.new_root(house.home.path().to_owned());
    new.settings.model = model.parse().unwrap();
    house.runtime.create_root(NewRoot { ..new }).await.unwrap()
}

async fn changes(house: &House, agent: AgentId) -> Vec<(i64, Arc<DialectChange>)> {
    let fold = house.runtime.fold(agent, None).await.unwrap();
    let change = |folded: &tine_runtime::FoldedEntry| match &folded.entry.body {
        EntryBody::Dialect(change) => Some((folded.entry.id.0, Arc::clone(change))),
        _ => None,
    };
    fold.entries().iter().filter_map(change).collect()
}

/// The last request's body without what closes it.
fn last(house: &House) -> String {
    let body = house.model.requests().last().unwrap().text();
    body.strip_suffix("]}").unwrap().to_owned()
}

fn count(house: &House) -> usize {
    house.model.requests().len()
}

#[tokio::test]
async fn what_a_server_refuses_is_left_out_once_and_for_good() {
    let (house, _) = strict(&["reasoning", "channel"]).await;
    let agent = root(&house, "openai-compat/m").await;
    for prompt in ["one", "two"] {
        assert_eq!(say(&house, agent, prompt).await, Outcome::Completed);
    }
    assert_eq!(count(&house), 4, "two refusals, one a member");
    let told: Vec<String> =
        changes(&house, agent).await.iter().map(|(id, change)| format!("{id}: {change}")).collect();
    insta::assert_snapshot!(told.join("\n"), @"
    4: requests leave out `messages.reasoning` from here on, which models.test:8080 refuses; messages from entry 2 on are rendered without; no cache is lost
    5: requests leave out `messages.channel` from here on, which models.test:8080 refuses; messages from entry 2 on are rendered without; no cache is lost
    ");
    // The log has what was said.
    let fold = house.runtime.fold(agent, None).await.unwrap();
    let kept: Vec<String> = fold
        .items()
        .filter_map(|item| item.message.raw().map(|raw| raw.json.as_str().to_owned()))
        .collect();
    assert_eq!(kept, [REPLY, REPLY]);
    // The same bytes in the next turn, after a restart, in a fork, and in a fork from before the refusal.
    let second = last(&house);
    assert!(!second.contains("reasoning") && !second.contains("channel"), "{second}");
    let first_reply = fold.items().nth(1).unwrap().entry;
    let house = house.reopened().await;
    say(&house, agent, "three").await;
    assert!(last(&house).starts_with(&second));
    let third = last(&house);
    let child = house.runtime.fork(ForkSpec::of(agent)).await.unwrap().child;
    say(&house, child, "four").await;
    assert!(last(&house).starts_with(&third));
    let early = ForkSpec { at: Some(first_reply), ..ForkSpec::of(agent) };
    let early = house.runtime.fork(early).await.unwrap().child;
    say(&house, early, "five").await;
    let shared = second.split("two").next().unwrap();
    assert!(last(&house).starts_with(shared.trim_end_matches(r#"{"role":"user","content":""#)));
    assert_eq!(count(&house), 7, "nothing is refused again");
}

#[tokio::test]
async fn a_later_lineage_at_the_host_begins_so() {
    let (house, _) = strict(&["reasoning"]).await;
    let agent = root(&house, "openai-compat/m").await;
    say(&house, agent, "one").await;
    say(&house, agent, "two").await;
    let house = house.reopened().await;
    let other = root(&house, "openai-compat/another").await;
    let before = count(&house);
    for prompt in ["one", "two", "three"] {
        assert_eq!(say(&house, other, prompt).await, Outcome::Completed);
    }
    assert_eq!(count(&house), before + 3, "nothing is refused");
    let [(_, change)] = &changes(&house, other).await[..] else { panic!("one change") };
    insta::assert_snapshot!(change, @"requests leave out `messages.reasoning` from here on, which models.test:8080 is known to refuse");
}

/// Members that were accepted are in the cache: to leave them out costs, and that is told.
#[tokio::test]
async fn a_server_that_becomes_stricter_costs_the_cache_and_that_is_told() {
    let (house, refused) = strict(&[]).await;
    let agent = root(&house, "openai-compat/glm-5.3-flash").await;
    let long = "word ".repeat(10_000);
    for prompt in [long.as_str(), &long[..1000], "three"] {
        say(&house, agent, prompt).await;
    }
    assert_eq!(changes(&house, agent).await, []);
    refused.lock().unwrap().push("reasoning");
    say(&house, agent, "four").await;
    let [(_, change)] = &changes(&house, agent).await[..] else { panic!("one change") };
    assert!(change.rewrites && change.lost_tokens > 0 && change.lost_micro_usd.is_some());
    insta::assert_snapshot!(change, @"requests leave out `messages.reasoning` from here on, which models.test:8080 refuses; messages from entry 2 on are rendered without; the cache of 256 tokens is lost, which costs less than $0.0001");
    let fourth = last(&house);
    let house = house.reopened().await;
    say(&house, agent, "five").await;
    assert!(last(&house).starts_with(&fourth));
    assert_eq!(changes(&house, agent).await.len(), 1);
}

/// A gateway that refuses a setting for one model takes it for another.
#[tokio::test]
async fn a_setting_is_left_out_for_the_model_that_refuses_it() {
    let words = "litellm.UnsupportedParamsError: anthropic does not support parameters: ['prompt_cache_key'], for model=claude-x.";
    let house = House::new(ScriptedModel::answering(move |request| {
        let text = request.text();
        if text.contains("claude-x") && text.contains("\"prompt_cache_key\"") {
            return Answer::refused(FailureKind::InvalidRequest, words);
        }
        Answer::text("yes")
    }))
    .await;
    let agent = root(&house, "openai/claude-x").await;
    for prompt in ["one", "two"] {
        assert_eq!(say(&house, agent, prompt).await, Outcome::Completed);
    }
    let house = house.reopened().await;
    say(&house, agent, "three").await;
    assert_eq!(count(&house), 4);
    let second = root(&house, "openai/claude-x").await;
    say(&house, second, "one").await;
    assert_eq!(count(&house), 5);
    let other = root(&house, "openai/gpt-6.1-sol").await;
    say(&house, other, "one").await;
    assert!(last_body(&house).contains("\"prompt_cache_key\""));
    assert_eq!(changes(&house, other).await, []);
}

/// A hidden run asks for an even answer, and a model that has no temperature is asked without.
#[tokio::test]
async fn a_temperature_that_a_model_does_not_take_is_left_out() {
    let words = "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) value is supported.";
    let house = House::new(ScriptedModel::answering(move |request| {
        match request.text().contains("\"temperature\"") {
            true => Answer::refused(FailureKind::InvalidRequest, words),
            false => Answer::text("yes"),
        }
    }))
    .await;
    let agent = root(&house, "openai/gpt-6.1-sol").await;
    say(&house, agent, "one").await;
    let mut spec = HiddenSpec { steady: true, ..HiddenSpec::of(agent) };
    spec.fork.inherit = Inherit::Fresh;
    let hidden = house.runtime.hidden(spec).await.unwrap();
    let ran = house.runtime.run_hidden(hidden, Message::user("go"), &options()).await.unwrap();
    assert_eq!((ran.report.outcome, count(&house)), (Outcome::Completed, 3));
}

fn last_body(house: &House) -> String {
    house.model.requests().last().unwrap().text()
}

/// A refusal of what a request cannot do without ends the run with the server's words.
#[tokio::test]
async fn another_refusal_stays_a_failure() {
    let house = House::new(ScriptedModel::answering(|_| {
        Answer::refused(FailureKind::InvalidRequest, "property 'content' is unsupported")
    }))
    .await;
    let agent = root(&house, "openai-compat/m").await;
    assert!(matches!(say(&house, agent, "one").await, Outcome::Failed(_)));
    assert_eq!((count(&house), changes(&house, agent).await.len()), (1, 0));
}
