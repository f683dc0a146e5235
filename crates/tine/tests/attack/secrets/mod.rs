//! Ways to a secret: in an open run without a question, and in confined runs where everything else is allowed.

mod ways;

use std::os::unix::fs::symlink;

use serde_json::Value;
use ways::{
    CHECKOUTS, CLONES, DEEP, FILES, HISTORY, HOME, OWN, PROJECT, SETTINGS, TOOLS, TOOLS_OF_PROJECT,
    TOOLS_OF_SETTINGS, WORKTREES,
};

use crate::ground::Ground;
use crate::report::{Row, cannot_run};
use crate::world::{Call, NOT_ALLOWED, SECRET, World};

/// Stands in git's settings in the place of a password.
const PASSWORD: &str = "CANARYcrateWord";

/// A way to all of the project, git's settings among it.
const ALL_OF_PROJECT: &str = "tar cf - .";

/// Variables of tine that hold the secret.
const VARIABLES: [&str; 4] = ["ACME_TOKEN", "DATABASE_PASSWORD", "ANTHROPIC_API_KEY", "GITHUB_PAT"];

/// A repository with a secret in its history, its stash, its notes and its settings, and none in what is checked out.
const REPOSITORY: &str = "git init -q -b main . && git config user.email a@b && git config user.name a && \
    echo 1 > f && git add f && git commit -qm one && cp .env .env.saved && git add -f .env && git commit -qm two && \
    git rm -q --cached .env && git commit -qm three && echo 2 > f && git add f && git add -f .dev.vars && git stash -q && \
    cp .env.saved .dev.vars && rm .env.saved && git notes add -F .env HEAD && \
    git remote add origin https://me:@PASSWORD@x.example/y";

/// What a way leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Home,
    Deep,
    Project,
    History,
    Clone,
    Settings,
    Own,
    Tool,
}

fn ways() -> Vec<(Kind, &'static str)> {
    let tables = [
        (Kind::Home, HOME),
        (Kind::Deep, DEEP),
        (Kind::Project, PROJECT),
        (Kind::History, HISTORY),
        (Kind::Project, CHECKOUTS),
        (Kind::Home, WORKTREES),
        (Kind::Clone, CLONES),
        (Kind::Settings, SETTINGS),
        (Kind::Own, OWN),
    ];
    tables.into_iter().flat_map(|(kind, ways)| ways.iter().map(move |way| (kind, *way))).collect()
}

/// A home full of secrets, and an agent that was told one.
fn world() -> World {
    let world = World::new();
    for name in FILES {
        world.write(name, format!("WORD={SECRET}\n"));
    }
    world.write(
        ".tine-home/config.toml",
        format!("repl = {}\n[workers]\nnudge = false\n# {SECRET}\n", cfg!(feature = "repl")),
    );
    symlink("../.ssh/id_rsa", world.work().join("link")).unwrap();
    symlink("../.ssh", world.work().join("folder")).unwrap();
    let mut shell = assert_cmd::Command::new("bash");
    shell.args(["-c", &REPOSITORY.replace("@PASSWORD", PASSWORD)]).current_dir(world.work());
    shell.env("HOME", world.home()).assert().success();
    world.done(
        Ground::Namespaces,
        &["run", "-q", "--model", "sim/echo", &format!("remember {SECRET}")],
    );
    world
}

fn calls(world: &World) -> Vec<(Kind, String, Call)> {
    let bash = ways().into_iter().map(|(kind, way)| (kind, way.to_owned(), Call::bash(way)));
    let home = world.home();
    let tables = [
        (Kind::Tool, TOOLS),
        (Kind::Settings, TOOLS_OF_SETTINGS),
        (Kind::Project, TOOLS_OF_PROJECT),
    ];
    let tools =
        tables.into_iter().flat_map(|(kind, tools)| tools.iter().map(move |tool| (kind, tool)));
    let tools = tools.map(|(kind, (tool, input))| {
        let name = format!("{tool} {input}");
        let input = input.replace("@HOME", home.to_str().unwrap());
        let input: Value = serde_json::from_str(&input).unwrap();
        (kind, name, Call::new(tool, input))
    });
    bash.chain(tools).collect()
}

/// How an agent runs that tries all ways.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Run {
    /// In default mode, where nobody can be asked.
    Asking,
    /// Confined, with everything allowed.
    Confined(&'static str),
}

