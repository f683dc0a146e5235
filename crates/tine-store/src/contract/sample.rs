//! Plain values for tests.

use tine_model::{
    AgentId, Cap, ContextMode, Decision, Effort, Lifetime, ModelSettings, PermissionId,
    PermissionScope, Reach, RequestId, Standing, TaskRecord, TaskStatus, Thinking, Usage,
};

use crate::{
    Acquire, AnswerPermission, AskPermission, CacheRow, CreateAgent, EntryKind, Fence, ForkFrom,
    ForkRequest, Forked, Head, Lease, NewAgent, NewChild, NewEntry, RequestRow, Reserve, Result,
    SetBudget, Store, StoreError, TaskEnd,
};

/// An id that differs from those of other numbers from the first character on.
pub fn agent_id(number: u64) -> AgentId {
    let mut bytes = [0; 16];
    // An odd factor: different numbers stay different, and they spread as random ids do.
    let spread = number.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    bytes[..8].copy_from_slice(&spread.to_be_bytes());
    bytes[8..].copy_from_slice(&number.to_be_bytes());
    AgentId::from_random(bytes)
}

/// An agent with every field set; the head's body is given.
pub fn new_agent(number: u64) -> NewAgent {
    NewAgent {
        id: agent_id(number),
        name: None,
        standing: Standing::Root,
        context: ContextMode::Full,
        settings: ModelSettings {
            model: tine_model::ModelRef {
                provider: tine_model::Provider::Anthropic,
                name: "some-model".to_owned(),
            },
            max_tokens: 32_000,
            thinking: Some(Thinking::Budget(10_000)),
            effort: Some(Effort::High),
        },
        head: Head { hash: [9; 32], body: Some(r#"{"system":[]}"#.to_owned()) },
        directory: "/home/somebody/projects/something".to_owned(),
        reach: Reach::open(),
        depth: 0,
    }
}

/// Makes a root.
pub async fn create(store: &dyn Store, number: u64) -> Result<AgentId> {
    let create = CreateAgent { agent: new_agent(number), entries: Vec::new(), now_ms: 1000 };
    store.create_agent(create).await?;
    Ok(agent_id(number))
}

/// A fork into one peer that relies on the parent's head.
pub fn fork_of(parent: AgentId, number: u64, from: ForkFrom) -> ForkRequest {
    let mut agent = new_agent(number);
    agent.standing = Standing::Peer;
    agent.head.body = None;
    let children =
        vec![NewChild { agent, task: None, entries: Vec::new(), worktree: None, by_person: false }];
    ForkRequest { parent, from, parent_fence: None, children, owner: None, now_ms: 2000 }
}

/// Makes one fork and returns it.
pub(super) async fn fork(
    store: &dyn Store,
    parent: AgentId,
    number: u64,
    from: ForkFrom,
) -> Result<Forked> {
    let forked = store.fork(fork_of(parent, number, from)).await?;
    assert_eq!(forked.len(), 1);
    Ok(forked[0].clone())
}

/// A root (1), its fork (2), and the fork of that (3).
pub(super) async fn three_deep(store: &dyn Store) -> Result<(AgentId, AgentId, AgentId)> {
    let root = create(store, 1).await?;
    fork(store, root, 2, ForkFrom::LastEntry).await?;
    fork(store, agent_id(2), 3, ForkFrom::LastEntry).await?;
    Ok((root, agent_id(2), agent_id(3)))
}

/// A message with an arbitrary body.
pub fn message(text: &str) -> NewEntry {
    NewEntry {
        kind: EntryKind::Message,
        body: format!(r#"{{"text":"{text}"}}"#),
        at_ms: 3000,
        title: None,
    }
}

/// The end of a task, completed.
pub fn end_of(agent: AgentId) -> TaskEnd {
    let usage = Usage { uncached: 1, read: Some(2), output: 3, ..Usage::default() };
    TaskEnd {
        agent,
        fence: None,
        status: TaskStatus::Completed,
        report: Some("Scope: all of it".to_owned()),
        error: None,
        usage,
        turns: 4,
        tool_uses: 5,
        flags: vec!["echo".to_owned()],
        notice: "it is done".to_owned(),
        now_ms: 4000,
    }
}

/// A request with usage.
pub fn request_of(agent: AgentId, number: u8, model: &str) -> RequestRow {
    let usage = Usage { uncached: 10, read: Some(90), output: 5, ..Usage::default() };
    RequestRow {
        id: RequestId::from_random([number; 16]),
        agent,
        started_ms: 5000,
        model: model.to_owned(),
        usage: Some(usage),
        stop: Some("end_turn".to_owned()),
        prompt_bytes: Some(400),
        reply: Some(format!("reply-{number}")),
        verdict: Some("ok".to_owned()),
        note: Some("{}".to_owned()),
        micro_usd: Some(1_000),
    }
}

/// Asks for the right to send the request of the same number.
pub fn reserve_of(agent: AgentId, number: u8, tokens: u64, micro_usd: u64) -> Reserve {
    let (id, owner) = (RequestId::from_random([number; 16]), "sender".to_owned());
    Reserve { id, agent, owner, tokens, micro_usd, now_ms: 5000 }
}

/// Sets caps, at 4000.
pub fn caps_of(agent: AgentId, caps: &[(Cap, Option<u64>)]) -> SetBudget {
    SetBudget { agent, caps: caps.to_vec(), now_ms: 4000 }
}

/// An estimated entry of scope zero.
pub fn cache_row(number: u8, tokens: u64, used_ms: i64) -> CacheRow {
    CacheRow {
        scope: [0; 32],
        hash: [number; 32],
        tokens,
        exact: false,
        bytes: 400,
        lifetime: Lifetime::Short,
        used_ms,
    }
}

/// The id of a permission request; differs from those of other numbers from the first character on.
pub fn permission_id(number: u64) -> PermissionId {
    PermissionId::from_bytes(*agent_id(number).as_bytes())
}

/// A request about a command, with a default of no. The number tells requests and calls apart.
pub fn ask_of(agent: AgentId, number: u64) -> AskPermission {
    AskPermission {
        id: permission_id(number),
        agent,
        owner: "asker".to_owned(),
        call: format!("call_{number}"),
        tool: "Bash".to_owned(),
        what: "Bash: cargo test".to_owned(),
        input: r#"{"command":"cargo test"}"#.to_owned(),
        directory: "/srv/app".to_owned(),
        why: "no rule allows this command".to_owned(),
        warning: Some("runs the project's code".to_owned()),
        rule: Some("Bash(cargo test)".to_owned()),
        widest: PermissionScope::Always,
        now_ms: 7000,
        deadline_ms: 60_000,
        fallback: Decision::Deny,
    }
}

/// A yes.
pub fn yes_to(id: PermissionId, scope: PermissionScope) -> AnswerPermission {
    AnswerPermission {
        id,
        decision: Decision::Allow,
        scope,
        rule: None,
        by: "a test".to_owned(),
        reason: None,
        now_ms: 7500,
    }
}

/// Words a notice as `<status> <short id>`.
pub fn plain_notice(task: &TaskRecord) -> String {
    format!("{} {}", task.status.as_str(), task.agent.short())
}

/// Takes a lease, with everybody else alive.
pub(super) async fn lease(store: &dyn Store, agent: AgentId, owner: &str) -> Result<Lease> {
    let (is_alive, notice) = (&|_: &str| true, &plain_notice);
    store.acquire(Acquire { agent, owner, is_alive, notice, now_ms: 6000 }).await
}

/// Appends messages under a lease taken for the purpose.
pub(super) async fn say(store: &dyn Store, agent: AgentId, texts: &[&str]) -> Result<Vec<i64>> {
    let lease = lease(store, agent, "writer").await?;
    let entries: Vec<NewEntry> = texts.iter().map(|text| message(text)).collect();
    let ids = store.append(agent, lease.fence, &entries).await?;
    store.release(&lease).await?;
    Ok(ids.into_iter().map(|id| id.0).collect())
}

/// The texts of a lineage's messages.
pub(super) async fn heard(store: &dyn Store, agent: AgentId) -> Result<Vec<String>> {
    let rows = store.lineage(agent, None).await?;
    let messages = rows.into_iter().filter(|row| row.kind == EntryKind::Message);
    Ok(messages.map(|row| row.body.replace(r#"{"text":""#, "").replace(r#""}"#, "")).collect())
}

/// Whether an append under this fence is refused for the fence.
pub(super) async fn is_fenced(store: &dyn Store, agent: AgentId, fence: Fence) -> bool {
    let appended = store.append(agent, fence, &[message("late")]).await;
    matches!(appended, Err(StoreError::Fenced { .. }))
}
