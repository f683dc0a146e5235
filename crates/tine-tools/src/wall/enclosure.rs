//! A wall that stands: what a command gets of it at its start, and what is looked at after its end.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use super::cgroup::ControlGroup;
use super::environment::Dropped;
use super::git_settings::GitSettings;
use super::kernel::Restriction;
use super::limits::CommandLimits;
use super::moves::Moves;
use super::namespace::{Rules, StageProgram};
use super::planted::{Repositories, SetAside};
use super::prelude::Prelude;
use super::proxy::Proxy;
use super::scratch::Scratch;
use super::support::Gap;
use super::view::View;

/// A wall that stands. Clones are the same wall; its directory for temporary files goes with the last of them.
#[derive(Clone)]
pub struct Enclosure(pub(super) Arc<Standing>);

pub(super) struct Standing {
    pub(super) layer: Layer,
    pub(super) environment: Vec<(OsString, OsString)>,
    pub(super) dropped: Dropped,
    /// Files that were kept back and of which a command was told.
    pub(super) told: Mutex<BTreeSet<PathBuf>>,
    /// Kept for as long as commands read it.
    pub(super) _git_settings: Option<GitSettings>,
    pub(super) prelude: Prelude,
    pub(super) scratch: Arc<Scratch>,
    pub(super) gaps: Vec<Gap>,
    /// True if commands have a loopback device and terminals of their own.
    pub(super) has_loopback: bool,
    /// The way out; `None` without a network.
    pub(super) proxy: Option<Arc<Proxy>>,
    /// True if processes of the wall can signal no others, so that those that can be signalled from inside are its own.
    pub(super) is_scoped: bool,
    pub(super) search_path: Vec<PathBuf>,
    pub(super) line: String,
    /// True if it stands around commands that only read.
    pub(super) only_reads: bool,
    /// Real paths that can be read with all below them, but for what is covered.
    pub(super) readable: Vec<PathBuf>,
    /// Real paths below those that cannot be read.
    pub(super) withheld: Vec<PathBuf>,
    /// True if no command may start, because nothing protects files.
    pub(super) refuses_commands: bool,
    /// The limits of all processes of a command together.
    pub(super) limits: CommandLimits,
    pub(super) repositories: Repositories,
    /// `None` where nothing is protected from a checkout.
    pub(super) moves: Option<Moves>,
}

/// The steps of a command before it starts.
pub(super) enum Layer {
    /// Stages, which build a view and restrict the command in it.
    View(Box<View>),
    /// A thread that restricts itself: the whole wall where no namespaces can be made. The rules are what it was made of.
    Restriction(Restriction, Rules),
}

/// The message to the model about a command that does not start.
const REFUSED: &str = "commands are not run here: this system can neither make namespaces nor use Landlock, so nothing would keep \
    a command in its directory. Work with the file tools. Only the user can change this: `tine doctor` says how";

/// Words of programs to which the wall refused something.
const REFUSALS: [&str; 5] = [
    "ermission denied",
    "Read-only file system",
    "not permitted",
    "No such file or directory",
    "unreachable",
];

/// Words of programs that hardly anything else than the wall makes them say.
const SURE_REFUSALS: [&str; 6] = [
    "Read-only file system",
    "EROFS",
    "EAI_AGAIN",
    "ENETUNREACH",
    "Network is unreachable",
    "Could not resolve host",
];

impl Enclosure {
    /// The gaps of this wall, which the kernel leaves.
    pub fn gaps(&self) -> &[Gap] {
        &self.0.gaps
    }

    /// Its rules in one line: `confined: …`.
    pub fn line(&self) -> &str {
        &self.0.line
    }

    /// Returns true if no command can read this real path: the view covers it as a secret, or it lies outside of what is shown.
    pub fn covers(&self, path: &Path) -> bool {
        let is_masked = match &self.0.layer {
            Layer::View(view) => view.masks(path),
            Layer::Restriction(..) => false,
        };
        is_masked || !self.shows(path)
    }

    /// Returns true if commands can read this real path, secrets below it aside.
    pub fn shows(&self, path: &Path) -> bool {
        let is_in = |paths: &[PathBuf]| paths.iter().any(|root| path.starts_with(root));
        is_in(&self.0.readable) && !is_in(&self.0.withheld)
    }

