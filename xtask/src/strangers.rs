//! `cargo xtask strangers`: five packages of the registries, each as a repository that tine has never seen, through run, fork, fan with
//! worktrees, diff, apply, undo, removal and recovery. Needs the registries, so that it is no part of the test command.
//!
//! The model is the simulator. What is checked is what a person would lose: every file of the checkout and of a worktree to the byte, the
//! index, one report of each worker, and that the forks were served from the cache.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use serde_json::{Value, json};

use crate::{process, workspace};

/// A package, by the registry that it comes from.
#[derive(Clone, Copy, Debug)]
enum Origin {
    /// A crate with what it depends on, as `cargo vendor` unpacks them.
    Crates,
    /// A package of npm.
    Npm,
    /// A wheel of PyPI.
    PyPi,
}

/// Packages that are as different as can be, with what is special in each.
const PACKAGES: [(Origin, &str, &str, &str); 5] = [
    (Origin::Crates, "regex", "1.12.2", "several crates, large tables"),
    (Origin::Npm, "core-js", "3.46.0", "thousands of tiny files"),
    (Origin::Npm, "typescript", "5.9.3", "files of 9 MB"),
    (Origin::PyPi, "django", "5.2.8", "locales, binary catalogues"),
    (Origin::PyPi, "setuptools", "80.9.0", "programs, names with blanks"),
];

const WORKERS: usize = 4;

/// Files that workers change are texts of this size, in bytes: larger ones are not read whole.
const EDITABLE_BYTES: std::ops::Range<usize> = 200..100_000;

/// The least part of the prompt of each worker's first request that the cache serves.
const SERVED_MIN: f64 = 0.85;

/// Runs all of them, and prints a table. Fails where anything was not as it should be.
pub(crate) fn run() -> Result<()> {
    let (root, _) = workspace::metadata()?;
    let mut build = process::cargo();
    build.args(["build", "--package", "tine", "--bin", "tine"]);
    process::step("the program", &root, build)?;
    let tine = workspace::target()?.join("debug/tine");
    println!(
        "| package | special | files | MB | run | fork | fan of {WORKERS} | diff | apply | undo | rm | recover | served |"
    );
    println!("|---|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|");
    let mut failed = 0;
    for (origin, name, version, special) in PACKAGES {
        match visit(&tine, origin, name, version) {
            Ok(row) => println!("| {name} {version} | {special} | {row} |"),
            Err(error) => {
                failed += 1;
                println!("| {name} {version} | {special} | failed |");
                eprintln!("--- {name} {version}: {error:#}");
            }
        }
    }
    if failed > 0 {
        bail!("{failed} of {} packages failed", PACKAGES.len());
    }
    Ok(())
}

/// The files of a folder but those of `.git`, by a hash of their bytes; of a link its target.
type Files = BTreeMap<PathBuf, u64>;

struct Stranger<'a> {
    place: tempfile::TempDir,
    tine: &'a Path,
    times: Vec<Duration>,
}

