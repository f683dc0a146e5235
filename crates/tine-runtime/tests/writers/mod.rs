//! Agents that change files of one directory at the same time: each is told once, and none overwrites what it does not know.

use std::collections::HashMap;
use std::sync::Arc;

use tine_cache::Asked;
use tine_fork::neighbour::Neighbour;
use tine_fork::run::RunEvent;
use tine_guard::{PermissionMode, Rules};
use tine_model::{AgentId, Outcome, TaskStatus};
use tine_runtime::{AgentEvent, EventKind, FanSpec, Owner, Permissions, RunOptions};
use tine_store::{Acquire, NoteWriter};
use tine_testkit::{Answer, Gate, ScriptedModel};

use crate::crew::{call, task_of};
use crate::fixture::{House, options};
use crate::seen;

/// Everything is allowed.
fn free() -> RunOptions {
    let permissions = Permissions::new(PermissionMode::Bypass, Rules::default());
    RunOptions { permissions, ..options() }
}

/// Who was told of whom.
fn shared(events: &[Arc<AgentEvent>]) -> Vec<(AgentId, Vec<Neighbour>)> {
    let told = events.iter().filter_map(|event| match &event.kind {
        EventKind::Run(RunEvent::Shared(neighbours)) => Some((event.agent, neighbours.clone())),
        _ => None,
    });
    told.collect()
}

/// Runs an agent; what its face was told of others.
async fn told(house: &House, agent: AgentId) -> Vec<Vec<Neighbour>> {
    let options = free();
    let run = house.runtime.run(agent, Some("go".into()), &options);
    let (run, events) = seen(&house.runtime, run).await;
    assert_eq!(run.unwrap().report.outcome, Outcome::Completed);
    shared(&events).into_iter().map(|(_, neighbours)| neighbours).collect()
}

fn write(path: &str) -> Answer {
    call("FileWrite", serde_json::json!({ "file_path": path, "content": "x" }))
}

fn bash(command: &str) -> Answer {
    call("Bash", serde_json::json!({ "command": command }))
}

/// Another process's agent that has written in `directory`.
async fn somebody(house: &House, directory: &str, owner: &str, name: Option<&str>) -> AgentId {
    let mut new = house.new_root(directory.into());
    new.name = name.map(ToOwned::to_owned);
    let agent = house.runtime.create_root(new).await.unwrap();
    let store = house.runtime.store();
    let acquire =
        Acquire { agent, owner, is_alive: &|_| true, notice: &|_| String::new(), now_ms: 1 };
    let fence = store.acquire(acquire).await.unwrap().fence;
    let note = NoteWriter { agent, fence, directory: directory.to_owned(), now_ms: 1 };
    store.note_writer(note).await.unwrap();
    agent
}

/// Runs a root in `work` beside a living `somebody` in `beside`; what the face and the model were told.
async fn beside(beside: &str, answers: Vec<Answer>) -> (usize, usize) {
    let house = House::new(ScriptedModel::new(answers)).await;
    let real = house.home.path().canonicalize().unwrap();
    for name in ["work/below", "worker"] {
        std::fs::create_dir_all(real.join(name)).unwrap();
    }
    let owner = Owner::register(&real.join("run"), [7; 16]).unwrap();
    somebody(&house, real.join(beside).to_str().unwrap(), owner.name(), None).await;
    let root = house.root_in(real.join("work")).await;
    let told = told(&house, root).await.len();
    let text = house.model.requests().pop().unwrap().text();
    (told, text.matches("note: agent").count())
}

#[tokio::test]
async fn a_second_writer_is_told_of_the_first_once() {
    let house =
        House::new(ScriptedModel::new([write("a"), write("b"), Answer::text("done")])).await;
    let real = house.home.path().canonicalize().unwrap();
    let owner = Owner::register(&real.join("run"), [7; 16]).unwrap();
    let other = somebody(&house, real.to_str().unwrap(), owner.name(), Some("tidy")).await;
    let root = house.root().await;
    let told = told(&house, root).await;
    let neighbour = Neighbour {
        agent: other,
        name: Some("tidy".to_owned()),
        directory: real.to_str().unwrap().to_owned(),
    };
    assert_eq!(told, [[neighbour]]);
    let text = house.model.requests().pop().unwrap().text();
    let text = text.replace(real.to_str().unwrap(), "/w").replace(&other.short(), "AGENT");
    let at = text.find("created `a`").unwrap();
    let end = at + text[at..].find('"').unwrap();
    insta::assert_snapshot!(&text[at..end], @r"created `a` (1 line)\nnote: agent AGENT (tidy) also writes in /w; read a file again before you change it, or work in a worktree of your own");
    assert_eq!(text.matches("also write").count(), 1);
}

