//! The parts of worktrees that are kept and for how long, and the fate of what was killed, moved or removed by hand.

use std::time::Duration;

use tine_runtime::{
    AsOf, BringSpec, BroughtOutcome, Holds, MendedAs, OnConflict, PurgeSpec, RuntimeError, Standing,
};

use super::*;

/// A house with an agent, a fork of it that has written `new.txt` in its worktree, and another that has done nothing.
struct Kept {
    house: House,
    directory: PathBuf,
    root: AgentId,
    worker: AgentId,
    idle: AgentId,
}

impl Kept {
    async fn new() -> Self {
        let (house, directory) = repository(ScriptedModel::new([
            call("FileWrite", json!({"file_path": "new.txt", "content": "new\n"})),
            Answer::text("Written."),
            Answer::text("Here."),
        ]))
        .await;
        let house = with_worktrees(house);
        let root = house.root_in(directory.clone()).await;
        let spec = || ForkSpec { place: own(), ..ForkSpec::of(root) };
        let worker = house.runtime.fork(spec()).await.unwrap().child;
        let idle = house.runtime.fork(spec()).await.unwrap().child;
        say(&house, worker, "Write.").await;
        Self { house, directory, root, worker, idle }
    }

    fn refs(&self) -> String {
        git(&self.directory, &["for-each-ref", "--format=%(refname)", "refs/tine"])
    }

    fn spec(&self, agent: AgentId) -> BringSpec {
        BringSpec { agent, to: None, dry_run: false, as_held: false }
    }

    async fn plan(&self, agent: Option<AgentId>, age_max: Duration) -> tine_runtime::PurgePlan {
        let spec = PurgeSpec { directory: self.directory.clone(), agent, age_max };
        self.house.runtime.plan_purge(&spec).await.unwrap()
    }

    /// The repository by another name.
    fn rename(&mut self) {
        let to = self.directory.with_file_name("renamed");
        std::fs::rename(&self.directory, &to).unwrap();
        self.directory = to;
    }
}

#[tokio::test]
async fn work_is_purged_by_age_and_what_holds_none_at_any() {
    let kept = Kept::new().await;
    let runtime = &kept.house.runtime;
    runtime.drop_worktree(kept.idle).await.unwrap();
    assert!(!kept.refs().contains(&kept.idle.to_string()), "an unchanged drop leaves no ref");
    let there = PurgeSpec {
        directory: kept.directory.clone(),
        agent: Some(kept.worker),
        age_max: Duration::ZERO,
    };
    let refused = runtime.plan_purge(&there).await.unwrap_err();
    assert!(matches!(refused, RuntimeError::WorktreeThere { .. }), "{refused}");
    runtime.drop_worktree(kept.worker).await.unwrap();
    // As forks have left them that were killed, and as older versions did.
    let stale = format!("refs/tine/{}/start", AgentId::from_random([7; 16]));
    git(&kept.directory, &["update-ref", &stale, &format!("refs/tine/{}/start", kept.worker)]);

    let hour = Duration::from_secs(3600);
    let young = kept.plan(None, hour).await;
    assert_eq!((young.due.len(), young.stays), (0, 2));
    kept.house.clock.advance_ms(3_600_000);
    let held = |plan: &tine_runtime::PurgePlan| {
        plan.due.iter().map(|due| (due.agent, due.kept.holds)).collect::<Vec<_>>()
    };
    let day = kept.plan(None, 24 * hour).await;
    assert_eq!((held(&day), day.stays), (vec![(None, Holds::Nothing)], 1));
    assert_eq!(day.losses().count(), 0);
    let old = kept.plan(Some(kept.worker), Duration::ZERO).await;
    assert_eq!(held(&old), [(Some(kept.worker), Holds::Work)]);
    assert_eq!((old.losses().count(), old.due[0].age), (1, hour));
    assert!(runtime.purge(&day.due[0]).await.unwrap());
    assert!(runtime.purge(&old.due[0]).await.unwrap());
    assert_eq!(kept.refs(), "");
    assert_eq!(kept.plan(None, Duration::ZERO).await.due, []);

    let refused = runtime.work_of(kept.worker, Vec::new()).await.unwrap_err();
    assert!(matches!(refused, RuntimeError::WorktreePurged(_)), "{refused}");
    let refused = runtime.recover_worktree(kept.worker, MayLose::Nothing).await.unwrap_err();
    assert!(matches!(refused, RuntimeError::WorktreePurged(_)), "{refused}");
    let anew = runtime.recover_worktree(kept.worker, MayLose::Everything).await.unwrap();
    assert_eq!((anew.as_of, anew.path.join("new.txt").exists()), (AsOf::Anew, false));
    assert_eq!(git(&anew.path, &["status", "--porcelain"]), " M a.txt\n");
}

