//! What a command names: files that hold secrets, and folders that are known to hold some further down.
//!
//! A command may read a folder whole (`grep -r`, `rg`, `diff -r`), and nothing in its text says which files that will be. So a
//! folder above a key store is refused to every command that prints contents; one that only lists names may have it. Grep
//! leaves secrets out, and takes any folder.

use std::path::{Path, PathBuf};

use super::denial::{Denial, DenialCode};
use super::reads::Reads;
use crate::call::{literal_folders, shown};
use crate::real_path::{physical_path, real_path};
use crate::secrets::{leads_to_secrets, secret_places};
use crate::shell::ReadPath;
use crate::shell::reach::{climbs_back, overlap, reach};

/// Most changes of directory in one command. Each doubles the directories in which it may be then.
const MOVES_MAX: usize = 3;

/// Folders that stand at the top of a home and are seldom in a project: what holds one is searched like a home.
const SIGNS_OF_A_HOME: [&str; 5] = [".ssh", ".gnupg", ".aws", ".kube", ".password-store"];

const NARROWER: &str = "Name a narrower directory, or use Grep, which leaves secrets out.";

/// The paths with the user's home in place of `~`.
pub(super) fn without_tilde(
    paths: &[ReadPath],
    home: Option<&Path>,
) -> Result<Vec<ReadPath>, Denial> {
    let expanded = |path: &ReadPath| {
        if !path.tilde {
            return Ok(path.clone());
        }
        let rest =
            path.text.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/'));
        match (home, rest) {
            (Some(home), Some(rest)) => {
                let text = format!("{}{rest}", home.display());
                Ok(ReadPath { text, tilde: false, ..path.clone() })
            }
            (None, _) | (_, None) => {
                let reason = format!("`{}` may lead into any home", shown(&path.text));
                Err(Denial::new(DenialCode::Secret, reason, "Write the whole path."))
            }
        }
    };
    paths.iter().map(expanded).collect()
}

/// Refuses a command that names a secret, or reads the contents of a folder above one. `paths` are without `~`.
pub(super) fn judge(directory: &Path, paths: &[ReadPath], reads: &Reads) -> Result<(), Denial> {
    let moves = paths.iter().filter(|path| path.moves).count();
    if moves > MOVES_MAX {
        let reason = "the command changes its directory too often to be followed";
        return Err(Denial::new(DenialCode::Secret, reason, "Write absolute paths instead."));
    }
    for path in paths.iter().filter(|path| climbs_back(&path.text)) {
        judge_climbing((directory, moves > 0), path, reads)?;
    }
    let home = reads.home();
    for reached in reach(directory, paths).0 {
        let text = reached.absolute.to_string_lossy();
        let known = if reached.glob { literal_folders(&text) } else { text.into_owned() };
        reads.is_plain(&known)?;
        if !reached.contents {
            continue;
        }
        let real = real_path(Path::new(&known)).unwrap_or_else(|_| PathBuf::from(&known));
        let is_above = match reached.absolute.strip_prefix(&known) {
            Ok(rest) if reached.glob => [&reached.absolute, &real.join(rest)]
                .into_iter()
                .any(|pattern| may_reach_secrets(pattern, home.as_deref())),
            Ok(_) | Err(_) => [Path::new(&known), &real]
                .into_iter()
                .any(|folder| is_above_secrets(folder, home.as_deref())),
        };
        if is_above {
            return Err(above(&reached.absolute));
        }
    }
    Ok(())
}

/// Judges a path with `..` behind a folder: if that is a link, the system goes elsewhere than the text says.
fn judge_climbing(
    (directory, moved): (&Path, bool),
    path: &ReadPath,
    reads: &Reads,
) -> Result<(), Denial> {
    let unclear = || {
        let reason =
            format!("`{}` leads back out of a folder that may be a link", shown(&path.text));
        Denial::new(DenialCode::Secret, reason, "Write the path without `..`.")
    };
    if moved || path.glob {
        return Err(unclear());
    }
    let real = physical_path(&directory.join(&path.text)).map_err(|_| unclear())?;
    reads.is_plain(&real.to_string_lossy())?;
    if path.contents && is_above_secrets(&real, reads.home().as_deref()) {
        return Err(above(Path::new(&path.text)));
    }
    Ok(())
}

fn above(folder: &Path) -> Denial {
    let reason = format!(
        "`{}` has keys or passwords further down, and the command may print all that is there",
        shown(&folder.to_string_lossy())
    );
    Denial::new(DenialCode::Secret, reason, NARROWER)
}

fn is_above_secrets(folder: &Path, home: Option<&Path>) -> bool {
    let homes: Vec<PathBuf> = home
        .into_iter()
        .flat_map(|home| [Some(home.to_path_buf()), real_path(home).ok()])
        .flatten()
        .collect();
    let homes: Vec<&Path> = homes.iter().map(PathBuf::as_path).collect();
    leads_to_secrets(folder, &homes)
        || SIGNS_OF_A_HOME.iter().any(|sign| folder.join(sign).symlink_metadata().is_ok())
}

/// Whether the wildcards of an absolute path may become a secret's place, or a folder above one.
fn may_reach_secrets(pattern: &Path, home: Option<&Path>) -> bool {
    let pattern = pattern.to_string_lossy().to_lowercase();
    let wanted: Vec<&str> = pattern.split('/').filter(|part| !part.is_empty()).collect();
    secret_places(home).any(|place| {
        let parts = place.split('/').filter(|part| !part.is_empty());
        parts.zip(&wanted).all(|(part, wanted)| {
            // The shell's wildcards do not become a name's first dot.
            (!part.starts_with('.') || wanted.starts_with('.'))
                && overlap(wanted.as_bytes(), part.as_bytes())
        })
    })
}
