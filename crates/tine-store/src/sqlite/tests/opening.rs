//! Files that are missing, foreign, damaged, newer, full or locked.

use std::fs;
use std::time::Duration;

use sqlx::{Connection, SqliteConnection};

use super::Directory;
use crate::contract::{
    agent_id, ask_of, create, fork_of, message, new_agent, plain_notice, refused,
};
use crate::{
    Acquire, AgentStore, CreateAgent, EntryStore, ForkFrom, LeaseStore, MailStore, NewMail,
    OpenOptions, PermissionStore, Remove, RequestStore, SetReach, SqliteStore, Store, StoreError,
};

async fn execute(directory: &Directory, sql: &'static str) {
    let url = format!("sqlite://{}?mode=rwc", directory.path().display());
    let mut connection = SqliteConnection::connect(&url).await.unwrap();
    sqlx::raw_sql(sql).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();
}

async fn open(directory: &Directory) -> Result<SqliteStore, StoreError> {
    SqliteStore::open(directory.path(), OpenOptions::default()).await
}

#[cfg(unix)]
#[tokio::test]
async fn a_new_store_is_for_its_owner_alone() {
    use std::os::unix::fs::PermissionsExt;
    let directory = Directory::new();
    let store = directory.sqlite().await;
    create(&store, 1).await.unwrap();
    let mode = |path: &std::path::Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(directory.path().parent().unwrap()), 0o700);
    for entry in fs::read_dir(directory.path().parent().unwrap()).unwrap() {
        let path = entry.unwrap().path();
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
}

#[tokio::test]
async fn every_connection_is_durable_and_checks_references() {
    let directory = Directory::new();
    let store = directory.sqlite().await;
    let mut first = store.connections.read().await.unwrap();
    let mut second = store.connections.read().await.unwrap();
    for read in [&mut first, &mut second] {
        for (pragma, expected) in [
            ("PRAGMA journal_mode", "wal"),
            ("PRAGMA synchronous", "2"),
            ("PRAGMA foreign_keys", "1"),
            ("PRAGMA user_version", "18"),
        ] {
            let row = read.one(sqlx::query(pragma)).await.unwrap().unwrap();
            let found = row
                .get::<String>(0)
                .or_else(|_| row.get::<i64>(0).map(|number| number.to_string()));
            assert_eq!(found.unwrap(), expected, "{pragma}");
        }
    }
}

#[tokio::test]
async fn a_newer_schema_is_refused_with_both_versions() {
    let directory = Directory::new();
    directory.sqlite().await.close().await.unwrap();
    execute(&directory, "PRAGMA user_version = 19").await;
    refused!(open(&directory).await, StoreError::Newer { found: 19, known: 18, .. });
}

#[tokio::test]
async fn an_older_schema_is_brought_up_to_date_with_its_rows() {
    let directory = Directory::new();
    fs::create_dir_all(directory.path().parent().unwrap()).unwrap();
    execute(&directory, include_str!("../../../migrations/sqlite/0001_initial.sql")).await;
    let rows = "INSERT INTO heads VALUES (zeroblob(32), 'h');
        INSERT INTO agents (id, standing, state, context, model, max_tokens, head, directory, \
            depth, created_ms, updated_ms)
            VALUES (zeroblob(16), 'root', 'idle', 'full', 'sim/echo', 9, zeroblob(32), '/', 0, 1, 1);
        INSERT INTO requests (id, agent, started_ms, model, uncached)
            VALUES (zeroblob(16), zeroblob(16), 5, 'sim/echo', 7);";
    execute(&directory, rows).await;
    let store = directory.sqlite().await;
    let agent = tine_model::AgentId::from_bytes([0; 16]);
    let found = store.requests(agent, crate::UsageScope::Own).await.unwrap();
    assert_eq!((found.len(), found[0].usage.unwrap().uncached), (1, 7));
    assert_eq!((&found[0].reply, &found[0].verdict, &found[0].note), (&None, &None, &None));
    assert!(store.cache_entries([0; 32], 0).await.unwrap().is_empty());
}

