//! Writing inside one directory only, after every link and `..` is resolved.

use std::fs::Metadata;
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use tine_model::RawJson;

use super::denial::{Denial, DenialCode};
use super::fields::Fields;
use super::planted::is_picked_up;
use crate::call::shown;
use crate::paths::normalise;
use crate::protected::is_picked_up_path;
use crate::real_path::{physical_path, real_path};

/// The longest path the system takes (`PATH_MAX` on Linux, with its final NUL).
const PATH_BYTES_MAX: usize = 4_095;

/// The longest name of one file (`NAME_MAX` on every common file system).
const NAME_BYTES_MAX: usize = 255;

/// Where the same path means another place to each process.
const OF_EACH_PROCESS: [&str; 2] = ["/proc", "/dev/fd"];

/// What a directory is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Holds {
    /// Text that is read, and nothing that runs. Paths are absolute, because the run works in another directory.
    Notes,
    /// A project. The run works there, and a path may begin there.
    Source,
}

/// Why a filter cannot be made for a directory.
#[derive(Debug, thiserror::Error)]
pub enum FilterError {
    /// Only a path that begins at the root means one directory.
    #[error("`{}` is not an absolute path", .0.display())]
    Relative(PathBuf),
    /// The root of the file system: such a filter would refuse no path.
    #[error("`{}` is the whole file system", .0.display())]
    WholeSystem(PathBuf),
    /// It cannot be looked at.
    #[error("cannot use the directory `{}`", .path.display())]
    Unreadable {
        /// The directory.
        path: PathBuf,
        /// Why not.
        source: std::io::Error,
    },
    /// Something else stands there.
    #[error("`{}` is not a directory", .0.display())]
    NotADirectory(PathBuf),
}

/// One directory, known by its place and by what it is, so that another one in its place is noticed.
#[derive(Clone, Debug)]
pub(super) struct Directory {
    path: PathBuf,
    identity: (u64, u64),
}

impl Directory {
    /// Resolves an absolute path once.
    pub(super) fn open(path: &Path) -> Result<Self, FilterError> {
        if !path.is_absolute() {
            return Err(FilterError::Relative(path.to_path_buf()));
        }
        let failed = |source| FilterError::Unreadable { path: path.to_path_buf(), source };
        let real = std::fs::canonicalize(path).map_err(failed)?;
        let metadata = std::fs::symlink_metadata(&real).map_err(failed)?;
        if !metadata.is_dir() {
            return Err(FilterError::NotADirectory(path.to_path_buf()));
        }
        if real.parent().is_none() {
            return Err(FilterError::WholeSystem(path.to_path_buf()));
        }
        Ok(Self { path: real, identity: identity(&metadata) })
    }

    /// Its path without links.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Judges a call of FileEdit or FileWrite.
    pub(super) fn judge_write(
        &self,
        tool: &str,
        input: &RawJson,
        holds: Holds,
    ) -> Result<(), Denial> {
        let known: &[&str] = match tool {
            "FileEdit" => &["file_path", "old_string", "new_string", "replace_all"],
            _ => &["file_path", "content"],
        };
        let fields = Fields::parse(input)?.with_one_path()?.only(tool, known)?;
        for field in ["content", "old_string", "new_string"] {
            fields.content(field)?;
        }
        let written = fields.required("file_path")?;
        if holds == Holds::Notes && !written.starts_with('/') {
            let reason = format!("`{}` is not an absolute path", shown(written));
            return Err(Denial::new(DenialCode::Arguments, reason, self.hint()));
        }
        self.judge_path(written, holds)
    }

    /// Allows a path that leads to a plain file in the directory, or to a free name.
    fn judge_path(&self, written: &str, holds: Holds) -> Result<(), Denial> {
        self.is_still_there()?;
        let deny = |code, reason: String| Denial::new(code, reason, self.hint());
        let target =
            |reason: &str| deny(DenialCode::Target, format!("`{}` {reason}", shown(written)));
        let outside =
            |reason: &str| deny(DenialCode::Outside, format!("`{}` {reason}", shown(written)));
        if written.len() > PATH_BYTES_MAX {
            return Err(target("is longer than any path of a file"));
        }
        if written.starts_with('~') {
            return Err(outside("begins with `~`, which is not expanded"));
        }
        let path = self.path.join(written);
        if OF_EACH_PROCESS.iter().any(|place| normalise(&path).starts_with(place)) {
            return Err(outside("leads through a process, and so elsewhere for each of them"));
        }
        let (Ok(real), Ok(physical)) = (real_path(&path), physical_path(&path)) else {
            return Err(outside("leads through too many symbolic links"));
        };
        let Ok(below) = real.strip_prefix(&self.path) else {
            if real == normalise(&path) {
                return Err(outside("is outside the directory that may be written"));
            }
            let leads = format!("leads outside, to `{}`", shown(&real.to_string_lossy()));
            return Err(outside(&leads));
        };
        if physical != real {
            // A program that resolves `..` behind the link would write elsewhere.
            return Err(outside("has `..` behind a symbolic link, which can mean two places"));
        }
        if below == Path::new("") {
            return Err(target("is the directory itself"));
        }
        if written.ends_with('/') || written.ends_with("/.") {
            return Err(target("names a directory"));
        }
        let picked_up = holds == Holds::Notes && is_picked_up(&self.path, below);
        if is_picked_up_path(below) || picked_up {
            return Err(target("decides what other programs run"));
        }
        if below.components().any(|name| name.as_os_str().len() > NAME_BYTES_MAX) {
            return Err(target("has a name that is too long for a file"));
        }
        match std::fs::symlink_metadata(&real) {
            Ok(metadata) => kind(&metadata).map_err(target),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
            Err(error) if error.kind() == ErrorKind::NotADirectory => {
                Err(target("goes on below a file, which is no directory"))
            }
            Err(error) => Err(target(&format!("cannot be looked at: {error}"))),
        }
    }

    /// A directory that was renamed, removed or replaced is not the one that was named.
    fn is_still_there(&self) -> Result<(), Denial> {
        let metadata = std::fs::symlink_metadata(&self.path);
        if metadata.is_ok_and(|metadata| metadata.is_dir() && identity(&metadata) == self.identity)
        {
            return Ok(());
        }
        Err(Denial::new(
            DenialCode::DirectoryGone,
            format!(
                "the directory `{}` is not there any more, or is another one now",
                shown(&self.path.to_string_lossy())
            ),
            "Nothing can be written in this run; report what you would have written.",
        ))
    }

    /// What may be written instead.
    pub(super) fn hint(&self) -> String {
        format!(
            "Write only files inside `{}`; give absolute paths.",
            shown(&self.path.to_string_lossy())
        )
    }
}

/// Refuses everything but a plain file with one name.
fn kind(metadata: &Metadata) -> Result<(), &'static str> {
    if metadata.is_dir() {
        return Err("is a directory");
    }
    if !metadata.is_file() {
        return Err("is not a plain file");
    }
    if metadata.nlink() > 1 {
        return Err("has another name (a hard link), which may be anywhere");
    }
    Ok(())
}

fn identity(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}
