//! Conclusions of forks at the tail of their ancestors.

pub(crate) mod arrivals;
mod faults;
mod law;

use tine_fork::digest::DigestProfile;
use tine_model::{AgentId, Cap, EntryId};
use tine_runtime::{
    Arrival, CompactOptions, Draft, DraftOptions, ForkPart, ForkSpec, Inherit, KillSpec, MergeBack,
    MergeNote, MergedBack, RewindTo, RuntimeError, Wording,
};
use tine_store::{SetBudget, UsageScope};
use tine_testkit::{Answer, ScriptedModel};

use crate::fixture::House;
use crate::{fork_of, say, texts};

/// A root that has said one thing, and a peer forked from it that has said one more. Every reply is `reply N`.
async fn forked() -> (House, AgentId, AgentId) {
    let house =
        House::new(ScriptedModel::new((1..=20).map(|n| Answer::text(format!("reply {n}"))))).await;
    let root = house.root().await;
    say(&house, root, "prompt 1").await;
    let child = house.runtime.fork(fork_of(root)).await.unwrap().child;
    say(&house, child, "try a queue").await;
    (house, root, child)
}

async fn draft(house: &House, source: AgentId) -> Draft {
    house.runtime.draft_merge_back(source, &DraftOptions::default()).await.unwrap()
}

fn given(source: AgentId, text: &str) -> MergeBack {
    let text = text.to_owned();
    MergeBack { source, into: None, upto: None, text, wording: Wording::Given }
}

async fn brought(house: &House, source: AgentId, text: &str) -> MergedBack {
    house.runtime.merge_back(given(source, text)).await.unwrap()
}

/// The envelopes that count in an agent's conversation.
async fn notes(house: &House, agent: AgentId) -> Vec<MergeNote> {
    let fold = house.runtime.fold(agent, None).await.unwrap();
    let items = fold.items();
    items.flat_map(|item| MergeNote::in_message(&item.message).collect::<Vec<_>>()).collect()
}

async fn own_rows(house: &House, agent: AgentId) -> usize {
    house.runtime.store().own_entries(agent, None).await.unwrap().len()
}