    /// The reason why no command may start behind it; `None` where commands may.
    pub(crate) fn refusal(&self) -> Option<&'static str> {
        self.0.refuses_commands.then_some(REFUSED)
    }

    /// A control group for a command; `None` where none can be made.
    pub(crate) fn control_group(&self) -> Option<ControlGroup> {
        ControlGroup::new(self.0.limits)
    }

    /// Says that a command starts, after which [`Self::set_aside`] looks at what it has made.
    pub(crate) fn begin(&self) {
        self.0.repositories.begin();
        if let Some(moves) = &self.0.moves {
            moves.begin();
        }
    }

    /// Renames settings in repositories that commands have made, by which git could run a program outside. No command may run.
    /// Blocks.
    pub(crate) fn set_aside(&self) -> SetAside {
        self.0.repositories.set_aside()
    }

    /// Protected files, below the checkout, that a command left as they were when it went to another commit. Blocks.
    pub(crate) fn left_behind(&self) -> Vec<PathBuf> {
        let protected = || match &self.0.layer {
            Layer::View(view) => view.protected(),
            Layer::Restriction(..) => Vec::new(),
        };
        self.0.moves.as_ref().map(|moves| moves.left_behind(protected)).unwrap_or_default()
    }

    /// Returns true if it stands around commands that only read.
    pub(crate) fn only_reads(&self) -> bool {
        self.0.only_reads
    }

    /// The directory for temporary files.
    pub fn temporary(&self) -> &Path {
        self.0.scratch.path()
    }

    pub(crate) fn environment(&self) -> &[(OsString, OsString)] {
        &self.0.environment
    }

    /// Returns true if what a command printed says that it met the wall, whatever its exit code: a pipe and `|| true` hide that.
    pub(crate) fn has_refused(&self, output: &str) -> bool {
        !self.0.only_reads && SURE_REFUSALS.iter().any(|words| output.contains(words))
    }

    /// Returns true if a failed command may have met the wall, so that the model should be told where it stands. A read that
    /// finds nothing has not.
    pub(crate) fn may_have_refused(&self, output: &str) -> bool {
        !self.0.only_reads || REFUSALS.iter().any(|words| output.contains(words))
    }

    /// Files of the directory that are kept back from reads, and that the output names, each told once: git takes them for changed, and others
    /// for empty.
    pub(crate) fn kept_back(&self, directory: &Path, output: &str) -> Vec<PathBuf> {
        let masked = match &self.0.layer {
            Layer::View(view) if self.0.only_reads => view.masked(),
            Layer::View(_) | Layer::Restriction(..) => Vec::new(),
        };
        let inside = masked.iter().filter_map(|path| path.strip_prefix(directory).ok());
        let is_named = |path: &&Path| path.to_str().is_some_and(|path| output.contains(path));
        let mut told = self.0.told.lock().unwrap_or_else(PoisonError::into_inner);
        inside
            .filter(is_named)
            .map(Path::to_owned)
            .filter(|path| told.insert(path.clone()))
            .collect()
    }

    /// The variables that the command asks for and does not get, each told once.
    pub(crate) fn dropped(&self, command: &str, output: &str) -> Vec<String> {
        self.0.dropped.asked_for(command, output)
    }

    /// Returns true if all secrets of the directories were looked for, so that none is shown because there were too many files.
    pub fn is_search_complete(&self) -> bool {
        match &self.0.layer {
            Layer::View(view) => view.is_complete(),
            Layer::Restriction(..) => true,
        }
    }

    /// The order for the stages, if commands start in a view. Blocks for a millisecond.
    pub(crate) fn view(&self) -> Option<(&StageProgram, io::Result<Arc<[u8]>>)> {
        match &self.0.layer {
            Layer::View(view) => Some((&view.program, view.order())),
            Layer::Restriction(..) => None,
        }
    }

    /// Returns true if no command has moved what the view covers or protects since its order was made.
    pub(crate) fn is_current(&self) -> bool {
        match &self.0.layer {
            Layer::View(view) => view.is_current(),
            Layer::Restriction(..) => true,
        }
    }

    /// Looks again for what the view covers. Fails where a secret was moved and is not found: then no command may start. Blocks.
    pub(crate) fn refresh(&self) -> io::Result<()> {
        match &self.0.layer {
            Layer::View(view) => view.refresh(),
            Layer::Restriction(..) => Ok(()),
        }
    }

    /// Returns true if commands have a loopback device and terminals of their own.
    pub(crate) fn has_loopback(&self) -> bool {
        self.0.has_loopback
    }

    /// The way out of the command, if it has a network.
    pub(crate) fn proxy(&self) -> Option<&Arc<Proxy>> {
        self.0.proxy.as_ref()
    }

    /// The file of a program, as the commands would find it.
    pub(crate) fn find(&self, program: &str) -> Option<PathBuf> {
        let files = self.0.search_path.iter().map(|directory| directory.join(program));
        files.filter(|file| file.is_absolute()).find(|file| is_program(file))
    }

    /// Arguments with which `shell` sets the limits and becomes the command.
    pub(crate) fn arguments<'a>(
        &self,
        shell: &str,
        command: &'a str,
    ) -> [std::borrow::Cow<'a, str>; 4] {
        ["-c".into(), self.0.prelude.text(shell).into(), shell.to_owned().into(), command.into()]
    }
}

fn is_program(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

impl fmt::Debug for Enclosure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(self.line())
    }
}
