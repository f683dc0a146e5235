//! Walking a directory as git sees it, in an order that does not change.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use ignore::WalkBuilder;
use ignore::types::Types;
use rustix::fs::{AtFlags, Stat};
use tokio_util::sync::CancellationToken;

use crate::beneath::open_regular;
use crate::ground::Spot;
use crate::tool::Failure;

/// Entries that one walk looks at before it gives up; above this a search should start lower.
const ENTRIES_MAX: usize = 1_000_000;

/// What to walk.
pub(crate) struct Walk<'a> {
    /// A folder.
    pub(crate) spot: &'a Spot,
    /// Whether names that begin with a dot are looked at. `.git` never is.
    pub(crate) hidden: bool,
    pub(crate) types: Option<Types>,
    pub(crate) cancel: &'a CancellationToken,
}

/// What a walk has found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// In path order, relative to where the walk began.
    pub(crate) files: Vec<PathBuf>,
    /// Folders and files that could not be looked at.
    pub(crate) unreadable: usize,
}

impl Walk<'_> {
    /// All files below the root that `keep` wants, which is asked with relative paths; links are listed
    /// but not followed.
    ///
    /// The walk itself goes by path. So a folder that is swapped for a link while it runs could let it
    /// see names elsewhere; what it has found is therefore looked up once more below the handle that the
    /// place holds, and only what stands there counts.
    pub(crate) fn files(self, keep: impl Fn(&Path) -> bool) -> Result<Found, Failure> {
        let mut builder = WalkBuilder::new(&self.spot.real);
        // A .gitignore counts in a directory that is not (yet) a repository, too.
        builder.hidden(!self.hidden).require_git(false).follow_links(false);
        builder.filter_entry(|entry| entry.file_name() != ".git");
        if let Some(types) = self.types {
            builder.types(types);
        }
        let mut found = Found::default();
        for (number, entry) in builder.build().enumerate() {
            if self.cancel.is_cancelled() {
                return Err(Failure::cancelled());
            }
            if number >= ENTRIES_MAX {
                let text = format!("more than {ENTRIES_MAX} files; start the search lower");
                return Err(Failure::new(text));
            }
            match entry {
                Ok(entry) if entry.file_type().is_some_and(|kind| kind.is_dir()) => {}
                Ok(entry) => match entry.path().strip_prefix(&self.spot.real) {
                    Ok(relative) if keep(relative) => found.files.push(relative.to_path_buf()),
                    Ok(_) | Err(_) => {}
                },
                Err(_) => found.unreadable += 1,
            }
        }
        found.files.sort();
        let mut folders = Folders::new(self.spot);
        found.files.retain(|file| folders.holds(file));
        Ok(found)
    }
}

/// The folders of a walk, opened below the place's handle, one at a time: files in path order are
/// mostly in the folder of the one before.
pub(crate) struct Folders<'a> {
    spot: &'a Spot,
    current: Option<(PathBuf, Option<OwnedFd>)>,
}

impl<'a> Folders<'a> {
    pub(crate) fn new(spot: &'a Spot) -> Self {
        Self { spot, current: None }
    }

    /// A regular file of the walk, opened to be read; `None` for anything else, such as a link or a pipe.
    pub(crate) fn open(&mut self, relative: &Path) -> io::Result<Option<File>> {
        let Some(name) = relative.file_name() else { return Ok(None) };
        let Some(folder) = self.folder_of(relative) else { return Err(ErrorKind::NotFound.into()) };
        Ok(open_regular(folder, name)?.map(|(file, _)| file))
    }

    /// What stands at a relative path; `None` if nothing that can be looked at does.
    pub(crate) fn look(&mut self, relative: &Path) -> Option<Stat> {
        let name = relative.file_name()?;
        rustix::fs::statat(self.folder_of(relative)?, name, AtFlags::SYMLINK_NOFOLLOW).ok()
    }

    fn holds(&mut self, relative: &Path) -> bool {
        self.look(relative).is_some()
    }

    fn folder_of(&mut self, relative: &Path) -> Option<&OwnedFd> {
        let wanted = relative.parent().unwrap_or(Path::new(""));
        if self.current.as_ref().is_none_or(|(path, _)| path != wanted) {
            let (root, below) = self.spot.parts();
            self.current = Some((wanted.to_path_buf(), root.folder(&below.join(wanted)).ok()));
        }
        self.current.as_ref().and_then(|(_, folder)| folder.as_ref())
    }
}

/// A file pattern in the manner of .gitignore: without a slash it is about the name of a file at
/// any depth, with one about the path from the root of the search, and a leading `!` turns it round.
pub(crate) struct FilePattern {
    glob: GlobMatcher,
    by_name: bool,
    hidden: bool,
    negated: bool,
}

impl FilePattern {
    pub(crate) fn parse(field: &str, text: &str) -> Result<Self, Failure> {
        let (negated, pattern) = match text.strip_prefix('!') {
            Some(rest) => (true, rest),
            None => (false, text),
        };
        let pattern = pattern.strip_prefix("./").unwrap_or(pattern);
        if pattern.is_empty() || pattern.contains('\0') {
            return Err(Failure::new(format!(
                "`{field}` must be a file pattern such as `**/*.rs`"
            )));
        }
        if pattern.starts_with('/') || pattern.split(['/', '{', ',', '}']).any(|part| part == "..")
        {
            return Err(Failure::new(format!(
                "`{field}` must not leave the directory of the search; say with `path` where to start"
            )));
        }
        let glob = GlobBuilder::new(pattern)
            .literal_separator(true)
            .build()
            .map_err(|error| Failure::new(format!("`{field}` is not a file pattern: {error}")))?
            .compile_matcher();
        let hidden = !negated && pattern.split(['/', '{', ',']).any(|part| part.starts_with('.'));
        Ok(Self { glob, by_name: !pattern.contains('/'), hidden, negated })
    }

    /// Whether the pattern itself asks for names that begin with a dot.
    pub(crate) fn wants_hidden(&self) -> bool {
        self.hidden
    }

    /// Whether a path relative to the root of the search matches.
    pub(crate) fn matches(&self, relative: &Path) -> bool {
        let matched = if self.by_name {
            relative.file_name().is_some_and(|name| self.glob.is_match(name))
        } else {
            self.glob.is_match(relative)
        };
        matched != self.negated
    }
}

/// The note on what could not be looked at, if anything.
pub(crate) fn unreadable_note(number: usize) -> String {
    match number {
        0 => String::new(),
        1 => "\n(1 place could not be read)".to_owned(),
        _ => format!("\n({number} places could not be read)"),
    }
}
