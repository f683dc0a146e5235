//! A fork whose files go to another machine, and whose work comes home: two runtimes, each with a store of its own.

use tine_runtime::{
    BringSpec, CacheLimits, CameHome, FastForward, OnConflict, PackedState, RuntimeError, Standing,
    TravelRefusal, Uncommitted,
};

use super::*;

/// An agent at home with a fork in a worktree, and a worker that knows neither.
struct Pair {
    home: House,
    directory: PathBuf,
    root: AgentId,
    fork: AgentId,
    worker: House,
    there: AgentId,
}

impl Pair {
    async fn new(answers: impl IntoIterator<Item = Answer>) -> Self {
        let (home, directory) = repository(ScriptedModel::new([Answer::text("Here.")])).await;
        let home = with_worktrees(home);
        std::fs::create_dir(directory.join("sub")).unwrap();
        std::fs::write(directory.join("sub/b.txt"), "staged\n").unwrap();
        git(&directory, &["add", "sub"]);
        std::fs::write(directory.join("c.txt"), "untracked\n").unwrap();
        let root = home.root_in(directory.join("sub")).await;
        let spec = ForkSpec { place: own(), ..ForkSpec::of(root) };
        let fork = home.runtime.fork(spec).await.unwrap().child;
        let worker = with_worktrees(House::new(ScriptedModel::new(answers)).await);
        let there = worker.root().await;
        Self { home, directory, root, fork, worker, there }
    }

    fn file(&self, name: &str) -> PathBuf {
        self.home.home.path().join(name)
    }

    fn cache(&self) -> PathBuf {
        self.worker.home.path().join("cache")
    }

    /// Sends the fork's files to the worker.
    async fn send(&self) -> PackedState {
        let bundle = self.file("bundle");
        let state = self.home.runtime.pack_worktree(self.fork, &bundle, &[]).await.unwrap();
        // As a message has it.
        let text = serde_json::to_string(&state).unwrap();
        let state: PackedState = serde_json::from_str(&text).unwrap();
        let runtime = &self.worker.runtime;
        runtime.unpack_worktree(self.there, &bundle, &state, &self.cache()).await.unwrap();
        state
    }

    /// Takes home what the worker has.
    async fn take(&self, state: &PackedState) -> Result<CameHome, RuntimeError> {
        let back = self.file("back");
        let answer = self.worker.runtime.pack_work(self.there, &back, state).await.unwrap();
        self.home.runtime.unpack_work(self.fork, &back, &answer).await
    }

    fn spec(&self, agent: AgentId) -> BringSpec {
        BringSpec { agent, to: None, dry_run: false, as_held: false }
    }
}

fn status(top: &Path) -> String {
    git(top, &["status", "--porcelain=v2", "--untracked-files=all"])
}

/// The work of an agent, wherever it is.
fn work(top: &Path) {
    std::fs::write(top.join("a.txt"), "one\ntwo\nthree\n").unwrap();
    git(top, &["commit", "--quiet", "-am", "committed there"]);
    std::fs::write(top.join("sub/b.txt"), "changed\n").unwrap();
    std::fs::write(top.join("d.txt"), "made there\n").unwrap();
    git(top, &["add", "d.txt"]);
    std::fs::write(top.join("e.txt"), "untracked there\n").unwrap();
}

