//! The directories that a place holds open, and what may be reached from them.
//!
//! Nothing here judges a call. It knows what was judged, and sees to it that nothing else is opened.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use tine_guard::{is_protected, real_path};

use crate::beneath::Root;
use crate::place::{RootError, Withheld};
use crate::tool::Failure;

/// What a place stands on. Cloning shares the handles.
#[derive(Clone)]
pub(crate) struct Ground {
    /// The working directory; `None` if it could not be opened.
    home: Option<Arc<Root>>,
    /// The directory's path without links; as written if it could not be opened.
    real: Arc<Path>,
    /// The only directories that may be written to; `None` for no such limit.
    writable: Option<Arc<[Arc<Root>]>>,
    /// Secrets that no tool opens. What the system keeps from others counts too.
    secrets: Option<Withheld>,
    judged: Option<Arc<Path>>,
}

/// A path of one call, ready to be opened.
pub(crate) struct Spot {
    /// Absolute, as the call wrote it.
    pub(crate) written: PathBuf,
    /// For messages.
    pub(crate) shown: String,
    /// Absolute and without links: what was judged, and what is opened.
    pub(crate) real: PathBuf,
    root: Arc<Root>,
    below: PathBuf,
}

impl Spot {
    /// Where the path leads, for a message that nothing is there; empty where that is the path itself.
    pub(crate) fn behind_link(&self) -> String {
        if self.written == self.real {
            return String::new();
        }
        format!(" (it leads through a symbolic link to `{}`)", self.real.display())
    }

    /// The directory held open, and the path below it.
    pub(crate) fn parts(&self) -> (&Root, &Path) {
        (&self.root, &self.below)
    }
}

/// Whether a call wants to read a path or to write it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Want {
    Read,
    Write,
}

impl Ground {
    /// The ground of a place in `directory`, which need not exist: what is missing is told to the first
    /// call that needs it.
    pub(crate) fn new(directory: &Path) -> Self {
        let home = Root::open(directory).ok().map(Arc::new);
        let real = home.as_ref().map_or(directory, |home| home.path()).into();
        Self { home, real, writable: None, secrets: None, judged: None }
    }

    pub(crate) fn real(&self) -> &Path {
        &self.real
    }

    pub(crate) fn judged(&self, real: &Path) -> Self {
        Self { judged: Some(real.into()), ..self.clone() }
    }

    pub(crate) fn with_secrets_refused(self, secrets: Withheld) -> Self {
        Self { secrets: Some(secrets), ..self }
    }

    pub(crate) fn with_write_roots(self, roots: &[PathBuf]) -> Result<Self, RootError> {
        let open = |path: &PathBuf| {
            if !path.is_absolute() {
                let source = std::io::Error::other("it is not an absolute path");
                return Err(RootError { path: path.clone(), source });
            }
            let open = Root::open(path);
            open.map(Arc::new).map_err(|source| RootError { path: path.clone(), source })
        };
        let roots = roots.iter().map(open).collect::<Result<Vec<_>, _>>()?;
        Ok(Self { writable: Some(roots.into()), ..self })
    }

    /// Finds out where a path of a call is opened. `written` is absolute and normal.
    pub(crate) fn spot(
        &self,
        directory: &Path,
        written: PathBuf,
        shown: String,
        want: Want,
    ) -> Result<Spot, Failure> {
        let real = self.real_of(directory, &written, &shown)?;
        if self.refuses(&written) || self.refuses(&real) {
            return Err(Failure::new(format!(
                "`{shown}` may hold keys or passwords, which this run must not see; go on without it"
            )));
        }
        let (root, below) = match (&self.writable, want) {
            (Some(writable), Want::Write) => {
                let (root, below) = self.writable_root(writable, &real, &shown)?;
                refuse_protected(&below, &shown)?;
                (root, below)
            }
            (Some(_) | None, _) => self.root_of(&real, &shown)?,
        };
        Ok(Spot { written, shown, real, root, below })
    }

    /// Whether no tool may open this path, which is absolute.
    pub(crate) fn refuses(&self, path: &Path) -> bool {
        self.secrets
            .as_ref()
            .is_some_and(|secrets| secrets(path) || is_private_setting(Path::new(SETTINGS), path))
    }

    pub(crate) fn refuses_secrets(&self) -> bool {
        self.secrets.is_some()
    }

