//! Tasks, mail, requests and the change signal.

use tine_model::{AgentId, Lifetime, TaskStatus, Usage};

use super::sample::{
    agent_id, cache_row, create, end_of, fork, fork_of, heard, lease, message, plain_notice,
    request_of, say,
};
use super::{Fixture, refused};
use crate::{
    CacheRow, Fence, ForkFrom, Kill, MailId, NewMail, NewTask, Recover, RequestRow, Result, Store,
    StoreError, TaskEnd, UsageScope, UsageSum,
};

async fn root_and_worker(store: &dyn Store) -> Result<(AgentId, AgentId)> {
    let root = create(store, 1).await?;
    let mut request = fork_of(root, 2, ForkFrom::LastEntry);
    request.children[0].task =
        Some(NewTask { directive: "look".to_owned(), description: None, definition: None });
    store.fork(request).await?;
    Ok((root, agent_id(2)))
}

/// Final state and notice come together; a second end changes neither.
pub async fn a_task_ends_once_and_tells_its_spawner_once(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let (root, worker) = root_and_worker(&*store).await?;
    let queued = store.task(worker).await?.map(|task| (task.status, task.spawner, task.usage));
    assert_eq!(queued, Some((TaskStatus::Queued, root, Usage::default())));
    assert!(store.start_task(worker).await?);
    assert!(!store.start_task(worker).await?);
    for status in [TaskStatus::Queued, TaskStatus::Running] {
        let end = TaskEnd { status, ..end_of(worker) };
        refused!(store.finish_task(end).await, StoreError::NotAnEnd { .. });
    }
    let end = end_of(worker);
    assert!(store.finish_task(end.clone()).await?);
    let task = store.tasks(root).await?.remove(0);
    assert_eq!((task.status, task.ended_ms), (TaskStatus::Completed, Some(end.now_ms)));
    assert_eq!((&task.report, &task.error), (&end.report, &end.error));
    assert_eq!((task.usage, task.turns, task.tool_uses), (end.usage, 4, 5));
    let again = TaskEnd { status: TaskStatus::Failed, ..end };
    assert!(!store.finish_task(again).await?);
    assert_eq!(store.task(worker).await?, Some(task));
    assert!(!store.start_task(worker).await?);
    let mail = store.unread_mail(root).await?;
    assert_eq!(mail.len(), 1);
    assert_eq!((mail[0].sender, mail[0].body.as_str()), (Some(worker), "it is done"));
    refused!(store.finish_task(end_of(root)).await, StoreError::NoTask { .. });
    refused!(store.start_task(agent_id(7)).await, StoreError::NoTask { .. });
    assert_eq!(store.task(root).await?, None);
    Ok(())
}

/// Resumed, it ends and tells as if for the first time.
pub async fn an_interrupted_task_can_start_again(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let (root, worker) = root_and_worker(&*store).await?;
    super::sample::lease(&*store, worker, "dead").await?;
    store.start_task(worker).await?;
    let nobody = |_: &str| false;
    store
        .recover(Recover { is_alive: &nobody, notice: &plain_notice, used: &[], now_ms: 1 })
        .await?;
    assert!(!store.finish_task(end_of(worker)).await?, "it has ended, as interrupted");
    assert!(store.start_task(worker).await?);
    let task = store.task(worker).await?.map(|task| (task.status, task.ended_ms));
    assert_eq!(task, Some((TaskStatus::Running, None)));
    assert!(store.finish_task(end_of(worker)).await?);
    assert_eq!(store.unread_mail(root).await?.len(), 2);
    Ok(())
}

/// By the holder of the lease alone, and never what was delivered or is another agent's. Its id is not used again.
pub async fn unread_mail_can_be_withdrawn(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let (one, two) = (create(&*store, 1).await?, create(&*store, 2).await?);
    let send = |recipient, body: &str| {
        store.send_mail(NewMail { recipient, sender: None, body: body.to_owned(), now_ms: 7 })
    };
    let (read, kept, last) =
        (send(one, "read").await?, send(one, "kept").await?, send(one, "last").await?);
    let foreign = send(two, "foreign").await?;
    let lease = lease(&*store, one, "runner").await?;
    store.deliver_mail(one, lease.fence, read, message("mail")).await?;
    let withdraw = |mail: Vec<MailId>| {
        let store = &store;
        async move { store.withdraw_mail(one, lease.fence, &mail).await }
    };
    assert_eq!(withdraw(vec![read, last, foreign, MailId(i64::MAX)]).await?, [last]);
    assert_eq!(withdraw(vec![last]).await?, []);
    let unread = |agent| {
        let store = &store;
        async move {
            let mail = store.unread_mail(agent).await?;
            Ok::<_, StoreError>(mail.into_iter().map(|mail| mail.id).collect::<Vec<_>>())
        }
    };
    assert_eq!((unread(one).await?, unread(two).await?), (vec![kept], vec![foreign]));
    refused!(
        store.deliver_mail(one, lease.fence, last, message("x")).await,
        StoreError::UnknownMail { .. }
    );
    let fenced = Fence(lease.fence.0 + 1);
    refused!(store.withdraw_mail(one, fenced, &[kept]).await, StoreError::Fenced { .. });
    assert!(send(one, "next").await? > foreign);
    assert_eq!(heard(&*store, one).await?, ["mail"]);
    Ok(())
}

