//! Every command line that README and the pages of `docs` show is typed, a page at a time from top to bottom, by somebody without a key.
//!
//! A line stands in a block of `sh`, and ends well unless its comment says `exit code N`. What a test cannot type (an installation, an
//! editor, a key) stands in a block of `console`.

use std::path::Path;

use tine_testkit::{Ability, lacks};

use crate::support::{Home, Ran};
use crate::worktree::git;

/// What a command line of a clone of this repository is for whoever has installed the program; the test command is what runs this.
const OF_A_CLONE: &str = "cargo run -p tine -- ";
const RUNS_THIS: &str = "cargo xtask test";

/// A small project, and `tine` among the programs.
pub(crate) fn project() -> Home {
    let home = Home::new();
    home.write("work/README.md", "# A small project\n");
    home.write("work/src/lib.rs", "pub fn one() -> u32 { 1 }\n");
    let work = home.work();
    git(&work, &["init", "-q", "-b", "main"]);
    git(&work, &["config", "user.name", "Ann"]);
    git(&work, &["config", "user.email", "ann@example.org"]);
    git(&work, &["add", "."]);
    git(&work, &["commit", "-qm", "begin"]);
    std::fs::create_dir(home.path().join("bin")).unwrap();
    let program = home.path().join("bin/tine");
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_tine"), program).unwrap();
    home
}

/// The search path of somebody who has installed the program.
pub(crate) fn path_with_tine(home: &Home) -> String {
    format!("{}:{}", home.path().join("bin").display(), std::env::var("PATH").unwrap())
}

/// The lines of the blocks of `sh`.
fn lines(page: &str) -> Vec<String> {
    let mut is_shell = false;
    let mut lines = Vec::new();
    for line in page.lines() {
        match line.strip_prefix("```") {
            Some(language) => is_shell = !is_shell && language == "sh",
            None if is_shell && !line.trim().is_empty() => lines.push(line.to_owned()),
            None => {}
        }
    }
    lines
}

fn expected_code(line: &str) -> i32 {
    let code = line.split_once("# exit code ").and_then(|(_, code)| code.split(' ').next());
    code.map_or(0, |code| code.parse().unwrap())
}

fn type_all(page: &str) {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(page);
    let lines = lines(&std::fs::read_to_string(file).unwrap());
    assert!(!lines.is_empty(), "{page} has no command lines");
    let home = project();
    let path = path_with_tine(&home);
    for line in lines.iter().filter(|line| !line.starts_with(RUNS_THIS)) {
        let typed = line.replace(OF_A_CLONE, "tine ");
        let mut shell = assert_cmd::Command::new("bash");
        shell.env_clear().env("PATH", &path).env("TINE_MODEL", "sim/echo");
        shell.env("TINE_HOME", home.path()).env("HOME", home.path());
        shell.current_dir(home.work()).args(["-c", &typed]);
        let Ran { code, stdout, stderr } = Ran::of(&mut shell);
        assert_eq!(code, expected_code(line), "{page}: {line}\n{stdout}\n{stderr}");
    }
}

#[test]
fn every_command_of_the_readme() {
    type_all("README.md");
}

#[test]
fn every_command_of_the_start() {
    type_all("docs/start.md");
}

#[test]
fn every_command_on_forks_and_the_cache() {
    type_all("docs/forks-and-cache.md");
}

#[test]
fn every_command_on_workers_and_worktrees() {
    type_all("docs/workers-and-worktrees.md");
}

#[test]
fn every_command_on_permissions_and_the_wall() {
    if lacks(Ability::Namespaces, "the commands of docs/permissions-and-wall.md") {
        return;
    }
    type_all("docs/permissions-and-wall.md");
}

#[test]
fn every_command_of_the_library() {
    type_all("docs/library.md");
}

#[test]
fn every_command_of_the_reference() {
    type_all("docs/reference.md");
}
