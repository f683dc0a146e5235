//! The wall around the commands of a run: what they can do whatever they are, and whoever allowed them.
//!
//! A [`Wall`] is a description; [`Wall::raise`] makes an [`Enclosure`] of it, which a [`Place`](crate::Place) holds and every
//! command of that place starts in. It has two layers. The first is a view of the machine (`namespace.rs`): a mount
//! namespace in which everything is read-only but the directory, with private processes, temporary files and network. The
//! second restricts the processes themselves: Landlock for files, a filter over system calls for sockets, other processes
//! and the kernel's settings. Where no namespaces can be made, the second layer is the whole wall. The environment is a
//! short list. Nothing here judges a command, and nothing depends on what it says.
//!
//! Limits. A view protects files that exist when a command starts; a command may still make a new `.vscode` in its directory, and its
//! result says so. New repositories are looked at when a command has ended (`planted.rs`): until then, somebody else's `git status` in
//! the same checkout may run what their settings name. The search for secrets is bounded; [`Enclosure::is_search_complete`]
//! says whether it came to its end. Without a view, a worker may also
//! change modes, owners and times of the user's files anywhere, and `.git/hooks` and `.git/config` of its directory. A
//! worker in a linked worktree may remove objects of its repository. Names of files can be listed where their content is
//! withheld. What the processes of a command use together is counted ten times a second (`usage.rs`), so it may pass a limit for
//! that long. A host that commands may reach can be told whatever they read.

#[cfg(not(target_os = "linux"))]
mod absent;
mod caches;
#[cfg(target_os = "linux")]
mod calls;
mod cgroup;
mod enclosure;
mod environment;
mod error;
#[cfg(target_os = "linux")]
mod filter;
mod finder;
mod git;
mod git_settings;
mod grants;
#[cfg(target_os = "linux")]
mod kernel;
mod limits;
mod moves;
mod named;
mod namespace;
mod planted;
mod prelude;
mod programs;
mod proxy;
mod reads;
mod scratch;
mod search;
mod sockets;
mod support;
mod survey;
mod usage;
mod view;
mod warden;

#[cfg(not(target_os = "linux"))]
use absent as kernel;

use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use tine_model::NetworkReach;

use crate::linked::Linked;
use crate::place::Withheld;
pub(crate) use cgroup::ControlGroup;
pub use cgroup::has_control_groups;
pub use enclosure::Enclosure;
use enclosure::{Layer, Standing};
use environment::Dropped;
pub use environment::{CERTIFICATE_VARIABLES, PASSED_VARIABLES};
pub use error::WallError;
use finder::Finder;
use git_settings::GitSettings;
use grants::{Access, Grant};
use kernel::Restriction;
pub use limits::{CommandLimit, CommandLimits, CommandLimitsSet, ResourceLimits};
use moves::Moves;
pub(crate) use namespace::{Network, Reports, StageEnd, stages, start};
use namespace::{Rules, Wanted};
pub use namespace::{STAGE_ARGUMENT, StageProgram, stage_of};
use planted::Repositories;
pub(crate) use planted::SetAside;
use prelude::Prelude;
pub use programs::{GitProgram, ProgramWall, ProgramWallError};
#[cfg(feature = "fuzzing")]
pub use proxy::read_request;
pub(crate) use proxy::{Proxy, Refusals};
use scratch::Scratch;
pub use scratch::clear_temporary;
pub use support::{Gap, Support};
use view::View;
pub(crate) use warden::{Warden, end_everything_inside};

/// What commands may do, as its owner describes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wall {
    /// Directories that may be written in, besides the run's own directory for temporary files. Absolute.
    pub writable: Vec<PathBuf>,
    /// What may be read.
    pub readable: Readable,
    /// Where commands may connect to.
    pub network: NetworkReach,
    /// Whether modes, owners, times and attributes of files may be changed.
    pub metadata: Metadata,
    /// What each process, and all of them together, may use.
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
    /// The same, where the kernel gives a command a view of its own: the directories count as a whole, however large they are,
    /// and the secrets that are found in them are covered.
    Covered(Vec<PathBuf>),
}

