//! Decides what the view of a wall shows: from the wall's description to the order for the stages.

use std::collections::HashSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use super::order::{Limits, PathText, Rules, Setup};
use crate::wall::grants::{Access, Grant};
use crate::wall::support::Support;
use crate::wall::{Metadata, ResourceLimits};

/// Everything that a view depends on. Paths are real paths.
pub(in crate::wall) struct Wanted<'a> {
    pub(in crate::wall) directory: &'a Path,
    pub(in crate::wall) writable: &'a [PathBuf],
    /// Paths that stay read-only below what is writable, where they exist.
    pub(in crate::wall) protected: &'a [PathBuf],
    /// Secrets, where they exist.
    pub(in crate::wall) masked: &'a [PathBuf],
    /// Directories and files that the command needs, wherever they lie.
    pub(in crate::wall) visible: &'a [PathBuf],
    /// Directories for temporary files that the command gets for itself.
    pub(in crate::wall) private: &'a [PathBuf],
    /// The wall's own directory for temporary files.
    pub(in crate::wall) scratch: &'a Path,
    pub(in crate::wall) grants: &'a [Grant],
    /// Where tine listens in the network of the command. None without a network.
    pub(in crate::wall) listen: &'a [SocketAddr],
    pub(in crate::wall) metadata: Metadata,
    pub(in crate::wall) support: Support,
    pub(in crate::wall) limits: ResourceLimits,
}

/// The order for the stages. Makes the directories below `scratch` that stand in place of those for temporary files.
pub(in crate::wall) fn view(wanted: &Wanted<'_>) -> std::io::Result<Setup> {
    let mut writable: Vec<PathBuf> = wanted.writable.to_vec();
    writable.push(wanted.scratch.to_owned());
    let writable = outermost(writable);
    let is_writable = |path: &Path| writable.iter().any(|root| path.starts_with(root));
    let mut private = Vec::new();
    let mut grants: Vec<_> = wanted.grants.iter().map(Rules::right).collect();
    for (number, place) in wanted.private.iter().enumerate() {
        // A link leads to one that is private already; and what is worked in as a whole cannot be private.
        let is_directory = place.symlink_metadata().is_ok_and(|about| about.is_dir());
        if !is_directory || writable.contains(place) || wanted.directory == place {
            continue;
        }
        let own = wanted.scratch.join(format!("private-{number}"));
        std::fs::create_dir_all(&own)?;
        private.push((PathText::from(place.as_path()), PathText::from(own.as_path())));
        // A right holds for all that lies below, so it is given only where nothing is laid there but the wall's own.
        let lies_below = |path: &Path| path.starts_with(place) && path != wanted.scratch;
        let is_crowded = wanted.visible.iter().chain(&writable).any(|path| lies_below(path))
            || lies_below(wanted.directory);
        if !is_crowded {
            grants.push(Rules::right(&Grant::new(place, Access::Full)));
        }
    }
    grants.push(Rules::right(&Grant::new("/dev/shm", Access::Full)));
    let is_hidden = |path: &Path| {
        private.iter().any(|(place, _)| path.starts_with(place.path()))
            && (path.is_dir() || path.is_file())
    };
    let visible = wanted.visible.iter().map(PathBuf::as_path).chain([wanted.directory]);
    let visible: Vec<PathBuf> =
        visible.filter(|path| is_hidden(path) && !is_writable(path)).map(Path::to_owned).collect();
    let masked = masked(wanted, is_writable);
    Ok(Setup {
        directory: PathText::from(wanted.directory),
        writable: texts(&writable),
        protected: texts(&outermost(existing(wanted.protected, is_writable))),
        masked: texts(&masked),
        visible: texts(&outermost(visible)),
        private,
        listen: wanted.listen.to_vec(),
        rules: Rules {
            grants,
            has_network: !wanted.listen.is_empty(),
            may_change_metadata: wanted.metadata == Metadata::Free,
            landlock: wanted.support.landlock,
            filter: wanted.support.filter,
            limits: Limits::from(wanted.limits),
        },
    })
}

fn texts(paths: &[PathBuf]) -> Vec<PathText> {
    paths.iter().map(|path| PathText::from(path.as_path())).collect()
}

/// Those that exist, are no links, and lie below something writable.
fn existing(paths: &[PathBuf], is_writable: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    let is_there =
        |path: &Path| path.symlink_metadata().is_ok_and(|about| about.is_dir() || about.is_file());
    paths.iter().filter(|path| is_writable(path) && is_there(path)).cloned().collect()
}

/// Without those that lie in another one, sorted.
fn outermost(mut paths: Vec<PathBuf>) -> Vec<PathBuf> {
    paths.sort();
    paths.dedup();
    let mut kept: Vec<PathBuf> = Vec::with_capacity(paths.len());
    for path in paths {
        if !kept.iter().any(|outer| path.starts_with(outer)) {
            kept.push(path);
        }
    }
    kept
}

/// The secrets that the second layer does not keep back by itself: each covering costs every command some microseconds.
fn masked(wanted: &Wanted<'_>, is_writable: impl Fn(&Path) -> bool) -> Vec<PathBuf> {
    let read: HashSet<&Path> = wanted
        .grants
        .iter()
        .filter(|grant| matches!(grant.access, Access::Read | Access::Full))
        .map(|grant| grant.path.as_path())
        .collect();
    let can_be_read = |path: &Path| path.ancestors().any(|above| read.contains(above));
    let is_there =
        |path: &Path| path.symlink_metadata().is_ok_and(|about| about.is_dir() || about.is_file());
    let needed = wanted
        .masked
        .iter()
        .filter(|path| (can_be_read(path) || is_writable(path)) && is_there(path));
    outermost(needed.cloned().collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_outermost_of_several_paths_are_laid() {
        let paths = ["/b/c", "/a", "/b", "/a-b", "/a/x/y"].map(PathBuf::from);
        assert_eq!(outermost(paths.to_vec()), ["/a", "/a-b", "/b"].map(PathBuf::from));
    }
}
