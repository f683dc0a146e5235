//! A checkout of a git repository, and what goes on in it.

use std::ffi::OsStr;
use std::fmt;
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use tine_tools::GIT_LOOK_TIME_MAX;

use crate::error::{Refusal, WorktreeError};
use crate::filters::{ProgramSettings, settings_for};
use crate::git::{Git, path};
use crate::ids::Commit;
use crate::wary;

/// What the file HEAD says where git keeps refs in tables.
const HEAD_ELSEWHERE: &str = "ref: refs/heads/.invalid";

/// Most characters of a HEAD that is none that a message repeats.
const HEAD_CHARACTERS_SHOWN: usize = 80;

/// A checkout: its files, and where git keeps what belongs to it.
#[derive(Clone, Debug)]
pub struct Repository {
    top: PathBuf,
    inside: PathBuf,
    git_dir: PathBuf,
    common_dir: PathBuf,
    by: By,
    /// Settings that rule which programs git runs, once somebody has looked.
    programs: OnceLock<Arc<ProgramSettings>>,
}

/// What tells git which repository it works in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    /// What stands in the checkout, as for its user.
    Checkout,
    /// The repository itself: who works in the checkout may have written there what would make git run anything.
    Repository,
}

/// Something that a checkout can be in the middle of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operation {
    /// `git merge`.
    Merge,
    /// `git rebase`, `git am`.
    Rebase,
    /// `git cherry-pick`.
    CherryPick,
    /// `git revert`.
    Revert,
    /// `git bisect`.
    Bisect,
}

impl Operation {
    /// In the order of how much they hold up; what git keeps while they are on.
    const MARKS: [(&str, Self); 6] = [
        ("rebase-merge", Self::Rebase),
        ("rebase-apply", Self::Rebase),
        ("MERGE_HEAD", Self::Merge),
        ("CHERRY_PICK_HEAD", Self::CherryPick),
        ("REVERT_HEAD", Self::Revert),
        ("BISECT_LOG", Self::Bisect),
    ];
}

impl fmt::Display for Operation {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Merge => "merge",
            Self::Rebase => "rebase",
            Self::CherryPick => "cherry-pick",
            Self::Revert => "revert",
            Self::Bisect => "bisect",
        })
    }
}

impl Repository {
    /// The checkout that holds `directory`, which must exist.
    pub fn at(directory: &Path) -> Result<Self, WorktreeError> {
        let real = directory
            .canonicalize()
            .map_err(|source| WorktreeError::file("find", directory, source))?;
        // A pipe in the place of one of git's files holds nobody up for long.
        let git = Git::at(&real).within(GIT_LOOK_TIME_MAX);
        git.require_version()?;
        let [common_dir, git_dir, top] = match places(&git) {
            Err(WorktreeError::Git { said, .. }) if said.starts_with("not a git repository") => {
                return Err(Refusal::NoRepository(real).into());
            }
            Err(WorktreeError::Git { said, .. }) if said.contains("must be run in a work tree") => {
                return Err(Refusal::NoCheckout(real).into());
            }
            places => places?,
        };
        let inside = real.strip_prefix(&top).unwrap_or(Path::new("")).to_owned();
        Ok(Self { top, inside, git_dir, common_dir, by: By::Checkout, programs: OnceLock::new() })
    }

    /// A linked checkout of the same repository, whose own part of git is `git_dir`.
    pub(crate) fn linked(&self, top: PathBuf, git_dir: PathBuf) -> Self {
        let common_dir = self.common_dir.clone();
        Self {
            top,
            inside: PathBuf::new(),
            git_dir,
            common_dir,
            by: By::Checkout,
            programs: OnceLock::new(),
        }
    }

    /// A linked checkout in which somebody works who need not be trusted: of what stands in it and in git's own part of it, nothing
    /// tells git what to do.
    pub(crate) fn strange(common_dir: &Path, top: PathBuf, git_dir: PathBuf) -> Self {
        let (common_dir, inside) = (common_dir.to_owned(), PathBuf::new());
        Self { top, inside, git_dir, common_dir, by: By::Repository, programs: OnceLock::new() }
    }

    /// The same checkout, as found from a directory in it.
    pub fn from_inside(&self, directory: &Path) -> Self {
        let inside = directory.strip_prefix(&self.top).unwrap_or(Path::new("")).to_owned();
        Self { inside, ..self.clone() }
    }

    /// While what it returns is held, nobody else that asks for it goes on, in this process or in another. For the short moments in
    /// which git looks first and acts then; whoever dies with it gives it back.
    pub(crate) fn lock(&self) -> Result<File, WorktreeError> {
        let failed = |source| WorktreeError::file("lock", &self.common_dir, source);
        let folder = File::open(&self.common_dir).map_err(failed)?;
        match folder.lock() {
            // There are file systems without locks; git looks twice itself.
            Err(error) if error.kind() != ErrorKind::Unsupported => Err(failed(error)),
            Ok(()) | Err(_) => Ok(folder),
        }
    }

    /// The directory that holds all files of the checkout.
    pub fn top(&self) -> &Path {
        &self.top
    }

    /// Where in the checkout the directory is that it was found from; empty at its top.
    pub fn inside(&self) -> &Path {
        &self.inside
    }

    /// Where git keeps what belongs to this checkout alone: its HEAD, its index.
    pub fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    /// Where git keeps what all checkouts of the repository share: objects, refs, settings.
    pub fn common_dir(&self) -> &Path {
        &self.common_dir
    }

