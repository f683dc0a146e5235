//! Paths and calls on them: where they lead, and what the filters say. The tree they wander in is fixed and small.
#![no_main]

use std::path::{Component, Path, PathBuf};
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use tempfile::TempDir;
use tine_guard::filter::{AutoMemFilter, ReadOnlyFilter, ToolFilter, WorkerFilter};
use tine_guard::{Call, PathPlace, is_secret, place_of, real_call, real_path};
use tine_model::RawJson;

const TOOLS: [&str; 8] =
    ["Bash", "FileEdit", "FileRead", "FileWrite", "Glob", "Grep", "REPL", "write"];

/// A memory directory `m` beside a directory `o`, with links in, out, round and nowhere.
static TREE: LazyLock<Tree> = LazyLock::new(|| {
    let home = tempfile::tempdir().expect("a directory for the tree");
    let real = home.path().canonicalize().expect("the directory is there");
    for folder in ["m/d", "o/d"] {
        std::fs::create_dir_all(real.join(folder)).expect("a folder of the tree");
    }
    for (target, name) in
        [("../o", "m/x"), ("d", "m/i"), ("/", "m/t"), ("l", "m/l"), ("../o/n", "m/n"), ("m", "s")]
    {
        std::os::unix::fs::symlink(target, real.join(name)).expect("a link of the tree");
    }
    std::fs::write(real.join("m/f"), "").expect("a file of the tree");
    std::fs::hard_link(real.join("m/f"), real.join("m/h")).expect("a second name in the tree");
    let memory = AutoMemFilter::new(real.join("m")).expect("the memory directory is there");
    let worker = WorkerFilter::new(real.join("m")).expect("the worktree is there");
    Tree { _home: home, real, memory, worker }
});

struct Tree {
    _home: TempDir,
    real: PathBuf,
    memory: AutoMemFilter,
    worker: WorkerFilter,
}

fn is_plain(path: &Path) -> bool {
    path.components().all(|part| matches!(part, Component::Normal(_) | Component::RootDir))
}

fuzz_target!(|text: &str| {
    let tree = &*TREE;
    let memory = tree.real.join("m");
    let (written, input) = text.split_once('\n').unwrap_or((text, "{}"));

    if let PathPlace::Inside(below) = place_of(&memory, written) {
        assert!(is_plain(&below) && !below.has_root(), "{below:?}");
    }
    let _ = is_secret(Path::new(written));

    for start in [&memory, &tree.real] {
        let path = format!("{}/{written}", start.display());
        let real = real_path(Path::new(&path));
        if let Ok(real) = &real {
            assert!(is_plain(real), "{real:?}");
            // Nothing of it is a link: it is its own real path.
            assert_eq!(real_path(real).as_ref(), Ok(real));
        }
        let call = serde_json::json!({ "file_path": path }).to_string();
        let call = RawJson::parse(&call).expect("it was written as JSON");
        if tree.memory.allows("FileWrite", &call) {
            let real = real.expect("what is allowed leads somewhere");
            assert!(real.starts_with(&memory) && real != memory, "{path:?} {real:?}");
            assert!(real != memory.join("h"), "a file with two names: {path:?}");
        }
    }

    if let Ok(input) = RawJson::parse(input) {
        let filters: [&dyn ToolFilter; 3] = [&tree.memory, &tree.worker, &ReadOnlyFilter::new()];
        for tool in TOOLS.into_iter().chain([written]) {
            let _ = real_call(&Call::new(tool, &input, &memory), &memory);
            for filter in filters {
                assert_eq!(filter.allows(tool, &input), filter.check(tool, &input).is_ok());
            }
        }
    }
});
