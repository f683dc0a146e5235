//! Forks that inherit less than everything, and agents whose conversation was made shorter.

mod compacted;

use tine_fork::digest::DigestProfile;
use tine_fork::worker::worker_directive;
use tine_model::{AgentId, Block, ContextMode};
use tine_runtime::{FanSpec, ForkMade, ForkSpec, Inherit, ModelWords, RuntimeError};
use tine_store::{Acquire, AgentFilter, EntryKind, NewEntry};
use tine_testkit::{Answer, ScriptedModel};

use crate::fixture::{House, options};
use crate::{fork_of, say, texts};

/// A root with so many turns, each of one prompt and one reply, and as many replies more.
async fn talked(turns: usize) -> (House, AgentId) {
    let words = (1..=2 * turns).map(|n| Answer::text(format!("reply {n}")));
    let house = House::new(ScriptedModel::new(words)).await;
    let root = house.root().await;
    for turn in 1..=turns {
        say(&house, root, &format!("prompt {turn}")).await;
    }
    (house, root)
}

async fn forked(house: &House, parent: AgentId, inherit: Inherit) -> ForkMade {
    house.runtime.fork(ForkSpec { inherit, ..fork_of(parent) }).await.unwrap()
}

async fn kinds(house: &House, agent: AgentId) -> Vec<&'static str> {
    let own = house.runtime.store().own_entries(agent, None).await.unwrap();
    own.iter().map(|row| row.kind.as_str()).collect()
}

/// What the cache did with the agent's own requests.
async fn verdicts(house: &House, agent: AgentId) -> Vec<String> {
    let requests = house.runtime.explain_cache(agent).await.unwrap();
    requests.into_iter().filter_map(|request| request.verdict).collect()
}

fn other_model(model: &str) -> Option<ModelWords> {
    Some(ModelWords::parse(model).unwrap())
}