impl Readable {
    /// Paths that are shown beside the programs and the working directory; `None` where most of the machine is.
    fn listed(&self) -> Option<&[PathBuf]> {
        match self {
            Self::Most => None,
            Self::Listed(more) | Self::Covered(more) => Some(more),
        }
    }
}

/// Which sockets a command can make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Sockets {
    /// Connected pairs alone.
    Pairs,
    /// TCP, UDP and local ones as well, in a network of the command's own, where there is a loopback device and nothing else, and in a view
    /// that covers the socket files of others.
    OwnLoopback,
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Missing {
    /// The wall is not raised, and so the run does not start.
    #[default]
    Refuse,
    /// What can be kept is kept; [`Enclosure::gaps`] says what is not. Where nothing rules over files, no command starts.
    RefuseCommands,
    /// What can be kept is kept, even if that is nothing.
    Accept,
}

/// The folder below a home in which programs keep what can be made again. A worker reads what is there, and new things are its own.
const CACHE: &str = ".cache";

/// Entries of it that are shown to a worker. Each costs every command some microseconds.
const CACHED_MAX: usize = 256;

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
    /// The program that builds the view of a command; `None` for a wall without namespaces.
    pub stage: Option<StageProgram>,
    /// Directories for temporary files that a command with a view gets for itself.
    pub private: Vec<PathBuf>,
    /// Places of hidden files beside the usual ones, such as tine's own files and the checkout that a worktree was made of.
    pub holding: Vec<PathBuf>,
    /// Another wall of the same run: commands find the temporary files and caches there that its commands have made.
    pub beside: Option<Enclosure>,
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
            stage: StageProgram::here(),
            private: ["/tmp", "/var/tmp"].map(PathBuf::from).into(),
            holding: Vec::new(),
            beside: None,
        }
    }

    fn has_view(&self) -> bool {
        self.support.namespaces && self.stage.is_some()
    }

    /// Cargo's own folder of the user.
    fn cargo_home(&self) -> Option<PathBuf> {
        let named = self.variables.iter().find(|(name, _)| name == "CARGO_HOME");
        let named = named.map(|(_, path)| PathBuf::from(path)).filter(|path| path.is_absolute());
        named.or_else(|| Some(self.home.as_ref()?.join(".cargo")))
    }

    fn search_path(&self) -> Vec<PathBuf> {
        let path = self.variables.iter().find(|(name, _)| name == "PATH");
        path.map(|(_, value)| std::env::split_paths(value).collect()).unwrap_or_default()
    }
}

impl Wall {
    /// A worker's: everything in `directory` may be written, everything but key stores read. Where it is a linked worktree of
    /// git, commits can be made in it, and nothing else of its repository be changed. For commits without complaints the
    /// worktree needs a lock of its own ([`part_linked_worktree`](crate::part_linked_worktree)).
    pub fn worker(directory: &Path) -> Self {
        Self {
            writable: vec![directory.to_owned()],
            readable: Readable::Most,
            network: NetworkReach::none(),
            metadata: Metadata::Free,
            limits: ResourceLimits::WORKER,
            variables: Vec::new(),
            missing: Missing::RefuseCommands,
        }
    }

    /// A maintenance run's: only `writable` may be written, only programs and the run's own directories read.
    pub fn maintenance(writable: Vec<PathBuf>) -> Self {
        Self {
            writable,
            readable: Readable::Listed(Vec::new()),
            network: NetworkReach::none(),
            metadata: Metadata::Kept,
            limits: ResourceLimits::MAINTENANCE,
            variables: Vec::new(),
            missing: Missing::Refuse,
        }
    }

    /// Around a command that only reads: nothing may be written, and what is shown is the directory and `outside`.
    pub fn reading(outside: Vec<PathBuf>) -> Self {
        Self { readable: Readable::Covered(outside), ..Self::maintenance(Vec::new()) }
    }