#[tokio::test]
async fn an_agent_whose_worktree_vanished_goes_on_where_its_checkout_stands() {
    let kept = Kept::new().await;
    let runtime = &kept.house.runtime;
    runtime.drop_worktree(kept.idle).await.unwrap();
    let work = runtime.work_of(kept.idle, Vec::new()).await.unwrap();
    assert_eq!((work.standing, work.changes.files.len()), (Standing::Vanished, 0));
    let spec = kept.spec(kept.idle);
    let applied = runtime.apply_work(&spec, Vec::new(), OnConflict::Refuse).await.unwrap();
    assert_eq!(applied.came.outcome, BroughtOutcome::Nothing);
    assert!(!kept.refs().contains(&kept.idle.to_string()), "{}", kept.refs());
    std::fs::write(kept.directory.join("a.txt"), "later\n").unwrap();
    say(&kept.house, kept.idle, "Go on.").await;
    let path = path_of(&kept.house, kept.idle).await;
    assert_eq!(std::fs::read_to_string(path.join("a.txt")).unwrap(), "later\n");
}

#[tokio::test]
async fn a_purge_leaves_what_was_made_again_meanwhile() {
    let kept = Kept::new().await;
    let runtime = &kept.house.runtime;
    runtime.drop_worktree(kept.worker).await.unwrap();
    let plan = kept.plan(Some(kept.worker), Duration::ZERO).await;
    runtime.recover_worktree(kept.worker, MayLose::Nothing).await.unwrap();
    assert!(!runtime.purge(&plan.due[0]).await.unwrap());
    assert!(kept.refs().contains(&format!("refs/tine/{}/end", kept.worker)));
}

#[tokio::test]
async fn files_that_somebody_removed_are_not_nothing_changed() {
    let kept = Kept::new().await;
    let runtime = &kept.house.runtime;
    for agent in [kept.worker, kept.idle] {
        std::fs::remove_dir_all(path_of(&kept.house, agent).await).unwrap();
    }
    // Nothing was kept of the one, for it has not run yet.
    for refused in [
        runtime.work_of(kept.idle, Vec::new()).await.map(drop),
        runtime.apply_work(&kept.spec(kept.idle), Vec::new(), OnConflict::Refuse).await.map(drop),
    ] {
        assert!(matches!(refused, Err(RuntimeError::WorktreeLost { .. })), "{refused:?}");
    }
    let work = runtime.work_of(kept.worker, Vec::new()).await.unwrap();
    assert_eq!((work.standing, work.changes.files.len()), (Standing::Gone, 1));
    let spec = kept.spec(kept.worker);
    let applied = runtime.apply_work(&spec, Vec::new(), OnConflict::Refuse).await.unwrap();
    assert_eq!((applied.standing, applied.came.files.len()), (Standing::Gone, 1));
    runtime.undo_work(&spec).await.unwrap();
    let back = runtime.recover_worktree(kept.idle, MayLose::Nothing).await.unwrap();
    assert_eq!(back.as_of, AsOf::Start);
    assert_eq!(runtime.work_of(kept.idle, Vec::new()).await.unwrap().standing, Standing::Ready);
}

