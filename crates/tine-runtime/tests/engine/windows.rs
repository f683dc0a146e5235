//! Conversations that outgrow the windows of their models: the window is learnt from the refusal, room is made, and the run goes on.

use tine_model::{AgentId, Outcome, Thinking};
use tine_runtime::{CompactOptions, CompactedBy};
use tine_store::EntryKind;

use crate::house::House;

/// A model that sums up in a few words, and answers everything else. The window and whose words it has are put in front.
const TALK: &str = r#"
name = "small"

[[turn]]
when = { user_contains = "about to be made shorter" }
text = "We talk about harbours, at length."

[[turn]]
text = "Noted."
"#;

/// Tokens of a window that the head leaves.
const ROOM: u64 = 3_000;

async fn house(profile: &str, window: u64) -> House {
    House::new(&scenario(profile, window)).await
}

fn scenario(profile: &str, window: u64) -> String {
    let name = "name = \"small\"\n";
    let rules = format!("{name}profile = \"{profile}\"\nwindow_tokens = {window}\n");
    TALK.replacen(name, &rules, 1)
}

async fn compactions(house: &House, agent: AgentId) -> usize {
    let rows = house.runtime.store().own_entries(agent, None).await.unwrap();
    rows.iter().filter(|row| row.kind == EntryKind::Compact).count()
}

/// The tokens of the tools and the system prompt.
async fn head_tokens(house: &House, agent: AgentId) -> u64 {
    let record = house.runtime.store().agent(agent).await.unwrap();
    let head = house.runtime.store().head(&record.head).await.unwrap().unwrap();
    (head.len() as u64).div_ceil(4)
}

#[tokio::test]
async fn a_conversation_of_five_windows_goes_on_by_itself_on_every_engine() {
    for (profile, model) in [
        ("vllm", "openai-compat/m"),
        ("llamacpp", "openai-compat/m"),
        ("sglang", "openai-compat/m"),
        ("openai-compat", "openai-compat/m"),
        ("deepseek", "openai-compat/m"),
        ("anthropic", "anthropic/claude-unknown-1"),
        ("openai", "openai/unknown-1"),
        ("gemini", "gemini/unknown-1"),
    ] {
        // The head of tine's own tools takes most of 4,096 tokens: what is talked about gets nearly as much.
        let probe = house(profile, 1_000_000).await;
        let head = head_tokens(&probe, probe.root_with(model, "Talk.".into()).await).await;
        let window = head + ROOM;
        let house = house(profile, window).await;
        let agent = house.root_with(model, "Talk.".into()).await;
        let words = "A harbour has quays. ".repeat(130);
        let turns = 5 * ROOM / (words.len() as u64 / 4) + 1;
        for turn in 0..turns {
            let report = house.say(agent, &format!("Note {turn}. {words}")).await;
            assert_eq!(report.outcome, Outcome::Completed, "{profile}, turn {turn}");
        }
        let refused = house.sim.requests().iter().filter(|asked| asked.status == Some(400)).count();
        let made = compactions(&house, agent).await;
        assert!((4..=20).contains(&made), "{profile}: {made} compactions, {refused} refusals");
        // Once the window is known the conversation is made shorter before it is refused. OpenAI's Responses never tell it.
        let most = if profile == "openai" { made * 4 } else { 3 };
        assert!(refused <= most, "{profile}: {refused} refusals, {made} compactions");
    }
}

#[tokio::test]
async fn what_a_server_said_of_its_window_is_known_to_later_processes() {
    let house = house("vllm", 100_000).await;
    let agent = house.root_with("openai-compat/m", "Talk.".into()).await;
    let model = "openai-compat/m".parse().unwrap();
    assert_eq!(house.runtime.window(&model).await.unwrap(), None);
    let report = house.say(agent, &"word ".repeat(100_000)).await;
    let Outcome::Failed(why) = report.outcome else { panic!("{:?}", report.outcome) };
    assert!(why.contains("longer than the model's window"), "{why}");
    assert_eq!(house.runtime.window(&model).await.unwrap(), Some(100_000));
    let house = house.reopened().await;
    assert_eq!(house.runtime.window(&model).await.unwrap(), Some(100_000));
}

#[tokio::test]
async fn a_reply_is_asked_for_in_the_room_that_there_is() {
    let probe = house("vllm", 1_000_000).await;
    let head = head_tokens(&probe, probe.root_with("openai-compat/m", "Talk.".into()).await).await;
    // The prompt fits, and the 4,000 tokens that are asked for the reply do not.
    let house = house("vllm", head + 2_000).await;
    let agent = house.root_with("openai-compat/m", "Talk.".into()).await;
    let report = house.say(agent, "Hello.").await;
    assert_eq!(report.outcome, Outcome::Completed);
    assert_eq!((house.sim.requests().len(), compactions(&house, agent).await), (2, 0));
    // The next conversation asks for what fits at once.
    let other = house.root_with("openai-compat/m", "Talk.".into()).await;
    house.say(other, "Hello.").await;
    assert_eq!(house.sim.requests().len(), 3);
}

#[tokio::test]
async fn compaction_succeeds_when_its_own_question_is_too_long() {
    let big = house("llamacpp", 1_000_000).await;
    let agent = big.root_with("openai-compat/m", "Talk.".into()).await;
    let head = head_tokens(&big, agent).await;
    let words = "A harbour has quays. ".repeat(100);
    for turn in 0..12 {
        big.say(agent, &format!("Note {turn}. {words}")).await;
    }
    // The same server, started again with a smaller window.
    let house = big.behind(&scenario("llamacpp", head + 2_500)).await;
    let options = CompactOptions { keep_tokens: 500, ..CompactOptions::default() };
    let done = house.runtime.compact(agent, &options).await.unwrap();
    let CompactedBy::Part { unseen } = done.by else { panic!("{:?}", done.by) };
    assert!((6..24).contains(&unseen), "{unseen}");
    assert!(done.preface.text().contains("We talk about harbours"));

    // Where not even the last messages fit, a digest stands there, and says so.
    let house = house.behind(&scenario("llamacpp", head / 2)).await;
    let options = CompactOptions { keep_tokens: 0, ..CompactOptions::default() };
    let done = house.runtime.compact(agent, &options).await.unwrap();
    let CompactedBy::Digest { why } = done.by else { panic!("{:?}", done.by) };
    assert!(why.contains("longer than the model's window"), "{why}");
    let text = done.preface.text();
    assert!(text.contains("We talk about harbours") && text.contains("Agent: Noted."), "{text}");
}

/// A limit below the budget for thinking is refused, so the conversation is made shorter instead of the reply.
#[tokio::test]
async fn a_reply_keeps_the_room_that_thinking_was_promised() {
    let model = "anthropic/claude-sonnet-4-5";
    let probe = house("anthropic", 1_000_000).await;
    let head = head_tokens(&probe, probe.root_with(model, "Talk.".into()).await).await;
    let house = house("anthropic", head + ROOM).await;
    let thinking = Thinking::Budget(2_000);
    let agent = house.thinking_root(model, "Talk.".into(), thinking).await;
    let words = "A harbour has quays. ".repeat(130);
    for turn in 0..12 {
        let report = house.say(agent, &format!("Note {turn}. {words}")).await;
        assert_eq!(report.outcome, Outcome::Completed, "turn {turn}");
    }
    assert!(compactions(&house, agent).await > 0);
}
