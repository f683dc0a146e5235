//! Walking a directory as git sees it, in an order that does not change.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobMatcher};
use ignore::WalkBuilder;
use ignore::types::Types;
use tokio_util::sync::CancellationToken;

use crate::tool::Failure;

/// Entries that one walk looks at before it gives up; above this a search should start lower.
const ENTRIES_MAX: usize = 1_000_000;

/// What to walk.
pub(crate) struct Walk<'a> {
    pub(crate) root: &'a Path,
    /// Whether names that begin with a dot are looked at. `.git` never is.
    pub(crate) hidden: bool,
    pub(crate) types: Option<Types>,
    pub(crate) cancel: &'a CancellationToken,
}

/// What a walk has found.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// In path order.
    pub(crate) files: Vec<PathBuf>,
    /// Folders and files that could not be looked at.
    pub(crate) unreadable: usize,
}

impl Walk<'_> {
    /// All files below the root that `keep` wants; links are listed but not followed.
    pub(crate) fn files(self, keep: impl Fn(&Path) -> bool) -> Result<Found, Failure> {
        let mut builder = WalkBuilder::new(self.root);
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
                Ok(entry) if keep(entry.path()) => found.files.push(entry.into_path()),
                Ok(_) => {}
                Err(_) => found.unreadable += 1,
            }
        }
        found.files.sort();
        Ok(found)
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

    pub(crate) fn matches(&self, root: &Path, path: &Path) -> bool {
        let matched = if self.by_name {
            path.file_name().is_some_and(|name| self.glob.is_match(name))
        } else {
            path.strip_prefix(root).is_ok_and(|relative| self.glob.is_match(relative))
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