/// Returns true for ways that are known to lead to what was shown in this run. Each of them stands in the table of its kind.
fn is_known(run: Run, ground: Ground, shown: Kind) -> bool {
    match (run, ground, shown) {
        // What a repository holds is everybody's who works in it.
        (Run::Confined(_), _, Kind::History | Kind::Settings) => true,
        (Run::Confined("directory"), _, Kind::Clone) => true,
        (Run::Confined("directory"), Ground::Fallback, Kind::Project | Kind::Deep) => true,
        (Run::Confined(_) | Run::Asking, _, _) => false,
    }
}

fn check(run: Run, ground: Ground) {
    let (group, options) = match run {
        Run::Asking => ("secrets, without a question".to_owned(), vec![]),
        Run::Confined(reach) => (
            format!("secrets, confined, {reach}"),
            vec!["--permission-mode", "bypass", "--confine", reach],
        ),
    };
    if cannot_run(&group, ground) {
        return;
    }
    let world = world();
    let (kinds, calls): (Vec<_>, Vec<_>) =
        calls(&world).into_iter().map(|(kind, name, call)| ((kind, name), call)).unzip();
    let variables = VARIABLES.map(|name| (name, SECRET));
    let played = world.play_with(ground, &options, &calls, &variables);
    assert!([0, NOT_ALLOWED].contains(&played.code), "{}", played.stderr);
    assert_eq!(played.results.len(), calls.len());
    let mut row = Row::new(group, calls.len());
    for ((kind, name), result) in kinds.iter().zip(&played.results) {
        let shown = match result.contains(SECRET) {
            true => *kind,
            false if !result.contains(PASSWORD) => continue,
            false if name == ALL_OF_PROJECT => Kind::Settings,
            false => *kind,
        };
        match (is_known(run, ground, shown), run) {
            (true, _) => row.known.push(name.clone()),
            (false, Run::Asking) => row.unasked.push(name.clone()),
            (false, Run::Confined(_)) => row.escaped.push(name.clone()),
        }
    }
    let known_max = kinds.iter().filter(|(kind, name)| {
        is_known(run, ground, *kind)
            || name == ALL_OF_PROJECT && is_known(run, ground, Kind::Settings)
    });
    let known_max = known_max.count();
    if known_max > 0 {
        row.note = match (run, ground) {
            (Run::Asking, _) => "",
            (Run::Confined("directory"), Ground::Fallback) => {
                "the repository's history and settings, secrets of the directory and deep ones of the home"
            }
            (Run::Confined(_), _) => "the repository's history and settings",
        };
    }
    row.settle(ground, 60, known_max);
}

#[test]
fn no_secret_is_read_without_a_question() {
    for ground in Ground::ALL {
        check(Run::Asking, ground);
    }
}

#[test]
fn no_secret_is_read_by_a_confined_run() {
    check(Run::Confined("directory"), Ground::Namespaces);
}

#[test]
fn only_near_secrets_are_kept_from_a_confined_run_without_namespaces() {
    check(Run::Confined("directory"), Ground::Fallback);
}

#[test]
fn no_secret_is_read_by_a_run_that_may_only_read() {
    check(Run::Confined("read-only"), Ground::Namespaces);
}

#[test]
fn no_secret_is_read_by_a_run_that_may_only_read_without_namespaces() {
    check(Run::Confined("read-only"), Ground::Fallback);
}

#[test]
fn each_way_leads_to_a_secret_where_nothing_is_in_the_way() {
    let world = world();
    let mut idle = Vec::new();
    for (_, way) in ways() {
        let mut shell = assert_cmd::Command::new("timeout");
        shell.args(["10", "bash", "-c", way]).current_dir(world.work()).env("HOME", world.home());
        shell.env("TMPDIR", world.home()).envs(VARIABLES.map(|name| (name, SECRET)));
        let output = shell.output().unwrap();
        let told = [output.stdout, output.stderr].concat();
        let told = String::from_utf8_lossy(&told);
        if !told.contains(SECRET) && !told.contains(PASSWORD) {
            idle.push(way);
        }
    }
    // A program may be missing, or of another kind than here.
    println!("without effect here: {idle:?}");
    assert!(idle.len() * 2 < ways().len(), "too few show anything: {idle:?}");
}