#[tokio::test]
async fn the_last_turns_are_inherited_word_for_word() {
    let (house, root) = talked(3).await;
    let made = forked(&house, root, Inherit::Turns(2)).await;
    assert_eq!(made.record.context, ContextMode::Turns);
    let house = house.reopened().await;
    let told = texts(&house, made.child).await;
    insta::assert_snapshot!(told.join("\n"), @"
    This conversation began earlier: 2 messages are left out here. Its last 2 turns follow, word for word. What was said before you do not know: look it up in the files instead of guessing.
    prompt 2
    reply 2
    prompt 3
    reply 3
    ");
    assert_eq!(kinds(&house, made.child).await, ["fork", "compact"]);
    say(&house, made.child, "and now?").await;
    let body = house.model.requests().last().unwrap().text();
    assert!(!body.contains("prompt 1") && body.contains("reply 3"), "{body}");
    assert!(!verdicts(&house, made.child).await.contains(&"diverged".to_owned()));
    // A fork of it inherits what it has, natively.
    let grandchild = forked(&house, made.child, Inherit::Full).await;
    assert_eq!(grandchild.record.context, ContextMode::Full);
    assert_eq!(texts(&house, grandchild.child).await, texts(&house, made.child).await);
}

#[tokio::test]
async fn as_many_turns_as_there_are_leave_nothing_out() {
    let (house, root) = talked(2).await;
    let made = forked(&house, root, Inherit::Turns(2)).await;
    assert_eq!(texts(&house, made.child).await, texts(&house, root).await);
    assert_eq!(kinds(&house, made.child).await, ["fork"]);
    let record = house.runtime.store().agent(made.child).await.unwrap();
    assert_eq!(record.context, ContextMode::Turns);
    let none = forked(&house, root, Inherit::Turns(0)).await;
    assert_eq!(texts(&house, none.child).await.len(), 1);
}

#[tokio::test]
async fn a_digest_is_what_its_fork_begins_with() {
    let (house, root) = talked(2).await;
    let at = house.runtime.fold(root, None).await.unwrap().entries()[1].entry.id;
    for profile in DigestProfile::ALL {
        let made = forked(&house, root, Inherit::Digest(profile)).await;
        assert_eq!((made.record.context, made.digest.unwrap().messages), (ContextMode::Digest, 4));
        let fold = house.runtime.fold(made.child, None).await.unwrap();
        let items: Vec<_> = fold.items().collect();
        assert_eq!(items.len(), 1);
        let text = items[0].message.text();
        assert!(text.contains("\n\nAgent: reply 2\n</inherited_context>"), "{text}");
        // What its parent says later is nothing to it, and it forks from earlier places too.
        let spec = ForkSpec { at: Some(at), inherit: Inherit::Digest(profile), ..fork_of(root) };
        let earlier = house.runtime.fork(spec).await.unwrap();
        assert_eq!(earlier.digest.unwrap().messages, 2);
    }
    let fresh = forked(&house, root, Inherit::Fresh).await;
    assert_eq!((fresh.fork_point, fresh.record.context), (None, ContextMode::Fresh));
    assert_eq!(texts(&house, fresh.child).await, Vec::<String>::new());
}

#[tokio::test]
async fn another_model_needs_a_digest_or_a_word() {
    let (house, root) = talked(2).await;
    let spec =
        |inherit| ForkSpec { inherit, model: other_model("openai/gpt-6.1-sol"), ..fork_of(root) };
    let before = house.runtime.store().agents(AgentFilter::All).await.unwrap().len();
    for inherit in [Inherit::Full, Inherit::Turns(1)] {
        let refused = house.runtime.fork(spec(inherit)).await.unwrap_err();
        assert!(matches!(refused, RuntimeError::CacheLoss { tokens: 1.., dollars: Some(_), .. }));
    }
    assert_eq!(house.runtime.store().agents(AgentFilter::All).await.unwrap().len(), before);

    let digest = house.runtime.fork(spec(Inherit::Digest(DigestProfile::Fixed))).await.unwrap();
    let accepted = ForkSpec { accept_cache_loss: true, ..spec(Inherit::Full) };
    let full = house.runtime.fork(accepted).await.unwrap();
    for (child, words) in [(digest.child, "Agent: reply 1"), (full.child, "\"reply 1\"")] {
        let record = house.runtime.store().agent(child).await.unwrap();
        assert_eq!(record.settings.model.to_string(), "openai/gpt-6.1-sol");
        say(&house, child, "go on").await;
        let body = house.model.requests().last().unwrap().text();
        let same =
            ["\"model\":\"gpt-6.1-sol\"", "Be brief.", "\"name\":\"Bash\"", "\"input\":[", words];
        assert!(same.iter().all(|part| body.contains(part)), "{body}");
    }
    assert_eq!(texts(&house, full.child).await.len(), 6);
}

#[tokio::test]
async fn reasoning_that_another_provider_signed_stays_behind() {
    let house = House::new(ScriptedModel::new((1..=2).map(|_| Answer::text("yes")))).await;
    let thinking = r#"{"type":"thinking","thinking":"hm","signature":"sealed"}"#;
    let text = format!(
        r#"[{{"role":"user","content":"one"}},{{"role":"assistant","content":[{thinking},{{"type":"text","text":"two"}}]}}]"#
    );
    let root = house.new_root(house.home.path().to_owned());
    let root = house.runtime.import_messages(root, &text).await.unwrap().agent;
    let model = other_model("minimax/MiniMax-M3");
    let spec = ForkSpec { model, accept_cache_loss: true, ..fork_of(root) };
    let elsewhere = house.runtime.fork(spec).await.unwrap().child;
    let here = house.runtime.fork(fork_of(root)).await.unwrap().child;
    for (child, is_there) in [(here, true), (elsewhere, false)] {
        say(&house, child, "three").await;
        let body = house.model.requests().last().unwrap().text();
        assert_eq!(body.contains("sealed"), is_there, "{body}");
        assert!(body.contains("two"));
    }
}

#[tokio::test]
async fn a_fork_whose_parents_context_cannot_be_read_is_not_made() {
    let (house, root) = talked(1).await;
    let store = house.runtime.store();
    let (is_alive, notice) = (&|_: &str| false, &|_: &tine_model::TaskRecord| String::new());
    let acquire = Acquire { agent: root, owner: "me", is_alive, notice, now_ms: 1 };
    let lease = store.acquire(acquire).await.unwrap();
    let damaged =
        NewEntry { kind: EntryKind::Message, body: "{".to_owned(), at_ms: 1, title: None };
    store.append(root, lease.fence, &[damaged]).await.unwrap();
    for inherit in [Inherit::Turns(1), Inherit::Digest(DigestProfile::Fixed)] {
        let failed = house.runtime.fork(ForkSpec { inherit, ..fork_of(root) }).await.unwrap_err();
        assert!(matches!(failed, RuntimeError::Entry { .. }), "{failed}");
    }
    assert_eq!(store.agents(AgentFilter::All).await.unwrap().len(), 1);
}
