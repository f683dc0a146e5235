//! Worktrees of agents, from the command line, with a real git.

mod born;
mod brought;
mod kept;
mod life;
mod refused;

use std::path::Path;

use assert_cmd::Command;
use serde_json::Value;

use crate::support::{Home, Ran};

/// Agents that write, commit, stray from their worktree, or do nothing.
pub(crate) const SCENARIO: &str = r#"
name = "worktrees"

[[turn]]
when = { user_contains = "<task-notification>" }
text = "I have read it."

[[turn]]
when = { user_contains = "DELEGATE", tool_results = 0 }
tool_calls = [{ name = "Agent", input = { prompt = "WRITE apart", subagent_type = "fork", description = "apart", isolation = "worktree" } }]

[[turn]]
when = { user_contains = "DELEGATE" }
text = "I wait."

[[turn]]
when = { user_contains = "WRITE", tool_results = 0 }
tool_calls = [{ name = "FileWrite", input = { file_path = "made.txt", content = "made\n" } }]

[[turn]]
when = { user_contains = "WRITE" }
text = "Scope: a file\nResult: {{tool_result.last}}"

[[turn]]
when = { user_contains = "SUBMODULE", tool_results = 0 }
tool_calls = [{ name = "FileWrite", input = { file_path = "lib/made.txt", content = "made\n" } }]

[[turn]]
when = { user_contains = "COMMIT", tool_results = 0 }
tool_calls = [{ name = "Bash", input = { command = "echo two > b.txt && git add b.txt && git commit -qm 'Add b' && git log --oneline | wc -l" } }]

[[turn]]
when = { user_contains = "COMMIT" }
text = "Scope: a commit\nResult: {{tool_result.last}}"

[[turn]]
when = { user_contains = "STASH", tool_results = 0 }
tool_calls = [{ name = "Bash", input = { command = "git stash" } }]

[[turn]]
when = { user_contains = "BRANCH", tool_results = 0 }
tool_calls = [{ name = "Bash", input = { command = "git branch -D main" } }]

[[turn]]
when = { user_contains = "OUTSIDE", tool_results = 0 }
tool_calls = [{ name = "FileWrite", input = { file_path = "[WORK]/a.txt", content = "not mine\n" } }]

[[turn]]
when = { user_contains = "NOTHING", tool_results = 0 }
tool_calls = [{ name = "Glob", input = { pattern = "*" } }]

[[turn]]
when = { tool_results = 1 }
text = "Scope: what was asked\nResult: {{tool_result.last}}"

[[turn]]
text = "You said: {{user}}"
"#;

/// A home whose working directory is a repository with one commit, and an agent `base` that works there.
pub(crate) fn base() -> Home {
    let home = Home::new();
    git(&home.work(), &["init", "-q", "-b", "main"]);
    git(&home.work(), &["config", "user.name", "Ann"]);
    git(&home.work(), &["config", "user.email", "ann@example.org"]);
    home.write("work/a.txt", "one\n");
    home.write("work/.gitignore", "target/\n");
    git(&home.work(), &["add", "-A"]);
    git(&home.work(), &["commit", "-qm", "First"]);
    let scenario = SCENARIO.replace("[WORK]", home.work().to_str().unwrap());
    let model = home.near_model(&scenario);
    home.import(&model, "base", 2);
    home
}

/// The same, with something staged, something changed, a new file and an ignored one.
pub(crate) fn dirty() -> Home {
    let home = base();
    home.write("work/staged.txt", "staged\n");
    git(&home.work(), &["add", "staged.txt"]);
    home.write("work/a.txt", "one\nand a half\n");
    home.write("work/new.txt", "new\n");
    home.write("work/target/built", "ignored\n");
    home
}

/// What git prints.
pub(crate) fn git(directory: &Path, arguments: &[&str]) -> String {
    let mut command = Command::new("git");
    command.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    for (name, value) in [
        ("HOME", "/nowhere"),
        ("GIT_CONFIG_NOSYSTEM", "1"),
        ("GIT_AUTHOR_NAME", "Ann"),
        ("GIT_AUTHOR_EMAIL", "ann@example.org"),
        ("GIT_COMMITTER_NAME", "Ann"),
        ("GIT_COMMITTER_EMAIL", "ann@example.org"),
    ] {
        command.env(name, value);
    }
    let ran = Ran::of(command.current_dir(directory).args(arguments));
    assert_eq!(ran.code, 0, "git {arguments:?}: {}", ran.stderr);
    ran.stdout
}

/// All that a checkout holds and git knows of it: every file, the index as bytes, the refs of its users, HEAD, the stash.
pub(crate) fn whole(directory: &Path) -> String {
    let index = std::fs::read(directory.join(".git/index")).unwrap();
    let refs = git(directory, &["for-each-ref"]);
    let own: Vec<&str> = refs.lines().filter(|line| !line.contains("refs/tine/")).collect();
    let head = std::fs::read_to_string(directory.join(".git/HEAD")).unwrap();
    format!("{}\n{index:?}\n{own:?}\n{head}", files(directory))
}

/// Every file below a directory, with its text, but for git's own.
pub(crate) fn files(directory: &Path) -> String {
    let mut found = Vec::new();
    let mut todo = vec![directory.to_owned()];
    while let Some(next) = todo.pop() {
        for entry in std::fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.file_name().is_some_and(|name| name == ".git") {
                continue;
            }
            match path.is_dir() {
                true => todo.push(path),
                false => {
                    let text = std::fs::read_to_string(&path).unwrap();
                    let name = path.strip_prefix(directory).unwrap().display().to_string();
                    found.push(format!("{name}: {text:?}"));
                }
            }
        }
    }
    found.sort();
    found.join("\n")
}

/// The directory of an agent's worktree.
pub(crate) fn place(home: &Home, agent: &str) -> std::path::PathBuf {
    home.done(&["worktree", "path", agent]).trim_end().into()
}

/// Forks `base` into a worktree with this prompt; what `--json` says.
pub(crate) fn forked(home: &Home, prompt: &str, options: &[&str]) -> Value {
    let fork = ["fork", "base", prompt, "--worktree", "--json"];
    home.json(&[&fork, options].concat())
}

/// A text in which the path of every worktree is the same.
pub(crate) fn shown(home: &Home, ran: &Ran) -> String {
    let text = home.shown(ran);
    let words = text.split_inclusive(char::is_whitespace).map(|word| {
        match word.split_once("[HOME]/worktrees/") {
            None => word.to_owned(),
            Some((before, rest)) => {
                let end = rest.find(|c: char| c.is_whitespace() || ",:\";".contains(c));
                format!("{before}[WORKTREE]{}", end.map_or("", |end| &rest[end..]))
            }
        }
    });
    words.collect()
}