fn visit(tine: &Path, origin: Origin, name: &str, version: &str) -> Result<String> {
    // Not below `/tmp`, which is the command's own behind a wall.
    let home = std::env::home_dir().context("there is no home")?;
    let place = tempfile::Builder::new().prefix(".tine-strangers-").tempdir_in(home)?;
    let mut stranger = Stranger { place, tine, times: Vec::new() };
    stranger.unpack(origin, name, version)?;
    let editable = stranger.begin()?;
    let before = stranger.files(&stranger.project())?;
    let bytes: u64 = before.keys().map(|path| size(&stranger.project().join(path))).sum();
    stranger.scenario(&editable)?;

    stranger.tine(&[
        "run",
        "-q",
        "--model",
        "sim/../scenario.toml",
        "--name",
        "base",
        "Look around.",
    ])?;
    stranger.tine(&["fork", "base", "--name", "beside", "Look around once more."])?;
    let mut fan = vec!["fan", "base", "--worktree", "--permission-mode", "accept-edits", "--json"];
    let tasks: Vec<String> = (0..WORKERS).map(|at| format!("Do part {at}.")).collect();
    tasks.iter().for_each(|task| fan.extend(["--directive", task]));
    let told: Value = serde_json::from_str(&stranger.tine(&fan)?)?;
    let workers = reports(&told)?;
    stranger.stands_as(&before, "a fan in worktrees")?;

    let [first, second] = [&workers[0], &workers[1]];
    let changed = stranger.tine(&["diff", first, "--name-only", "-z"])?;
    let changed: BTreeSet<PathBuf> = changed.split_terminator('\0').map(PathBuf::from).collect();
    let expected = BTreeSet::from([editable[0].path.clone(), made(0)]);
    ensure!(changed == expected, "the first worker changed {changed:?}, not {expected:?}");

    stranger.tine(&["apply", first])?;
    let mut after = before.clone();
    after.insert(editable[0].path.clone(), hash(editable[0].changed().as_bytes()));
    after.insert(made(0), hash(MADE.as_bytes()));
    stranger.stands_as(&after, "an apply")?;
    stranger.tine(&["apply", "--undo", first])?;
    stranger.stands_as(&before, "an undo")?;

    let tree = PathBuf::from(told["tasks"][1]["worktree"]["path"].as_str().context("no worktree")?);
    let held = stranger.files(&tree)?;
    ensure!(held.len() == before.len() + 1, "a worktree has other files than its checkout");
    stranger.tine(&["worktree", "rm", second])?;
    ensure!(!tree.exists(), "a worktree is there after its removal");
    stranger.tine(&["worktree", "recover", second])?;
    ensure!(stranger.files(&tree)? == held, "a worktree came back with other files");

    for worker in &workers {
        stranger.untimed(&["apply", worker])?;
    }
    for (at, file) in editable.iter().enumerate() {
        after.insert(file.path.clone(), hash(file.changed().as_bytes()));
        after.insert(made(at), hash(MADE.as_bytes()));
    }
    stranger.stands_as(&after, "all of them")?;
    stranger.git(&["fsck", "--no-progress", "--no-dangling"])?;
    let staged = stranger.git(&["diff", "--cached", "--name-only"])?;
    ensure!(staged.is_empty(), "the index has changed: {staged}");

    let first = &told["cache"]["first"];
    let tokens = |name: &str| first[name].as_f64().unwrap_or_default();
    let served = tokens("read") / (tokens("read") + tokens("write_short") + tokens("uncached"));
    ensure!(served >= SERVED_MIN, "the cache served {served:.2} of the first requests");
    let times: Vec<String> =
        stranger.times.iter().map(|time| format!("{:.2} s", time.as_secs_f64())).collect();
    let megabytes = bytes as f64 / 1e6;
    Ok(format!(
        "{} | {megabytes:.1} | {} | {:.0} %",
        before.len(),
        times.join(" | "),
        served * 100.0
    ))
}

/// What each worker writes into a file of its own.
const MADE: &str = "Made by a worker.\n";

fn made(at: usize) -> PathBuf {
    PathBuf::from(format!("made by worker {at}.txt"))
}

/// A text that a worker changes in one line.
struct Editable {
    path: PathBuf,
    text: String,
    /// A line that occurs once.
    line: String,
}

impl Editable {
    fn read(project: &Path, path: &Path) -> Option<Self> {
        // Settings of CI and editors are protected from workers.
        if path.components().any(|part| part.as_os_str().as_encoded_bytes().starts_with(b".")) {
            return None;
        }
        let text = fs::read_to_string(project.join(path)).ok()?;
        let is_text =
            EDITABLE_BYTES.contains(&text.len()) && !text.contains(['\0', '\r', '\u{feff}']);
        let line = text.lines().find(|line| line.len() > 20 && text.matches(line).count() == 1);
        let line = is_text.then_some(line?)?.to_owned();
        Some(Self { path: path.to_owned(), line, text })
    }

    fn new_line(&self) -> String {
        format!("{} changed by a worker", self.line)
    }

    fn changed(&self) -> String {
        self.text.replacen(&self.line, &self.new_line(), 1)
    }
}