#[tokio::test]
async fn every_older_version_gets_its_queue() {
    let first = include_str!("../../../migrations/sqlite/0001_initial.sql");
    let second = include_str!("../../../migrations/sqlite/0002_cache.sql");
    for migrations in [&[first][..], &[first, second]] {
        let directory = Directory::new();
        fs::create_dir_all(directory.path().parent().unwrap()).unwrap();
        for migration in migrations {
            execute(&directory, migration).await;
        }
        let store = directory.sqlite().await;
        let agent = create(&store, 1).await.unwrap();
        let asked = store.ask_permission(ask_of(agent, 1)).await.unwrap();
        let store = directory.sqlite().await;
        assert_eq!(store.permission(asked.id).await.unwrap(), asked);
    }
}

/// Agents of before version 9 have the reach that their runs had by default: a worker, and who was forked from one, its directory.
#[tokio::test]
async fn older_agents_get_the_reach_of_their_standing() {
    let directory = Directory::new();
    fs::create_dir_all(directory.path().parent().unwrap()).unwrap();
    execute(&directory, include_str!("../../../migrations/sqlite/0001_initial.sql")).await;
    execute(&directory, OLDER_AGENTS).await;
    check_reaches(&directory.sqlite().await).await;
}

/// A process of an older version that was open before goes on inserting without the column.
#[tokio::test]
async fn agents_of_an_older_program_that_still_runs_get_the_same_reach() {
    let directory = Directory::new();
    let store = directory.sqlite().await;
    execute(&directory, OLDER_AGENTS).await;
    check_reaches(&store).await;
    let worker = agent_number(1);
    let reach = tine_model::Reach::read_only();
    let change = SetReach { agent: worker, reach: reach.clone(), fence: None, now_ms: 2 };
    store.set_reach(change).await.unwrap();
    let below = "INSERT INTO agents (id, parent, standing, state, context, model, max_tokens, head, \
            directory, depth, created_ms, updated_ms)
        SELECT x'00000000000000000000000000000004', id, 'worker', state, context, model, max_tokens, \
            head, directory, 2, 1, 1 FROM agents WHERE id = x'00000000000000000000000000000001';";
    execute(&directory, below).await;
    assert_eq!(store.agent(agent_number(4)).await.unwrap().reach, reach);
}

/// A root, its worker, the worker's peer, and the root's peer, as versions before 9 wrote them.
const OLDER_AGENTS: &str = "INSERT INTO heads VALUES (zeroblob(32), 'h');
    INSERT INTO agents (id, parent, standing, state, context, model, max_tokens, head, \
        directory, depth, created_ms, updated_ms)
        SELECT id, parent, standing, 'idle', 'full', 'sim/echo', 9, zeroblob(32), '/', 0, 1, 1
        FROM (SELECT x'00000000000000000000000000000000' AS id, NULL AS parent, 'root' AS standing
            UNION ALL SELECT x'00000000000000000000000000000001', x'00000000000000000000000000000000', 'worker'
            UNION ALL SELECT x'00000000000000000000000000000002', x'00000000000000000000000000000001', 'peer'
            UNION ALL SELECT x'00000000000000000000000000000003', x'00000000000000000000000000000000', 'peer');";

fn agent_number(number: u8) -> tine_model::AgentId {
    let mut bytes = [0; 16];
    bytes[15] = number;
    tine_model::AgentId::from_bytes(bytes)
}

/// Checks the reaches of [`OLDER_AGENTS`].
async fn check_reaches(store: &SqliteStore) {
    use tine_model::Reach;
    let reaches = [Reach::open(), Reach::directory(), Reach::directory(), Reach::open()];
    for (number, reach) in (0..).zip(reaches) {
        assert_eq!(store.agent(agent_number(number)).await.unwrap().reach, reach, "{number}");
    }
}