#[tokio::test]
async fn a_renamed_repository_is_found_again_with_all_that_was_in_it() {
    let mut kept = Kept::new().await;
    kept.house.runtime.drop_worktree(kept.idle).await.unwrap();
    let spec = kept.spec(kept.worker);
    let apply = kept.house.runtime.apply_work(&spec, Vec::new(), OnConflict::Refuse);
    apply.await.unwrap();
    kept.rename();
    let runtime = &kept.house.runtime;
    for refused in [
        runtime.work_of(kept.worker, Vec::new()).await.map(drop),
        runtime.drop_worktree(kept.worker).await.map(drop),
        runtime.recover_worktree(kept.worker, MayLose::Nothing).await.map(drop),
        runtime.recover_worktree(kept.idle, MayLose::Nothing).await.map(drop),
        runtime.undo_work(&spec).await.map(drop),
    ] {
        assert!(matches!(refused, Err(RuntimeError::RepositoryMoved { .. })), "{refused:?}");
    }
    let views = runtime.worktrees(&kept.directory).await.unwrap();
    let states: Vec<_> = views.iter().map(|view| view.state).collect();
    assert_eq!(states, [WorktreeState::Moved, WorktreeState::Removed]);

    let repair = runtime.repair_worktrees(&kept.directory).await.unwrap();
    let found: Vec<_> = repair.repaired.iter().map(|one| one.agent).collect();
    assert_eq!((found, repair.followed), (vec![kept.worker, kept.idle], vec![kept.root]));
    let again = runtime.repair_worktrees(&kept.directory).await.unwrap();
    assert_eq!(again, tine_runtime::Repair::default());
    let root = runtime.store().agent(kept.root).await.unwrap();
    assert_eq!(Path::new(&root.directory), kept.directory);
    let work = runtime.work_of(kept.worker, Vec::new()).await.unwrap();
    assert_eq!((work.standing, work.changes.files.len()), (Standing::Ready, 1));
    // The apply before the move can be taken back, in the place where the files are.
    assert!(kept.directory.join("new.txt").exists());
    let undone = runtime.undo_work(&kept.spec(kept.worker)).await.unwrap();
    assert_eq!((undone.onto.as_path(), undone.came.files.len()), (kept.directory.as_path(), 1));
    runtime.drop_worktree(kept.worker).await.unwrap();
    let back = runtime.recover_worktree(kept.worker, MayLose::Nothing).await.unwrap();
    assert!(back.path.join("new.txt").exists());
    runtime.recover_worktree(kept.idle, MayLose::Nothing).await.unwrap();
}

#[tokio::test]
async fn another_repository_finds_nothing_of_it() {
    let mut kept = Kept::new().await;
    let other = kept.directory.with_file_name("other");
    git(kept.house.home.path(), &["init", "--quiet", other.to_str().unwrap()]);
    kept.rename();
    let runtime = &kept.house.runtime;
    let repair = runtime.repair_worktrees(&other).await.unwrap();
    assert_eq!(repair, tine_runtime::Repair::default());
    let nowhere = runtime.repair_worktrees(kept.house.home.path()).await;
    assert!(nowhere.is_err());
}