    /// What the checkout is in the middle of.
    pub fn operation(&self) -> Option<Operation> {
        let is_on = |(name, _): &&(&str, Operation)| self.git_dir.join(name).exists();
        Operation::MARKS.iter().find(is_on).map(|(_, operation)| *operation)
    }

    /// Whether git takes what stands in the checkout for what tells it what to do.
    pub(crate) fn is_obeyed(&self) -> bool {
        self.by == By::Checkout
    }

    /// Git at the top of the checkout.
    pub(crate) fn git(&self) -> Git {
        self.plain_git().with_settings(self.programs())
    }

    /// Settings by which git runs the programs of the checkout as they may be run.
    pub(crate) fn programs(&self) -> Arc<ProgramSettings> {
        let look = || {
            let found = settings_for(&self.plain_git(), &self.top, &self.common_dir);
            Arc::new(found.unwrap_or_else(|error| ProgramSettings::unknown(&error)))
        };
        Arc::clone(self.programs.get_or_init(look))
    }

    fn plain_git(&self) -> Git {
        let git = Git::at(&self.top);
        match self.by {
            By::Checkout => git,
            By::Repository => git
                .with("GIT_DIR", self.common_dir.as_os_str())
                .with("GIT_WORK_TREE", self.top.as_os_str())
                .with_index(&self.index()),
        }
    }

    /// Whether somebody works in the checkout who need not be trusted.
    pub(crate) fn is_strange(&self) -> bool {
        self.by == By::Repository
    }

    /// The part of git whose settings count for the checkout.
    pub(crate) fn obeyed_dir(&self) -> &Path {
        match self.by {
            By::Checkout => &self.git_dir,
            By::Repository => &self.common_dir,
        }
    }

    /// Where changes of the checkout are written down. Whoever can write there decides what is written anywhere, so for a checkout in
    /// which a stranger works it is in the part of git that all share, beside the rooms of others.
    pub(crate) fn room(&self) -> PathBuf {
        match (self.by, self.git_dir.file_name()) {
            (By::Repository, Some(name)) => room_of(&self.common_dir, name),
            (By::Checkout, _) | (By::Repository, None) => self.git_dir.join("tine"),
        }
    }

    /// HEAD of the checkout, by a name that [`git`](Self::git) knows it by. Where the checkout is not obeyed, git is not made to
    /// read what stands there as HEAD: that need not be a file.
    pub(crate) fn head(&self) -> Result<String, WorktreeError> {
        match self.by {
            By::Checkout => Ok("HEAD".to_owned()),
            By::Repository => head_in(&self.git_dir),
        }
    }

    /// The index of the checkout, which is looked at and never written here.
    pub(crate) fn index(&self) -> PathBuf {
        self.git_dir.join("index")
    }
}

/// What HEAD in git's own part of a linked checkout says: a commit, or the name of a ref.
pub(crate) fn head_in(git_dir: &Path) -> Result<String, WorktreeError> {
    let file = git_dir.join("HEAD");
    let text =
        wary::note(&file).map_err(|source| WorktreeError::file("read HEAD in", &file, source))?;
    let text = String::from_utf8_lossy(&text);
    let said = text.trim_ascii_end();
    if said == HEAD_ELSEWHERE
        && let Some(id) = git_dir.file_name()
    {
        return Ok(format!("worktrees/{}/HEAD", id.to_string_lossy()));
    }
    let name = said.strip_prefix("ref: ").filter(|name| is_ref(name));
    let name = name.or_else(|| Commit::parse(said).is_ok().then_some(said));
    let wrong = || WorktreeError::Output {
        what: "HEAD",
        text: said.chars().take(HEAD_CHARACTERS_SHOWN).collect(),
    };
    name.map(str::to_owned).ok_or_else(wrong)
}

/// Whether git takes these characters for the name of a ref, and for nothing else.
fn is_ref(name: &str) -> bool {
    let is_sign = |sign: char| sign.is_ascii_control() || " ~^:?*[\\".contains(sign);
    name.starts_with("refs/")
        && !name.contains(is_sign)
        && !["..", "@{"].iter().any(|two| name.contains(two))
}

/// Where changes of a linked checkout are written down in which a stranger works; `name` is that of git's own part of it.
pub(crate) fn room_of(common_dir: &Path, name: &OsStr) -> PathBuf {
    common_dir.join("tine").join("worktrees").join(name)
}

/// Where git keeps what all checkouts share, what belongs to this one alone, and where its files are.
fn places(git: &Git) -> Result<[PathBuf; 3], WorktreeError> {
    const WHAT: [&str; 3] = ["--git-common-dir", "--git-dir", "--show-toplevel"];
    let ask = |what: &[&str]| {
        git.run(["rev-parse", "--path-format=absolute"].iter().chain(what).copied())
    };
    let said = ask(&WHAT)?;
    if let Some(places) = lines(&said) {
        return Ok(places.map(path));
    }
    // A path with a line end in it.
    let alone = |what: &str| {
        let said = ask(&[what])?;
        Ok::<_, WorktreeError>(path(said.strip_suffix(b"\n").unwrap_or(&said)))
    };
    let [common_dir, git_dir, top] = WHAT.map(alone);
    Ok([common_dir?, git_dir?, top?])
}

/// Three lines; `None` of anything else.
pub(crate) fn lines(said: &[u8]) -> Option<[&[u8]; 3]> {
    let said = said.strip_suffix(b"\n").unwrap_or(said);
    let lines: Vec<&[u8]> = said.split(|byte| *byte == b'\n').collect();
    lines.try_into().ok()
}