#[tokio::test]
async fn a_foreign_database_is_left_alone() {
    let directory = Directory::new();
    fs::create_dir_all(directory.path().parent().unwrap()).unwrap();
    execute(&directory, "CREATE TABLE theirs (x)").await;
    let before = fs::read(directory.path()).unwrap();
    refused!(open(&directory).await, StoreError::Foreign { .. });
    assert_eq!(fs::read(directory.path()).unwrap(), before);
}

#[tokio::test]
async fn what_is_no_database_is_called_damaged() {
    let directory = Directory::new();
    fs::create_dir_all(directory.path().parent().unwrap()).unwrap();
    fs::write(directory.path(), "not a database, and longer than its header would be".repeat(9))
        .unwrap();
    refused!(open(&directory).await, StoreError::Corrupt { .. });
}

#[tokio::test]
async fn an_unknown_word_in_a_row_is_damage_and_no_panic() {
    let directory = Directory::new();
    create(&directory.sqlite().await, 1).await.unwrap();
    execute(&directory, "UPDATE agents SET standing = 'aunt'").await;
    let error = directory.sqlite().await.agent(agent_id(1)).await.unwrap_err();
    let cause = std::error::Error::source(&error).unwrap().to_string();
    assert_eq!(cause, "unknown value in column `standing`");
    refused!(Err::<(), _>(error), StoreError::Corrupt { .. });
}

#[tokio::test]
async fn an_empty_file_becomes_a_store() {
    let directory = Directory::new();
    fs::create_dir_all(directory.path().parent().unwrap()).unwrap();
    fs::write(directory.path(), "").unwrap();
    create(&open(&directory).await.unwrap(), 1).await.unwrap();
}

#[tokio::test]
async fn a_path_that_cannot_be_is_named_in_the_error() {
    let directory = Directory::new();
    fs::write(directory.0.path().join("data"), "a file where a directory should be").unwrap();
    let error = open(&directory).await.unwrap_err();
    let path = directory.path();
    let named = format!("cannot use `{}`", path.parent().unwrap().display());
    assert!(error.to_string() == named, "{error}");
}

/// Root may write anywhere, so that the test says something only for others.
#[cfg(unix)]
#[tokio::test]
async fn a_read_only_directory_is_told_from_other_failures() {
    use std::os::unix::fs::PermissionsExt;
    let directory = Directory::new();
    let parent = directory.path().parent().unwrap().to_owned();
    fs::create_dir_all(&parent).unwrap();
    fs::set_permissions(&parent, fs::Permissions::from_mode(0o500)).unwrap();
    match open(&directory).await {
        Err(StoreError::ReadOnly { .. }) => {}
        Ok(_) => assert!(fs::write(parent.join("probe"), "").is_ok(), "only root may pass"),
        Err(other) => panic!("{other:?}"),
    }
    fs::set_permissions(&parent, fs::Permissions::from_mode(0o700)).unwrap();
}

#[tokio::test]
async fn no_word_of_who_was_removed_is_left_in_the_files() {
    const WORD: &str = "an-unmistakable-word";
    let directory = Directory::new();
    let store = directory.sqlite().await;
    let long = format!("{WORD} {}", "x".repeat(20_000));
    for number in 1..30 {
        let agent = create(&store, number).await.unwrap();
        let acquire =
            Acquire { agent, owner: "me", is_alive: &|_| true, notice: &plain_notice, now_ms: 1 };
        let fence = store.acquire(acquire).await.unwrap().fence;
        let text = if number % 3 == 0 { long.clone() } else { format!("{WORD} {number}") };
        let is_last = number == 29;
        let entry = message(if is_last { "what stays" } else { &text });
        store.append(agent, fence, &[entry]).await.unwrap();
    }
    let agents = (1..29).map(agent_id).collect();
    store.remove(Remove { agents, dry_run: false, now_ms: 9 }).await.unwrap();
    assert!(store.overwrite_removed().await.unwrap());
    let files = fs::read_dir(directory.path().parent().unwrap()).unwrap();
    for file in files.map(|entry| entry.unwrap().path()) {
        let content = fs::read(&file).unwrap();
        let holds = |word: &str| content.windows(word.len()).any(|bytes| bytes == word.as_bytes());
        assert!(!holds(WORD), "{}", file.display());
        let is_store = file.extension().is_some_and(|ending| ending == "db");
        assert!(!is_store || holds("what stays"));
    }
}

