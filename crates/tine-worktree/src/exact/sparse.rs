//! Which files of a commit a checkout is meant to have.
//!
//! Three settings of git's say that, and a file of patterns. They are read here and not by git: a worktree's own settings could tell git
//! to run anything.

use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use crate::error::WorktreeError;
use crate::fault;
use crate::git::parts;
use crate::repository::Repository;
use crate::wary;

/// The settings, in the order of the fields.
const SETTINGS: [&str; 3] = ["core.sparseCheckout", "core.sparseCheckoutCone", "index.sparse"];

/// The file in which a checkout has settings of its own.
const OWN_SETTINGS: &str = "config.worktree";

/// Settings of one checkout alone, and its patterns.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Sparse {
    /// True if the patterns count.
    pub(crate) is_on: Option<bool>,
    /// True if they name directories alone.
    pub(crate) is_cone: Option<bool>,
    /// True if the index holds whole directories.
    pub(crate) has_folders: Option<bool>,
    /// The content of the file; `None` where there is none.
    pub(crate) patterns: Option<Vec<u8>>,
}

impl Repository {
    /// Which files this checkout is meant to have; `None` where it says nothing of its own.
    pub(crate) fn sparse(&self) -> Option<Sparse> {
        let patterns = read(&self.sparse_file());
        let own = read(&self.git_dir().join(OWN_SETTINGS));
        let settings = own.map_or(Ok([None; 3]), |text| self.own_settings(&text));
        let [is_on, is_cone, has_folders] = settings.unwrap_or_else(|error| {
            tracing::warn!(%error, "settings of a worktree that git cannot read are passed over");
            [None; 3]
        });
        // Patterns that count nowhere are what is left of an earlier time.
        let says = is_on == Some(true) || (is_on.is_none() && patterns.is_some());
        says.then_some(Sparse { is_on, is_cone, has_folders, patterns })
    }

    fn own_settings(&self, text: &[u8]) -> Result<[Option<bool>; 3], WorktreeError> {
        let list = ["config", "--file", "-", "--no-includes", "--null", "--list"];
        let said = self.git().fed(list, text)?;
        let mut found = [None; 3];
        for entry in parts(&said) {
            let entry = String::from_utf8_lossy(entry);
            let (key, value) = entry.split_once('\n').unwrap_or((&entry, "true"));
            let number = SETTINGS.iter().position(|name| name.eq_ignore_ascii_case(key));
            if let Some(number) = number {
                let is_set = ["true", "yes", "on", "1"];
                found[number] = Some(is_set.iter().any(|word| word.eq_ignore_ascii_case(value)));
            }
        }
        Ok(found)
    }

    /// Makes this checkout, which nobody works in yet, one that is meant to have these files.
    pub(crate) fn set_sparse(&self, sparse: Option<&Sparse>) -> Result<(), WorktreeError> {
        let wanted = sparse.cloned().unwrap_or_default();
        if self.sparse().unwrap_or_default() == wanted {
            return Ok(());
        }
        let file = self.sparse_file();
        let write = || match &wanted.patterns {
            Some(patterns) => {
                fault::step()?;
                file.parent().map_or(Ok(()), fs::create_dir_all)?;
                fs::write(&file, patterns)
            }
            None => match fault::step().and_then(|()| fs::remove_file(&file)) {
                Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
                other => other,
            },
        };
        write().map_err(|source| WorktreeError::file("write", &file, source))?;
        let own = self.git_dir().join(OWN_SETTINGS);
        let values = [wanted.is_on, wanted.is_cone, wanted.has_folders];
        let git = self.git();
        for (name, value) in SETTINGS.into_iter().zip(values) {
            let file = [b"--file=", own.as_os_str().as_encoded_bytes()].concat();
            let file = crate::git::path(&file).into_os_string();
            let mut arguments = vec!["config".into(), file];
            match value {
                Some(value) => arguments.extend([name.into(), value.to_string().into()]),
                // Git says no where there is none.
                None if !own.exists() => continue,
                None if !git
                    .answer([&arguments[..], &["--get".into(), name.into()]].concat(), &[])?
                    .0 =>
                {
                    continue;
                }
                None => arguments.extend(["--unset-all".into(), name.into()]),
            }
            git.run(arguments)?;
        }
        Ok(())
    }

    fn sparse_file(&self) -> PathBuf {
        self.git_dir().join("info").join("sparse-checkout")
    }
}

/// Returns the content of a file; `None` where there is none, or something that is no file of a sensible size.
fn read(file: &Path) -> Option<Vec<u8>> {
    match wary::note(file) {
        Ok(text) => Some(text),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            None
        }
        Err(error) => {
            tracing::warn!(%error, file = %file.display(), "a file of a worktree is passed over");
            None
        }
    }
}