    /// What cannot be kept of it with this support, for a user with this home.
    pub fn gaps(&self, support: Support, home: Option<&Path>) -> Vec<Gap> {
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        let mut gaps = support.gaps();
        match self.readable {
            Readable::Most if !support.namespaces => gaps.push(Gap::View),
            // A view covers what it knows of, and shows the rest.
            Readable::Listed(_) | Readable::Covered(_)
                if support.landlock == 0 && support.namespaces =>
            {
                gaps.push(Gap::Listed);
            }
            Readable::Most | Readable::Listed(_) | Readable::Covered(_) => {}
        }
        let home = home.map(real);
        let is_in = |path: &PathBuf| home.as_ref().is_some_and(|home| home.starts_with(real(path)));
        if self.writable.iter().any(is_in) {
            gaps.push(Gap::Home);
        }
        gaps
    }

    /// Returns true if no command starts behind it with this support.
    pub fn refuses_commands(&self, support: Support) -> bool {
        self.missing == Missing::RefuseCommands && support.gaps().contains(&Gap::Files)
    }

    /// Builds the wall for commands that work in `directory`. Looks through homes or the directory for secrets, once: a
    /// secret that is made later can be read where a directory without any was granted as a whole. Blocks; the walks are
    /// bounded.
    pub fn raise(&self, directory: &Path, ground: &Ground) -> Result<Enclosure, WallError> {
        let directory = real(directory)?;
        let home = ground.home.as_deref().and_then(|home| home.canonicalize().ok());
        let writable: Vec<PathBuf> =
            self.writable.iter().map(|path| real(path)).collect::<Result<_, _>>()?;
        let mut gaps = self.gaps(ground.support, home.as_deref());
        // Without a view the second layer is the wall, as it always was.
        let lacks = gaps.iter().any(|gap| *gap != Gap::View);
        if self.missing == Missing::Refuse && lacks {
            return Err(WallError::Missing(gaps));
        }
        let proxy = Proxy::new(&self.network, &ground.variables).map(Arc::new);
        if proxy.is_some() && !ground.has_view() {
            return Err(WallError::Network);
        }
        let is_worker = matches!(self.readable, Readable::Most);
        let has_loopback = ground.has_view() && (is_worker || proxy.is_some());
        let scratch = match &ground.beside {
            Some(other) => Arc::clone(&other.0.scratch),
            None => Arc::new(Scratch::somewhere(&ground.temporary).map_err(|source| {
                WallError::Directory { path: ground.temporary.clone(), source }
            })?),
        };
        let linked = self.linked(&directory, &writable);
        let search_path = self.search_path(ground, &directory);
        let outside = git::outside(&directory);
        let Reading { mut grants, roots, without_programs, private } =
            self.read_grants(&directory, home.as_deref(), (&outside, &search_path), ground)?;
        let mut visible = outside;
        visible.extend(git::top(&directory));
        visible.extend(roots.iter().cloned());
        grants.extend(writable.iter().map(|path| Grant::new(path, Access::Full)));
        grants.extend(git::grants(linked.as_ref()));
        let certificates = environment::certificates(&ground.variables);
        grants.extend(certificates.map(|file| Grant::new(file, Access::Read)));
        grants.push(Grant::new(scratch.path(), Access::Full));
        let git_settings = match (self.readable.listed(), &home) {
            // What cannot be copied is as if there were none.
            (Some(_), Some(home)) => GitSettings::copy(&directory, home, &ground.variables).ok(),
            _ => None,
        };
        if let Some(settings) = &git_settings {
            visible.push(settings.directory().to_owned());
            grants.push(Grant::new(settings.directory(), Access::Read));
            let files = settings.files.iter().filter(|file| !(ground.hidden)(file));
            grants.extend(files.map(|file| Grant::new(file, Access::Read)));
        }
        let mut environment =
            environment::passed(ground.variables.iter().cloned(), &self.variables);
        let named = environment.iter().map(|(_, value)| PathBuf::from(value));
        let named = named
            .filter(|path| path.is_absolute() && path.is_dir())
            .chain(search_path.iter().cloned());
        visible.extend(named.filter_map(|path| real(&path).ok()));
        visible.extend(home.clone());
        let mut hidden_places = ground.private.clone();
        if let Some(own) = home.as_ref().map(|home| home.join(CACHE)) {
            if is_worker {
                visible.extend(reads::granted_in(&own, &grants).take(CACHED_MAX));
            }
            if is_worker || ground.beside.is_some() {
                hidden_places.push(own);
            }
        }
        if ground.support.landlock == 0 || has_loopback {
            // Services that run keep their keys there, and listen.
            hidden_places.push(PathBuf::from("/run"));
            visible.extend(reads::running());
        }
        let wanted = Wanted {
            directory: &directory,
            writable: &[&writable[..], &git::written(linked.as_ref())].concat(),
            without_programs: &without_programs,
            visible: &visible,
            private: &hidden_places,
            scratch: scratch.path(),
            grants: &grants,
            listen: &proxy.as_ref().map(|proxy| proxy.addresses()).unwrap_or_default(),
            has_loopback,
            reads_most: is_worker,
            metadata: self.metadata,
            support: ground.support,
            limits: self.limits,
        };
        let is_private = |path: &Path| ground.private.iter().any(|place| path.starts_with(place));
        let is_shown = |grant: &&Grant| match grant.access {
            Access::Look | Access::Read | Access::Full => {
                !ground.has_view() || !is_private(&grant.path)
            }
            Access::List | Access::Device => false,
        };
        let readable = grants.iter().filter(is_shown).map(|grant| grant.path.clone()).collect();
        let withheld = private.clone().unwrap_or_default();
        let layer = match ground.stage.as_ref().filter(|_| ground.has_view()) {
            None => Layer::Restriction(
                Restriction::build(&grants, (Sockets::Pairs, self.metadata), ground.support)
                    .map_err(WallError::Kernel)?,
                Rules::new(&grants, (false, self.metadata), ground.support, self.limits),
            ),
            Some(program) => {
                let is_private_known = private.is_some() || ground.support.landlock > 0;
                let finder = self
                    .finder((&directory, &roots), home.as_deref(), &writable, ground)
                    .with_private(private.unwrap_or_default())
                    .with_linked(linked.clone());
                let view = View::new(program, &wanted, self.found(finder, &directory));
                let view = view.map_err(WallError::View)?;
                if !(view.is_complete() && is_private_known) {
                    gaps.push(Gap::Unsearched);
                }
                Layer::View(Box::new(view))
            }
        };
        if let Some(path) = environment.iter_mut().find(|(name, _)| name == "PATH") {
            path.1 = std::env::join_paths(&search_path).unwrap_or_default();
        }
        environment.push(("TMPDIR".into(), scratch.path().into()));
        let cache = scratch.path().join("cache");
        let port = proxy.as_ref().map(|proxy| proxy.port());
        environment.extend(caches::variables(&cache, home.as_deref(), port));
        environment.extend(proxy.iter().flat_map(|proxy| proxy.variables()));
        if proxy.is_some()
            && let Some(users) = ground.cargo_home()
        {
            // What is not found there is fetched.
            let _ = caches::link_cargo_home(&users, &cache.join("cargo"));
        }
        if self.readable.listed().is_some() {
            // The user's own files are out of reach.
            let settings = git_settings.as_ref().map(GitSettings::config);
            let settings = settings.unwrap_or_else(|| "/dev/null".into());
            environment.push(("GIT_CONFIG_GLOBAL".into(), settings.into()));
        }
        let dropped = Dropped::new(&ground.variables, &environment);
        let moves = Moves::new(&directory).filter(|_| is_worker && ground.has_view());
        let repositories = Repositories::new(writable, scratch.path(), linked.as_ref());
        Ok(Enclosure(Arc::new(Standing {
            layer,
            environment,
            dropped,
            told: Mutex::default(),
            prelude: Prelude::new(self.limits),
            is_scoped: ground.support.landlock >= Support::LANDLOCK_WHOLE,
            search_path,
            line: self.line(&gaps, linked.is_some()),
            gaps,
            has_loopback,
            proxy,
            scratch,
            _git_settings: git_settings,
            only_reads: matches!(self.readable, Readable::Covered(_)),
            readable,
            withheld,
            refuses_commands: self.refuses_commands(ground.support),
            limits: self.limits.command,
            repositories,
            moves,
        })))
    }

