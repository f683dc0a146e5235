//! A model tells a person who is back where things stand.

use tine_model::{AgentId, Standing};
use tine_runtime::{Away, AwayEvent, AwayKind, ModelWords};
use tine_store::AgentFilter;

use super::*;

const DAY_MS: i64 = 86_400_000;

fn happened(agent: AgentId) -> Away {
    let text = "Bash make".to_owned();
    let event = AwayEvent { at_ms: 1, kind: AwayKind::Question, agent, text };
    Away { since_ms: 0, events: vec![event], left_out: 0, files: Vec::new(), micro_usd: 0 }
}

/// The summary, if one is written.
async fn written(house: &House, root: AgentId, model: Option<&ModelWords>) -> Option<String> {
    let (runtime, options) = (&house.runtime, options());
    let away = happened(root);
    let writer = runtime.away_writer(root, (&away, model), options.caching).await.unwrap()?;
    runtime.write_away(writer, &options).await.unwrap()
}

#[tokio::test]
async fn a_warm_conversation_says_it_by_itself_and_does_not_change() {
    let (house, world, root) = house(|world| {
        vec![
            calls([write("c1", &world.join("work/made"))]),
            Answer::text("A command waits for your answer."),
        ]
    })
    .await;
    let before = house.runtime.store().own_entries(root, None).await.unwrap();
    let told = written(&house, root, None).await;
    assert_eq!(told.as_deref(), Some("A command waits for your answer."));
    assert!(!world.path().join("work/made").exists(), "it only reads");
    let after = house.runtime.store().own_entries(root, None).await.unwrap();
    assert_eq!(before, after);
    let agents = house.runtime.store().agents(AgentFilter::All).await.unwrap();
    assert_eq!(agents.last().map(|agent| agent.standing), Some(Standing::Hidden));
    let request = house.model.requests().pop().unwrap().text();
    assert!(request.contains("good morning") && request.contains("Bash make"), "{request}");
}

#[tokio::test]
async fn a_cold_conversation_is_summed_up_by_the_model_that_is_named_or_not_at_all() {
    let (house, _world, root) = house(|_| vec![Answer::text("It waits for you.")]).await;
    house.clock.advance_ms(DAY_MS);
    assert_eq!(written(&house, root, None).await, None);
    assert_eq!(house.runtime.store().agents(AgentFilter::All).await.unwrap().len(), 1);
    let model = ModelWords::parse("anthropic/claude-haiku-5").unwrap();
    let told = written(&house, root, Some(&model)).await;
    assert_eq!(told.as_deref(), Some("It waits for you."));
    let request = house.model.requests().pop().unwrap().text();
    assert!(request.contains("claude-haiku-5") && request.contains("good morning"), "{request}");
    // A text of the conversation, and not the conversation.
    assert_eq!(request.matches("\"role\":\"user\"").count(), 1, "{request}");
}

#[tokio::test]
async fn a_summary_that_comes_to_nothing_is_none() {
    let (house, _world, root) =
        house(|_| vec![Answer::refused(tine_wire::FailureKind::InvalidRequest, "busy")]).await;
    assert_eq!(written(&house, root, None).await, None);
}
