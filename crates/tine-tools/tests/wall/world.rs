//! A small world: a working directory, a home with keys, and somebody else's files; and a look at all of it.

use std::collections::BTreeMap;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tempfile::TempDir;
use tine_model::RawJson;
use tine_testkit::{Ability, lacks, test_name};
use tine_tools::{Bash, Ground, Place, StageProgram, Support, Tool, ToolOutput, Wall, Withheld};
use tokio_util::sync::CancellationToken;

/// What stands in every secret file.
pub(crate) const SECRET: &str = "the-secret-of-this-world";

/// Returns true, and lists the test as not run, where its commands have no interpreter.
pub(crate) fn lacks_perl() -> bool {
    lacks(Ability::Program("perl"), &test_name())
}

/// The same where a worker's commands cannot be kept to their directory.
pub(crate) fn lacks_wall() -> bool {
    // Before the third version, files outside can be emptied.
    let layer = if crate::HAS_VIEW { Ability::Namespaces } else { Ability::Landlock(3) };
    let lacks_layer = [layer, Ability::Seccomp].into_iter().any(|one| lacks(one, &test_name()));
    lacks_layer || lacks_perl()
}

/// The same where nothing tells the processes of a command from all others, so that they could not be ended.
pub(crate) fn lacks_wall_around_processes() -> bool {
    let by_signals = Ability::Landlock(Support::LANDLOCK_WHOLE);
    lacks_wall() || !crate::HAS_VIEW && lacks(by_signals, &test_name())
}

/// The same where a wall has gaps, with which no maintenance run starts: devices, and other processes.
pub(crate) fn lacks_whole_wall() -> bool {
    let version = if crate::HAS_VIEW { 5 } else { Support::LANDLOCK_WHOLE };
    lacks_wall() || lacks(Ability::Landlock(version), &test_name())
}

pub(crate) struct World {
    root: TempDir,
}

/// One file as it is: everything that a command could change of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Seen {
    mode: u32,
    owner: (u32, u32),
    links: u64,
    modified: (i64, i64),
    changed: (i64, i64),
    content: Vec<u8>,
}

impl World {
    pub(crate) fn new() -> Self {
        let world = Self { root: tempfile::tempdir().unwrap() };
        let write = |name: &str, content: &str| {
            let path = world.path(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        };
        write("work/own", "mine\n");
        write("work/.env", SECRET);
        write("home/.ssh/id_rsa", SECRET);
        write("home/.config/gh/hosts.yml", SECRET);
        write("home/.cargo/credentials.toml", SECRET);
        write("home/.config/Code/User/globalStorage/state", SECRET);
        write("home/.config/Code/User/snippets/rust.json", "{}\n");
        write("home/.claude/history.jsonl", SECRET);
        write("home/.claude/agents/one.md", "agent\n");
        write("home/.profile", "true\n");
        write("outside/file", "theirs\n");
        write("outside/directory/inner", "theirs\n");
        for name in ["outside/empty", "notes", "tmp", "shared-tmp"] {
            std::fs::create_dir_all(world.path(name)).unwrap();
        }
        world
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.root.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn ground(&self) -> Ground {
        let names = [".ssh", ".env", "credentials.toml"];
        let hidden: Withheld = Arc::new(move |path: &Path| {
            path.file_name().is_some_and(|name| names.iter().any(|secret| name == *secret))
        });
        let home = self.path("home");
        let mut ground = Ground::here(hidden);
        // Where settings lie is this world's matter, whoever runs the tests.
        let names = ["HOME", "XDG_CONFIG_HOME", "GIT_CONFIG_GLOBAL"];
        ground.variables.retain(|(name, _)| names.iter().all(|own| name != *own));
        ground.variables.push(("HOME".into(), home.clone().into()));
        ground.support.namespaces = crate::HAS_VIEW;
        let stage = StageProgram::at(env!("CARGO_BIN_EXE_tine-wall-stage"));
        let stage = crate::HAS_VIEW.then_some(stage);
        let private = vec![self.path("shared-tmp")];
        Ground { home: Some(home), temporary: self.path("tmp"), stage, private, ..ground }
    }

    pub(crate) fn open(&self) -> Place {
        Place::new(&self.path("work")).unwrap()
    }

    pub(crate) fn behind(&self, wall: &Wall) -> Place {
        let place = self.open();
        let enclosure = wall.raise(place.directory(), &self.ground()).unwrap();
        place.with_enclosure(enclosure)
    }

    pub(crate) fn worker(&self) -> Place {
        self.behind(&Wall::worker(&self.path("work")))
    }

    pub(crate) fn reader(&self) -> Place {
        self.behind(&Wall::maintenance(vec![]))
    }

    pub(crate) fn note_taker(&self) -> Place {
        self.behind(&Wall::maintenance(vec![self.path("notes")]))
    }

    /// The command with `OUT`, `HOME_DIRECTORY` and `NOTES` filled in.
    pub(crate) fn fill(&self, command: &str) -> String {
        let filled = |text: String, word: &str, name: &str| {
            text.replace(word, self.path(name).to_str().unwrap())
        };
        let text = filled(command.to_owned(), "@OUT", "outside");
        filled(filled(text, "@HOME", "home"), "@NOTES", "notes")
    }

    /// Everything outside these directories.
    pub(crate) fn look_around(&self, without: &[&str]) -> BTreeMap<PathBuf, Seen> {
        let mut seen = BTreeMap::new();
        let mut left = vec![self.path("")];
        let without: Vec<PathBuf> = without.iter().map(|name| self.path(name)).collect();
        while let Some(path) = left.pop() {
            if without.contains(&path) {
                continue;
            }
            let metadata = path.symlink_metadata().unwrap();
            let mut content = Vec::new();
            if metadata.is_dir() {
                left.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
            } else if metadata.is_file() {
                content = std::fs::read(&path).unwrap();
            } else if metadata.is_symlink() {
                content = std::fs::read_link(&path).unwrap().into_os_string().into_encoded_bytes();
            }
            let one = Seen {
                mode: metadata.mode(),
                owner: (metadata.uid(), metadata.gid()),
                links: metadata.nlink(),
                modified: (metadata.mtime(), metadata.mtime_nsec()),
                changed: (metadata.ctime(), metadata.ctime_nsec()),
                content,
            };
            seen.insert(path, one);
        }
        seen
    }
}

/// Runs a command with the Bash tool. A refusal reads the same from every layer of a wall.
pub(crate) async fn run(place: &Place, command: &str) -> ToolOutput {
    let input = serde_json::json!({ "command": command, "timeout_ms": 120_000 }).to_string();
    let input = RawJson::parse(&input).unwrap();
    let output = Bash.run(place, &input, &CancellationToken::new()).await;
    let text = output.text.replace("Read-only file system", "Permission denied");
    ToolOutput { text, ..output }
}

/// What two looks around have seen differently.
pub(crate) fn changes(
    before: &BTreeMap<PathBuf, Seen>,
    after: &BTreeMap<PathBuf, Seen>,
) -> Vec<PathBuf> {
    let all = before.keys().chain(after.keys());
    let mut changed: Vec<PathBuf> =
        all.filter(|path| before.get(*path) != after.get(*path)).cloned().collect();
    changed.sort();
    changed.dedup();
    changed
}