    /// Returns the path as it was judged: a path of a read must not lead elsewhere by now.
    fn judged(&self, path: &Path, real: PathBuf) -> Result<PathBuf, WallError> {
        let is_same = path == real;
        match self.readable {
            Readable::Covered(_) if !is_same => Err(WallError::Directory {
                path: path.to_owned(),
                source: io::Error::other("it has become a link"),
            }),
            Readable::Most | Readable::Listed(_) | Readable::Covered(_) => Ok(real),
        }
    }

    /// What may be read with the directories of git `outside` and the programs on the search path.
    fn read_grants(
        &self,
        directory: &Path,
        home: Option<&Path>,
        (outside, search_path): (&[PathBuf], &[PathBuf]),
        ground: &Ground,
    ) -> Result<Reading, WallError> {
        let mut private = if ground.has_view() { reads::private_settings() } else { None };
        let settings = match private {
            Some(_) => reads::all_settings(),
            None => reads::open_settings(),
        };
        let Some(listed) = self.readable.listed() else {
            let grants = reads::most(home, &ground.hidden, settings);
            return Ok(Reading {
                grants,
                roots: Vec::new(),
                without_programs: Vec::new(),
                private,
            });
        };
        let mut roots = vec![directory.to_owned()];
        for path in listed {
            roots.push(self.judged(path, real(path)?)?);
        }
        // What is named is shown, whatever it is: whoever named it was judged.
        private.iter_mut().for_each(|private| private.retain(|path| !roots.contains(path)));
        let is_covered = self.is_covered(ground);
        let deep = if is_covered { &[] } else { roots.as_slice() };
        let mut grants = reads::listed((deep, outside), search_path, &ground.hidden, settings)?;
        grants.extend(reads::toolchains(home, &ground.variables));
        let mut without_programs = Vec::new();
        if is_covered {
            without_programs = self::without_programs(&roots, search_path);
            grants.extend(roots.iter().map(|root| {
                if without_programs.contains(root) {
                    Grant::new(root, Access::Look)
                } else {
                    Grant::new(root, Access::Read)
                }
            }));
        }
        Ok(Reading { grants, roots, without_programs, private })
    }

