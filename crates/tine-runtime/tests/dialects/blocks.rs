//! Blocks that a server refuses: left out of requests, named in the log, and kept there word for word.

use tine_model::{Block, Role};

use super::*;

const PICTURE: &str = r#"{"role":"user","content":[{"type":"text","text":"see"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AAAA"}}]}"#;
const THOUGHT: &str = r#"{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"of another account"},{"type":"text","text":"seen"}]}"#;

/// Refuses, as Anthropic does, the first message that has one of these words in it.
async fn refusing(words: &'static [(&'static str, &'static str)]) -> House {
    House::new(ScriptedModel::answering(move |request| {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        for (index, message) in body["messages"].as_array().unwrap().iter().enumerate() {
            let text = message.to_string();
            if let Some((_, told)) = words.iter().find(|(word, _)| text.contains(word)) {
                let told = told.replace("{}", &index.to_string());
                return Answer::refused(FailureKind::InvalidRequest, &told);
            }
        }
        Answer::text("yes")
    }))
    .await
}

const SIGNATURE: (&str, &str) =
    ("another account", "messages.{}.content.0: Invalid `signature` in `thinking` block");
const IMAGE: (&str, &str) =
    ("AAAA", "messages.{}.content.1.image.source.base64: Could not process image");

async fn imported(house: &House, messages: &[&str]) -> AgentId {
    let text = format!("[{}]", messages.join(","));
    let new = house.new_root(house.home.path().to_owned());
    house.runtime.import_messages(new, &text).await.unwrap().agent
}

/// The last request up to its last message's end, without the marks, which wander.
fn sent(house: &House) -> String {
    let body = house.model.requests().last().unwrap().text();
    let mut parts = body.split(",\"cache_control\":{");
    let mut text = parts.next().unwrap().to_owned();
    parts.for_each(|part| text.push_str(part.split_once('}').unwrap().1));
    text.split_once("]}],\"").map_or(text.clone(), |(messages, _)| messages.to_owned())
}

async fn told(house: &House, agent: AgentId) -> Vec<String> {
    changes(house, agent).await.iter().map(|(_, change)| change.left_out.join(", ")).collect()
}

#[tokio::test]
async fn a_conversation_goes_on_without_the_blocks_that_are_refused() {
    let house = refusing(&[SIGNATURE, IMAGE]).await;
    let agent = imported(&house, &[PICTURE, THOUGHT, PICTURE, THOUGHT]).await;
    assert_eq!(say(&house, agent, "one").await, Outcome::Completed);
    let asked = count(&house);
    assert!(asked <= 5, "{asked} requests");
    let left_out = told(&house, agent).await;
    assert!(left_out.iter().any(|text| text.starts_with("reasoning up to entry ")), "{left_out:?}");
    assert!(left_out.iter().any(|text| text.starts_with("pictures in entry ")), "{left_out:?}");
    // The log has all of it.
    let fold = house.runtime.fold(agent, None).await.unwrap();
    let blocks: Vec<Block> = fold.items().flat_map(|item| item.message.blocks().to_vec()).collect();
    assert_eq!(blocks.iter().filter(|block| matches!(block, Block::Image(_))).count(), 2);
    assert_eq!(blocks.iter().filter(|block| matches!(block, Block::Thinking { .. })).count(), 2);
    let first = sent(&house);
    assert!(first.contains("A picture was here"), "{first}");
    // The same bytes in the next turn, after a restart, and in forks; nothing is refused again.
    let house = house.reopened().await;
    assert_eq!(say(&house, agent, "two").await, Outcome::Completed);
    assert!(sent(&house).starts_with(&first));
    let second = sent(&house);
    for prompt in ["three", "four"] {
        let child = house.runtime.fork(ForkSpec::of(agent)).await.unwrap().child;
        assert_eq!(say(&house, child, prompt).await, Outcome::Completed);
        assert!(sent(&house).starts_with(&second), "a fork shares all of it");
    }
    assert_eq!(count(&house), asked + 3);
}

