//! Hidden runs: forks that nobody typed.

mod away;

use std::path::Path;
use std::sync::Arc;

use serde_json::json;
use tine_fork::tool_filter::AutoMemFilter;
use tine_model::{AgentId, AgentState, Message, Outcome, Reach, Standing, Writes};
use tine_runtime::{HiddenSpec, Inherit, ModelWords, ReachWish, RunOptions, RuntimeError};
use tine_store::AgentFilter;
use tine_testkit::{Answer, ScriptedModel};

use super::fixture::{House, options};

/// A house whose agent has said something in `work`, beside a directory of notes.
async fn house(answers: impl FnOnce(&Path) -> Vec<Answer>) -> (House, tempfile::TempDir, AgentId) {
    let world = tempfile::tempdir().unwrap();
    for name in ["work", "notes"] {
        std::fs::create_dir(world.path().join(name)).unwrap();
    }
    let answers = [Answer::text("hello")].into_iter().chain(answers(world.path()));
    let house = House::new(ScriptedModel::new(answers)).await;
    let root = house.root_in(world.path().join("work")).await;
    house.runtime.run(root, Some("good morning".into()), &options()).await.unwrap();
    (house, world, root)
}

fn write(id: &'static str, path: &Path) -> (&'static str, &'static str, String) {
    (id, "FileWrite", json!({ "file_path": path, "content": "noted" }).to_string())
}

fn calls<const N: usize>(calls: [(&'static str, &'static str, String); N]) -> Answer {
    let calls: Vec<_> =
        calls.iter().map(|(id, tool, input)| (*id, *tool, input.as_str())).collect();
    Answer::calls(calls)
}

/// Notes are kept in `notes`, and nothing else is written.
fn tidying(world: &Path, parent: AgentId) -> (HiddenSpec, RunOptions) {
    let notes = world.join("notes");
    let filter = Arc::new(AutoMemFilter::new(&notes).unwrap());
    let reach = ReachWish::Person(Reach::notes(notes));
    let mut spec = HiddenSpec::of(parent);
    spec.fork.reach = reach;
    (spec, RunOptions { filter, ..options() })
}

#[cfg(target_os = "linux")] // for the wall
#[tokio::test]
async fn a_hidden_run_writes_notes_and_its_parent_does_not_know_of_it() {
    let (house, world, root) = house(|world| {
        let bash = json!({ "command": "echo x > ../work/made" }).to_string();
        vec![
            calls([
                write("c1", &world.join("notes/MEMORY.md")),
                write("c2", &world.join("work/made")),
                ("c3", "Bash", bash),
                ("c4", "Agent", json!({ "prompt": "x", "description": "x" }).to_string()),
            ]),
            Answer::text("noted"),
        ]
    })
    .await;
    let store = house.runtime.store();
    let before = (store.agent(root).await.unwrap(), store.own_entries(root, None).await.unwrap());
    let (spec, options) = tidying(world.path(), root);
    let hidden = house.runtime.hidden(spec).await.unwrap();
    assert!(hidden.is_native());
    assert!(store.agents(AgentFilter::Listed).await.unwrap().iter().all(|one| one.id == root));
    let ran = house.runtime.run_hidden(hidden, Message::user("tidy up"), &options).await.unwrap();
    assert_eq!(ran.report.outcome, Outcome::Completed);
    assert_eq!(std::fs::read(world.path().join("notes/MEMORY.md")).unwrap(), b"noted");
    assert!(!world.path().join("work/made").exists());
    let after = (store.agent(root).await.unwrap(), store.own_entries(root, None).await.unwrap());
    assert_eq!(before, after);
    assert_eq!(store.unread_mail(root).await.unwrap(), []);
    // It is an agent like all others: a row, a log, and requests that its tree pays.
    let row = store.agent(ran.agent).await.unwrap();
    assert_eq!((row.standing, row.state), (Standing::Hidden, AgentState::Idle));
    assert_eq!((row.parent, row.fork_point.is_some()), (Some(root), true));
    assert!(matches!(row.reach.writes, Writes::Notes(_)));
    assert_eq!(store.recent_requests(row.id, i64::MAX, 9).await.unwrap().len(), 2);
    // All that was said before it stands before its own words, as the parent's next request would have it.
    let requests = house.model.requests();
    let [parent, first, _] = requests.as_slice() else { panic!("three requests") };
    assert!(first.text().contains("good morning") && first.text().contains("tidy up"));
    let head = |body: &str| body.split_once("\"messages\"").unwrap().0.to_owned();
    assert_eq!(head(&parent.text()), head(&first.text()));
}

#[tokio::test]
async fn a_hidden_run_may_begin_with_nothing_and_work_elsewhere() {
    let (house, world, root) = house(|_| vec![Answer::text("done")]).await;
    let directory = Some(world.path().join("notes"));
    let mut spec = HiddenSpec::of(root);
    (spec.fork.inherit, spec.fork.directory) = (Inherit::Fresh, directory);
    let hidden = house.runtime.hidden(spec).await.unwrap();
    assert_eq!(Path::new(&hidden.record.directory), world.path().join("notes"));
    assert_eq!((hidden.is_native(), &hidden.record.reach), (false, &Reach::read_only()));
    house.runtime.run_hidden(hidden, Message::user("tidy up"), &options()).await.unwrap();
    let told = house.model.requests().pop().unwrap().text();
    assert!(told.contains("tidy up") && !told.contains("good morning"), "{told}");
}

#[tokio::test]
async fn a_hidden_run_keeps_the_cache_or_says_what_it_costs() {
    let (house, _world, root) = house(|_| Vec::new()).await;
    let model = Some(ModelWords::parse("anthropic/other").unwrap());
    let mut spec = HiddenSpec::of(root);
    spec.fork.model = model;
    let refused = house.runtime.hidden(spec).await;
    assert!(matches!(refused, Err(RuntimeError::CacheLoss { .. })), "{refused:?}");
    assert_eq!(house.runtime.store().agents(AgentFilter::All).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_hidden_run_is_stopped_and_recovered_as_all_others() {
    let (house, _world, root) = house(|_| vec![Answer::hang()]).await;
    let hidden = house.runtime.hidden(HiddenSpec::of(root)).await.unwrap();
    let (agent, options) = (hidden.agent(), options());
    let run = house.runtime.run_hidden(hidden, Message::user("tidy up"), &options);
    let stop = async {
        while house.model.requests().len() < 2 {
            tokio::task::yield_now().await;
        }
        options.cancel.cancel();
    };
    let (ran, ()) = tokio::join!(run, stop);
    assert_eq!(ran.unwrap().report.outcome, Outcome::Aborted);
    assert_eq!(house.runtime.store().agent(agent).await.unwrap().state, AgentState::Interrupted);
    // Made, and its process dies before it runs: nobody holds it, and it can be gone on with.
    let made = house.runtime.hidden(HiddenSpec::of(root)).await.unwrap();
    let house = house.reopened().await;
    house.runtime.recover().await.unwrap();
    let row = house.runtime.store().agent(made.agent()).await.unwrap();
    assert_eq!((row.standing, row.state), (Standing::Hidden, AgentState::Idle));
}
