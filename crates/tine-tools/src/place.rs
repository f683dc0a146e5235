//! Where an agent works: its directory, what it has read, and its limits.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tine_guard::normalise;
#[cfg(feature = "repl")]
use tine_model::RawJson;
use tine_model::{SEEN_LINES_MAX, SeenFile};

use crate::bash::Background;
use crate::caller::Caller;
use crate::ground::{Ground, Spot, Want};
use crate::leftover::call_variable;
use crate::output_watcher::OutputWatcher;
use crate::paths::resolve;
use crate::tool::Failure;
#[cfg(feature = "repl")]
use crate::tool::ToolOutput;
use crate::wall::{Enclosure, StageProgram};

/// Says of an absolute path that a search over a whole directory leaves its content out. The owner
/// of the place decides what that is; a search that names such a path itself is not affected.
pub type Withheld = Arc<dyn Fn(&Path) -> bool + Send + Sync>;

/// Turns to write: enough that files which are written at the same time seldom share one.
const TURNS: usize = 64;

static WRITING: [Mutex<()>; TURNS] = [const { Mutex::new(()) }; TURNS];

/// Waits for the turn to write the file at this real path, and holds it from the check of the file to its replacement: two
/// agents of this process cannot both pass the check and then overwrite each other. Blocks the thread. What other processes do
/// is seen by [`crate::disk::replace`].
pub(crate) fn writing_turn(real: &Path) -> MutexGuard<'static, ()> {
    let number = blake3::hash(real.as_os_str().as_encoded_bytes()).as_bytes()[0];
    WRITING[usize::from(number) % TURNS].lock().unwrap_or_else(PoisonError::into_inner)
}

/// The directory is not absolute.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the working directory `{}` is not an absolute path", .0.display())]
pub struct PlaceError(pub PathBuf);

/// A directory that a run may write to cannot be opened.
#[derive(Debug, thiserror::Error)]
#[error("cannot write below `{}`", .path.display())]
pub struct RootError {
    /// The directory.
    pub path: PathBuf,
    /// Why not.
    pub source: std::io::Error,
}

/// Limits that an embedder may want to change; the others are constants of the tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How long a command may run when the call does not say. Two minutes cover most builds and
    /// tests without leaving a stuck one unseen.
    pub command_default: Duration,
    /// The longest time a call may ask for.
    pub command_max: Duration,
    /// How long a command may tidy up after it was asked to end, before it is killed.
    pub command_grace: Duration,
    /// How much of a command's output is kept, half from its head and half from its tail.
    pub command_output_characters: usize,
    /// How long a command in the background is watched before its call returns, so that one that fails at once says so there.
    pub background_look: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            command_default: Duration::from_secs(120),
            command_max: Duration::from_secs(600),
            command_grace: Duration::from_millis(500),
            command_output_characters: 30_000,
            background_look: Duration::from_secs(1),
        }
    }
}

/// The place of one agent. It holds its directory open, so what is inside stays inside even when the
/// directory is renamed or replaced, and it remembers the content of every file the agent has seen, so that a
/// file which changed behind its back is not overwritten.
pub struct Place {
    directory: Arc<Path>,
    ground: Ground,
    /// A std mutex, because it is held only for a look-up and never across an await.
    ledger: Arc<Mutex<HashMap<PathBuf, Content>>>,
    /// What the call that this place is for has seen, for the log.
    seen: Arc<Mutex<Vec<SeenFile>>>,
    limits: Limits,
    withheld: Option<Withheld>,
    caller: Option<Arc<dyn Caller>>,
    /// Sees what the command of a call prints while it runs.
    output_watcher: Option<Arc<dyn OutputWatcher>>,
    /// The wall that commands start behind.
    enclosure: Option<Enclosure>,
    /// What commands find in their environment beside the usual.
    variables: Arc<[(String, String)]>,
    /// The program of the watchdogs; `None` for the registered one.
    watchdog: Option<StageProgram>,
    /// The commands of the agent that go on in the background; `None` where none may.
    background: Option<Arc<Background>>,
}

