//! Agents, tasks and requests for tests.

use tine_model::{
    AgentId, AgentRecord, AgentState, ContextMode, Decision, EntryId, ModelSettings, PermissionId,
    PermissionScope, RawJson, Reach, Standing, TaskRecord, TaskStatus, ToolCallId, Usage,
    WorktreeRecord,
};
use tine_runtime::{PermissionRequest, UsageSum};

use super::{App, Event, Fact, Happening};

/// The id that is made of one byte.
pub(crate) fn id(byte: u8) -> AgentId {
    AgentId::from_random([byte; 16])
}

/// An idle agent, which a root is without a parent.
pub(crate) fn agent(byte: u8, parent: Option<u8>) -> AgentRecord {
    AgentRecord {
        id: id(byte),
        name: None,
        title: None,
        parent: parent.map(id),
        fork_point: None,
        standing: if parent.is_some() { Standing::Peer } else { Standing::Root },
        state: AgentState::Idle,
        failure: None,
        context: ContextMode::Full,
        settings: ModelSettings {
            model: "sim/echo".parse().unwrap(),
            max_tokens: 1,
            thinking: None,
            effort: None,
        },
        head: [0; 32],
        directory: "/srv".into(),
        reach: Reach::open(),
        depth: 0,
        stop: None,
        created_ms: 0,
        updated_ms: 0,
    }
}

/// The task of a worker.
pub(crate) fn task(worker: u8, spawner: u8, status: TaskStatus, directive: &str) -> TaskRecord {
    TaskRecord {
        agent: id(worker),
        spawner: id(spawner),
        directive: directive.to_owned(),
        description: None,
        definition: None,
        status,
        resumes: 0,
        flags: Vec::new(),
        report: None,
        error: None,
        usage: Usage::default(),
        turns: 0,
        tool_uses: 0,
        created_ms: 0,
        ended_ms: None,
        cleared_ms: None,
        worktree: None,
    }
}

/// A worker of an agent, as it is now, and its task with what came of it.
pub(crate) fn worker(byte: u8, parent: u8, status: TaskStatus) -> (AgentRecord, TaskRecord) {
    let state = if status.is_final() { AgentState::Idle } else { AgentState::Running };
    let record = AgentRecord { standing: Standing::Worker, state, ..agent(byte, Some(parent)) };
    let task = TaskRecord {
        report: status.is_final().then(|| "Scope: count\nResult: 42 words\n".to_owned()),
        error: (status == TaskStatus::Failed).then(|| "the turn limit was reached".to_owned()),
        ..task(byte, parent, status, "count the words")
    };
    (record, task)
}

/// The id of a request that is made of one byte.
pub(crate) fn request_id(byte: u8) -> PermissionId {
    PermissionId::from_random([byte; 16])
}

/// A request of an agent, which waits for a minute after the epoch and then is denied.
pub(crate) fn request(byte: u8, of: u8, widest: PermissionScope) -> PermissionRequest {
    PermissionRequest {
        id: request_id(byte),
        agent: id(of),
        label: None,
        tool: "Bash".into(),
        what: "Bash: make test".into(),
        input: RawJson::parse(r#"{"command":"make test"}"#).unwrap(),
        directory: "/srv".into(),
        why: "no rule allows this command".into(),
        warning: None,
        rule: None,
        offers: Vec::new(),
        widest,
        deadline_ms: 60_000,
        fallback: Decision::Deny,
    }
}

/// A session as people have them: a talk at work, a fork in the background, workers that are done, lost and waiting, a fork that
/// another process runs, one that broke off, and a dead one.
pub(crate) fn busy(now_ms: i64) -> App {
    let named = |byte: u8, parent: Option<u8>, name: &str, state| AgentRecord {
        name: Some(name.to_owned()),
        state,
        fork_point: parent.map(|_| EntryId(40 + i64::from(byte))),
        updated_ms: now_ms - i64::from(byte) * 60_000,
        ..agent(byte, parent)
    };
    let worker = |byte, parent, name: &str, state| AgentRecord {
        standing: Standing::Worker,
        ..named(byte, Some(parent), name, state)
    };
    let agents = vec![
        AgentRecord {
            title: Some("Why is the parser slow?".to_owned()),
            ..named(1, None, "parser", AgentState::Running)
        },
        named(2, Some(1), "faster", AgentState::Running),
        worker(3, 2, "read", AgentState::Idle),
        worker(4, 2, "measure", AgentState::Interrupted),
        worker(5, 2, "rewrite", AgentState::Running),
        named(6, Some(1), "smaller", AgentState::Running),
        named(7, Some(1), "older", AgentState::Interrupted),
        named(8, Some(7), "wrong", AgentState::Dead),
        AgentRecord {
            name: None,
            title: Some("Fix the login of the web page".to_owned()),
            directory: "/home/user/projects/web".to_owned(),
            ..named(9, None, "", AgentState::Idle)
        },
    ];
    let tasks = vec![
        task(3, 2, TaskStatus::Completed, "Read all of src and say what it does"),
        task(4, 2, TaskStatus::Lost, "Measure it"),
        task(5, 2, TaskStatus::Running, "Rewrite the lexer"),
    ];
    let used = |byte, unpriced, micro_usd, read| UsageSum {
        agent: id(byte),
        requests: 3,
        unpriced,
        micro_usd,
        prompt: 20_000,
        read,
    };
    let worktree = |byte, files| WorktreeRecord {
        agent: id(byte),
        path: format!("/srv/.tine/{byte}"),
        origin: "/srv".to_owned(),
        repository: "/srv/.git".to_owned(),
        files,
        commits: 1,
        made_ms: 0,
        removed_ms: None,
    };
    let fact = Fact::Read {
        usage: vec![
            used(1, 0, 1_234_000, 18_600),
            used(2, 0, 45_600, 19_800),
            used(3, 1, 0, 0),
            used(5, 0, 900, 19_900),
        ],
        worktrees: vec![worktree(2, 3), worktree(5, 12)],
    };
    let mut app = App::at(now_ms);
    app.update(Event::Facts(Box::new(fact)));
    app.update(Event::Registry(agents, tasks));
    let asked = request(1, 5, PermissionScope::Tree);
    let asked = PermissionRequest { deadline_ms: now_ms + 60_000, ..asked };
    app.update(Event::Asked(Box::new(asked)));
    app.go(id(1));
    for byte in [1, 2] {
        app.update(Event::Happened(id(byte), Happening::Began));
    }
    let (tool, line) = ("Bash".to_owned(), "make bench".to_owned());
    let call = ToolCallId("t1".to_owned());
    app.update(Event::Happened(id(2), Happening::ToolStarted { id: call, tool, line }));
    app
}
