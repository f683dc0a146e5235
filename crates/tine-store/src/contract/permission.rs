//! The queue of permission requests.

use tine_model::{AgentId, Decision, PermissionId, PermissionScope, PermissionState};

use super::sample::{
    agent_id, ask_of, create, fork, permission_id, plain_notice, three_deep, yes_to,
};
use super::{Fixture, refused};
use crate::{
    AnswerPermission, AskPermission, ForkFrom, Kill, PermissionFilter, Result, Store, StoreError,
};

async fn ids(
    store: &dyn Store,
    root: Option<AgentId>,
    filter: PermissionFilter,
) -> Result<Vec<PermissionId>> {
    Ok(store.permissions(root, filter).await?.into_iter().map(|row| row.id).collect())
}

/// However deep its agent is, and for everybody who looks.
pub async fn a_request_is_in_the_queue_of_its_root(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let (root, _, grandchild) = three_deep(&*store).await?;
    let stranger = create(&*store, 9).await?;
    let ask = ask_of(grandchild, 1);
    let row = store.ask_permission(ask.clone()).await?;
    assert_eq!((row.root, row.agent, row.state), (root, grandchild, PermissionState::Pending));
    assert_eq!(
        (row.created_ms, row.deadline_ms, row.fallback),
        (ask.now_ms, ask.deadline_ms, ask.fallback)
    );
    assert_eq!((&row.call, &row.tool, &row.what), (&ask.call, &ask.tool, &ask.what));
    assert_eq!((&row.input, &row.directory, &row.why), (&ask.input, &ask.directory, &ask.why));
    assert_eq!((&row.warning, &row.rule, row.widest), (&ask.warning, &ask.rule, ask.widest));
    assert_eq!((row.decision(), row.scope, row.taken_ms), (None, None, None));
    let other = fixture.open().await?;
    let pending = other.permissions(Some(root), PermissionFilter::Pending).await?;
    assert_eq!(pending.first(), Some(&row));
    assert_eq!(other.permission(row.id).await?, row);
    assert!(ids(&*other, Some(stranger), PermissionFilter::All).await?.is_empty());
    store.ask_permission(ask_of(stranger, 2)).await?;
    assert_eq!(ids(&*other, None, PermissionFilter::All).await?.len(), 2);
    refused!(store.ask_permission(ask_of(agent_id(77), 3)).await, StoreError::NotFound { .. });
    refused!(store.permission(permission_id(99)).await, StoreError::UnknownPermission { .. });
    Ok(())
}

/// By the first characters of its id, and never by a guess.
pub async fn a_request_is_named_by_a_unique_prefix(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let root = create(&*store, 1).await?;
    let id = store.ask_permission(ask_of(root, 1)).await?.id;
    for text in [id.to_string(), id.short(), id.short()[..4].to_uppercase()] {
        assert_eq!(store.resolve_permission(&text).await?, id, "{text}");
    }
    let mut twin = *id.as_bytes();
    twin[15] ^= 1;
    let twin = PermissionId::from_bytes(twin);
    store.ask_permission(AskPermission { id: twin, ..ask_of(root, 2) }).await?;
    refused!(
        store.resolve_permission(&id.short()).await,
        StoreError::AmbiguousPermission { candidates, .. } if candidates == [id, twin]
    );
    for text in ["", "abc", "zzzz", "ffffffff"] {
        refused!(store.resolve_permission(text).await, StoreError::UnknownPermission { .. });
    }
    Ok(())
}

/// Whoever comes second is told what the first one said.
pub async fn the_first_answer_wins(fixture: &dyn Fixture) -> Result<()> {
    let (store, other) = (fixture.open().await?, fixture.open().await?);
    let root = create(&*store, 1).await?;
    let id = store.ask_permission(ask_of(root, 1)).await?.id;
    let no = AnswerPermission {
        decision: Decision::Deny,
        by: "other".to_owned(),
        reason: Some("use make".to_owned()),
        ..yes_to(id, PermissionScope::Once)
    };
    let (yes, no) = (yes_to(id, PermissionScope::Tree), no);
    let (first, second) =
        tokio::join!(store.answer_permission(yes), other.answer_permission(no.clone()));
    let (won, lost) = match (first, second) {
        (Ok(won), Err(lost)) | (Err(lost), Ok(won)) => (won, lost),
        both => panic!("one answer counts: {both:?}"),
    };
    refused!(
        Err::<(), _>(lost),
        StoreError::Settled { permission } if *permission == won
    );
    assert_eq!(store.permission(id).await?, won);
    assert_eq!(won.answered_ms, Some(no.now_ms));
    refused!(store.answer_permission(no).await, StoreError::Settled { .. });
    Ok(())
}

