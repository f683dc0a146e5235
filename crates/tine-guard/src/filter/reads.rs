//! Reading without secrets: FileRead, Glob and Grep.

use std::path::{Path, PathBuf};

use tine_model::RawJson;

use super::denial::{Denial, DenialCode};
use super::fields::Fields;
use crate::call::{literal_folders, shown};
use crate::real_path::real_path;
use crate::secrets::{is_secret, is_secret_in};

/// Judges what is read: anything but secrets, by their written and by their real names.
#[derive(Clone, Debug, Default)]
pub(super) struct Reads {
    /// Where relative paths begin; the process's own directory if nobody says.
    directory: Option<PathBuf>,
    /// The user's home; the process's own if nobody says.
    home: Option<PathBuf>,
    /// A directory whose files count by their own names, also where it lies among secrets.
    notes: Option<PathBuf>,
}

impl Reads {
    /// Reads whose relative paths begin in `directory`.
    pub(super) fn in_directory(self, directory: &Path) -> Self {
        Self { directory: Some(directory.to_path_buf()), ..self }
    }

    /// Reads of a user whose home is `home`.
    pub(super) fn in_home(self, home: &Path) -> Self {
        Self { home: Some(home.to_path_buf()), ..self }
    }

    /// Reads that see the notes below `notes`, a path without links.
    pub(super) fn with_notes(self, notes: &Path) -> Self {
        Self { notes: Some(notes.to_path_buf()), ..self }
    }

    /// Whether the tool is one that only reads, whatever its arguments.
    pub(super) fn knows(tool: &str) -> bool {
        matches!(tool, "FileRead" | "Glob" | "Grep")
    }

    /// Allows a call of such a tool. Which fields it takes is the tool's to say; what could name a
    /// path is looked at under every name.
    pub(super) fn judge(&self, tool: &str, input: &RawJson) -> Result<(), Denial> {
        let fields = Fields::parse(input)?;
        let fields = if tool == "FileRead" { fields.with_one_path()? } else { fields };
        let paths = fields.paths()?;
        for path in &paths {
            self.is_plain(path)?;
        }
        let patterns = match tool {
            "Glob" => [fields.text("pattern")?, None],
            "Grep" => [fields.text("glob")?, fields.text("include")?],
            _ => [None, None],
        };
        for pattern in patterns.into_iter().flatten() {
            let start = paths.first().map_or(Path::new(""), |path| Path::new(path));
            self.is_plain(&start.join(literal_folders(pattern)).to_string_lossy())?;
            if alternatives(pattern).iter().any(|name| is_secret(Path::new(&plain(name)))) {
                return Err(secret(pattern));
            }
        }
        Ok(())
    }

    /// Where relative paths begin; `None` if the process's own directory is gone.
    pub(super) fn directory(&self) -> Option<PathBuf> {
        match &self.directory {
            Some(directory) => Some(directory.clone()),
            None => std::env::current_dir().ok(),
        }
    }

    /// The user's home; `None` if nobody knows.
    pub(super) fn home(&self) -> Option<PathBuf> {
        self.home.clone().or_else(std::env::home_dir)
    }

    /// Refuses a path whose written or real name says that it holds keys or passwords.
    pub(super) fn is_plain(&self, path: &str) -> Result<(), Denial> {
        let written = Path::new(path);
        if self.hides(written) || self.real(written).is_some_and(|real| self.hides(&real)) {
            return Err(secret(path));
        }
        Ok(())
    }

    fn hides(&self, path: &Path) -> bool {
        let home = self.home();
        let hides = |path: &Path| match &home {
            Some(home) => is_secret_in(path, home),
            None => is_secret(path),
        };
        let below = |notes: &PathBuf| Some(path.strip_prefix(notes).ok()?.to_path_buf());
        let among_secrets = self.notes.as_ref().filter(|notes| hides(notes));
        match among_secrets.and_then(below) {
            Some(note) => is_secret(&note),
            None => hides(path),
        }
    }

    /// Where the path leads; `None` if nobody can say, and then the tool can open nothing either.
    fn real(&self, written: &Path) -> Option<PathBuf> {
        if written.is_absolute() {
            return real_path(written).ok();
        }
        real_path(&self.directory()?.join(written)).ok()
    }
}

/// Patterns that one with `{a,b}` stands for; above this, the rest is left to the tool, which leaves
/// secrets out of every search.
const ALTERNATIVES_MAX: usize = 64;

/// What a pattern stands for once its `{a,b}` groups are written out.
fn alternatives(pattern: &str) -> Vec<String> {
    let mut pending = vec![pattern.to_owned()];
    let mut out = Vec::new();
    while let Some(pattern) = pending.pop() {
        // The innermost group: the last `{` and the first `}` behind it.
        let open = pattern.rfind('{');
        let group = open.and_then(|open| Some((open, open + pattern[open..].find('}')?)));
        match group {
            Some((open, close)) if pending.len() + out.len() < ALTERNATIVES_MAX => {
                let (head, tail) = (&pattern[..open], &pattern[close + 1..]);
                let parts = pattern[open + 1..close].split(',');
                pending.extend(parts.map(|part| format!("{head}{part}{tail}")));
            }
            _ => out.push(pattern),
        }
    }
    out
}

/// A pattern without its wildcards: `.env*` asks for `.env`.
fn plain(pattern: &str) -> String {
    pattern.chars().filter(|character| !matches!(character, '*' | '?' | '[' | ']' | '!')).collect()
}

pub(super) fn secret(path: &str) -> Denial {
    let reason = format!("`{}` may hold keys or passwords", shown(path));
    Denial::new(DenialCode::Secret, reason, "Go on without it; other files may be read.")
}
