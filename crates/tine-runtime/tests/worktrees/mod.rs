//! Workers and forks in worktrees of their own: real git, a real database.

mod edits;
mod kept;
mod ready;
mod travel;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;
use tine_cache::Asked;
use tine_guard::PermissionMode;
use tine_model::{AgentId, TaskStatus};
use tine_runtime::{
    CollectSpec, Confinement, FanSpec, Fate, ForkSpec, KillSpec, MayLose, Placement, RunOptions,
    Start, WorktreePolicy, WorktreePorts, WorktreeState,
};
use tine_testkit::{Answer, ScriptedModel};

use crate::crew::{agent_call, call, calls, model, report, say_with, tasks, texts};
use crate::fixture::{House, options};

#[expect(clippy::disallowed_methods, reason = "git makes what worktrees are made from")]
pub(crate) fn git(directory: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .args(["-c", "user.name=Somebody", "-c", "user.email=somebody@example.com"])
        .args(arguments)
        .current_dir(directory)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Options of runs that may do everything.
fn allowed() -> RunOptions {
    let mut options = options();
    options.permissions.mode = PermissionMode::Bypass.into();
    options.crew.nudges = false;
    options
}

async fn say(house: &House, agent: AgentId, prompt: &str) {
    say_with(house, agent, prompt, &allowed()).await;
}

/// A house whose directory is a repository with one commit and one uncommitted change.
async fn repository(model: ScriptedModel) -> (House, PathBuf) {
    repository_in(House::new(model).await)
}

/// Such a house on a disk, for commands behind a wall without namespaces.
async fn repository_on_disk(model: ScriptedModel) -> (House, PathBuf) {
    let home = tempfile::tempdir().unwrap();
    repository_in(House::at(home, model, tine_cache::Models::bundled()).await)
}

fn repository_in(house: House) -> (House, PathBuf) {
    let directory = house.home.path().canonicalize().unwrap().join("repository");
    std::fs::create_dir(&directory).unwrap();
    git(&directory, &["init", "--quiet", "--initial-branch=main"]);
    std::fs::write(directory.join("a.txt"), "one\n").unwrap();
    git(&directory, &["add", "--all"]);
    git(&directory, &["commit", "--quiet", "-m", "first"]);
    std::fs::write(directory.join("a.txt"), "one\ntwo\n").unwrap();
    (house, directory)
}

fn policy(house: &House) -> WorktreePolicy {
    WorktreePolicy {
        persons_network: tine_model::NetworkReach::none(),
        root: house.home.path().canonicalize().unwrap().join("worktrees"),
        setup: None,
        setup_time_max: std::time::Duration::from_secs(60),
        confinement: Confinement::default(),
        ports: None,
        environment: Vec::new(),
    }
}

fn with_worktrees(house: House) -> House {
    let policy = policy(&house);
    with_policy(house, policy)
}

fn with_policy(mut house: House, policy: WorktreePolicy) -> House {
    house.runtime = house.runtime.clone().with_worktrees(policy);
    house
}

fn own() -> Placement {
    Placement::Worktree(Start::State)
}

/// The directory of an agent's worktree.
async fn path_of(house: &House, agent: AgentId) -> PathBuf {
    house.runtime.store().worktree(agent).await.unwrap().unwrap().path.into()
}

#[tokio::test]
async fn a_fork_begins_with_the_state_of_its_parent_and_is_told_where_it_is() {
    let (house, directory) = repository(ScriptedModel::new([
        Answer::text("common"),
        call("FileRead", json!({"file_path": "a.txt"})),
        Answer::text("Read."),
        Answer::text("Again."),
    ]))
    .await;
    let house = with_worktrees(house);
    let root = house.root_in(directory.clone()).await;
    say(&house, root, "Hello.").await;
    let spec = ForkSpec { place: own(), ..ForkSpec::of(root) };
    let made = house.runtime.fork(spec).await.unwrap();
    let path = made.worktree.unwrap().path;
    assert_eq!(git(&path, &["status", "--porcelain"]), " M a.txt\n");
    let house = with_worktrees(house.reopened().await);
    say(&house, made.child, "Read it.").await;
    say(&house, made.child, "And again.").await;
    let said = texts(&house, made.child).await;
    let shown = said.join("\n--\n").replace(path.to_str().unwrap(), "[WORKTREE]");
    let shown = shown.replace(directory.to_str().unwrap(), "[DIRECTORY]");
    insta::assert_snapshot!(shown, @"
    <environment>
    Working directory: [DIRECTORY]
    </environment>
    Hello.
    --
    common
    --
    <worktree>
    From here on you work in [WORKTREE], in a git worktree of your own.
    The conversation above was held in [DIRECTORY]. A path below [DIRECTORY] that it names stands for the same path below [WORKTREE] now, whose content may differ: read a file again before you change it.
    Write below [WORKTREE] only; [DIRECTORY] belongs to whoever works there. HEAD is detached: commit your work here, and make no branch. Stashes, branches, tags, remotes and settings of the repository are shared with others, and are refused.
    </worktree>
    Read it.
    --

    --
         1	one
         2	two
    --
    Read.
    --
    And again.
    --
    Again.
    ");
    let bodies = house.model.requests();
    let common = |text: String| text.split("Hello.").next().unwrap().to_owned();
    assert_eq!(
        common(bodies[0].text()),
        common(bodies[1].text()),
        "nothing of it is in the prefix"
    );
}

#[tokio::test]
async fn workers_of_one_turn_each_have_a_place_and_what_they_did_is_named() {
    let root = [
        calls(&[
            agent_call(
                "1",
                json!({"prompt": "write", "subagent_type": "fork", "isolation": "worktree"}),
            ),
            agent_call(
                "2",
                json!({"prompt": "look", "subagent_type": "fork", "isolation": "worktree"}),
            ),
        ]),
        Answer::text("Waiting."),
        Answer::text("Done."),
    ];
    let (house, directory) = repository(model(root, |request, task| {
        let answered = request.text().matches("tool_result").count() > 2;
        match (task, answered) {
            ("write", false) => {
                call("FileWrite", json!({"file_path": "new.txt", "content": "new\n"}))
            }
            ("look", false) => call("FileRead", json!({"file_path": "a.txt"})),
            (task, _) => report(task),
        }
    }))
    .await;
    let house = with_worktrees(house);
    let agent = house.root_in(directory.clone()).await;
    say(&house, agent, "go").await;
    let tasks = tasks(&house, agent).await;
    assert_eq!(
        tasks.iter().map(|task| task.status).collect::<Vec<_>>(),
        [TaskStatus::Completed; 2]
    );
    assert!(!directory.join("new.txt").exists(), "the parent's files are its own");
    assert_eq!(git(&directory, &["status", "--porcelain"]), " M a.txt\n");
    let [wrote, looked] = ["write", "look"]
        .map(|directive| tasks.iter().find(|task| task.directive == directive).unwrap());
    // One says that it changed nothing, and wrote a file; of the other that is true.
    assert_eq!((wrote.flags.join(","), looked.flags.len()), ("claims".to_owned(), 0));
    let worktree = wrote.worktree.clone().unwrap();
    assert_eq!((worktree.files, worktree.commits), (1, 0));
    assert!(Path::new(&worktree.path).join("new.txt").exists());
    assert_eq!(looked.worktree, None, "an unchanged one vanishes");
    assert!(!path_of(&house, looked.agent).await.exists());
    let said = texts(&house, agent).await.join("\n");
    let named = format!("<worktree>{}: 1 file changed</worktree>", worktree.path);
    assert!(said.contains(&named), "{said}");
    assert_eq!(said.matches("<worktree>").count(), 1, "{said}");
}

#[tokio::test]
async fn what_leaves_the_worktree_is_refused_and_told() {
    let (house, directory) = repository(ScriptedModel::answering(|request| {
        let results = request.text().matches("\"tool_result\"").count();
        let text = request.text();
        let path = text.split("A path below ").nth(1).map(|rest| rest.split(' ').next().unwrap());
        match (results, path) {
            (0, Some(origin)) => {
                call("FileWrite", json!({"file_path": format!("{origin}/b.txt"), "content": "x"}))
            }
            (1, _) => call("Bash", json!({"command": "git stash"})),
            _ => Answer::text("Refused."),
        }
    }))
    .await;
    let house = with_worktrees(house);
    let root = house.root_in(directory.clone()).await;
    say(&house, root, "Hello.").await;
    let spec = ForkSpec { place: own(), ..ForkSpec::of(root) };
    let child = house.runtime.fork(spec).await.unwrap().child;
    say(&house, child, "Try.").await;
    let said = texts(&house, child).await.join("\n");
    assert!(!directory.join("b.txt").exists());
    assert!(
        said.contains("git stash") && said.contains("all worktrees of the repository share"),
        "{said}"
    );
}

#[tokio::test]
async fn a_removed_worktree_is_made_again_for_the_next_run() {
    let (house, directory) = repository(ScriptedModel::new([
        call("FileWrite", json!({"file_path": "new.txt", "content": "new\n"})),
        Answer::text("Written."),
        call("FileRead", json!({"file_path": "new.txt"})),
        Answer::text("Read."),
    ]))
    .await;
    let house = with_worktrees(house);
    let root = house.root_in(directory.clone()).await;
    let spec = ForkSpec { place: own(), ..ForkSpec::of(root) };
    let child = house.runtime.fork(spec).await.unwrap().child;
    say(&house, child, "Write.").await;
    let path = path_of(&house, child).await;
    let dropped = house.runtime.drop_worktree(child).await.unwrap();
    assert_eq!((dropped.fate, path.exists()), (Fate::Removed, false));
    let error = house.runtime.drop_worktree(child).await.unwrap_err();
    assert!(error.to_string().ends_with("is removed already"), "{error}");
    let views = house.runtime.worktrees(&directory).await.unwrap();
    assert_eq!(views[0].state, WorktreeState::Removed);
    say(&house, child, "Read.").await;
    assert!(texts(&house, child).await.join("\n").contains("new"));
    assert!(path.join("new.txt").exists());
    // What is young stays, what nobody has touched for long goes, and comes back.
    let spec = |age_max| CollectSpec { directory: directory.clone(), age_max, dry_run: false };
    let hour = std::time::Duration::from_secs(3600);
    assert_eq!(house.runtime.collect_worktrees(&spec(hour)).await.unwrap(), []);
    let none = std::time::Duration::ZERO;
    let dry = CollectSpec { dry_run: true, ..spec(none) };
    let would: Vec<_> = house.runtime.collect_worktrees(&dry).await.unwrap();
    assert_eq!((would.len(), would[0].fate.clone(), path.exists()), (1, Fate::Removed, true));
    let gone = house.runtime.collect_worktrees(&spec(none)).await.unwrap();
    assert_eq!((gone, path.exists()), (would, false));
    assert_eq!(house.runtime.recover_worktree(child, MayLose::Nothing).await.unwrap().path, path);
    assert!(path.join("new.txt").exists());
}

#[tokio::test]
async fn a_worktree_whose_removal_was_cut_short_is_made_again_before_anybody_works_in_it() {
    let (house, directory) = repository(ScriptedModel::new([
        call("FileWrite", json!({"file_path": "new.txt", "content": "new\n"})),
        Answer::text("Written."),
        call("FileRead", json!({"file_path": "new.txt"})),
        Answer::text("Read."),
    ]))
    .await;
    let house = with_worktrees(house);
    let root = house.root_in(directory.clone()).await;
    let spec = ForkSpec { place: own(), ..ForkSpec::of(root) };
    let child = house.runtime.fork(spec).await.unwrap().child;
    say(&house, child, "Write.").await;
    let path = path_of(&house, child).await;
    house.runtime.drop_worktree(child).await.unwrap();
    house.runtime.recover_worktree(child, MayLose::Nothing).await.unwrap();
    // As it is when a removal ends after its first file.
    let own_part = git(&path, &["rev-parse", "--absolute-git-dir"]);
    let own_part = Path::new(own_part.trim());
    std::fs::rename(own_part.join("tine.json"), own_part.join("tine-leaving.json")).unwrap();
    std::fs::remove_file(path.join("new.txt")).unwrap();
    say(&house, child, "Read.").await;
    assert!(path.join("new.txt").exists());
    let views = house.runtime.worktrees(&directory).await.unwrap();
    assert_eq!(views.iter().map(|view| view.state).collect::<Vec<_>>(), [WorktreeState::Ready]);
}

#[tokio::test]
async fn a_collection_names_a_worktree_whose_note_is_lost_and_takes_it_when_its_files_are_gone() {
    let (house, directory) = repository(ScriptedModel::new([])).await;
    let house = with_worktrees(house);
    let root = house.root_in(directory.clone()).await;
    let spec = ForkSpec { place: own(), ..ForkSpec::of(root) };
    let child = house.runtime.fork(spec).await.unwrap().child;
    let path = path_of(&house, child).await;
    let own_part = git(&path, &["rev-parse", "--absolute-git-dir"]);
    let own_part = PathBuf::from(own_part.trim());
    std::fs::write(own_part.join("tine.json"), "spoilt").unwrap();
    let collect = async |dry_run| {
        // Longer ago than anybody takes to make or remove one.
        house.clock.advance_ms(1_000_000_000_000_000);
        let age_max = std::time::Duration::ZERO;
        let spec = CollectSpec { directory: directory.clone(), age_max, dry_run };
        let collected = house.runtime.collect_worktrees(&spec).await.unwrap();
        collected.into_iter().map(|one| one.fate).collect::<Vec<_>>()
    };
    let fates = collect(false).await;
    assert!(
        matches!(&fates[..], [Fate::Failed(why)] if why.contains("its note is lost")),
        "{fates:?}"
    );
    assert!(path.exists());
    std::fs::remove_dir_all(&path).unwrap();
    assert_eq!(collect(true).await, [Fate::Tidied]);
    assert!(own_part.exists(), "only said");
    assert_eq!(collect(false).await, [Fate::Tidied]);
    assert!(!own_part.exists());
    assert_eq!(house.runtime.recover_worktree(child, MayLose::Nothing).await.unwrap().path, path);
}

#[tokio::test]
async fn the_dead_need_no_worktree_and_whoever_holds_a_lease_keeps_his() {
    let (house, directory) = repository(ScriptedModel::new([Answer::hang()])).await;
    let house = with_worktrees(house);
    let root = house.root_in(directory.clone()).await;
    let fork = async || {
        let spec = ForkSpec { place: own(), ..ForkSpec::of(root) };
        house.runtime.fork(spec).await.unwrap().child
    };
    let (dead, held) = (fork().await, fork().await);
    house.runtime.kill(KillSpec { agent: dead, roots: true }).await.unwrap();
    let path = path_of(&house, held).await;
    let options = allowed();
    let run = std::pin::pin!(house.runtime.run(held, Some("Go.".into()), &options));
    tokio::select! {
        ended = run => panic!("{ended:?}"),
        () = house.model.requested(1) => {}
    }
    let dropped = house.runtime.drop_worktree(held).await;
    assert!(matches!(dropped, Err(tine_runtime::RuntimeError::Store(_))), "{dropped:?}");
    assert_eq!(house.runtime.drop_worktree(dead).await.unwrap().fate, Fate::Vanished);
    assert!(path.exists());
}

#[tokio::test]
async fn work_comes_into_the_worktree_that_it_was_forked_from() {
    let (house, directory) = repository(ScriptedModel::new([])).await;
    let house = with_worktrees(house);
    let root = house.root_in(directory.clone()).await;
    let fork = async |parent| {
        let spec = ForkSpec { place: own(), ..ForkSpec::of(parent) };
        house.runtime.fork(spec).await.unwrap().child
    };
    let parent = fork(root).await;
    let child = fork(parent).await;
    let [outer, inner] = [path_of(&house, parent).await, path_of(&house, child).await];
    let spec = tine_runtime::BringSpec { agent: child, to: None, dry_run: false, as_held: false };
    let main = git(&directory, &["rev-parse", "HEAD"]);

    std::fs::write(inner.join("new.txt"), "new\n").unwrap();
    let refuse = tine_runtime::OnConflict::Refuse;
    let applied = house.runtime.apply_work(&spec, Vec::new(), refuse).await.unwrap();
    assert_eq!((applied.onto.as_path(), applied.told.as_slice()), (outer.as_path(), &[parent][..]));
    assert!(outer.join("new.txt").exists() && !directory.join("new.txt").exists());
    house.runtime.undo_work(&spec).await.unwrap();
    assert!(!outer.join("new.txt").exists());

    git(&inner, &["add", "new.txt"]);
    git(&inner, &["commit", "--quiet", "-m", "new"]);
    let fast = tine_runtime::FastForward::WherePossible;
    let refuse = tine_runtime::Uncommitted::Refuse;
    let merged = house.runtime.merge_work(&spec, fast, refuse).await.unwrap();
    assert_eq!(git(&outer, &["rev-parse", "HEAD"]).trim(), merged.came.head.as_str());
    assert_eq!(git(&directory, &["rev-parse", "HEAD"]), main);
    assert!(outer.join("new.txt").exists() && !directory.join("new.txt").exists());
}

#[tokio::test]
async fn a_check_runs_where_the_work_is() {
    let (house, directory) = repository(ScriptedModel::new([])).await;
    let house = with_worktrees(house);
    let root = house.root_in(directory.clone()).await;
    let spec = ForkSpec { place: own(), ..ForkSpec::of(root) };
    let child = house.runtime.fork(spec).await.unwrap().child;
    std::fs::write(path_of(&house, child).await.join("only-here.txt"), "x").unwrap();
    let confinement = tine_runtime::Confinement::default();
    let cancel = tokio_util::sync::CancellationToken::new();
    let run = async |agent, command: &str| {
        let time_max = std::time::Duration::from_secs(60);
        let check = tine_runtime::Check { command: command.into(), time_max };
        let checked = house.runtime.check(agent, &check, &confinement, &cancel).await.unwrap();
        (checked.passed, checked.output)
    };
    let command = "test -f only-here.txt && test \"$TINE_WORKTREE\" = \"$PWD\"";
    assert_eq!(run(child, command).await, (true, "[exit code 0]".to_owned()));
    assert_eq!(run(root, command).await, (false, "[exit code 1]".to_owned()));
    assert!(run(child, "echo no >&2; exit 7").await.1.starts_with("no\n[exit code 7"));
}

#[cfg(target_os = "linux")] // for the wall
#[tokio::test]
async fn behind_its_wall_an_agent_commits_in_its_worktree_and_reaches_nothing_else() {
    let model = ScriptedModel::new([
        call("FileWrite", json!({"file_path": "new.txt", "content": "new\n"})),
        call(
            "Bash",
            json!({"command": "git add --all && git -c user.name=x -c user.email=x commit -qm work"}),
        ),
        call("Bash", json!({"command": "s=stash; touch x; git add x; git $s; g=git; $g tag t"})),
        call("Bash", json!({"command": "echo evil > \"$TINE_ORIGIN/a.txt\""})),
        Answer::text("Done."),
    ]);
    let (house, directory) = repository_on_disk(model).await;
    let house = with_worktrees(house);
    let root = house.root_in(directory.clone()).await;
    let spec = ForkSpec { place: own(), ..ForkSpec::of(root) };
    let child = house.runtime.fork(spec).await.unwrap().child;
    let options = RunOptions { confinement: ready::directory_wall(&house), ..allowed() };
    say_with(&house, child, "Work.", &options).await;
    let path = path_of(&house, child).await;
    let said = texts(&house, child).await.join("\n");
    assert_eq!(git(&path, &["log", "--format=%s"]), "work\nfirst\n", "{said}");
    assert_eq!(
        git(&directory, &["for-each-ref", "--format=%(refname)", "refs/tags", "refs/stash"]),
        ""
    );
    assert_eq!(std::fs::read_to_string(directory.join("a.txt")).unwrap(), "one\ntwo\n");
    let dropped = house.runtime.drop_worktree(child).await.unwrap();
    assert_eq!(dropped.fate, Fate::Removed);
    assert_eq!(house.runtime.recover_worktree(child, MayLose::Nothing).await.unwrap().path, path);
    assert_eq!(git(&path, &["log", "--format=%s"]), "work\nfirst\n");
}

#[tokio::test]
async fn what_cannot_be_forked_leaves_neither_rows_nor_files() {
    let (house, directory) = repository(ScriptedModel::new([])).await;
    let house = with_worktrees(house);
    let root = house.root_in(directory.clone()).await;
    let base = Placement::Worktree(Start::At("nothing".into()));
    let spec = ForkSpec { place: base, ..ForkSpec::of(root) };
    let error = house.runtime.fork(spec).await.unwrap_err();
    assert_eq!(error.to_string(), "`nothing` names no commit here");
    // The rows are refused after the files were made.
    let named =
        |name: &str| ForkSpec { name: Some(name.into()), place: own(), ..ForkSpec::of(root) };
    house.runtime.fork(named("one")).await.unwrap();
    house.runtime.fork(named("one")).await.unwrap_err();
    let all = tine_store::AgentFilter::All;
    assert_eq!(house.runtime.store().agents(all).await.unwrap().len(), 2);
    assert_eq!(house.runtime.worktrees(&directory).await.unwrap().len(), 1);
    assert_eq!(git(&directory, &["worktree", "list"]).lines().count(), 2);
    let policy = WorktreePolicy { setup: Some("echo no; exit 1".into()), ..policy(&house) };
    let house = with_policy(house, policy);
    let error = house.runtime.fork(named("two")).await.unwrap_err();
    assert_eq!(error.to_string(), "the setup command of the worktree failed: no\n[exit code 1]");
    assert_eq!(git(&directory, &["worktree", "list"]).lines().count(), 2);
}

/// Git says nothing of what is written into the empty folder of a submodule.
#[tokio::test]
async fn a_worktree_with_files_in_the_folder_of_a_submodule_stays_and_names_it() {
    let (house, directory) = repository(model([Answer::text("common")], |request, task| {
        match request.text().contains("tool_result") {
            false => call("FileWrite", json!({"file_path": "lib/new.txt", "content": "new\n"})),
            true => report(task),
        }
    }))
    .await;
    let head = git(&directory, &["rev-parse", "HEAD"]);
    let submodule = format!("160000,{},lib", head.trim());
    git(&directory, &["update-index", "--add", "--cacheinfo", &submodule]);
    std::fs::create_dir(directory.join("lib")).unwrap();
    git(&directory, &["commit", "--quiet", "-m", "with a submodule"]);
    let house = with_worktrees(house);
    let root = house.root_in(directory.clone()).await;
    say(&house, root, "Hello.").await;
    let spec = FanSpec {
        fork: tine_runtime::ForkSpec { place: own(), ..tine_runtime::ForkSpec::of(root) },
        directives: vec!["write it".to_owned()],
        plan: Asked::Auto,
    };
    let fan = house.runtime.fan(spec, &allowed()).await.unwrap();
    let worker = fan.tasks[0].agent;
    let written = path_of(&house, worker).await.join("lib/new.txt");
    assert!(written.exists());
    let unseen = house.runtime.unseen(worker).await.unwrap();
    assert_eq!((unseen.repositories, unseen.made), (vec![PathBuf::from("lib")], Vec::new()));
    // The check sees it, too.
    let time_max = std::time::Duration::from_secs(60);
    let check = tine_runtime::Check { command: "test -f lib/new.txt".into(), time_max };
    let how = (&Confinement::default(), &Default::default());
    let candidate = house.runtime.candidate(worker, Some(&check), how).await.unwrap();
    assert!(candidate.checked.unwrap().passed);
    // Nobody removes it, and a dry run says so.
    let lost = "which a removal would lose: lib";
    let none = std::time::Duration::ZERO;
    for dry_run in [true, false] {
        let spec = CollectSpec { directory: directory.clone(), age_max: none, dry_run };
        let collected = house.runtime.collect_worktrees(&spec).await.unwrap();
        let failed = |fate: &Fate| matches!(fate, Fate::Failed(why) if why.ends_with(lost));
        assert!(failed(&collected[0].fate), "{collected:?}");
    }
    let refused = house.runtime.drop_worktree(worker).await.unwrap_err().to_string();
    assert!(refused.ends_with(lost), "{refused}");
    assert!(written.exists());
    std::fs::remove_file(&written).unwrap();
    assert_eq!(house.runtime.drop_worktree(worker).await.unwrap().fate, Fate::Vanished);
    assert_eq!(house.runtime.unseen(worker).await, None);
}

#[tokio::test]
async fn each_worker_of_a_fan_has_its_own_port_and_place() {
    let (house, directory) = repository(model([Answer::text("common")], |request, task| {
        match request.text().contains("tool_result") {
            false => call("Bash", json!({"command": "echo $TINE_PORT $CACHE > port.txt"})),
            true => report(task),
        }
    }))
    .await;
    let policy = WorktreePolicy {
        ports: Some(WorktreePorts { first: 21_700, count: 2 }),
        environment: vec![("CACHE".into(), "{origin}/target".into())],
        setup: Some("echo set up > setup.txt".into()),
        ..policy(&house)
    };
    let house = with_policy(house, policy);
    let root = house.root_in(directory.clone()).await;
    say(&house, root, "Hello.").await;
    let directives = ["a", "b", "c"].map(str::to_owned).to_vec();
    let spec = FanSpec {
        fork: tine_runtime::ForkSpec { place: own(), ..tine_runtime::ForkSpec::of(root) },
        directives,
        plan: Asked::Auto,
    };
    let fan = house.runtime.fan(spec, &allowed()).await.unwrap();
    let mut ports = Vec::new();
    for task in &fan.tasks {
        let worktree = task.worktree.clone().unwrap();
        assert_eq!(worktree.files, 1, "what made it ready is no work");
        let said = std::fs::read_to_string(Path::new(&worktree.path).join("port.txt")).unwrap();
        let (port, cache) = said.trim().split_once(' ').unwrap();
        assert_eq!(cache, directory.join("target").to_str().unwrap());
        ports.push(port.parse::<u16>().unwrap());
    }
    ports.sort_unstable();
    ports.dedup();
    assert_eq!(ports.len(), 3, "{ports:?}");
    assert_eq!(git(&directory, &["status", "--porcelain"]), " M a.txt\n");
}