#[tokio::test]
async fn what_a_killed_fork_left_goes_and_what_is_being_made_stays() {
    let (house, directory) = repository(ScriptedModel::new([])).await;
    let house = with_worktrees(house);
    let root = house.root_in(directory.clone()).await;
    let top = directory.canonicalize().unwrap();
    let repository = tine_worktree::Repository::at(&top).unwrap();
    let (notes, store) = (policy(&house).root.join("making"), house.home.path().join("run"));
    std::fs::create_dir_all(&notes).unwrap();
    let made = |byte: u8, store: &Path| {
        let agent = AgentId::from_random([byte; 16]);
        let path = policy(&house).root.join(format!("repository-1/{}", agent.short()));
        let name = tine_worktree::Name::new(&agent.to_string()).unwrap();
        let new = tine_worktree::NewWorktree { name, path, start: Start::State, now_ms: 1 };
        let worktree = repository.fork(&new).unwrap();
        let note =
            json!({"store": store, "agent": agent.to_string(), "origin": top, "path": new.path});
        std::fs::write(notes.join(agent.to_string()), note.to_string()).unwrap();
        (agent, worktree)
    };
    // Whole, half made, of another store, and still being made.
    let (_, whole) = made(1, &store);
    let (_, half) = made(2, &store);
    std::fs::remove_file(half.repository().git_dir().join("tine.json")).unwrap();
    std::fs::remove_file(half.repository().top().join("a.txt")).unwrap();
    let (other, _) = made(3, Path::new("/elsewhere/run"));
    let (held, _) = made(4, &store);
    let maker = std::fs::File::open(notes.join(held.to_string())).unwrap();
    maker.lock().unwrap();
    // Of one whose row is there only the note is left.
    let spec = ForkSpec { place: own(), ..ForkSpec::of(root) };
    let born = house.runtime.fork(spec).await.unwrap().child;
    std::fs::write(
        notes.join(born.to_string()),
        json!({"store": store, "agent": born.to_string(), "origin": top, "path": "/w"}).to_string(),
    )
    .unwrap();
    // The fork has swept already.
    assert_eq!(house.runtime.sweep_unborn().await.unwrap(), 0);
    for gone in [whole, half] {
        assert!(!gone.repository().top().exists() && !gone.repository().git_dir().exists());
    }
    let refs = git(&directory, &["for-each-ref", "--format=%(refname)", "refs/tine"]);
    let mut named: Vec<String> =
        [other, held, born].map(|agent| format!("refs/tine/{agent}/start")).into();
    named.sort();
    assert_eq!(refs.lines().collect::<Vec<_>>(), named);
    let left = |agent: AgentId| notes.join(agent.to_string()).exists();
    assert_eq!([other, held, born].map(left), [true, true, false]);
    drop(maker);
    assert_eq!(house.runtime.sweep_unborn().await.unwrap(), 1);
    assert!(!left(held) && path_of(&house, born).await.exists());
}

#[tokio::test]
async fn whoever_looks_mends_a_change_that_was_cut_short() {
    let kept = Kept::new().await;
    let runtime = &kept.house.runtime;
    assert_eq!(runtime.mend_checkouts().await.unwrap(), []);
    // As it is when an apply is killed after its first file.
    let change = kept.directory.join(".git/tine/change");
    std::fs::create_dir_all(change.join("slots")).unwrap();
    let journal =
        format!("tine change 1\0delete\0a.txt\0add file {}\0b.txt\0end\0", "0".repeat(64));
    std::fs::write(change.join("journal"), journal).unwrap();
    std::fs::write(change.join("slots/1"), "to come\n").unwrap();
    std::fs::rename(kept.directory.join("a.txt"), change.join("slots/0")).unwrap();
    // While it is under way nobody touches it.
    let lock = std::fs::File::create(kept.directory.join(".git/tine/lock")).unwrap();
    lock.lock().unwrap();
    assert_eq!(runtime.mend_checkouts().await.unwrap(), []);
    assert!(!kept.directory.join("a.txt").exists());
    drop(lock);
    let found = runtime.mend_checkouts().await.unwrap();
    let outcomes: Vec<_> = found
        .iter()
        .map(|found| (found.checkout.as_path(), found.mended.as_ref().unwrap().outcome))
        .collect();
    assert_eq!(outcomes, [(kept.directory.as_path(), MendedAs::TakenBack)]);
    assert_eq!(std::fs::read_to_string(kept.directory.join("a.txt")).unwrap(), "one\ntwo\n");
    assert_eq!(runtime.mend_checkouts().await.unwrap(), []);
    // One that cannot be read is named each time.
    std::fs::create_dir_all(&change).unwrap();
    std::fs::write(change.join("journal"), "of another version").unwrap();
    for _ in 0..2 {
        let found = runtime.mend_checkouts().await.unwrap();
        let why = found[0].mended.as_ref().unwrap_err();
        assert!(why.starts_with("cannot read the journal of"), "{why}");
    }
}