    /// What was judged. A call that nobody has judged may use links that stay in the directory, no others.
    fn real_of(&self, directory: &Path, written: &Path, shown: &str) -> Result<PathBuf, Failure> {
        if let Some(judged) = &self.judged {
            return Ok(judged.to_path_buf());
        }
        let real = real_path(written).map_err(|error| Failure::new(error.to_string()))?;
        let inside = written.starts_with(directory) && real.starts_with(&self.real);
        if inside || real == written {
            return Ok(real);
        }
        Err(Failure::new(format!(
            "`{shown}` leads through a symbolic link to `{}`; name that path itself",
            real.display()
        )))
    }

    fn root_of(&self, real: &Path, shown: &str) -> Result<(Arc<Root>, PathBuf), Failure> {
        if let Ok(below) = real.strip_prefix(&self.real) {
            let Some(home) = &self.home else {
                return Err(Failure::new(format!(
                    "the working directory `{}` could not be opened; nothing can be done in it",
                    self.real.display()
                )));
            };
            if home.is_removed() {
                return Err(removed("the working directory", home));
            }
            return Ok((Arc::clone(home), below.to_path_buf()));
        }
        let root = Root::open(Path::new("/"))
            .map_err(|error| Failure::new(format!("cannot open `{shown}`: {error}")))?;
        let below = real.strip_prefix("/").unwrap_or(real).to_path_buf();
        Ok((Arc::new(root), below))
    }

    fn writable_root(
        &self,
        writable: &[Arc<Root>],
        real: &Path,
        shown: &str,
    ) -> Result<(Arc<Root>, PathBuf), Failure> {
        let below = |root: &Arc<Root>| {
            let below = real.strip_prefix(root.path()).ok()?.to_path_buf();
            Some((Arc::clone(root), below))
        };
        // The deepest one, so that a root within a root is opened by its own handle.
        let deepest =
            writable.iter().filter_map(below).max_by_key(|(root, _)| root.path().as_os_str().len());
        if let Some((root, below)) = deepest {
            if root.is_removed() {
                return Err(removed("the directory", &root));
            }
            return Ok((root, below));
        }
        let allowed: Vec<String> =
            writable.iter().map(|root| format!("`{}`", root.path().display())).collect();
        Err(Failure::new(match allowed.as_slice() {
            [] => format!("`{shown}` cannot be written: this run may write no file at all"),
            _ => format!(
                "`{shown}` is outside the directories that this run may write to; write below {} instead",
                allowed.join(" or ")
            ),
        }))
    }
}

/// Refuses to write what runs by itself outside of the wall, once a person, another agent or a service works in the directory.
/// Nothing in a repository's own folder is a file for these tools.
fn refuse_protected(below: &Path, shown: &str) -> Result<(), Failure> {
    let in_repository =
        below.components().any(|name| name.as_os_str().eq_ignore_ascii_case(REPOSITORY));
    if !in_repository && !is_protected(below) {
        return Ok(());
    }
    Err(Failure::new(format!(
        "`{shown}` cannot be written by a confined run: git, a shell, an editor, an agent or CI would follow it later, outside of \
         the confinement. Leave it as it is, and say in your answer what you would have written"
    )))
}

/// The folder of a repository in its checkout.
const REPOSITORY: &str = ".git";

/// Where the system keeps its settings. What not everybody may read there are keys and passwords, whatever its name: root, who
/// could read it, must not either.
const SETTINGS: &str = "/etc";

fn is_private_setting(settings: &Path, path: &Path) -> bool {
    path.starts_with(settings)
        && path
            .ancestors()
            .take_while(|above| *above != settings)
            .any(|above| above.symlink_metadata().is_ok_and(|found| found.mode() & 0o004 == 0))
}

fn removed(what: &str, root: &Root) -> Failure {
    let path = root.path().display();
    Failure::new(format!("{what} `{path}` was removed while this run was using it"))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_setting_is_private_where_others_may_not_read_it_or_what_it_lies_in() {
        let settings = tempfile::tempdir().unwrap();
        std::fs::create_dir(settings.path().join("shut")).unwrap();
        for (name, mode) in
            [("open", 0o644), ("closed", 0o640), ("shut/open", 0o644), ("shut", 0o700)]
        {
            let path = settings.path().join(name);
            if !path.exists() {
                std::fs::write(&path, "x").unwrap();
            }
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
        }
        let is_private =
            |name: &str| is_private_setting(settings.path(), &settings.path().join(name));
        assert!(!is_private("open") && !is_private("none") && !is_private(""));
        assert!(is_private("closed") && is_private("shut") && is_private("shut/open"));
        assert!(!is_private_setting(settings.path(), Path::new("/root")));
    }
}
