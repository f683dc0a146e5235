//! Confined runs: every call is allowed, and still nothing outside is written.

mod worktree;

use std::path::{Path, PathBuf};

use tine_cache::Asked;
use tine_guard::{PermissionMode, Rules};
use tine_model::{AgentId, Outcome, Reach, Writes};
use tine_runtime::{Confinement, EventKind, FanSpec, Permissions, RunOptions};
use tine_testkit::{Answer, ScriptedModel};

use super::fixture::{House, options};

/// Everything is allowed.
fn bypass(reach: Reach, own: &Path) -> RunOptions {
    RunOptions {
        permissions: Permissions::new(PermissionMode::Bypass, Rules::default()),
        confinement: Confinement {
            reach: reach.into(),
            own: vec![own.to_owned()],
            ..Confinement::default()
        },
        ..options()
    }
}

fn bash(command: &str) -> Answer {
    let input = serde_json::json!({ "command": command }).to_string();
    Answer::calls([("c1", "Bash", input.as_str())])
}

/// A house whose agent works in `work` and has neighbours. The answers are made for the place.
async fn house(answers: impl FnOnce(&Path) -> Vec<Answer>) -> (House, tempfile::TempDir, AgentId) {
    let world = tempfile::tempdir().unwrap();
    for name in ["work", "outside", "memory"] {
        std::fs::create_dir(world.path().join(name)).unwrap();
    }
    let house = House::new(ScriptedModel::new(answers(world.path()))).await;
    let root = house.root_in(world.path().join("work")).await;
    (house, world, root)
}

/// The paths of all that lies below a directory.
fn paths(directory: &Path) -> Vec<String> {
    let (mut paths, mut left) = (Vec::new(), vec![directory.to_owned()]);
    while let Some(folder) = left.pop() {
        for entry in folder.read_dir().unwrap() {
            let path = entry.unwrap().path();
            paths.push(path.strip_prefix(directory).unwrap().display().to_string());
            left.extend(path.is_dir().then_some(path));
        }
    }
    paths.sort();
    paths
}

#[tokio::test]
async fn a_hostile_command_that_was_allowed_changes_nothing_outside() {
    let attack =
        "echo evil > ../outside/file; echo evil > ../file; rm -rf ../outside; echo mine > own";
    for (reach, writes) in [(Reach::directory(), true), (Reach::read_only(), false)] {
        let (house, world, root) = house(|_| vec![bash(attack), Answer::text("done")]).await;
        let options = bypass(reach, house.home.path());
        let outcome = house.runtime.run(root, Some("go".into()), &options).await.unwrap();
        assert_eq!(outcome.report.outcome, Outcome::Completed);
        let expected =
            ["memory", "outside", "work"].into_iter().chain(writes.then_some("work/own"));
        assert_eq!(paths(world.path()), expected.collect::<Vec<_>>());
        // The model is told where the wall stands.
        let told = house.model.requests().pop().unwrap().text();
        assert!(told.contains("Permission denied"), "{told}");
        assert_eq!(told.contains("[confined: writes only"), !writes, "the last step failed");
    }
}

#[tokio::test]
async fn the_file_tools_keep_to_the_same_walls() {
    let calls = |world: &Path| {
        let write = |path: &str| {
            serde_json::json!({ "file_path": world.join(path), "content": "x" }).to_string()
        };
        let secret = serde_json::json!({ "file_path": world.join("work/.env") }).to_string();
        let (own, outside, note) = (write("work/own"), write("outside/file"), write("memory/note"));
        vec![
            Answer::calls([
                ("c1", "FileWrite", own.as_str()),
                ("c2", "FileWrite", outside.as_str()),
                ("c3", "FileWrite", note.as_str()),
                ("c4", "FileRead", secret.as_str()),
            ]),
            Answer::text("done"),
        ]
    };
    for (reach, expected) in [
        (Reach::directory(), (true, false, false, false)),
        (Reach::read_only(), (false, false, false, false)),
        (Reach::notes(PathBuf::from("memory")), (false, false, true, false)),
    ] {
        let (house, world, root) = house(calls).await;
        std::fs::write(world.path().join("work/.env"), "KEY=hidden-value").unwrap();
        let reach = match reach.writes {
            Writes::Notes(notes) => Reach::notes(world.path().join(notes)),
            Writes::Anywhere | Writes::Directory | Writes::Nowhere => reach,
        };
        let options = bypass(reach.clone(), house.home.path());
        house.runtime.run(root, Some("go".into()), &options).await.unwrap();
        let exists = |path: &str| world.path().join(path).exists();
        let told = house.model.requests().pop().unwrap().text();
        let found = (
            exists("work/own"),
            exists("outside/file"),
            exists("memory/note"),
            told.contains("hidden-value"),
        );
        assert_eq!(found, expected, "{reach:?}");
    }
}