#[tokio::test]
async fn a_read_only_store_can_be_read() {
    let directory = Directory::new();
    let store = directory.sqlite().await;
    create(&store, 1).await.unwrap();
    let mut read = store.connections.read().await.unwrap();
    read.run(sqlx::query("PRAGMA query_only = ON")).await.unwrap();
    read.finish().await.unwrap();
    refused!(create(&store, 2).await, StoreError::ReadOnly { .. });
    store.agent(agent_id(1)).await.unwrap();
}

#[tokio::test]
async fn a_full_disk_is_told_and_nothing_is_half_written() {
    let directory = Directory::new();
    let store = directory.sqlite().await;
    let root = create(&store, 1).await.unwrap();
    let mut read = store.connections.read().await.unwrap();
    // No page more than there are: what SQLite says is what it says of a full disk.
    read.all(sqlx::query("PRAGMA max_page_count = 1")).await.unwrap();
    read.finish().await.unwrap();
    let mut request = fork_of(root, 2, ForkFrom::LastEntry);
    request.children[0].agent.directory = "d".repeat(100_000);
    refused!(store.fork(request).await, StoreError::Full { .. });
    assert!(store.lineage(root, None).await.unwrap().is_empty());
    store.fork(fork_of(root, 2, ForkFrom::LastEntry)).await.unwrap();
}

#[tokio::test]
async fn a_lock_that_does_not_go_away_is_busy() {
    let directory = Directory::new();
    let holder = directory.sqlite().await;
    let held = holder.connections.write().await.unwrap();
    let busy_wait = Duration::from_millis(1);
    let options = OpenOptions { busy_wait, busy_waits_max: 2, ..OpenOptions::default() };
    let store = SqliteStore::open(directory.path(), options).await.unwrap();
    refused!(create(&store, 1).await, StoreError::Busy { .. });
    assert!(store.agents(crate::AgentFilter::All).await.unwrap().is_empty(), "readers go on");
    held.commit().await.unwrap();
    create(&store, 1).await.unwrap();
}

#[tokio::test]
async fn a_write_waits_for_a_lock_and_says_so_once() {
    let directory = Directory::new();
    let holder = directory.sqlite().await;
    let held = std::sync::Mutex::new(Some(holder.connections.write().await.unwrap()));
    let (sender, mut waits) = tokio::sync::mpsc::unbounded_channel();
    let options = OpenOptions {
        busy_wait: Duration::from_millis(1),
        busy_waits_max: u32::MAX,
        wait_hook: Some(std::sync::Arc::new(move || sender.send(()).unwrap())),
        ..OpenOptions::default()
    };
    let store = SqliteStore::open(directory.path(), options).await.unwrap();
    let release = async {
        waits.recv().await.unwrap();
        let held = held.lock().unwrap().take().unwrap();
        held.commit().await.unwrap();
    };
    let (created, ()) = tokio::join!(create(&store, 1), release);
    created.unwrap();
    assert!(waits.try_recv().is_err(), "it is told once");
}