/// A yes reaches no farther than was offered; a no may reach as far as its rule.
pub async fn an_answer_keeps_within_its_scope(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let root = create(&*store, 1).await?;
    let ask = AskPermission { widest: PermissionScope::Agent, ..ask_of(root, 1) };
    let id = store.ask_permission(ask).await?.id;
    refused!(
        store.answer_permission(yes_to(id, PermissionScope::Tree)).await,
        StoreError::TooWide { widest: PermissionScope::Agent, .. }
    );
    store.answer_permission(yes_to(id, PermissionScope::Agent)).await?;
    let ask = AskPermission { widest: PermissionScope::Once, rule: None, ..ask_of(root, 2) };
    let id = store.ask_permission(ask).await?.id;
    let no = |scope| AnswerPermission { decision: Decision::Deny, ..yes_to(id, scope) };
    refused!(
        store.answer_permission(no(PermissionScope::Always)).await,
        StoreError::TooWide { .. }
    );
    let row = store.answer_permission(no(PermissionScope::Tree)).await?;
    assert_eq!(row.decision(), Some(Decision::Deny));
    let id = store.ask_permission(ask_of(root, 3)).await?.id;
    let rule = Some("Bash(make *)".to_owned());
    let wider = AnswerPermission { rule: rule.clone(), ..yes_to(id, PermissionScope::Tree) };
    assert_eq!(store.answer_permission(wider).await?.rule, rule);
    Ok(())
}

/// Once, when the asker says so; an answer that comes then is too late, and one before counts whatever its clock says.
pub async fn a_deadline_lets_the_default_count(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let root = create(&*store, 1).await?;
    for (number, fallback) in [(1, Decision::Deny), (2, Decision::Allow)] {
        let ask = AskPermission { fallback, ..ask_of(root, number) };
        let deadline_ms = ask.deadline_ms;
        let id = store.ask_permission(ask).await?.id;
        let expired = store.default_permission(id, "the deadline", deadline_ms).await?;
        assert_eq!(
            (expired.state, expired.decision(), expired.answered_ms),
            (PermissionState::Expired, Some(fallback), Some(deadline_ms))
        );
        let late = yes_to(id, PermissionScope::Once);
        refused!(
            fixture.open().await?.answer_permission(late).await,
            StoreError::Settled { permission } if permission.state == PermissionState::Expired
        );
    }
    let ask = ask_of(root, 3);
    let ahead =
        AnswerPermission { now_ms: ask.deadline_ms * 2, ..yes_to(ask.id, PermissionScope::Once) };
    store.ask_permission(ask).await?;
    let row = fixture.open().await?.answer_permission(ahead).await?;
    assert_eq!(row.state, PermissionState::Allowed, "its clock is two deadlines ahead");
    let ask = ask_of(root, 4);
    let row = store.ask_permission(ask.clone()).await?;
    let row = store.default_permission(row.id, "nobody", 77).await?;
    assert_eq!((row.state, row.answered_by.as_deref()), (PermissionState::Expired, Some("nobody")));
    assert_eq!(store.default_permission(row.id, "somebody", 78).await?, row);
    Ok(())
}

