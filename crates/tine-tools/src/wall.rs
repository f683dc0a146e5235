//! The wall around the commands of a run: what they can do whatever they are, and whoever allowed them.
//!
//! A [`Wall`] is a description; [`Wall::raise`] makes an [`Enclosure`] of it, which a [`Place`](crate::Place) holds and every
//! command of that place starts in. Writing is ruled by Landlock, and so is reading; sockets, other processes and the kernel's
//! settings by a filter over system calls. The environment is a short list, temporary files have a directory of their own.
//! Nothing here judges a command, and nothing depends on what it says.
//!
//! What it does not keep: a worker may change modes, owners and times of the user's files anywhere (builds need these
//! calls, and Landlock does not rule over them); what is in the directory may be changed, `.git/hooks` and `.git/config` included,
//! because the kernel takes nothing back below a granted directory (the audit reports those); a worker in a linked worktree may
//! also remove objects of its repository, which whoever makes them must be able to; names of files can be listed, also where their content is withheld; limits count for each process alone.

#[cfg(not(target_os = "linux"))]
mod absent;
#[cfg(target_os = "linux")]
mod calls;
mod environment;
#[cfg(target_os = "linux")]
mod filter;
mod git;
mod grants;
#[cfg(target_os = "linux")]
mod kernel;
mod limits;
mod prelude;
mod reads;
mod scratch;
mod support;
mod survey;
mod warden;

#[cfg(not(target_os = "linux"))]
use absent as kernel;

use std::ffi::OsString;
use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::linked::Linked;
use crate::place::Withheld;
use grants::{Access, Grant};
use kernel::Restriction;
pub use limits::ResourceLimits;
use prelude::Prelude;
use scratch::Scratch;
pub use support::{Gap, Support};
pub(crate) use warden::Warden;

/// What commands may do, as its owner describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wall {
    /// Directories that may be written in, besides the run's own directory for temporary files. Absolute.
    pub writable: Vec<PathBuf>,
    /// What may be read.
    pub readable: Readable,
    /// Whether there is a network.
    pub network: Network,
    /// Whether modes, owners, times and attributes of files may be changed.
    pub metadata: Metadata,
    /// What each process may use.
    pub limits: ResourceLimits,
    /// Variables that are passed on beyond the short list.
    pub variables: Vec<String>,
    /// What happens where the kernel cannot keep all of it.
    pub missing: Missing,
}

/// What may be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Readable {
    /// Everything but key stores of the homes, what the system keeps to itself, devices and running services.
    Most,
    /// The system's programs and open settings, the working directory, and these; without the secrets in them.
    Listed(Vec<PathBuf>),
}

/// Whether there is a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Network {
    /// No socket at all but connected pairs.
    Off,
    /// Internet sockets. Local ones are still refused: services of the session would do what the wall does not let through.
    Open,
}

/// Whether modes, owners, times and attributes of files may be changed, anywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Metadata {
    /// They may not.
    Kept,
    /// They may, where the system lets the user.
    Free,
}

/// What happens where the kernel cannot keep all that is described.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Missing {
    /// The wall is not raised, and so the run does not start.
    Refuse,
    /// What can be kept is kept; [`Enclosure::gaps`] says what is not.
    Accept,
}

