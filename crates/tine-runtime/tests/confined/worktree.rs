//! A confined run in a worktree that tine keeps among its own files: it works and commits there, and its origin stays as it is.

use std::path::{Path, PathBuf};

use tine_model::{Outcome, RawJson, Reach};
use tine_runtime::{Confinement, RunOptions};
use tine_testkit::{Answer, ScriptedModel};
use tine_tools::{Bash, Place, Tool};
use tokio_util::sync::CancellationToken;

use super::{House, bash, bypass};

/// Runs a command as the user would.
async fn shell(directory: &Path, command: &str) {
    let input = serde_json::json!({ "command": command }).to_string();
    let place = Place::new(directory).unwrap();
    let output =
        Bash.run(&place, &RawJson::parse(&input).unwrap(), &CancellationToken::new()).await;
    assert!(!output.is_error, "{}", output.text);
}

/// A repository `main`, and a worktree of it in `kept/worktrees/one`.
async fn repository(world: &Path) -> (PathBuf, PathBuf) {
    let (main, work) = (world.join("main"), world.join("kept/worktrees/one"));
    std::fs::create_dir(&main).unwrap();
    let command = format!(
        "set -e; git init -q -b main .; git config user.email a@b; git config user.name a; echo 1 > a; git add a; \
         git commit -qm first; git worktree add -q --detach {}",
        work.display()
    );
    shell(&main, &command).await;
    (main, work)
}

fn worktree_options(kept: &Path, origin: &Path) -> RunOptions {
    let options = bypass(Reach::directory(), kept);
    let origin = Some(origin.to_owned());
    RunOptions { confinement: Confinement { origin, ..options.confinement.clone() }, ..options }
}

#[tokio::test]
async fn a_run_in_a_worktree_among_tines_files_writes_and_commits_there_alone() {
    let world = tempfile::tempdir().unwrap();
    let (main, work) = repository(world.path()).await;
    let write = r#"{"file_path":"b","content":"new\n"}"#;
    let kept = serde_json::json!({ "file_path": world.path().join("kept/tine.db") }).to_string();
    let origin = serde_json::json!({ "file_path": main.join("a") }).to_string();
    std::fs::write(world.path().join("kept/tine.db"), "the kept word").unwrap();
    let house = House::new(ScriptedModel::new([
        Answer::calls([
            ("c1", "FileWrite", write),
            ("c2", "FileRead", kept.as_str()),
            ("c3", "FileRead", origin.as_str()),
        ]),
        bash("git add b && git commit -qm second && git cherry-pick HEAD && git log --format=%s; git stash list; git branch evil"),
        Answer::text("done"),
    ]))
    .await;
    let root = house.root_in(work.clone()).await;
    let options = worktree_options(&world.path().join("kept"), &main);
    let outcome = house.runtime.run(root, Some("go".into()), &options).await.unwrap();
    assert_eq!(outcome.report.outcome, Outcome::Completed);
    let told = house.model.requests().pop().unwrap().text();
    assert!(told.contains("created `b`") && !told.contains("the kept word"), "{told}");
    assert!(told.contains("refs/heads/evil.lock': Permission denied"), "{told}");
    assert!(!main.join(".git/refs/heads/evil").exists());
    shell(&main, "git -C ../kept/worktrees/one log -1 --format=%s | grep -q second").await;
    let same =
        r#"test "$(git for-each-ref --format='%(refname) %(subject)')" = 'refs/heads/main first'"#;
    shell(&main, same).await;
    shell(&main, r#"test -z "$(git status --porcelain)""#).await;
}