#[tokio::test]
async fn what_tine_keeps_is_read_by_no_tool_of_a_confined_run_and_notes_among_it_are() {
    let calls = |world: &Path| {
        let read = |path: &str| serde_json::json!({ "file_path": world.join(path) }).to_string();
        let search = |path: &str| {
            let path = world.join(path);
            serde_json::json!({ "pattern": "word", "path": path, "output_mode": "content" })
                .to_string()
        };
        let (one, two) = (read("kept/tine.db"), search("kept"));
        let (three, four) = (search("kept/tine.db"), read("kept/memory/note"));
        vec![
            Answer::calls([
                ("c1", "FileRead", one.as_str()),
                ("c2", "Grep", two.as_str()),
                ("c3", "Grep", three.as_str()),
                ("c4", "FileRead", four.as_str()),
            ]),
            Answer::text("done"),
        ]
    };
    for reach in ["directory", "read-only", "memory"] {
        let (house, world, root) = house(calls).await;
        let kept = world.path().join("kept");
        std::fs::create_dir_all(kept.join("memory")).unwrap();
        std::fs::write(kept.join("tine.db"), "the kept word\n").unwrap();
        std::fs::write(kept.join("memory/note"), "the noted word\n").unwrap();
        let reach = match reach {
            "directory" => Reach::directory(),
            "read-only" => Reach::read_only(),
            _ => Reach::notes(kept.join("memory")),
        };
        let options = bypass(reach.clone(), &kept);
        house.runtime.run(root, Some("go".into()), &options).await.unwrap();
        let told = house.model.requests().pop().unwrap().text();
        assert!(!told.contains("the kept word"), "{reach:?}: {told}");
        let is_memory = matches!(reach.writes, Writes::Notes(_));
        assert_eq!(told.contains("the noted word"), is_memory, "{reach:?}: {told}");
    }
}

#[tokio::test]
async fn a_note_taker_writes_its_notes() {
    let command =
        |world: &Path| format!("echo fact > {}/memory/fact; echo evil > own", world.display());
    let (house, world, root) =
        house(|world| vec![bash(&command(world)), Answer::text("done")]).await;
    let options = bypass(Reach::notes(world.path().join("memory")), house.home.path());
    house.runtime.run(root, Some("go".into()), &options).await.unwrap();
    assert_eq!(std::fs::read_to_string(world.path().join("memory/fact")).unwrap(), "fact\n");
    assert!(!world.path().join("work/own").exists());
}

#[tokio::test]
async fn workers_of_a_fan_are_confined_each() {
    let attack = "echo evil > ../outside/file; echo mine >> own";
    let (house, world, root) =
        house(|_| vec![bash(attack), bash(attack), Answer::text("done"), Answer::text("done")])
            .await;
    let options = bypass(Reach::directory(), house.home.path());
    let directives = vec!["one".to_owned(), "two".to_owned()];
    let spec = FanSpec { fork: tine_runtime::ForkSpec::of(root), directives, plan: Asked::Auto };
    let (fan, events) = crate::seen(&house.runtime, house.runtime.fan(spec, &options)).await;
    assert_eq!(fan.unwrap().tasks.len(), 2);
    let ended = events.iter().filter(|event| matches!(event.kind, EventKind::TaskEnded(_)));
    assert_eq!(ended.count(), 2);
    assert_eq!(paths(world.path()), ["memory", "outside", "work", "work/own"]);
}