/// A request's body without what is no part of a prefix.
fn bodies(house: &House) -> Vec<String> {
    let plain = |text: String| {
        let text = text.replace(r#","cache_control":{"type":"ephemeral"}"#, "");
        let end = text.find("],\"diagnostics\":").unwrap_or_else(|| text.rfind("]}").unwrap());
        text[..end].to_owned()
    };
    house.model.requests().iter().map(|request| plain(request.text())).collect()
}

#[tokio::test]
async fn a_draft_goes_on_from_the_forks_prefix_and_the_parent_from_its_own() {
    let (house, root, child) = forked().await;
    let rows = own_rows(&house, child).await;
    let draft = draft(&house, child).await;
    let ForkPart { fork_point, first, last, messages, already, .. } = draft.part;
    assert_eq!((&*draft.text, messages, already), ("reply 3", 2, None));
    assert!(fork_point < Some(first) && first < last && draft.usage.uncached > 0);
    assert_eq!(own_rows(&house, child).await, rows, "a draft leaves the fork's log alone");
    let requests = house.runtime.store().requests(child, UsageScope::Own).await.unwrap();
    let stops: Vec<_> = requests.iter().filter_map(|row| row.stop.as_deref()).collect();
    assert_eq!(stops, ["end_turn", "merge_back"]);

    // In another process, after a person has had a look at it.
    let house = house.reopened().await;
    let merge = MergeBack {
        source: child,
        into: None,
        upto: Some(last),
        text: " Use a queue, if n < 100.\n".into(),
        wording: Wording::Edited,
    };
    let merged = house.runtime.merge_back(merge).await.unwrap();
    assert!(matches!(merged.arrival, Arrival::Appended(entry) if entry > last));
    assert_eq!(merged.part, draft.part);
    let house = house.reopened().await;
    assert_eq!(notes(&house, root).await.len(), 1);
    let fold = house.runtime.fold(root, None).await.unwrap();
    let told = fold.items().last().unwrap().message.text();
    insta::assert_snapshot!(told.replace(&child.to_string(), "[FORK]"), @"
    <merge-back>
    <about>A fork of this conversation worked on by itself. This is what came of it behind the fork point; its messages are not here. It is the fork's own summary, edited by the user. Files may have changed since: read them again before you rely on them.</about>
    <source-id>[FORK]</source-id>
    <fork-point>2</fork-point>
    <first-entry>5</first-entry>
    <last-entry>6</last-entry>
    <wording>edited</wording>
    <summary>
    Use a queue, if n &lt; 100.
    </summary>
    </merge-back>
    ");

    say(&house, root, "prompt 2").await;
    say(&house, child, "go on").await;
    let sent = bodies(&house);
    // One the root's, two the fork's with the question, then one of each.
    assert!(sent[2].starts_with(&sent[1]) && sent[3].starts_with(&sent[0]));
    assert!(sent[4].starts_with(&sent[1]) && !sent[4].contains("What you answer now"));
    let appended = &sent[3][sent[0].len()..];
    assert!(appended.contains("reply 1") && appended.contains("n &lt; 100."), "{appended}");
    assert!(!appended.contains("try a queue"), "{appended}");
    for agent in [root, child] {
        let explained = house.runtime.explain_cache(agent).await.unwrap();
        let verdicts: Vec<_> = explained.into_iter().filter_map(|asked| asked.verdict).collect();
        assert!(!verdicts.contains(&"diverged".to_owned()), "{verdicts:?}");
    }
}

#[tokio::test]
async fn the_question_is_about_what_came_behind_the_fork() {
    let (house, _, child) = forked().await;
    draft(&house, child).await;
    brought(&house, child, "x").await;
    say(&house, child, &format!("and \"now\"\n{}", "on ".repeat(90))).await;
    let options = DraftOptions { instructions: Some("Be brief.".into()), ..Default::default() };
    house.runtime.draft_merge_back(child, &options).await.unwrap();
    let sent = house.model.requests();
    let question = |at: usize| {
        let body: serde_json::Value = serde_json::from_str(&sent[at].text()).unwrap();
        let last = body["messages"].as_array().unwrap().last().unwrap();
        let blocks = last["content"].as_array().unwrap();
        blocks.last().unwrap()["text"].as_str().unwrap().to_owned()
    };
    insta::assert_snapshot!(question(2), @r#"
    This conversation is a fork of another one. What you answer now is appended to that other conversation, for an agent that knows everything that was said up to the fork and nothing of what was said since. Only that part counts: the last 2 messages before this one, from the one on that says "try a queue".

    Write down what came of that part, so that the other agent can go on with it as if it had been there. Answer with text alone and call no tool. Tell, as far as there is something to tell:
    - what was found, with the exact names, numbers and error texts that it rests on;
    - what was decided, with the reasons, and what was tried and did not work;
    - the files that were changed, by path, and what was changed in them;
    - what is still open.

    Leave out what was said before the fork, how the work went, and what can be read again in a file. Do not address anybody.
    "#);
    let newer: Vec<String> = question(4).lines().take(1).map(str::to_owned).collect();
    insta::assert_snapshot!(newer[0], @r#"This conversation is a fork of another one. What you answer now is appended to that other conversation, for an agent that knows everything that was said up to the fork and nothing of what was said since. What was told of it earlier is there already. Only the newer part counts: the last 2 messages before this one, from the one on that says "and "now" on on on on on on on on on on on on on on on on on on on on on on on on on on on on on on on on on on on on on on on on on on on on on on on on on on ..."."#);
    assert!(question(4).ends_with("Mind this above all: Be brief."));
}

#[tokio::test]
async fn a_second_time_only_what_is_new_comes_back() {
    let (house, root, child) = forked().await;
    let first = brought(&house, child, "one").await.part;
    let nothing = house.runtime.merge_back(given(child, "one")).await.unwrap_err();
    assert!(
        matches!(nothing, RuntimeError::NothingToBringBack { already: Some(at), .. } if at == first.last)
    );
    say(&house, child, "more").await;
    // What the draft stands for does not grow when the fork does.
    let drafted = draft(&house, child).await.part;
    say(&house, child, "and more").await;
    let merge = MergeBack { upto: Some(drafted.last), ..given(child, "two") };
    let second = house.runtime.merge_back(merge).await.unwrap().part;
    assert_eq!((second, second.already), (drafted, Some(first.last)));
    assert!(second.first > first.last && second.messages == 2);
    let third = brought(&house, child, "three").await.part;
    assert!(third.first > second.last && third.messages == 2);
    let told: Vec<_> = notes(&house, root).await.into_iter().map(|note| note.text).collect();
    assert_eq!(told, ["one", "two", "three"]);

    // What the parent has taken back can come again; what a compaction has left out cannot.
    let all = CompactOptions { keep_tokens: 0, ..CompactOptions::default() };
    house.runtime.compact(root, &all).await.unwrap();
    assert!(house.runtime.fork_part(child, None, None).await.is_err());
    house.runtime.rewind(root, RewindTo::Entry(first.fork_point.unwrap())).await.unwrap();
    let again = house.runtime.fork_part(child, None, None).await.unwrap();
    assert_eq!((again.first, again.messages, again.already), (first.first, 6, None));
}

#[tokio::test]
async fn any_ancestor_may_be_told_of_everything_between() {
    let (house, root, child) = forked().await;
    let grandchild = house.runtime.fork(fork_of(child)).await.unwrap().child;
    say(&house, grandchild, "deeper").await;
    say(&house, child, "later").await;
    let part = async |into| house.runtime.fork_part(grandchild, into, None).await.unwrap();
    assert_eq!(part(None).await.messages, 2);
    let far = part(Some(root)).await;
    assert_eq!((far.into, far.messages, far.already), (root, 4, None));
    assert_eq!(part(Some(child)).await.into, child);

    // What the one in between has told counts, as far as the last one has inherited it.
    let told = brought(&house, child, "of the child").await.part;
    assert_eq!(told.messages, 4);
    let rest = part(Some(root)).await;
    assert_eq!((rest.messages, rest.already), (2, Some(EntryId(far.first.0 + 1))));
    let merge = MergeBack { into: Some(root), ..given(grandchild, "of the grandchild") };
    house.runtime.merge_back(merge).await.unwrap();
    let found = notes(&house, root).await;
    assert_eq!(found.iter().map(|note| note.source).collect::<Vec<_>>(), [child, grandchild]);
    // A fork that has only been told something itself has something to tell.
    let idle = house.runtime.fork(fork_of(child)).await.unwrap().child;
    let below = house.runtime.fork(fork_of(idle)).await.unwrap().child;
    say(&house, below, "deepest").await;
    brought(&house, below, "the deepest").await;
    assert_eq!(house.runtime.fork_part(idle, None, None).await.unwrap().messages, 1);
}

#[tokio::test]
async fn what_cannot_be_brought_back_is_refused_with_the_reason() {
    let (house, root, child) = forked().await;
    let silent = house.runtime.fork(fork_of(child)).await.unwrap().child;
    let merge = |source, into, text: &str| {
        let merge = MergeBack { into, ..given(source, text) };
        let house = &house;
        async move { house.runtime.merge_back(merge).await.unwrap_err().to_string() }
    };
    let no_draft = house.runtime.draft_merge_back(silent, &DraftOptions::default()).await;
    let told = [
        merge(root, None, "x").await,
        merge(child, Some(silent), "x").await,
        merge(child, Some(child), "x").await,
        merge(silent, None, "x").await,
        no_draft.unwrap_err().to_string(),
        merge(child, None, " \n").await,
        merge(child, None, &"x".repeat(70_000)).await,
    ];
    let told = told.join("\n");
    let names = [(root, "[ROOT]"), (child, "[CHILD]"), (silent, "[SILENT]")];
    let told = names.into_iter().fold(told, |told, (id, name)| told.replace(&id.to_string(), name));
    insta::assert_snapshot!(told, @"
    agent [ROOT] was not forked from another
    agent [SILENT] is no ancestor of agent [CHILD]
    agent [CHILD] is no ancestor of agent [CHILD]
    agent [SILENT] has said nothing since it was forked
    agent [SILENT] has said nothing since it was forked
    the message is empty
    the message has 70000 bytes, more than 65536
    ");
    assert_eq!(notes(&house, root).await, []);
    assert_eq!(house.model.requests().len(), 2, "nobody was asked");
}

#[tokio::test]
async fn a_dead_fork_has_conclusions_and_a_dead_parent_hears_none() {
    let (house, root, child) = forked().await;
    house.runtime.kill(KillSpec { agent: child, roots: true }).await.unwrap();
    let drafted = draft(&house, child).await;
    let requests = house.runtime.store().requests(child, UsageScope::Own).await.unwrap();
    assert_eq!(requests.len(), 2);
    let merge = MergeBack { wording: Wording::Draft, ..given(child, &drafted.text) };
    house.runtime.merge_back(merge).await.unwrap();
    assert_eq!(texts(&house, root).await.len(), 3);
    let other = house.runtime.fork(fork_of(root)).await.unwrap().child;
    say(&house, other, "more").await;
    house.runtime.kill(KillSpec { agent: root, roots: true }).await.unwrap();
    let dead = house.runtime.merge_back(given(other, "x")).await.unwrap_err();
    // Nobody is asked for a text that nobody could get.
    let asked = house.model.requests().len();
    let draft = house.runtime.draft_merge_back(other, &DraftOptions::default()).await.unwrap_err();
    assert_eq!((draft.to_string(), house.model.requests().len()), (dead.to_string(), asked));
    assert!(
        matches!(dead, RuntimeError::Store(tine_store::StoreError::Dead { agent }) if agent == root)
    );
}

#[tokio::test]
async fn a_compacted_fork_still_says_all_since_the_fork() {
    let (house, _, child) = forked().await;
    say(&house, child, "more").await;
    let all = CompactOptions { keep_tokens: 0, ..CompactOptions::default() };
    house.runtime.compact(child, &all).await.unwrap();
    say(&house, child, "at last").await;
    let drafted = draft(&house, child).await;
    assert_eq!(drafted.part.messages, 6);
    let asked = house.model.requests().last().unwrap().text();
    assert!(asked.contains("the last 2 messages before this one, from the one on that says"));
    assert!(asked.contains("tells in short what was left out of that part."));
}

#[tokio::test]
async fn whatever_a_fork_has_inherited_only_its_own_words_come_back() {
    let (house, root, _) = forked().await;
    for inherit in [Inherit::Turns(0), Inherit::Digest(DigestProfile::Fixed), Inherit::Fresh] {
        let spec = ForkSpec { inherit, ..fork_of(root) };
        let child = house.runtime.fork(spec).await.unwrap().child;
        let silent = house.runtime.fork_part(child, None, None).await;
        assert!(matches!(silent, Err(RuntimeError::NothingToBringBack { .. })), "{inherit:?}");
        say(&house, child, "mine").await;
        let part = draft(&house, child).await.part;
        assert_eq!((part.messages, part.fork_point.is_none()), (2, inherit == Inherit::Fresh));
        let asked = house.model.requests().last().unwrap().text();
        assert!(asked.contains(r#"that says \"mine\""#), "{inherit:?}: {asked}");
    }
}

#[tokio::test]
async fn a_draft_is_paid_for_like_every_other_request() {
    let (house, root, child) = forked().await;
    let store = house.runtime.store();
    let set = |most| SetBudget { agent: root, caps: vec![(Cap::Tokens, Some(most))], now_ms: 1 };
    let before = store.set_budget(set(1_000_000)).await.unwrap().tokens;
    let usage = draft(&house, child).await.usage;
    let budget = store.budget(root).await.unwrap().unwrap();
    assert_eq!(budget.tokens - before, usage.prompt() + usage.output);
    store.set_budget(set(budget.tokens)).await.unwrap();
    let refused = house.runtime.draft_merge_back(child, &DraftOptions::default()).await;
    assert!(matches!(refused, Err(RuntimeError::NoAnswer { .. })));
    let budget = store.budget(root).await.unwrap().unwrap();
    assert_eq!((budget.tokens_reserved, store.lease(child).await.unwrap()), (0, None));
    // Words of one's own cost nothing.
    brought(&house, child, "Use a queue.").await;
}