#[tokio::test]
async fn work_that_was_done_elsewhere_comes_home_as_that_of_a_local_fork() {
    let pair = Pair::new([
        call("FileWrite", json!({"file_path": "new.txt", "content": "new\n"})),
        Answer::text("Written."),
    ])
    .await;
    let (home, worker) = (&pair.home, &pair.worker);
    let twin = ForkSpec { place: own(), ..ForkSpec::of(pair.root) };
    let twin = home.runtime.fork(twin).await.unwrap().child;
    let [here, beside] = [path_of(home, pair.fork).await, path_of(home, twin).await];
    let state = pair.send().await;
    assert_eq!((state.inside.as_str(), state.left.len()), ("sub", 0));
    let far = path_of(worker, pair.there).await;
    assert_eq!(status(&far), status(&here));
    assert_eq!(git(&far, &["log", "--format=%H %an"]), git(&here, &["log", "--format=%H %an"]));

    // A run there works in it, and is told where the conversation was held.
    say(worker, pair.there, "Write.").await;
    assert!(far.join("sub/new.txt").exists());
    let told = texts(worker, pair.there).await.join("\n");
    let known = format!("It was made from {}.", pair.directory.join("sub").display());
    assert!(told.contains(&known), "{told}");
    work(&far);
    std::fs::write(beside.join("sub/new.txt"), "new\n").unwrap();
    work(&beside);

    let came = pair.take(&state).await.unwrap();
    assert_eq!(came, CameHome { files: 5, commits: 1 });
    // A message may come twice.
    assert_eq!(pair.take(&state).await.unwrap(), came);
    let [work, local] = [pair.fork, twin].map(|agent| home.runtime.work_of(agent, Vec::new()));
    let (work, local) = (work.await.unwrap(), local.await.unwrap());
    assert_eq!((work.standing, &work.patch), (Standing::Kept, &local.patch));
    assert_eq!(work.changes.files, local.changes.files);
    assert_eq!((work.changes.commits.len(), work.unseen.is_empty()), (1, true));
    let row = home.runtime.store().worktree(pair.fork).await.unwrap().unwrap();
    assert_eq!((row.files, row.commits, row.removed_ms.is_some()), (5, 1, true));

    let dry = |agent| BringSpec { dry_run: true, ..pair.spec(agent) };
    let apply = |agent| {
        let spec = dry(agent);
        async move { home.runtime.apply_work(&spec, Vec::new(), OnConflict::Refuse).await }
    };
    let (one, other) = (apply(pair.fork).await.unwrap(), apply(twin).await.unwrap());
    assert_eq!(one.came, other.came);
    let (fast, refuse) = (FastForward::default(), Uncommitted::default());
    let merge = |agent| {
        let spec = dry(agent);
        async move { home.runtime.merge_work(&spec, fast, refuse).await.map(|it| it.came.files) }
    };
    let [one, other] = [merge(pair.fork).await, merge(twin).await];
    assert_eq!(format!("{one:?}"), format!("{other:?}"));
    let pick = |agent| {
        let spec = dry(agent);
        async move {
            home.runtime.cherry_pick_work(&spec, Vec::new(), refuse).await.map(|it| it.came.files)
        }
    };
    let [one, other] = [pick(pair.fork).await, pick(twin).await];
    assert_eq!(format!("{one:?}"), format!("{other:?}"));
    let spec = pair.spec(pair.fork);
    home.runtime.apply_work(&spec, Vec::new(), OnConflict::Refuse).await.unwrap();
    let read = |name: &str| std::fs::read_to_string(pair.directory.join(name)).unwrap();
    assert_eq!([read("e.txt"), read("sub/new.txt")], ["untracked there\n", "new\n"]);

    // The next run at home finds it as it was there.
    assert!(!here.exists());
    home.runtime.recover_worktree(pair.fork, MayLose::Nothing).await.unwrap();
    assert_eq!(status(&here), status(&far));
}

#[tokio::test]
async fn a_state_goes_out_again_with_only_what_is_new() {
    let pair = Pair::new([]).await;
    let (home, worker) = (&pair.home.runtime, &pair.worker.runtime);
    let state = pair.send().await;
    let first = path_of(&pair.worker, pair.there).await;
    work(&first);
    pair.take(&state).await.unwrap();
    let limits = CacheLimits { projects_max: 0, bytes_max: 0 };
    assert_eq!(worker.trim_cache(&pair.cache(), limits).await.unwrap(), 0);
    let before = status(&first);
    worker.forget_unpacked(pair.there).await.unwrap();
    assert!(!first.exists() && worker.store().worktree(pair.there).await.unwrap().is_none());

    let has = worker.cached_commits(&pair.cache(), &state.project).await.unwrap();
    let bundle = pair.file("bundle");
    let again = home.pack_worktree(pair.fork, &bundle, &has).await.unwrap();
    assert!(!again.needed.is_empty() && again.project == state.project);
    worker.unpack_worktree(pair.there, &bundle, &again, &pair.cache()).await.unwrap();
    assert_eq!(status(&path_of(&pair.worker, pair.there).await), before);
    // What was done before counts still.
    assert_eq!(worker.changed_files(pair.there).await.unwrap(), Some(4));
    // An answer to what was sent before is none to this.
    let old = home.unpack_work(pair.fork, &pair.file("back"), &state).await.unwrap_err();
    assert!(matches!(old, RuntimeError::Travel(TravelRefusal::NotSent(_))), "{old}");
    assert_eq!(pair.take(&again).await.unwrap(), CameHome { files: 4, commits: 1 });
    worker.forget_unpacked(pair.there).await.unwrap();
    assert_eq!(worker.trim_cache(&pair.cache(), limits).await.unwrap(), 1);
}