#[tokio::test]
async fn only_what_changes_files_in_a_shared_directory_is_told() {
    let done = || Answer::text("done");
    for (where_, first, expected) in [
        ("work", write("a"), 1),
        ("work/below", write("a"), 1),
        ("", write("a"), 1),
        ("worker", write("a"), 0),
        ("work", bash("touch a"), 1),
        ("work", bash("ls; false"), 0),
        ("work", bash("touch a || false; false"), 1),
        ("work", bash("awk 'BEGIN { print 1 }'"), 0),
        // Not in the directory, and not done at all.
        ("work", write("../worker/a"), 0),
        (
            "work",
            call(
                "FileEdit",
                serde_json::json!({ "file_path": "none", "old_string": "a", "new_string": "b" }),
            ),
            0,
        ),
        ("work", call("Glob", serde_json::json!({ "pattern": "*" })), 0),
    ] {
        let what = format!("{where_}: {first:?}");
        assert_eq!(beside(where_, vec![first, done()]).await, (expected, expected), "{what}");
    }
}

#[tokio::test]
async fn a_writer_whose_process_is_dead_is_not_told_of() {
    let house = House::new(ScriptedModel::new([write("a"), Answer::text("done")])).await;
    let real = house.home.path().canonicalize().unwrap();
    somebody(&house, real.to_str().unwrap(), "process 1-gone", None).await;
    let root = house.root().await;
    assert!(told(&house, root).await.is_empty());
}

#[cfg(feature = "repl")]
#[tokio::test]
async fn a_scripts_calls_are_checked_alike_and_their_results_stay_data() {
    let code = r#"let made = FileWrite(#{file_path: "a", content: "1"});
        let why = ""; try { FileWrite(#{file_path: "theirs", content: "mine"}) } catch (e) { why = e; }
        [made, why]"#;
    let script = call("REPL", serde_json::json!({ "code": code }));
    let house = House::new(ScriptedModel::new([script, Answer::text("done")])).await;
    let real = house.home.path().canonicalize().unwrap();
    std::fs::write(real.join("theirs"), "theirs").unwrap();
    let owner = Owner::register(&real.join("run"), [7; 16]).unwrap();
    let other = somebody(&house, real.to_str().unwrap(), owner.name(), None).await;
    let root = house.root().await;
    let told = told(&house, root).await;
    assert_eq!(std::fs::read_to_string(real.join("theirs")).unwrap(), "theirs");
    assert_eq!(told.len(), 1);
    let text = house.model.requests().pop().unwrap().text();
    let text = text.replace(real.to_str().unwrap(), "/w").replace(&other.short(), "AGENT");
    let at = text.find(r#"[\"created"#).unwrap();
    let end = at + text[at..].find("of your own").unwrap();
    insta::assert_snapshot!(&text[at..end], @r#"[\"created `a` (1 line)\",\"`theirs` exists and has not been read yet; read it with FileRead first\"]\nnote: agent AGENT also writes in /w; read a file again before you change it, or work in a worktree"#);
}

#[tokio::test]
async fn two_workers_of_a_fan_that_write_in_one_directory_are_told_once_each() {
    let gates = HashMap::from([("one", Gate::new()), ("two", Gate::new())]);
    let mut asked: HashMap<String, u32> = HashMap::new();
    let model = ScriptedModel::answering(move |request| {
        let task = task_of(&request.text()).unwrap();
        let count = asked.entry(task.clone()).or_default();
        *count += 1;
        match *count {
            1 => write(&task),
            // Both have written before either writes again.
            2 => {
                gates[&*task].open();
                let other = if task == "one" { "two" } else { "one" };
                write(&format!("{task}-again")).behind(&gates[other])
            }
            3 => write(&format!("{task}-last")),
            _ => crate::crew::report(&task),
        }
    });
    let house = House::new(model).await;
    let root = house.root().await;
    let directives = vec!["one".to_owned(), "two".to_owned()];
    let spec = FanSpec { fork: tine_runtime::ForkSpec::of(root), directives, plan: Asked::Auto };
    let (fan, events) = seen(&house.runtime, house.runtime.fan(spec, &free())).await;
    let ended = events.iter().filter_map(|event| match &event.kind {
        EventKind::TaskEnded(task) => Some(task.status),
        _ => None,
    });
    assert_eq!(ended.collect::<Vec<_>>(), [TaskStatus::Completed; 2]);
    let mut told: Vec<AgentId> = shared(&events).into_iter().map(|(agent, _)| agent).collect();
    let mut workers: Vec<AgentId> = fan.unwrap().tasks.iter().map(|task| task.agent).collect();
    told.sort_unstable();
    workers.sort_unstable();
    assert_eq!(told, workers);
    for task in ["one", "two"] {
        let requests = house.model.requests();
        let last = requests.iter().rfind(|one| task_of(&one.text()).unwrap() == task).unwrap();
        assert_eq!(last.text().matches("also writes in").count(), 1, "{task}");
        assert!(house.home.path().join(format!("{task}-last")).exists());
    }
}