/// Why a wall could not be raised.
#[derive(Debug, thiserror::Error)]
pub enum WallError {
    /// The kernel cannot keep it.
    #[error("commands cannot be confined here: {}", words(.0))]
    Missing(Vec<Gap>),
    /// Secrets cannot be told from the rest.
    #[error("`{}` has more than {entries_max} entries: its secrets cannot be kept apart from the rest", .path.display())]
    TooLarge {
        /// The directory.
        path: PathBuf,
        /// How many entries are looked at.
        entries_max: usize,
    },
    /// A directory of the wall is not there.
    #[error("the directory `{}` cannot be used", .path.display())]
    Directory {
        /// The directory.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// The kernel refused.
    #[error("the kernel refused the rules of the wall")]
    Kernel(#[source] io::Error),
}

fn words(gaps: &[Gap]) -> String {
    gaps.iter().map(|gap| gap.words()).collect::<Vec<_>>().join("; ")
}

/// What a wall stands on: the machine as tine sees it.
pub struct Ground {
    /// The user's home.
    pub home: Option<PathBuf>,
    /// Where directories for temporary files are made.
    pub temporary: PathBuf,
    /// The variables of this process.
    pub variables: Vec<(OsString, OsString)>,
    /// Which files hold secrets.
    pub hidden: Withheld,
    /// What the kernel has.
    pub support: Support,
}

impl Ground {
    /// This process's own surroundings.
    pub fn here(hidden: Withheld) -> Self {
        Self {
            home: std::env::home_dir(),
            temporary: std::env::temp_dir(),
            variables: std::env::vars_os().collect(),
            hidden,
            support: Support::of_this_kernel(),
        }
    }

    fn search_path(&self) -> Vec<PathBuf> {
        let path = self.variables.iter().find(|(name, _)| name == "PATH");
        path.map(|(_, value)| std::env::split_paths(value).collect()).unwrap_or_default()
    }
}

/// A wall that stands. Clones are the same wall; its directory for temporary files goes with the last of them.
#[derive(Clone)]
pub struct Enclosure(Arc<Standing>);

struct Standing {
    restriction: Restriction,
    environment: Vec<(OsString, OsString)>,
    prelude: Prelude,
    scratch: Scratch,
    gaps: Vec<Gap>,
    /// Whether processes of the wall cannot signal others, so that those that can be signalled from inside are its own.
    is_scoped: bool,
    search_path: Vec<PathBuf>,
    line: String,
}

impl Wall {
    /// A worker's: everything in `directory` may be written, everything but key stores read. Where it is a linked worktree of
    /// git, commits can be made in it, and nothing else of its repository be changed. For commits without complaints the
    /// worktree needs a lock of its own ([`part_linked_worktree`](crate::part_linked_worktree)).
    pub fn worker(directory: &Path) -> Self {
        Self {
            writable: vec![directory.to_owned()],
            readable: Readable::Most,
            network: Network::Off,
            metadata: Metadata::Free,
            limits: ResourceLimits::WORKER,
            variables: Vec::new(),
            missing: Missing::Accept,
        }
    }

    /// A maintenance run's: only `writable` may be written, only programs and the run's own directories read.
    pub fn maintenance(writable: Vec<PathBuf>) -> Self {
        Self {
            writable,
            readable: Readable::Listed(Vec::new()),
            network: Network::Off,
            metadata: Metadata::Kept,
            limits: ResourceLimits::MAINTENANCE,
            variables: Vec::new(),
            missing: Missing::Refuse,
        }
    }

    /// What cannot be kept of it with this support, for a user with this home.
    pub fn gaps(&self, support: Support, home: Option<&Path>) -> Vec<Gap> {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let mut gaps = support.gaps();
        let home = home.map(real);
        let is_in = |path: &PathBuf| home.as_ref().is_some_and(|home| home.starts_with(real(path)));
        if self.writable.iter().any(is_in) {
            gaps.push(Gap::Home);
        }
        gaps
    }

    /// Builds the wall for commands that work in `directory`. Looks through homes or the directory for secrets, once: a
    /// secret that is made later can be read where a directory without any was granted as a whole. Blocks; the walks are
    /// bounded.
    pub fn raise(&self, directory: &Path, ground: &Ground) -> Result<Enclosure, WallError> {
        let real = |path: &Path| {
            path.canonicalize()
                .map_err(|source| WallError::Directory { path: path.to_owned(), source })
        };
        let directory = real(directory)?;
        let home = ground.home.as_deref().and_then(|home| home.canonicalize().ok());
        let writable: Vec<PathBuf> =
            self.writable.iter().map(|path| real(path)).collect::<Result<_, _>>()?;
        let gaps = self.gaps(ground.support, home.as_deref());
        if self.missing == Missing::Refuse && !gaps.is_empty() {
            return Err(WallError::Missing(gaps));
        }
        let scratch = Scratch::new(&ground.temporary)
            .map_err(|source| WallError::Directory { path: ground.temporary.clone(), source })?;
        let linked = self.linked(&directory, &writable);
        let mut grants = match &self.readable {
            Readable::Most => reads::most(home.as_deref(), &ground.hidden),
            Readable::Listed(more) => {
                let repository = git::outside(&directory);
                let mut roots = vec![directory];
                for path in more {
                    roots.push(real(path)?);
                }
                reads::listed((&roots, &repository), &ground.search_path(), &ground.hidden)?
            }
        };
        grants.extend(writable.iter().map(|path| Grant::new(path, Access::Full)));
        grants.extend(git::grants(linked.as_ref()));
        grants.push(Grant::new(scratch.path(), Access::Full));
        let restriction =
            Restriction::build(&grants, (self.network, self.metadata), ground.support)
                .map_err(WallError::Kernel)?;
        let mut environment =
            environment::passed(ground.variables.iter().cloned(), &self.variables);
        environment.push(("TMPDIR".into(), scratch.path().into()));
        environment.push(("XDG_CACHE_HOME".into(), scratch.path().join("cache").into()));
        if matches!(self.readable, Readable::Listed(_)) {
            // The user's own settings are out of reach.
            environment.push(("GIT_CONFIG_GLOBAL".into(), "/dev/null".into()));
        }
        Ok(Enclosure(Arc::new(Standing {
            restriction,
            environment,
            prelude: Prelude::new(self.limits),
            is_scoped: ground.support.landlock >= Support::LANDLOCK_WHOLE,
            search_path: ground.search_path(),
            line: self.line(&gaps, linked.is_some()),
            gaps,
            scratch,
        })))
    }

    /// The linked worktree that is worked in, where its files may be written.
    fn linked(&self, directory: &Path, writable: &[PathBuf]) -> Option<Linked> {
        let is_written = writable.iter().any(|path| directory.starts_with(path));
        match self.readable {
            Readable::Most if is_written => Linked::around(directory),
            Readable::Most | Readable::Listed(_) => None,
        }
    }

    /// One line for whoever meets the wall: the model, which may find another way.
    fn line(&self, gaps: &[Gap], is_linked: bool) -> String {
        let network = match self.network {
            Network::Off => "no network",
            Network::Open => "network without local sockets",
        };
        if gaps.contains(&Gap::Files) {
            return format!("confined: {network}; files are not, the kernel cannot");
        }
        let mut places: Vec<String> =
            self.writable.iter().map(|path| path.display().to_string()).collect();
        places.push("$TMPDIR".to_owned());
        let reads = match &self.readable {
            Readable::Most => "no key stores",
            Readable::Listed(_) => "reads only of programs and the directory, without secrets",
        };
        let git = match is_linked {
            true => ", git commits here and changes no branch, tag, stash or setting",
            false => "",
        };
        format!("confined: writes only below {}, {reads}, {network}{git}", places.join(" and "))
    }
}

impl Enclosure {
    /// What this wall does not keep, because the kernel cannot.
    pub fn gaps(&self) -> &[Gap] {
        &self.0.gaps
    }

    /// What it keeps, in one line: `confined: …`.
    pub fn line(&self) -> &str {
        &self.0.line
    }

    /// The directory for temporary files.
    pub fn temporary(&self) -> &Path {
        self.0.scratch.path()
    }

    pub(crate) fn environment(&self) -> &[(OsString, OsString)] {
        &self.0.environment
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