    /// Where programs are looked for. Behind a wall that only reads, a program is one of the system and none of the directory's.
    fn search_path(&self, ground: &Ground, directory: &Path) -> Vec<PathBuf> {
        let mut path = ground.search_path();
        path.retain(|entry| entry.is_absolute());
        if self.readable.listed().is_some() {
            let is_own = |entry: &PathBuf| {
                entry.canonicalize().is_ok_and(|real| real.starts_with(directory))
            };
            path.retain(|entry| !is_own(entry));
        }
        path
    }

    /// Returns true if directories are shown as a whole, because a view covers the secrets in them.
    fn is_covered(&self, ground: &Ground) -> bool {
        matches!(self.readable, Readable::Covered(_)) && ground.has_view()
    }

    /// Looks for what a view covers and protects.
    fn finder(
        &self,
        (directory, roots): (&Path, &[PathBuf]),
        home: Option<&Path>,
        writable: &[PathBuf],
        ground: &Ground,
    ) -> Finder {
        let hidden = Arc::clone(&ground.hidden);
        let finder = match self.readable {
            Readable::Most => {
                let hidden = reads::with_key_stores(home, &hidden);
                let holding = ground.holding.iter().filter_map(|path| path.canonicalize().ok());
                let homes: Vec<PathBuf> =
                    reads::secret_roots(home).into_iter().chain(holding).collect();
                let readable = [directory.to_owned()];
                Finder::new(hidden, finder::roots(writable, &readable, &homes))
                    .with_starters(git::top(directory), home)
            }
            // The second layer keeps the secrets of what is read.
            Readable::Listed(_) => Finder::new(hidden, finder::roots(writable, &[], &[])),
            Readable::Covered(_) => Finder::new(hidden, finder::roots(writable, roots, &[])),
        };
        let named: Vec<PathBuf> = environment::certificates(&ground.variables).collect();
        let files = roots.iter().filter(|path| path.is_file()).chain(&named);
        files.fold(finder, |finder, file| finder.with_shown(file))
    }