/// In order, to its recipient alone, again after a crash, and never again once delivered.
pub async fn mail_is_read_until_delivered(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let (one, two) = (create(&*store, 1).await?, create(&*store, 2).await?);
    let send = |recipient, sender, body: &str| {
        store.send_mail(NewMail { recipient, sender, body: body.to_owned(), now_ms: 7 })
    };
    let first = send(one, None, "a").await?;
    let foreign = send(two, Some(one), "b").await?;
    let second = send(one, Some(two), "c").await?;
    let mail = fixture.open().await?.unread_mail(one).await?;
    let brief: Vec<_> = mail.iter().map(|m| (m.id, m.sender, m.body.as_str())).collect();
    assert_eq!(brief, [(first, None, "a"), (second, Some(two), "c")]);
    let lease = lease(&*store, one, "runner").await?;
    let deliver = |mail| store.deliver_mail(one, lease.fence, mail, message("mail"));
    let entry = deliver(first).await?;
    assert_eq!(store.unread_mail(one).await?, mail[1..]);
    assert!(deliver(second).await? > entry);
    refused!(deliver(first).await, StoreError::UnknownMail { .. });
    assert!(store.unread_mail(one).await?.is_empty());
    assert_eq!(heard(&*store, one).await?, ["mail", "mail"]);
    let fenced = Fence(lease.fence.0 + 1);
    refused!(
        store.deliver_mail(one, fenced, second, message("x")).await,
        StoreError::Fenced { .. }
    );
    assert_eq!(store.unread_mail(two).await?.len(), 1);
    for unknown in [foreign, MailId(i64::MAX), MailId(0)] {
        refused!(deliver(unknown).await, StoreError::UnknownMail { .. });
    }
    let third = send(one, None, "d").await?;
    assert_eq!(store.unread_mail(one).await?.iter().map(|m| m.id).collect::<Vec<_>>(), [third]);
    Ok(())
}

/// The dead, the missing, and those who never read.
pub async fn mail_to_nobody_is_refused(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let (dead, living) = (create(&*store, 1).await?, create(&*store, 2).await?);
    store.kill(Kill { agent: dead, used: &[], notice: &plain_notice, now_ms: 1 }).await?;
    let mail = |recipient| NewMail { recipient, sender: None, body: String::new(), now_ms: 1 };
    refused!(store.send_mail(mail(dead)).await, StoreError::Dead { .. });
    refused!(store.send_mail(mail(agent_id(3))).await, StoreError::NotFound { .. });
    store.send_mail(mail(living)).await?;
    Ok(())
}

/// The first record stays, and brings its cache entries with it.
pub async fn a_request_counts_once(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let agent = create(&*store, 1).await?;
    let first = request_of(agent, 1, "m");
    assert!(store.record_request(first.clone(), &[cache_row(1, 100, 5000)]).await?);
    let mut again = first.clone();
    again.stop = Some("other".to_owned());
    assert!(!store.record_request(again, &[cache_row(2, 100, 5000)]).await?);
    let mut failed = request_of(agent, 2, "m");
    (failed.usage, failed.stop, failed.prompt_bytes) = (None, None, None);
    (failed.reply, failed.verdict, failed.note) = (None, None, None);
    assert!(store.record_request(failed.clone(), &[]).await?);
    let all = store.requests(agent, UsageScope::Own).await?;
    assert_eq!(all, [first.clone(), failed.clone()]);
    assert_eq!(store.recent_requests(agent, 5000, 9).await?, [failed.clone(), first]);
    assert_eq!(store.recent_requests(agent, 5000, 1).await?, [failed]);
    assert!(store.recent_requests(agent, 4999, 9).await?.is_empty());
    assert_eq!(store.cache_entries([0; 32], 0).await?, [cache_row(1, 100, 5000)]);
    refused!(
        store.record_request(request_of(agent_id(2), 3, "m"), &[]).await,
        StoreError::NotFound { .. }
    );
    Ok(())
}

/// An agent's own, or those of its whole tree; senseless counts do no harm.
pub async fn requests_are_found_by_agent_and_by_tree(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let root = create(&*store, 1).await?;
    fork(&*store, root, 2, ForkFrom::LastEntry).await?;
    fork(&*store, agent_id(2), 3, ForkFrom::LastEntry).await?;
    for (number, agent) in [(1, 1), (2, 2), (3, 3), (4, 3)] {
        store.record_request(request_of(agent_id(agent), number, "m"), &[]).await?;
    }
    let replies = |agent, scope| {
        let rows = store.requests(agent_id(agent), scope);
        async move {
            let rows = rows.await?;
            Result::Ok(rows.into_iter().filter_map(|row| row.reply).collect::<Vec<_>>())
        }
    };
    assert_eq!(replies(1, UsageScope::Own).await?, ["reply-1"]);
    let subtree = replies(1, UsageScope::Subtree).await?;
    assert_eq!(subtree, ["reply-1", "reply-2", "reply-3", "reply-4"]);
    assert_eq!(replies(2, UsageScope::Subtree).await?, ["reply-2", "reply-3", "reply-4"]);
    let mut senseless = request_of(root, 9, "m");
    senseless.usage = Some(Usage { uncached: u64::MAX, output: u64::MAX, ..Usage::default() });
    store.record_request(senseless, &[]).await?;
    assert_eq!(replies(1, UsageScope::Own).await?.len(), 2);
    Ok(())
}