impl Stranger<'_> {
    fn project(&self) -> PathBuf {
        self.place.path().join("project")
    }

    /// A program in the project, with a home of its own.
    fn command(&self, program: impl AsRef<std::ffi::OsStr>) -> Command {
        let mut command = process::program(program);
        command.current_dir(self.project()).env_clear().env("HOME", self.place.path());
        for name in ["PATH", "LANG"] {
            command.envs(std::env::var_os(name).map(|value| (name, value)));
        }
        command.stdin(std::process::Stdio::null());
        command
    }

    fn git(&self, arguments: &[&str]) -> Result<String> {
        let mut git = self.command("git");
        git.args(["-c", "user.name=Ann", "-c", "user.email=ann@work.example"]).args(arguments);
        process::output(git)
    }

    fn tine(&mut self, arguments: &[&str]) -> Result<String> {
        let start = Instant::now();
        let said = self.untimed(arguments)?;
        self.times.push(start.elapsed());
        Ok(said)
    }

    fn untimed(&self, arguments: &[&str]) -> Result<String> {
        let mut tine = self.command(self.tine);
        tine.args(arguments);
        process::output(tine)
    }

    /// Unpacks the package into the project. The registries are reached with the person's own settings.
    fn unpack(&self, origin: Origin, name: &str, version: &str) -> Result<()> {
        let (project, at) = (self.project(), self.place.path());
        fs::create_dir_all(&project)?;
        let fetch = |program: &str, arguments: &[&str], place: &Path| {
            let mut command = process::program(program);
            command.args(arguments).current_dir(place);
            process::output(command)
        };
        match origin {
            Origin::Crates => {
                let wants = at.join("wants");
                fs::create_dir_all(wants.join("src"))?;
                fs::write(wants.join("src/lib.rs"), "")?;
                let manifest = format!(
                    "[package]\nname = \"wants\"\nedition = \"2024\"\n[dependencies]\n{name} = \"={version}\"\n[workspace]\n"
                );
                fs::write(wants.join("Cargo.toml"), manifest)?;
                let mut vendor = process::cargo();
                vendor.args(["vendor", "--quiet"]).arg(&project).current_dir(&wants);
                process::output(vendor)?;
            }
            Origin::Npm => {
                let archive =
                    fetch("npm", &["pack", "--silent", &format!("{name}@{version}")], at)?;
                let archive = archive.lines().last().context("npm packed nothing")?;
                let whole = ["xzf", archive, "-C", "project", "--strip-components", "1"];
                fetch("tar", &whole, at)?;
            }
            Origin::PyPi => {
                let wheel = format!("{name}=={version}");
                let wheel = [
                    "-m",
                    "pip",
                    "download",
                    "--quiet",
                    "--no-deps",
                    "--only-binary",
                    ":all:",
                    &wheel,
                ];
                fetch("python3", &wheel, at)?;
                let mut found = fs::read_dir(at)?.filter_map(|entry| Some(entry.ok()?.path()));
                let is_wheel = |path: &PathBuf| path.extension().is_some_and(|end| end == "whl");
                let wheel = found.find(is_wheel).context("pip downloaded no wheel")?;
                let wheel = wheel.to_str().context("the wheel has a strange name")?;
                fetch("python3", &["-m", "zipfile", "-e", wheel, "project"], at)?;
            }
        }
        Ok(())
    }

    /// Makes a repository of it, with work of the person's own that nobody has committed. Returns the files that workers will change.
    fn begin(&self) -> Result<Vec<Editable>> {
        let project = self.project();
        self.git(&["init", "--quiet", "."])?;
        self.git(&["add", "--all", "--force"])?;
        self.git(&["commit", "--quiet", "--message", "One"])?;
        let all: Vec<PathBuf> = self.files(&project)?.into_keys().collect();
        let mut editable = all.iter().filter_map(|path| Editable::read(&project, path));
        let own = editable.next().context("there is no text in it")?;
        fs::write(project.join(&own.path), format!("{}mine\n", own.text))?;
        fs::write(project.join("a note of mine.txt"), "Not committed.\n")?;
        let mut rest: Vec<Editable> = editable.collect();
        ensure!(rest.len() > WORKERS, "there are too few texts in it");
        let step = rest.len() / WORKERS;
        Ok((0..WORKERS).rev().map(|at| rest.swap_remove(at * step)).collect())
    }

    fn scenario(&self, editable: &[Editable]) -> Result<()> {
        let call = |name: &str, input: Value| json!({ "name": name, "input": input });
        let mut turns = vec![json!({
            "when": { "user_contains": "Look around", "tool_results": 0 },
            "tool_calls": [
                call("Glob", json!({ "pattern": "**/*.*" })),
                call("Bash", json!({ "command": "git status --short | head -50" })),
                call("Grep", json!({ "pattern": "version" })),
            ],
        })];
        for (at, file) in editable.iter().enumerate() {
            let edit = json!({ "file_path": file.path, "old_string": file.line, "new_string": file.new_line() });
            let steps = [
                call("Read", json!({ "file_path": file.path })),
                call("Edit", edit),
                call("Write", json!({ "file_path": made(at), "content": MADE })),
            ];
            turns.extend(steps.into_iter().enumerate().map(|(step, call)| {
                let when =
                    json!({ "user_contains": format!("Do part {at}."), "tool_results": step });
                json!({ "when": when, "tool_calls": [call] })
            }));
        }
        turns.push(json!({ "text": "Scope: this part.\nResult: It is done.\nIssues: none." }));
        let scenario = toml::to_string(&json!({ "name": "stranger", "turn": turns }))?;
        fs::write(self.place.path().join("scenario.toml"), scenario)?;
        Ok(())
    }

    /// Checks that the person's checkout has exactly these files.
    fn stands_as(&self, expected: &Files, behind: &str) -> Result<()> {
        let files = self.files(&self.project())?;
        let differs = expected.iter().filter(|(path, hash)| files.get(*path) != Some(*hash));
        let new = files.iter().filter(|(path, _)| !expected.contains_key(*path));
        let all: Vec<_> = differs.chain(new).map(|(path, _)| path.display().to_string()).collect();
        ensure!(all.is_empty(), "behind {behind} these files are not as they should be: {all:?}");
        Ok(())
    }

    fn files(&self, folder: &Path) -> Result<Files> {
        let mut files = Files::new();
        let mut open = vec![folder.to_owned()];
        while let Some(next) = open.pop() {
            for entry in fs::read_dir(&next)? {
                let entry = entry?;
                let (path, kind) = (entry.path(), entry.file_type()?);
                if entry.file_name() == ".git" {
                    continue;
                }
                let bytes = match kind {
                    kind if kind.is_dir() => {
                        open.push(path);
                        continue;
                    }
                    kind if kind.is_symlink() => {
                        fs::read_link(&path)?.into_os_string().into_encoded_bytes()
                    }
                    _ => fs::read(&path)?,
                };
                files.insert(path.strip_prefix(folder)?.to_owned(), hash(&bytes));
            }
        }
        Ok(files)
    }
}

/// Checks that each worker has ended well with a report of its own. Returns their ids.
fn reports(told: &Value) -> Result<Vec<String>> {
    let tasks = told["tasks"].as_array().context("fan named no tasks")?;
    ensure!(tasks.len() == WORKERS, "{} workers, not {WORKERS}", tasks.len());
    let mut ids: Vec<String> = Vec::new();
    for (at, task) in tasks.iter().enumerate() {
        ensure!(task["directive"] == format!("Do part {at}."), "no report of part {at}: {task}");
        ensure!(task["status"] == "completed", "a worker ended so: {task}");
        ensure!(task["report"]["result"] == "It is done.", "a worker reported so: {task}");
        let id = task["agent"].as_str().context("a worker without an id")?;
        ensure!(!ids.iter().any(|known| known == id), "two reports of {id}");
        ids.push(id.to_owned());
    }
    Ok(ids)
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    bytes.hash(&mut hasher);
    hasher.finish()
}

fn size(path: &Path) -> u64 {
    fs::symlink_metadata(path).map_or(0, |about| about.len())
}