/// A call that is asked about again finds its request, or the answer that nobody has used; an answer serves once.
pub async fn the_same_call_finds_its_request_again(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let root = create(&*store, 1).await?;
    let first = store.ask_permission(ask_of(root, 1)).await?;
    let again = AskPermission {
        id: permission_id(50),
        owner: "another process".to_owned(),
        deadline_ms: 90_000,
        fallback: Decision::Allow,
        ..ask_of(root, 1)
    };
    let found = store.ask_permission(again.clone()).await?;
    assert_eq!((found.id, found.created_ms), (first.id, first.created_ms));
    assert_eq!((found.owner.as_str(), found.deadline_ms), ("another process", 90_000));
    assert!(!store.take_permission(first.id, 8000).await?, "there is no answer yet");
    let call = again.call.as_str();
    assert_eq!(store.open_permission(root, call).await?, Some(found));
    let answered = store.answer_permission(yes_to(first.id, PermissionScope::Once)).await?;
    assert_eq!(store.ask_permission(again.clone()).await?, answered);
    assert_eq!(store.open_permission(root, call).await?, Some(answered));
    assert!(store.take_permission(first.id, 8000).await?);
    assert!(!store.take_permission(first.id, 8001).await?);
    assert_eq!(store.open_permission(root, call).await?, None);
    assert_eq!(store.permission(first.id).await?.taken_ms, Some(8000));
    assert_eq!(store.ask_permission(again.clone()).await?.id, permission_id(50));
    // Another agent, other arguments, another call: another question.
    for (number, other) in [
        (51, AskPermission { input: "{}".to_owned(), ..again.clone() }),
        (52, AskPermission { call: "other".to_owned(), ..again.clone() }),
        (53, AskPermission { agent: create(&*store, 2).await?, ..again }),
    ] {
        let row =
            store.ask_permission(AskPermission { id: permission_id(number), ..other }).await?;
        assert_eq!(row.id, permission_id(number));
    }
    Ok(())
}

/// For its agent alone, or for its tree; never for another tree, and not once it is taken back.
pub async fn a_standing_answer_reaches_as_far_as_its_scope(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let (root, child, grandchild) = three_deep(&*store).await?;
    let stranger = create(&*store, 9).await?;
    for (number, scope) in (1..).zip(PermissionScope::ALL) {
        let id = store.ask_permission(ask_of(child, number)).await?.id;
        store.answer_permission(yes_to(id, *scope)).await?;
    }
    store.ask_permission(ask_of(child, 20)).await?;
    let scopes = |agent| {
        let store = &store;
        async move {
            let rows = store.standing_permissions(agent).await?;
            Ok::<_, StoreError>(rows.into_iter().filter_map(|row| row.scope).collect::<Vec<_>>())
        }
    };
    use PermissionScope::{Agent, Always, Tree};
    assert_eq!(scopes(child).await?, [Agent, Tree, Always]);
    for relative in [root, grandchild] {
        assert_eq!(scopes(relative).await?, [Tree, Always]);
    }
    fork(&*store, child, 4, ForkFrom::LastEntry).await?;
    assert_eq!(scopes(agent_id(4)).await?, [Tree, Always], "a fork made later");
    assert!(scopes(stranger).await?.is_empty());
    let standing = ids(&*store, Some(root), PermissionFilter::Standing).await?;
    assert_eq!(standing, [permission_id(2), permission_id(3), permission_id(4)]);
    let row = store.revoke_permission(permission_id(3), 9000).await?;
    assert_eq!(row.state, PermissionState::Withdrawn);
    assert_eq!(scopes(grandchild).await?, [Always]);
    for id in [permission_id(1), permission_id(3), permission_id(20)] {
        refused!(store.revoke_permission(id, 9000).await, StoreError::NotStanding { .. });
    }
    Ok(())
}

/// With the end of its agent's run, and with the killed; an answer stays.
pub async fn a_request_is_withdrawn_with_its_asker(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let (root, child, grandchild) = three_deep(&*store).await?;
    for (number, agent) in (1..).zip([root, root, child, grandchild]) {
        store.ask_permission(ask_of(agent, number)).await?;
    }
    store.answer_permission(yes_to(permission_id(2), PermissionScope::Once)).await?;
    assert_eq!(store.withdraw_permissions(root, 8000).await?, 1);
    assert_eq!(store.withdraw_permissions(root, 8000).await?, 0);
    assert_eq!(store.permission(permission_id(2)).await?.state, PermissionState::Allowed);
    store.kill(Kill { agent: child, used: &[], notice: &plain_notice, now_ms: 8000 }).await?;
    for number in [1, 3, 4] {
        let row = store.permission(permission_id(number)).await?;
        assert_eq!((row.state, row.decision()), (PermissionState::Withdrawn, None));
        refused!(
            store.answer_permission(yes_to(row.id, PermissionScope::Once)).await,
            StoreError::Settled { .. }
        );
    }
    refused!(store.ask_permission(ask_of(child, 9)).await, StoreError::Dead { .. });
    Ok(())
}