/// By agent; what nobody priced and what nobody reported is told apart from what was free, and nothing is counted twice.
pub async fn usage_is_summed_from_where_one_asked_last(fixture: &dyn Fixture) -> Result<()> {
    let store = fixture.open().await?;
    let root = create(&*store, 1).await?;
    fork(&*store, root, 2, ForkFrom::LastEntry).await?;
    let child = agent_id(2);
    assert_eq!(store.usage_since(0).await?, (0, Vec::new()));
    let mut unpriced = request_of(root, 2, "m");
    unpriced.micro_usd = None;
    let mut silent = request_of(root, 3, "m");
    (silent.usage, silent.micro_usd) = (None, None);
    let mut blind = request_of(child, 4, "m");
    blind.usage = Some(Usage { uncached: 50, output: 5, ..Usage::default() });
    for request in [request_of(root, 1, "m"), unpriced, silent, blind] {
        store.record_request(request, &[]).await?;
    }
    let (last, sums) = store.usage_since(0).await?;
    let of_root = UsageSum {
        agent: root,
        requests: 3,
        unpriced: 1,
        micro_usd: 1_000,
        prompt: 200,
        read: 180,
    };
    let of_child =
        UsageSum { agent: child, requests: 1, unpriced: 0, micro_usd: 1_000, prompt: 0, read: 0 };
    assert_eq!(sums, [of_root, of_child]);
    assert_eq!(store.usage_since(last).await?, (last, Vec::new()));
    store.record_request(request_of(root, 5, "m"), &[]).await?;
    let (_, sums) = store.usage_since(last).await?;
    let once = UsageSum { requests: 1, unpriced: 0, prompt: 100, read: 90, ..of_root };
    assert_eq!(sums, [once]);
    Ok(())
}

/// By scope and time; the later use and the reported count win, and what nobody uses is forgotten.
pub async fn cache_entries_are_kept_while_they_are_used(fixture: &dyn Fixture) -> Result<()> {
    const KEPT_MS: i64 = 2 * 24 * 60 * 60 * 1000;
    let store = fixture.open().await?;
    let agent = create(&*store, 1).await?;
    let record = |number: u8, at_ms, rows: Vec<CacheRow>| {
        let request = RequestRow { started_ms: at_ms, ..request_of(agent, number, "m") };
        let store = &store;
        async move { store.record_request(request, &rows).await }
    };
    let foreign = CacheRow { scope: [9; 32], ..cache_row(1, 7, 1000) };
    record(1, 1000, vec![cache_row(1, 100, 1000), cache_row(2, 50, 1000), foreign]).await?;
    let exact = CacheRow { exact: true, lifetime: Lifetime::Long, ..cache_row(1, 90, 900) };
    record(2, 2000, vec![exact.clone(), cache_row(2, 55, 2000)]).await?;
    record(3, 3000, vec![cache_row(1, 111, 3000)]).await?;
    let first = CacheRow { used_ms: 3000, lifetime: Lifetime::Short, ..exact };
    let second = cache_row(2, 55, 2000);
    assert_eq!(store.cache_entries([0; 32], 0).await?, [second, first.clone()]);
    assert_eq!(store.cache_entries([0; 32], 2001).await?, [first]);
    assert_eq!(store.cache_entries([9; 32], 0).await?.len(), 1);
    record(4, 3000 + KEPT_MS, vec![]).await?;
    assert_eq!(store.cache_entries([0; 32], 0).await?.len(), 1);
    record(5, 3001 + KEPT_MS, vec![]).await?;
    assert!(store.cache_entries([0; 32], 0).await?.is_empty());
    Ok(())
}

/// The change signal rises for changes by this handle and by others, and rests otherwise.
pub async fn another_handle_sees_every_change(fixture: &dyn Fixture) -> Result<()> {
    let (watcher, writer) = (fixture.open().await?, fixture.open().await?);
    let agent = create(&*writer, 1).await?;
    let before = watcher.data_version().await?;
    assert_eq!(watcher.data_version().await?, before);
    say(&*writer, agent, &["a"]).await?;
    let foreign = watcher.data_version().await?;
    assert_ne!(foreign, before);
    say(&*watcher, agent, &["b"]).await?;
    assert_ne!(watcher.data_version().await?, foreign);
    assert_eq!(writer.lineage(agent, None).await?.len(), 2);
    watcher.close().await?;
    assert_eq!(watcher.lineage(agent, None).await?.len(), 2);
    Ok(())
}