impl Place {
    /// A place in `directory`, which must be absolute, where nothing has been read.
    pub fn new(directory: &Path) -> Result<Self, PlaceError> {
        if !directory.is_absolute() {
            return Err(PlaceError(directory.to_path_buf()));
        }
        let directory = normalise(directory);
        Ok(Self {
            ground: Ground::new(&directory),
            directory: directory.into(),
            ledger: Arc::default(),
            seen: Arc::default(),
            limits: Limits::default(),
            withheld: None,
            caller: None,
            output_watcher: None,
            enclosure: None,
            variables: Arc::default(),
            watchdog: None,
            background: None,
        })
    }

    /// The same place with other limits.
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// The same place, where searches over a directory leave out what `withheld` names.
    pub fn with_withheld(self, withheld: Withheld) -> Self {
        Self { withheld: Some(withheld), ..self }
    }

    /// The same place for one call, whose own calls `caller` runs.
    pub fn with_caller(&self, caller: Arc<dyn Caller>) -> Self {
        Self { caller: Some(caller), ..self.share() }
    }

    /// The same place for one call, whose command is watched while it runs. In the background it is not.
    pub fn with_output_watcher(self, watcher: Arc<dyn OutputWatcher>) -> Self {
        Self { output_watcher: Some(watcher), ..self }
    }

    /// The watcher of the output of a call's command.
    pub(crate) fn output_watcher(&self) -> Option<&Arc<dyn OutputWatcher>> {
        self.output_watcher.as_ref()
    }

    /// The same place for one call, whose commands carry its id: when tine has died, what is left of them is known by it.
    pub fn with_call(self, call: &str) -> Self {
        let variables = self.variables.iter().cloned().chain([call_variable(call)]).collect();
        Self { variables, seen: Arc::default(), ..self }
    }

