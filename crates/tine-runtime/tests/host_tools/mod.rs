//! Forks of another program's conversations, whose models call that program's tools.

use sqlx::{Connection as _, Executor as _};
use tine_guard::{PermissionMode, Rules};
use tine_model::{AgentId, Block, ModelSettings, WireFormat};
use tine_runtime::{ForkSpec, HostDialect, NewRoot, Permissions, RunOptions};
use tine_testkit::{Answer, ScriptedModel};

use crate::fixture::House;

/// A fork of a conversation of `host`, with a model that is asked for these answers behind the first.
async fn fork(
    (host, model): (&str, &str),
    answers: impl IntoIterator<Item = Answer>,
) -> (House, AgentId) {
    let answers = [Answer::text("Hello.")].into_iter().chain(answers);
    let house = House::new(ScriptedModel::new(answers)).await;
    std::fs::write(house.home.path().join("notes.txt"), "one\ntwo\n").unwrap();
    let new = house.new_root(house.home.path().to_owned());
    let settings = ModelSettings { model: model.parse().unwrap(), ..new.settings };
    let root = house.runtime.create_root(NewRoot { settings, ..new }).await.unwrap();
    house.runtime.run(root, Some("Hi.".into()), &options(&[])).await.unwrap();
    let child = house.runtime.fork(ForkSpec::of(root)).await.unwrap().child;
    // The other program's own conversation, with a head as short as it can be.
    let database = house.home.path().join("tine.db");
    let mut store = sqlx::SqliteConnection::connect(&database.to_string_lossy()).await.unwrap();
    let id = root.to_string().replace('-', "");
    let guest = format!(
        "UPDATE agents SET standing = 'guest' WHERE id = x'{id}';
         INSERT INTO guests (agent, host, first, used_ms) VALUES (x'{id}', '{host}', zeroblob(32), 0)"
    );
    store.execute(sqlx::AssertSqlSafe(guest)).await.unwrap();
    store.close().await.unwrap();
    (house, child)
}

/// Options of a run that edits files, and that does not do what is denied.
fn options(denied: &[&str]) -> RunOptions {
    let mut rules = Rules::default();
    rules.deny.extend(denied.iter().map(|rule| rule.parse().unwrap()));
    RunOptions::new(Permissions::new(PermissionMode::AcceptEdits, rules))
}

/// The results that the last request tells, with the directory by a word.
fn results(house: &House) -> Vec<String> {
    let body = house.model.requests().pop().unwrap().body;
    let body: serde_json::Value = serde_json::from_slice(&body).unwrap();
    let mut found = Vec::new();
    fn collect(value: &serde_json::Value, found: &mut Vec<String>) {
        let kind = value["type"].as_str().unwrap_or_default();
        if kind == "tool_result" || kind.ends_with("call_output") {
            let content = value.get("content").or(value.get("output")).unwrap();
            let text = content.as_str().or(content[0]["text"].as_str()).unwrap_or_default();
            found.push(format!("{kind}: {text}"));
            return;
        }
        match value {
            serde_json::Value::Array(list) => list.iter().for_each(|value| collect(value, found)),
            serde_json::Value::Object(object) => {
                object.values().for_each(|value| collect(value, found));
            }
            _ => {}
        }
    }
    collect(&body, &mut found);
    found
}

