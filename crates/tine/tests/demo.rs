//! `tine demo` on directories whose contents are known.

#![expect(clippy::unwrap_used, reason = "a step that fails is a failed test")]

use std::path::Path;

use assert_cmd::Command;
use serde_json::Value;
use tempfile::TempDir;

/// Workers of the demo, in the order of their tasks.
const SIZES: usize = 0;
const LONGEST: usize = 1;
const OPEN_ENDS: usize = 2;
const HISTORY: usize = 3;
const TESTS: usize = 4;
const DIRECTORIES: usize = 5;
const WORKERS: usize = 6;

/// A directory for the demo, and one for all that tine may want to write.
struct Place {
    work: TempDir,
    scratch: TempDir,
}

impl Place {
    fn new() -> Self {
        Self { work: tempfile::tempdir().unwrap(), scratch: tempfile::tempdir().unwrap() }
    }

    /// A place with a known number of everything.
    fn with_files() -> Self {
        let place = Self::new();
        place.write("README.md", "# A project\n\nIt has files.\n");
        place.write("src/long one.rs", &"// a line\n".repeat(120));
        let marks = "// TODO: this\nfn a() {}\n// HACK that\n#[test]\nfn t() {}\n#[tokio::test]\nasync fn u() {}\n";
        place.write("src/marks.rs", marks);
        place.write("tests/test_it.py", "def test_one():\n    pass\n\n# TODO later\n");
        place.write("copy/README.md", "# A project\n\nIt has files.\n");
        place.write("odd\nname.txt", "x\n");
        place.write("node_modules/skipped.js", "// TODO not ours\n");
        place.write(".hidden/skipped.js", "// TODO not ours\n");
        place
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.work.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn tine(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_tine"));
        command.env_clear();
        for kept in ["PATH", "LLVM_PROFILE_FILE", tine_testkit::WIRE_BODIES] {
            if let Some(value) = std::env::var_os(kept) {
                command.env(kept, value);
            }
        }
        let home = self.scratch.path().join("home");
        let temporary = self.scratch.path().join("tmp");
        std::fs::create_dir_all(&temporary).unwrap();
        command.env("TINE_HOME", &home).env("HOME", &home).env("TMPDIR", &temporary);
        command.current_dir(self.work.path()).args(arguments);
        command
    }

    fn output(&self, arguments: &[&str]) -> (i32, String, String) {
        let output = self.tine(arguments).output().unwrap();
        let text = |bytes| String::from_utf8(bytes).unwrap();
        (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
    }

    fn demo(&self) -> Value {
        let (code, stdout, stderr) = self.output(&["demo", "--json"]);
        assert_eq!(code, 0, "{stderr}");
        serde_json::from_str(&stdout).unwrap()
    }

    fn git(&self, arguments: &[&str]) {
        #[expect(clippy::disallowed_methods, reason = "a test may start git")]
        let mut git = std::process::Command::new("git");
        git.args(["-c", "user.name=Ada", "-c", "user.email=ada@example.org"]).args(arguments);
        git.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_SYSTEM", "/dev/null");
        let output = git.current_dir(self.work.path()).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
}

/// What a worker found. The commands say when their time is up, which on a busy machine proves nothing.
fn result(demo: &Value, worker: usize) -> String {
    let text = demo["tasks"][worker]["report"]["result"].as_str().unwrap();
    let lines = text.lines().filter(|line| !line.starts_with("(3 s were up"));
    lines.collect::<Vec<_>>().join("\n")
}

fn assert_all_completed(demo: &Value) {
    let tasks = demo["tasks"].as_array().unwrap();
    assert_eq!(tasks.len(), WORKERS);
    for task in tasks {
        assert_eq!(task["status"], "completed", "{task}");
        assert!(task["report"]["scope"].is_string(), "{task}");
        assert!(task["tool_uses"].as_u64() >= Some(1), "{task}");
        let raw = task["report"]["raw"].as_str().unwrap();
        for complaint in ["exit code", "Denied", "no tool result", "not a model", "cannot"] {
            assert!(!raw.contains(complaint), "{raw}");
        }
    }
}

/// Each token of the prefix is written once: by the root agent, or by the one worker that goes first.
fn assert_one_writer(demo: &Value) {
    let tokens = |task: &Value, part: &str| task["first_usage"][part].as_u64().unwrap();
    let tasks = demo["tasks"].as_array().unwrap();
    let mut reads: Vec<u64> = tasks.iter().map(|task| tokens(task, "read")).collect();
    reads.sort_unstable();
    let (leader, followers) = reads.split_first().unwrap();
    let prefix = followers[0];
    assert_eq!(followers, vec![prefix; WORKERS - 1]);
    assert!((512..prefix).contains(leader), "{reads:?}");
    for task in tasks {
        // What is left is the directive, and the leader's share of the prefix.
        let own = tokens(task, "write_short") + tokens(task, "read") - prefix;
        assert!(own < 500, "{task}");
        assert_eq!(tokens(task, "uncached"), 0, "{task}");
    }
    let cache = &demo["cache"];
    assert_eq!(cache["launch"], "leader_first");
    let dollars = |part: &str| cache[part].as_f64().unwrap();
    assert!(dollars("ideal_usd") <= dollars("cost_usd"), "{cache}");
    assert!(dollars("cost_usd") < dollars("naive_usd"), "{cache}");
    assert!(dollars("naive_usd") < dollars("uncached_usd"), "{cache}");
}

fn assert_nothing_left(place: &Place) {
    let left = |path: &Path| std::fs::read_dir(path).map_or(0, Iterator::count);
    assert_eq!(left(&place.scratch.path().join("tmp")), 0);
    assert_eq!(left(&place.scratch.path().join("home")), 0);
}

#[test]
fn the_numbers_are_those_of_the_directory() {
    let place = Place::with_files();
    let demo = place.demo();
    assert_all_completed(&demo);
    assert_one_writer(&demo);
    assert_nothing_left(&place);
    assert_eq!(demo["model"], "sim/demo");
    let keys =
        |value: &Value| value.as_object().unwrap().keys().cloned().collect::<Vec<_>>().join(" ");
    insta::assert_snapshot!(keys(&demo), @"agent model tasks cache directory");
    insta::assert_snapshot!(keys(&demo["tasks"][0]), @"agent status outcome directive report error usage first_usage turns tool_uses duration_ms flags worktree");
    insta::assert_snapshot!(keys(&demo["cache"]), @"launch warmth reason first total cost_usd naive_usd leader_first_usd warm_usd ideal_usd uncached_usd efficiency priced_as held forks");
    let real = place.work.path().canonicalize().unwrap();
    assert_eq!(demo["directory"].as_str(), real.to_str());
    insta::assert_snapshot!(result(&demo, SIZES), @"
    lines: 138, files: 6, kinds: 4
    kind        lines       kB  files
    rs            127      1.3      2
    md              6      0.1      2
    py              4      0.0      1
    txt             1      0.0      1
    no file is anything else
    ");
    insta::assert_snapshot!(result(&demo, LONGEST), @r"
    by lines:
        120  src/long one.rs
          7  src/marks.rs
          4  tests/test_it.py
          3  README.md
          3  copy/README.md
          1  odd'$'\n''name.txt'
    The longest begins:
         1	// a line
         2	// a line
         3	// a line
    ");
    insta::assert_snapshot!(result(&demo, OPEN_ENDS), @"
    lines: 3, files: 2
        2 in src/marks.rs
        1 in tests/test_it.py
    src/marks.rs:1:// TODO: this
    src/marks.rs:3:// HACK that
    tests/test_it.py:4:# TODO later
    ");
    insta::assert_snapshot!(result(&demo, TESTS), @"
    tests: 3, files: 2
        2 in src/marks.rs
        1 in tests/test_it.py
    switched off:
      no match in `.`
    ");
    insta::assert_snapshot!(result(&demo, DIRECTORIES), @"
    copies of another file: 1, 0.0 kB; by size:
           1.3 kB  src/, files: 2
           0.0 kB  tests/, files: 1
           0.0 kB  ., files: 2
           0.0 kB  copy/, files: 1
    copy/README.md = README.md
    ");
    assert!(result(&demo, HISTORY).contains("of all: 6"), "{}", result(&demo, HISTORY));
    assert_eq!(demo["tasks"][LONGEST]["report"]["key_files"], "src/long one.rs");
}

#[test]
fn an_empty_directory_has_sensible_reports() {
    let place = Place::new();
    let demo = place.demo();
    assert_all_completed(&demo);
    assert_one_writer(&demo);
    let results: Vec<String> = (0..WORKERS).map(|worker| result(&demo, worker)).collect();
    insta::assert_snapshot!(results.join("\n---\n"), @"
    lines: 0, files: 0, kinds: 0
    no file is anything else
    ---
    there is no text file
    ---
    no line says that something is left to do
    ---
    nothing ever changed here
    no files
    ---
    nothing that looks like a test
    ---
    no two files have the same content; by size:
    no files
    ");
}

#[test]
fn a_repository_is_seen_as_git_sees_it() {
    let place = Place::with_files();
    place.write(".gitignore", "/made\n/node_modules\n");
    place.write("made/output.rs", &"// TODO\n".repeat(500));
    place.git(&["init", "-q", "-b", "main"]);
    place.git(&["add", "."]);
    place.git(&["commit", "-q", "-m", "Begin"]);
    place.git(&["commit", "-q", "--allow-empty", "-m", "Go on"]);
    let demo = place.demo();
    assert_all_completed(&demo);
    let history = result(&demo, HISTORY);
    assert!(history.starts_with("commits: 1, people: 1\n"), "{history}");
    assert!(history.contains("Begin"), "{history}");
    assert_eq!(result(&demo, OPEN_ENDS).lines().next(), Some("lines: 3, files: 2"));
    assert_eq!(result(&demo, LONGEST).lines().nth(1), Some("    120  src/long one.rs"));
}

#[test]
fn people_get_a_page_and_may_keep_the_agents() {
    let place = Place::with_files();
    let (code, stdout, stderr) = place.output(&["demo", "--keep"]);
    assert_eq!(code, 0, "{stderr}");
    assert!(stderr.contains("sim/demo: the simulator, not a model"), "{stderr}");
    for part in
        ["The tree", "sizes by language", "What the cache did", "without a cache", "tine tree"]
    {
        assert!(stdout.contains(part), "{part}: {stdout}");
    }
    assert!(!stdout.contains('\u{1b}'), "no colour without a terminal: {stdout}");
    let (_, listed, _) = place.output(&["ps", "--all", "--json"]);
    let agents: Value = serde_json::from_str(&listed).unwrap();
    assert_eq!(agents.as_array().map(Vec::len), Some(1 + WORKERS));
}