#[tokio::test]
async fn what_is_said_later_keeps_its_reasoning() {
    let house = refusing(&[SIGNATURE]).await;
    let agent = imported(&house, &[r#"{"role":"user","content":"a"}"#, THOUGHT]).await;
    say(&house, agent, "one").await;
    assert_eq!(told(&house, agent).await.len(), 1);
    let fold = house.runtime.fold(agent, None).await.unwrap();
    let dialect = changes(&house, agent).await;
    let until = dialect[0].0;
    let later = fold.items().filter(|item| item.message.role() == Role::Assistant).last().unwrap();
    assert!(later.entry.0 > until);
}

#[tokio::test]
async fn a_block_that_is_refused_again_ends_the_run_with_the_providers_words() {
    let house = refusing(&[("see", "messages.0.content.1.image: Could not process image")]).await;
    let agent = imported(&house, &[PICTURE, r#"{"role":"assistant","content":"seen"}"#]).await;
    let Outcome::Failed(why) = say(&house, agent, "one").await else { panic!("it fails") };
    assert!(why.contains("Could not process image"), "{why}");
    assert_eq!(count(&house), 2, "asked once more, and no more");
}

#[tokio::test]
async fn ids_of_another_provider_are_written_in_this_ones_form_and_stay_so() {
    let calls = |id: &str| {
        [
            format!(
                r#"{{"role":"assistant","content":[{{"type":"tool_use","id":"{id}","name":"Bash","input":{{}}}}]}}"#
            ),
            format!(
                r#"{{"role":"user","content":[{{"type":"tool_result","tool_use_id":"{id}","content":"x"}}]}}"#
            ),
        ]
    };
    let all: Vec<String> = [
        vec![r#"{"role":"user","content":"a"}"#.to_owned()],
        calls("f.Bash:0").to_vec(),
        calls("f.Bash:0").to_vec(),
    ]
    .concat();
    let house = refusing(&[]).await;
    let agent = imported(&house, &all.iter().map(String::as_str).collect::<Vec<_>>()).await;
    say(&house, agent, "one").await;
    let first = sent(&house);
    for id in ["f_Bash_0", "f_Bash_0_2"] {
        assert_eq!(first.matches(&format!("\"{id}\"")).count(), 2, "{first}");
    }
    let house = house.reopened().await;
    say(&house, agent, "two").await;
    assert!(sent(&house).starts_with(&first));
    let child = house.runtime.fork(ForkSpec::of(agent)).await.unwrap().child;
    let second = sent(&house);
    say(&house, child, "three").await;
    assert!(sent(&house).starts_with(&second));
}

/// Mistral takes ids of nine letters and digits, and says so.
#[tokio::test]
async fn a_form_of_ids_is_learnt_and_makes_the_same_bytes_everywhere() {
    let house = House::new(ScriptedModel::answering(|request| {
        let body: Value = serde_json::from_slice(&request.body).unwrap();
        let messages = body["messages"].as_array().unwrap();
        let calls =
            messages.iter().filter_map(|message| message["tool_calls"].as_array()).flatten();
        for id in calls.filter_map(|call| call["id"].as_str()) {
            if id.len() != 9 || !id.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
                let words =
                    format!("Tool call id was {id} but must be a-z, A-Z, 0-9, with a length of 9.");
                return Answer::refused(FailureKind::InvalidRequest, &words);
            }
        }
        Answer::text("yes")
    }))
    .await;
    let mut new = house.new_root(house.home.path().to_owned());
    new.settings.model = "openai-compat/m".parse().unwrap();
    let turn = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"call_0","type":"function","function":{"name":"Bash","arguments":"{}"}}]},{"role":"tool","tool_call_id":"call_0","content":"x"}"#;
    let text = format!(
        r#"[{{"role":"user","content":"a"}},{turn},{turn},{{"role":"assistant","content":"b"}}]"#
    );
    let agent = house.runtime.import_messages(new, &text).await.unwrap().agent;
    for prompt in ["one", "two"] {
        assert_eq!(say(&house, agent, prompt).await, Outcome::Completed);
    }
    assert_eq!(
        (count(&house), told(&house, agent).await),
        (3, vec!["call ids but of 9 letters and digits".to_owned()])
    );
    let second = last(&house);
    assert!(!second.contains("call_0"), "{second}");
    let house = house.reopened().await;
    say(&house, agent, "three").await;
    assert!(last(&house).starts_with(&second));
}