    /// The same place, where these files have been read: what the conversation shows, in its order.
    pub fn with_seen<'a>(self, seen: impl IntoIterator<Item = &'a SeenFile>) -> Self {
        let known = seen.into_iter().map(|seen| {
            let content = Content { hash: seen.hash.into(), lines: seen.lines.clone() };
            (self.ground.real().join(&seen.path), content)
        });
        self.ledger().extend(known);
        self
    }

    /// Takes what the calls of this place have seen since it was asked last. See [`with_call`](Self::with_call).
    pub fn take_seen(&self) -> Vec<SeenFile> {
        std::mem::take(&mut *self.seen.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// The same place, where FileWrite and FileEdit write below these directories and nowhere else,
    /// whatever else was allowed. Each must be absolute and exist; links in it are followed now, once.
    /// No directory at all means that nothing may be written.
    pub fn with_write_roots(self, roots: &[PathBuf]) -> Result<Self, RootError> {
        Ok(Self { ground: self.ground.clone().with_write_roots(roots)?, ..self })
    }

    /// The same place, where no tool opens what `secrets` names, by its written or its real path, nor what the system's
    /// settings keep from other users. (A hard link by another name cannot be known.) Bash is not concerned.
    pub fn with_secrets_refused(self, secrets: Withheld) -> Self {
        Self { ground: self.ground.clone().with_secrets_refused(secrets), ..self }
    }

    /// The same place for one call on a path, whose real path was judged: absolute and without links.
    /// The call opens this and nothing else, following no link. Without it a call follows only links
    /// that stay in the directory.
    pub fn judged(&self, real: &Path) -> Self {
        Self { ground: self.ground.judged(real), ..self.share() }
    }

    /// The same place, whose commands start behind this wall. Forks of the place keep it.
    pub fn with_enclosure(self, enclosure: Enclosure) -> Self {
        Self { enclosure: Some(enclosure), ..self }
    }

    /// The same place, whose commands find these in their environment. They stand also where a wall keeps others out.
    pub fn with_variables(self, variables: impl IntoIterator<Item = (String, String)>) -> Self {
        Self { variables: variables.into_iter().collect(), ..self }
    }

    /// Has its commands ended by watchdogs of this program when this process dies. Without it they are those of the
    /// program that this process has registered, if it has.
    pub fn with_watchdog(self, program: StageProgram) -> Self {
        Self { watchdog: Some(program), ..self }
    }

    /// The same place, whose commands may go on in the background. Forks of the place have none.
    pub fn with_background(self, background: Arc<Background>) -> Self {
        Self { background: Some(background), ..self }
    }

    /// The commands in the background; `None` where none may be.
    pub(crate) fn background(&self) -> Option<&Arc<Background>> {
        self.background.as_ref()
    }

    /// The same place for what outlives its call: nothing can be called from there.
    pub(crate) fn beyond_its_call(&self) -> Self {
        Self { caller: None, output_watcher: None, background: None, ..self.share() }
    }

    /// The program of the watchdogs of commands.
    pub(crate) fn watchdog(&self) -> Option<StageProgram> {
        self.watchdog.clone().or_else(StageProgram::registered)
    }

    /// What commands find in their environment beside the usual.
    pub(crate) fn variables(&self) -> &[(String, String)] {
        &self.variables
    }

    /// The wall that commands start behind.
    pub fn enclosure(&self) -> Option<&Enclosure> {
        self.enclosure.as_ref()
    }

    /// The place of a forked child in the same directory. What the parent has read counts as read;
    /// from here on the two learn independently.
    pub fn fork(&self) -> Self {
        let ledger = Arc::new(Mutex::new(self.ledger().clone()));
        Self { ledger, background: None, ..self.share() }
    }

    /// The working directory.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// The working directory without links, as it was when this place was made.
    pub fn real_directory(&self) -> &Path {
        self.ground.real()
    }

    /// The limits in force.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// The same place, for work on another thread.
    pub(crate) fn share(&self) -> Self {
        Self {
            directory: Arc::clone(&self.directory),
            ground: self.ground.clone(),
            ledger: Arc::clone(&self.ledger),
            seen: Arc::clone(&self.seen),
            limits: self.limits,
            withheld: self.withheld.clone(),
            caller: self.caller.clone(),
            output_watcher: self.output_watcher.clone(),
            enclosure: self.enclosure.clone(),
            variables: Arc::clone(&self.variables),
            watchdog: self.watchdog.clone(),
            background: self.background.clone(),
        }
    }

    /// Where a path of a call is opened to be read.
    pub(crate) fn spot(&self, field: &str, text: &str) -> Result<Spot, Failure> {
        self.spot_for(field, text, Want::Read)
    }

    /// Where a path of a call is opened to be written.
    pub(crate) fn spot_to_write(&self, field: &str, text: &str) -> Result<Spot, Failure> {
        self.spot_for(field, text, Want::Write)
    }

    fn spot_for(&self, field: &str, text: &str, want: Want) -> Result<Spot, Failure> {
        let written = resolve(&self.directory, field, text)?;
        let shown = self.show(&written);
        self.ground.spot(&self.directory, written, shown, want)
    }

    /// A path as the model should write it: relative where it is inside the directory.
    pub(crate) fn show(&self, path: &Path) -> String {
        match path.strip_prefix(&self.directory) {
            Ok(relative) if relative == Path::new("") => ".".to_owned(),
            Ok(relative) => relative.to_string_lossy().into_owned(),
            Err(_) => path.to_string_lossy().into_owned(),
        }
    }

    /// Remembers that the agent knows the content of the file at this real path.
    pub(crate) fn remember(&self, real: PathBuf, content: &[u8]) {
        let content = Content::of(content);
        let path = real.strip_prefix(self.ground.real()).unwrap_or(&real);
        // A name that is no text cannot stand in the log; a later run reads the file again.
        if let Some(path) = path.to_str() {
            let (hash, lines) = (*content.hash.as_bytes(), content.lines.clone());
            let seen = SeenFile { path: path.to_owned(), hash, lines };
            self.seen.lock().unwrap_or_else(PoisonError::into_inner).push(seen);
        }
        self.ledger().insert(real, content);
    }

    /// What the agent last saw of the file at this real path.
    pub(crate) fn seen(&self, real: &Path) -> Option<Content> {
        self.ledger().get(real).cloned()
    }

    /// Runs a call that a tool makes here.
    #[cfg(feature = "repl")]
    pub(crate) async fn call(&self, tool: &str, input: &RawJson) -> ToolOutput {
        match &self.caller {
            Some(caller) => caller.call(tool, input).await,
            None => ToolOutput::failed("no other tool can be called here"),
        }
    }

    pub(crate) fn is_withheld(&self, path: &Path) -> bool {
        self.withheld.as_ref().is_some_and(|withheld| withheld(path)) || self.ground.refuses(path)
    }

    /// Whether what is withheld cannot be had by naming it either.
    pub(crate) fn refuses_secrets(&self) -> bool {
        self.ground.refuses_secrets()
    }

    /// Forgets a file that is gone, so that the agent may make it anew. Returns whether it was known.
    pub(crate) fn forget(&self, real: &Path) -> bool {
        self.ledger().remove(real).is_some()
    }

    fn ledger(&self) -> MutexGuard<'_, HashMap<PathBuf, Content>> {
        // Every change is one insert, so a panic elsewhere cannot have left it half done.
        self.ledger.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The content of a file, as much of it as tells what has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Content {
    hash: blake3::Hash,
    /// See [`SeenFile::lines`].
    lines: Vec<u16>,
}

impl Content {
    pub(crate) fn of(content: &[u8]) -> Self {
        let lines: Vec<u16> = content
            .split_inclusive(|byte| *byte == b'\n')
            .take(SEEN_LINES_MAX + 1)
            .map(|line| {
                let hash = blake3::hash(line);
                u16::from_be_bytes([hash.as_bytes()[0], hash.as_bytes()[1]])
            })
            .collect();
        let lines = if lines.len() > SEEN_LINES_MAX { Vec::new() } else { lines };
        Self { hash: blake3::hash(content), lines }
    }

    /// Says which lines differ from what was seen; `None` where none do.
    pub(crate) fn change_since(&self, seen: &Self) -> Option<String> {
        if self.hash == seen.hash {
            return None;
        }
        let (old, new) = (&seen.lines, &self.lines);
        let same = old.iter().zip(new).take_while(|(old, new)| old == new).count();
        let (old_rest, new_rest) =
            (old.get(same..).unwrap_or_default(), new.get(same..).unwrap_or_default());
        let end = old_rest
            .iter()
            .rev()
            .zip(new_rest.iter().rev())
            .take_while(|(old, new)| old == new)
            .count();
        let span = |lines: &[u16]| match lines.len() - end {
            0 => None,
            1 => Some(format!("line {}", same + 1)),
            count => Some(format!("lines {} to {}", same + 1, same + count)),
        };
        let verb = |lines: &[u16]| if lines.len() - end == 1 { "is" } else { "are" };
        // Without lines of both, or where two lines happen to look alike, only the file itself is named.
        if old.is_empty() || new.is_empty() {
            return Some(String::new());
        }
        Some(match (span(old_rest), span(new_rest)) {
            (None, None) => String::new(),
            (Some(gone), None) => format!(" ({gone} of what was read {} gone)", verb(old_rest)),
            (None, Some(new)) => format!(" ({new} {} new)", verb(new_rest)),
            (Some(old), Some(new)) if old == new => format!(" ({old} changed)"),
            (Some(old), Some(new)) => format!(" ({old} of what was read became {new})"),
        })
    }
}

/// A place in a temporary directory, for the tests of the tools.
#[cfg(test)]
pub(crate) mod fixture {
    use std::path::PathBuf;

    use tempfile::TempDir;
    use tine_model::RawJson;
    use tokio_util::sync::CancellationToken;

    use super::{Limits, Place};
    use crate::Tool;

    pub(crate) struct Fixture {
        directory: TempDir,
        pub(crate) place: Place,
    }

    impl Fixture {
        pub(crate) fn new() -> Self {
            Self::with_limits(Limits::default())
        }

        pub(crate) fn with_limits(limits: Limits) -> Self {
            let directory = tempfile::tempdir().unwrap();
            // Real, because some systems keep their temporary directory behind a link.
            let real = directory.path().canonicalize().unwrap();
            let place = Place::new(&real).unwrap().with_limits(limits);
            Self { directory, place }
        }

        pub(crate) fn path(&self, name: &str) -> PathBuf {
            self.directory.path().join(name)
        }

        pub(crate) fn spot(&self, name: &str) -> crate::ground::Spot {
            self.place.spot("file_path", name).unwrap()
        }

        pub(crate) fn write(&self, name: &str, content: impl AsRef<[u8]>) {
            let path = self.path(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, content).unwrap();
        }

        pub(crate) fn read(&self, name: &str) -> String {
            std::fs::read_to_string(self.path(name)).unwrap()
        }

        /// The output as text, errors marked.
        pub(crate) async fn run(&self, tool: &dyn Tool, input: &str) -> String {
            let input = RawJson::parse(input).unwrap();
            let output = tool.run(&self.place, &input, &CancellationToken::new()).await;
            if output.is_error { format!("error: {}", output.text) } else { output.text }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fork_inherits_what_was_read_and_then_learns_alone() {
        let parent = Place::new(Path::new("/srv/./app/")).unwrap();
        assert_eq!(parent.directory(), Path::new("/srv/app"));
        parent.remember("/a".into(), b"1");
        let child = parent.fork();
        assert_eq!(child.seen(Path::new("/a")), Some(Content::of(b"1")));
        child.remember("/a".into(), b"2");
        parent.remember("/b".into(), b"3");
        assert_eq!(parent.seen(Path::new("/a")), Some(Content::of(b"1")));
        assert_eq!(child.seen(Path::new("/b")), None);
    }

    #[test]
    fn what_a_log_tells_counts_as_read_also_in_another_directory() {
        let parent = Place::new(Path::new("/srv/app")).unwrap().with_call("1");
        parent.remember("/srv/app/src/a".into(), b"1\n2\n");
        parent.remember("/etc/hosts".into(), b"3");
        let seen = parent.take_seen();
        assert_eq!(parent.take_seen(), []);
        let paths: Vec<&str> = seen.iter().map(|seen| seen.path.as_str()).collect();
        assert_eq!(paths, ["src/a", "/etc/hosts"]);
        let child = Place::new(Path::new("/worktree")).unwrap().with_seen(&seen);
        assert_eq!(child.seen(Path::new("/worktree/src/a")), Some(Content::of(b"1\n2\n")));
        assert_eq!(child.seen(Path::new("/etc/hosts")), Some(Content::of(b"3")));
        assert_eq!(child.seen(Path::new("/srv/app/src/a")), None);
    }

    #[test]
    fn a_change_is_named_by_its_lines() {
        let since = |old: &str, new: &str| {
            Content::of(new.as_bytes()).change_since(&Content::of(old.as_bytes()))
        };
        assert_eq!(since("a\nb\n", "a\nb\n"), None);
        let named = |old: &str, new: &str| since(old, new).unwrap();
        assert_eq!(named("a\nb\nc\n", "a\nx\nc\n"), " (line 2 changed)");
        assert_eq!(
            named("a\nb\nc\n", "a\nx\ny\nc\n"),
            " (line 2 of what was read became lines 2 to 3)"
        );
        assert_eq!(named("a\nb\nc\nd\n", "a\nd\n"), " (lines 2 to 3 of what was read are gone)");
        assert_eq!(named("a\nd\n", "a\nb\nc\nd\n"), " (lines 2 to 3 are new)");
        assert_eq!(named("a\n", ""), "");
        let long = "x\n".repeat(SEEN_LINES_MAX + 1);
        assert_eq!(named(&long, "a\n"), "");
    }

    #[test]
    fn a_relative_directory_is_refused() {
        let error = Place::new(Path::new("app")).err();
        assert_eq!(error, Some(PlaceError("app".into())));
    }
}