#[tokio::test]
async fn what_cannot_be_written_is_read() {
    use crate::sqlite::read_only::Refusal;
    let directory = Directory::new();
    let store = directory.sqlite().await;
    create(&store, 1).await.unwrap();
    let log = directory.path().with_file_name("store.db-wal");
    let check = async |has_log: bool, agents: u8| {
        assert_eq!(log.metadata().is_ok_and(|log| log.len() > 0), has_log);
        let before = fs::read(directory.path()).unwrap();
        for refusal in [Refusal::ReadOnly, Refusal::Full] {
            let reader = SqliteStore::open_to_read(directory.path(), refusal).await.unwrap();
            let all = reader.agents(crate::AgentFilter::All).await.unwrap();
            assert_eq!(all.len(), usize::from(agents));
            match (refusal, create(&reader, u64::from(agents) + 1).await) {
                (Refusal::ReadOnly, Err(StoreError::ReadOnly { .. })) => {}
                (Refusal::Full, Err(StoreError::Full { .. })) => {}
                (_, other) => panic!("{other:?}"),
            }
        }
        assert_eq!(fs::read(directory.path()).unwrap(), before);
    };
    check(true, 1).await;
    store.close().await.unwrap();
    check(false, 1).await;
}

#[tokio::test]
async fn damage_is_found() {
    let directory = Directory::new();
    let store = directory.sqlite().await;
    create(&store, 1).await.unwrap();
    assert_eq!(store.find_damage().await.unwrap(), [""; 0]);
    execute(
        &directory,
        "PRAGMA foreign_keys = OFF; INSERT INTO mail (recipient, at_ms, body) VALUES (zeroblob(16), 0, '')",
    )
    .await;
    let found = store.find_damage().await.unwrap();
    assert_eq!(found, ["a row of `mail` names one of `agents` that is not there"]);
}

#[tokio::test]
async fn a_mailbox_that_nobody_reads_fills_up() {
    let directory = Directory::new();
    let store = directory.sqlite().await;
    let agent = create(&store, 1).await.unwrap();
    execute(
        &directory,
        "WITH RECURSIVE n (i) AS (VALUES (1) UNION ALL SELECT i + 1 FROM n WHERE i < 1000) \
         INSERT INTO mail (recipient, at_ms, body) SELECT a.id, 0, '' FROM n, agents a",
    )
    .await;
    let mail = NewMail { recipient: agent, sender: None, body: String::new(), now_ms: 1 };
    refused!(store.send_mail(mail.clone()).await, StoreError::MailboxFull { .. });
    let unread = store.unread_mail(agent).await.unwrap();
    let owner =
        Acquire { agent, owner: "me", is_alive: &|_| true, notice: &plain_notice, now_ms: 1 };
    let lease = store.acquire(owner).await.unwrap();
    store.deliver_mail(agent, lease.fence, unread[0].id, message("mail")).await.unwrap();
    store.send_mail(mail).await.unwrap();
}

#[tokio::test]
async fn many_handles_may_make_the_store_at_once() {
    let directory = Directory::new();
    let (a, b, c, d) =
        tokio::join!(open(&directory), open(&directory), open(&directory), open(&directory));
    for (number, store) in (1..).zip([a, b, c, d]) {
        let mut new = new_agent(number);
        new.name = Some(format!("maker {number}"));
        let create = CreateAgent { agent: new, entries: vec![message("a")], now_ms: 1 };
        store.unwrap().create_agent(create).await.unwrap();
    }
}

#[tokio::test]
async fn a_making_that_fails_at_any_step_can_be_done_again() {
    for broken in ["begin", "schema", "commit", "committed"] {
        let directory = Directory::new();
        let step_hook: crate::StepHook = std::sync::Arc::new(move |step| match step == broken {
            true => Err(StoreError::Full { path: "injected".into() }),
            false => Ok(()),
        });
        let options = OpenOptions { step_hook: Some(step_hook), ..OpenOptions::default() };
        let opened = SqliteStore::open(directory.path(), options).await;
        refused!(opened, StoreError::Full { .. });
        create(&open(&directory).await.unwrap(), 1).await.unwrap();
    }
}
