//! What makes a worktree ready to be worked in: the user's own command, behind the wall.

use super::*;

/// A wall around one directory, with the house's store out of reach.
pub(super) fn directory_wall(house: &House) -> Confinement {
    Confinement {
        reach: tine_model::Reach::directory().into(),
        own: vec![house.home.path().canonicalize().unwrap().join("tine.db")],
        ..Confinement::default()
    }
}

#[cfg(target_os = "linux")] // for the wall
#[tokio::test]
async fn what_an_agent_wrote_runs_behind_the_wall_when_a_worktree_is_made_ready() {
    let (house, directory) = repository_on_disk(ScriptedModel::new([])).await;
    // The user's command runs a file of the checkout, which an agent can write.
    std::fs::write(directory.join("install"), "echo mine > a.txt\n").unwrap();
    std::fs::write(directory.join(".gitignore"), "log\n").unwrap();
    let policy = WorktreePolicy {
        setup: Some("sh install && git status > log && echo $TINE_AGENT >> log".into()),
        confinement: directory_wall(&house),
        ..policy(&house)
    };
    let house = with_policy(house, policy);
    let root = house.root_in(directory.clone()).await;
    let fork = async |parent| {
        let spec = ForkSpec { place: own(), ..ForkSpec::of(parent) };
        house.runtime.fork(spec).await
    };
    let parent = fork(root).await.unwrap().child;
    let path = path_of(&house, parent).await;
    assert_eq!(std::fs::read_to_string(path.join("a.txt")).unwrap(), "mine\n");
    let log = std::fs::read_to_string(path.join("log")).unwrap();
    assert!(log.contains("modified:   a.txt") && log.contains(&parent.to_string()), "{log}");
    let evil = "echo evil > \"$TINE_ORIGIN/a.txt\"\n";
    std::fs::write(path.join("install"), evil).unwrap();
    let refused = fork(parent).await.unwrap_err().to_string();
    let expected = "the setup command of the worktree failed: ";
    assert!(refused.starts_with(expected) && refused.contains("denied"), "{refused}");
    assert_eq!(std::fs::read_to_string(path.join("a.txt")).unwrap(), "mine\n");
    assert_eq!(house.runtime.worktrees(&directory).await.unwrap().len(), 1);
    // Also where one is made again that was removed; what was kept stays kept.
    house.runtime.drop_worktree(parent).await.unwrap();
    let refused =
        house.runtime.recover_worktree(parent, MayLose::Nothing).await.unwrap_err().to_string();
    assert!(refused.starts_with(expected), "{refused}");
    assert_eq!(std::fs::read_to_string(directory.join("a.txt")).unwrap(), "one\ntwo\n");
    assert!(!path.exists());
    let house = with_worktrees(house.reopened().await);
    assert_eq!(house.runtime.recover_worktree(parent, MayLose::Nothing).await.unwrap().path, path);
    assert_eq!(std::fs::read_to_string(path.join("install")).unwrap(), evil);
}

#[cfg(target_os = "linux")] // for the wall
#[tokio::test]
async fn a_confined_agent_leads_the_setup_command_nowhere_where_workers_are_not_confined() {
    let (house, directory) = repository(ScriptedModel::new([])).await;
    std::fs::write(directory.join("install"), "true\n").unwrap();
    let policy = WorktreePolicy { setup: Some("sh install".into()), ..policy(&house) };
    assert_eq!(policy.confinement, Confinement::default());
    let house = with_policy(house, policy);
    let root = house.root_in(directory.clone()).await;
    let fork = async |parent, reach| {
        let spec = ForkSpec { place: own(), reach, ..ForkSpec::of(parent) };
        house.runtime.fork(spec).await
    };
    let confined = tine_runtime::ReachWish::Person(tine_model::Reach::directory());
    let parent = fork(root, confined).await.unwrap().child;
    let path = path_of(&house, parent).await;
    std::fs::write(path.join("install"), "echo evil > \"$TINE_ORIGIN/a.txt\"\n").unwrap();
    let refused = fork(parent, Default::default()).await.unwrap_err().to_string();
    assert!(refused.contains("the setup command of the worktree failed: "), "{refused}");
    house.runtime.drop_worktree(parent).await.unwrap();
    let refused =
        house.runtime.recover_worktree(parent, MayLose::Nothing).await.unwrap_err().to_string();
    assert!(refused.contains("the setup command of the worktree failed: "), "{refused}");
    assert_eq!(std::fs::read_to_string(directory.join("a.txt")).unwrap(), "one\ntwo\n");
}

#[tokio::test]
async fn a_worktree_whose_making_ready_was_cut_short_is_made_ready_before_anybody_works_in_it() {
    let (house, directory) = repository(ScriptedModel::new([Answer::text("Done.")])).await;
    let policy = WorktreePolicy { setup: Some("echo ready >> log".into()), ..policy(&house) };
    let house = with_policy(house, policy);
    let root = house.root_in(directory.clone()).await;
    let spec = ForkSpec { place: own(), ..ForkSpec::of(root) };
    let child = house.runtime.fork(spec).await.unwrap().child;
    // As when the process ends that makes it again.
    let store = house.runtime.store();
    let record = store.worktree(child).await.unwrap().unwrap();
    store
        .note_worktree(tine_model::WorktreeRecord { removed_ms: Some(1), ..record })
        .await
        .unwrap();
    say(&house, child, "Go.").await;
    let log = path_of(&house, child).await.join("log");
    assert_eq!(std::fs::read_to_string(log).unwrap(), "ready\nready\n");
    let record = house.runtime.store().worktree(child).await.unwrap().unwrap();
    assert_eq!(record.removed_ms, None);
}

#[tokio::test]
async fn what_made_a_worktree_ready_is_no_work_of_its_agent() {
    let (house, directory) =
        repository(model([Answer::text("common")], |_, task| report(task))).await;
    let policy = WorktreePolicy {
        setup: Some("date +%s%N > stamp; echo ready >> a.txt".into()),
        ..policy(&house)
    };
    let house = with_policy(house, policy);
    let root = house.root_in(directory.clone()).await;
    say(&house, root, "Hello.").await;
    let spec = FanSpec {
        fork: tine_runtime::ForkSpec { place: own(), ..tine_runtime::ForkSpec::of(root) },
        directives: vec!["a".into()],
        plan: Asked::Auto,
    };
    let fan = house.runtime.fan(spec, &allowed()).await.unwrap();
    let worker = &fan.tasks[0];
    assert_eq!(worker.worktree, None, "{worker:?}");
    let path = path_of(&house, worker.agent).await;
    assert!(!path.exists());
    // It comes back with another stamp, and nobody has worked in it yet.
    house.runtime.recover_worktree(worker.agent, MayLose::Nothing).await.unwrap();
    assert!(path.join("stamp").exists());
    let work = house.runtime.work_of(worker.agent, Vec::new()).await.unwrap();
    assert_eq!(work.changes.files, []);
    std::fs::write(path.join("new.txt"), "new\n").unwrap();
    let spec =
        tine_runtime::BringSpec { agent: worker.agent, to: None, dry_run: true, as_held: false };
    let refuse = tine_runtime::OnConflict::Refuse;
    let came = house.runtime.apply_work(&spec, Vec::new(), refuse).await.unwrap().came;
    let files: Vec<_> = came.files.iter().map(|file| file.path.clone()).collect();
    assert_eq!(files, [PathBuf::from("new.txt")]);
}