#[tokio::test]
async fn what_builds_on_a_state_that_came_whole_is_small_and_needs_it() {
    let pair = Pair::new([]).await;
    let (home, worker) = (&pair.home.runtime, &pair.worker.runtime);
    // Untracked: of every fork, and in no commit that they have in common.
    let noise: Vec<u8> = (0..200_000_u32)
        .map(|at| (at.wrapping_mul(2_654_435_761).wrapping_pow(3) >> 17) as u8)
        .collect();
    std::fs::write(pair.directory.join("noise"), noise).unwrap();
    let fork = || async {
        let spec = ForkSpec { place: own(), ..ForkSpec::of(pair.root) };
        home.fork(spec).await.unwrap().child
    };
    let [first, second] = [fork().await, fork().await];
    std::fs::write(path_of(&pair.home, second).await.join("more"), "more\n").unwrap();
    let [bundle, cache] = [pair.file("whole"), pair.cache()];
    let whole = home.pack_worktree(first, &bundle, &[]).await.unwrap();
    let new = pair.file("new");
    let state =
        home.pack_worktree(second, &new, std::slice::from_ref(&whole.carrier)).await.unwrap();
    assert!(state.bytes * 4 < whole.bytes, "{} and {}", state.bytes, whole.bytes);
    let unpacked = || worker.unpack_worktree(pair.there, &new, &state, &cache);
    unpacked().await.unwrap_err();
    worker.unpack_whole(pair.there, &bundle, &whole, &cache).await.unwrap();
    unpacked().await.unwrap();
    let [here, there] = [path_of(&pair.home, second), path_of(&pair.worker, pair.there)];
    assert_eq!(status(&there.await), status(&here.await));
    // It stays, however many come after it.
    let held = worker.cached_commits(&cache, &whole.project).await.unwrap();
    assert!(held.contains(&whole.carrier));
}

#[tokio::test]
async fn what_a_person_changed_meanwhile_stays_and_so_does_what_came() {
    let pair = Pair::new([]).await;
    let state = pair.send().await;
    work(&path_of(&pair.worker, pair.there).await);
    let here = path_of(&pair.home, pair.fork).await;
    std::fs::write(here.join("a.txt"), "a person's\n").unwrap();
    let refused = pair.take(&state).await.unwrap_err();
    let RuntimeError::Travel(TravelRefusal::Changed { reference, .. }) = &refused else {
        panic!("{refused}")
    };
    assert_eq!(std::fs::read_to_string(here.join("a.txt")).unwrap(), "a person's\n");
    let kept = git(&pair.directory, &["show", &format!("{reference}^2:e.txt")]);
    assert_eq!(kept, "untracked there\n");
    // Once it is as it was sent, the work is taken.
    std::fs::write(here.join("a.txt"), "one\ntwo\n").unwrap();
    assert_eq!(pair.take(&state).await.unwrap(), CameHome { files: 4, commits: 1 });
}

#[tokio::test]
async fn what_cannot_travel_is_refused_by_name() {
    let house = with_worktrees(House::new(ScriptedModel::new([])).await);
    let root = house.root().await;
    let refused = house.runtime.pack_worktree(root, &house.home.path().join("b"), &[]).await;
    let said = refused.unwrap_err().to_string();
    let shown =
        said.replace(&*house.home.path().canonicalize().unwrap().to_string_lossy(), "[DIRECTORY]");
    insta::assert_snapshot!(shown, @"a fork on another machine needs a git repository, and `[DIRECTORY]` is in none");

    let pair = Pair::new([]).await;
    let state = pair.send().await;
    let runtime = &pair.worker.runtime;
    let (bundle, cache) = (pair.file("bundle"), pair.cache());
    let there = runtime.unpack_worktree(pair.there, &bundle, &state, &cache).await.unwrap_err();
    assert!(matches!(there, RuntimeError::WorktreeThere { .. }), "{there}");
    let made_here = pair.home.runtime.forget_unpacked(pair.fork).await.unwrap_err();
    assert!(matches!(made_here, RuntimeError::Travel(TravelRefusal::MadeHere(_))), "{made_here}");
    let other = pair.worker.root().await;
    for wrong in [
        PackedState { version: 2, ..state.clone() },
        PackedState { project: "../../x".into(), ..state.clone() },
        PackedState { carrier: "--all".into(), ..state.clone() },
        PackedState { inside: "../..".into(), ..state.clone() },
    ] {
        let refused = runtime.unpack_worktree(other, &bundle, &wrong, &cache).await.unwrap_err();
        assert!(!refused.to_string().is_empty());
        assert_eq!(runtime.store().worktree(other).await.unwrap(), None);
    }
    let unknown = serde_json::to_string(&state).unwrap().replacen('{', "{\"more\":1,", 1);
    assert!(serde_json::from_str::<PackedState>(&unknown).is_err());
}