    /// What a finder finds for the first time.
    fn found(&self, mut finder: Finder, directory: &Path) -> (Finder, finder::Found) {
        let found = match self.readable {
            Readable::Most | Readable::Listed(_) => finder.find_uncommitted(directory),
            // Nobody has agreed to a key that the repository holds either.
            Readable::Covered(_) => finder.find(),
        };
        (finder, found)
    }

    /// The linked worktree that is worked in, where its files may be written.
    fn linked(&self, directory: &Path, writable: &[PathBuf]) -> Option<Linked> {
        let is_written = writable.iter().any(|path| directory.starts_with(path));
        match self.readable {
            Readable::Most if is_written => Linked::around(directory),
            Readable::Most | Readable::Listed(_) | Readable::Covered(_) => None,
        }
    }

    /// One line for whoever meets the wall: the model, which may find another way.
    fn line(&self, gaps: &[Gap], is_linked: bool) -> String {
        let network = if self.network.is_none() {
            "no network".to_owned()
        } else {
            format!("network by the proxy in HTTPS_PROXY: {}", self.network)
        };
        if self.missing == Missing::RefuseCommands && gaps.contains(&Gap::Files) {
            return "confined: no command runs here, the kernel cannot confine it".to_owned();
        }
        if gaps.contains(&Gap::Files) {
            return format!("confined: {network}; files are not, the kernel cannot");
        }
        let mut places: Vec<String> =
            self.writable.iter().map(|path| path.display().to_string()).collect();
        places.push("$TMPDIR".to_owned());
        let reads = match &self.readable {
            Readable::Most => "no key stores",
            Readable::Listed(_) | Readable::Covered(_) => {
                "reads only of programs and the directory, without secrets"
            }
        };
        let git = if is_linked {
            ", git commits here and changes no branch, tag, stash or setting"
        } else {
            ""
        };
        let more = match self.readable {
            Readable::Most => "; a person allows more by --network HOST:PORT and confine.writable",
            Readable::Listed(_) | Readable::Covered(_) => "",
        };
        let places = places.join(" and ");
        format!("confined: writes only below {places}, {reads}, {network}{git}{more}")
    }
}

/// The files that commands may read.
struct Reading {
    grants: Vec<Grant>,
    /// Directories and files that were named; none where most of the machine is shown.
    roots: Vec<PathBuf>,
    /// Those of them from which no program starts.
    without_programs: Vec<PathBuf>,
    /// Files of the system's settings that a view covers, if they are all known.
    private: Option<Vec<PathBuf>>,
}

fn real(path: &Path) -> Result<PathBuf, WallError> {
    path.canonicalize().map_err(|source| WallError::Directory { path: path.to_owned(), source })
}

/// Those of the directories that commands only look at, and in which no program is the system's or the user's choice.
fn without_programs(roots: &[PathBuf], search_path: &[PathBuf]) -> Vec<PathBuf> {
    let roots = roots.iter().filter(|root| root.is_dir() && !reads::is_of_the_system(root));
    roots.filter(|root| !reads::leads_to_programs(root, search_path)).cloned().collect()
}