#[tokio::test]
async fn the_calls_of_a_fork_of_claude_codes_are_answered_under_permissions() {
    let calls = Answer::calls([
        ("c1", "Read", r#"{"file_path":"notes.txt","offset":2}"#),
        ("c2", "Bash", r#"{"command":"cat notes.txt","timeout":5000,"description":"Shows it"}"#),
        ("c3", "Agent", r#"{"prompt":"look"}"#),
        ("c4", "Read", "{}"),
    ]);
    let edits = Answer::calls([
        ("d1", "Edit", r#"{"file_path":"notes.txt","old_string":"two","new_string":"2"}"#),
        ("d2", "Write", r#"{"file_path":"other.txt","content":"x\n"}"#),
        ("d3", "Bash", r#"{"command":"touch made"}"#),
    ]);
    let host = ("claude-code", "anthropic/m");
    let (house, child) = fork(host, [calls, edits, Answer::text("Done.")]).await;
    let dialect = house.runtime.host_dialect(child).await.unwrap();
    assert_eq!(dialect, Some(HostDialect::ClaudeCode));
    let options = options(&["FileWrite(other.txt)"]);
    house.runtime.run(child, Some("Go.".into()), &options).await.unwrap();
    insta::assert_snapshot!(results(&house).join("\n---\n"), @"
    tool_result:      2	two
    ---
    tool_result: one
    two
    [exit code 0]
    ---
    tool_result: `Agent` does not work here: this conversation was forked, and tine, which runs the fork, has nothing in its place. What works is `Bash`, `Read`, `Edit` and `Write`, and `Grep` and `Glob` where you have them. Go on with these, or without.
    ---
    tool_result: `Read` was not run: `file_path` is missing; it must be a string.
    ---
    tool_result: edited `notes.txt` (1 replacement)
    @@ -1,2 +1,2 @@
     one
    -two
    +2
    ---
    tool_result: Denied: the rule `FileWrite(other.txt)` denies it. Go on without this call, or do it another way.
    ---
    tool_result: Denied: no rule allows this command, and it may do more than read: `touch` at column 1: not on the list of commands that only read, and nobody can be asked here. Go on without this call, or do it another way.
    ");
    assert_eq!(std::fs::read_to_string(house.home.path().join("notes.txt")).unwrap(), "one\n2\n");
    assert!(!house.home.path().join("other.txt").exists());
    // The log has the calls as the model made them.
    let fold = house.runtime.fold(child, None).await.unwrap();
    let blocks = fold.items().flat_map(|item| item.message.blocks().to_vec()).collect::<Vec<_>>();
    let is_asked = |block: &Block| match block {
        Block::ToolUse { id, name, .. } => id.0 == "c1" && name == "Read",
        _ => false,
    };
    assert!(blocks.iter().any(is_asked), "{blocks:?}");
}

fn said(items: &str) -> Answer {
    Answer::message(tine_wire::read_message(WireFormat::OpenAiResponses, items).unwrap())
}

fn patched(id: &str, patch: &str) -> String {
    let patch = serde_json::Value::from(patch).to_string();
    format!(
        r#"{{"type":"custom_tool_call","call_id":"{id}","name":"apply_patch","input":{patch}}}"#
    )
}

#[tokio::test]
async fn the_calls_of_a_fork_of_codexs_are_answered_with_its_own_kinds() {
    let first = patched(
        "p1",
        "*** Begin Patch\n*** Update File: notes.txt\n@@\n one\n-two\n+2\n*** Add File: sub/new.txt\n+new\n*** End Patch",
    );
    let run = r#"{"type":"function_call","call_id":"e1","name":"exec_command","arguments":"{\"cmd\":\"cat notes.txt; cat gone\",\"yield_time_ms\":1000}"}"#;
    let wrong = patched(
        "p2",
        "*** Begin Patch\n*** Update File: notes.txt\n@@\n-three\n+3\n*** Add File: more.txt\n+x\n*** End Patch",
    );
    let denied = patched(
        "p3",
        "*** Begin Patch\n*** Update File: sub/new.txt\n-new\n+old\n*** Add File: kept.txt\n+x\n*** End Patch",
    );
    let items = format!("[{first},{run},{wrong},{denied}]");
    let host = ("codex", "openai/m");
    let (house, child) = fork(host, [said(&items), Answer::text("Done.")]).await;
    let options = options(&["FileWrite(kept.txt)"]);
    house.runtime.run(child, Some("Go.".into()), &options).await.unwrap();
    insta::assert_snapshot!(results(&house).join("\n---\n"), @"
    custom_tool_call_output: Success. Updated the following files:
    M notes.txt
    A sub/new.txt
    ---
    function_call_output: Process exited with code 1
    Output:
    one
    2
    cat: gone: No such file or directory
    [confined: writes only below $TMPDIR, reads only of programs and the directory, without secrets, no network]
    ---
    custom_tool_call_output: No file was changed.
    Not done:
    notes.txt: hunk 1 does not match: `three` stands nowhere in the file
    ---
    custom_tool_call_output: Updated the following files:
    M sub/new.txt
    Not done:
    kept.txt: Denied: the rule `FileWrite(kept.txt)` denies it. Go on without this call, or do it another way.
    ");
    let file = |name: &str| std::fs::read_to_string(house.home.path().join(name)).ok();
    assert_eq!(file("notes.txt").as_deref(), Some("one\n2\n"));
    assert_eq!(file("sub/new.txt").as_deref(), Some("old\n"));
    assert_eq!((file("more.txt"), file("kept.txt")), (None, None));
}

#[tokio::test]
async fn a_file_that_a_patch_takes_away_goes_by_a_command_that_is_judged() {
    let gone = |id: &str, path: &str| {
        patched(id, &format!("*** Begin Patch\n*** Delete File: {path}\n*** End Patch"))
    };
    let moved = patched(
        "p2",
        "*** Begin Patch\n*** Update File: notes.txt\n*** Move to: sub/it's.txt\n@@\n-two\n+2\n*** End Patch",
    );
    let answers = [
        said(&gone("p1", "notes.txt")),
        Answer::text("Denied."),
        said(&moved),
        Answer::text("Moved."),
        said(&gone("p3", "sub/it's.txt")),
        Answer::text("Done."),
    ];
    let (house, child) = fork(("codex", "openai/m"), answers).await;
    let run = async |options: &RunOptions| {
        house.runtime.run(child, Some("Go.".into()), options).await.unwrap();
        results(&house).pop().unwrap()
    };
    let file = |name: &str| std::fs::read_to_string(house.home.path().join(name)).ok();
    insta::assert_snapshot!(run(&options(&[])).await, @"
    custom_tool_call_output: No file was changed.
    Not done:
    notes.txt: Denied: no rule allows this command, and it may do more than read: `rm` at column 1: not on the list of commands that only read, and nobody can be asked here. Go on without this call, or do it another way.
    ");
    assert!(file("notes.txt").is_some());
    let mut allowed = options(&[]);
    let rules = Rules { allow: vec!["Bash(rm *)".parse().unwrap()], ..Rules::default() };
    allowed.permissions.rules = std::sync::Arc::new(rules);
    insta::assert_snapshot!(run(&allowed).await, @"
    custom_tool_call_output: Success. Updated the following files:
    M sub/it's.txt
    ");
    assert_eq!((file("notes.txt"), file("sub/it's.txt").as_deref()), (None, Some("one\n2\n")));
    insta::assert_snapshot!(run(&allowed).await, @"
    custom_tool_call_output: Success. Updated the following files:
    D sub/it's.txt
    ");
    assert_eq!(file("sub/it's.txt"), None);
}

#[tokio::test]
async fn a_fork_of_a_program_whose_tools_are_not_known_has_tines_own() {
    let call = Answer::calls([("c1", "Read", r#"{"file_path":"notes.txt"}"#)]);
    let (house, child) = fork(("another", "anthropic/m"), [call, Answer::text("Done.")]).await;
    assert_eq!(house.runtime.host_dialect(child).await.unwrap(), None);
    house.runtime.run(child, Some("Go.".into()), &options(&[])).await.unwrap();
    assert!(results(&house)[0].contains("two"));
}
