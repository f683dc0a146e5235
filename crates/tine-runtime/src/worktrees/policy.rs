//! The rules by which worktrees are made, and their paths.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tine_model::{AgentId, NetworkReach};
use tine_worktree::{Ports, WorktreeError};

use crate::confine::Confinement;

/// How worktrees are made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorktreePolicy {
    /// The directory that holds all of them.
    pub root: PathBuf,
    /// The user's command that makes a new one ready to build and run; `bash -c` runs it there.
    pub setup: Option<String>,
    /// How long that may take.
    pub setup_time_max: Duration,
    /// How that is confined at the least: what it runs stands in files that agents write. Their reach bounds it further.
    pub confinement: Confinement,
    /// The hosts that the setup command reaches in a person's command, also for agents that do not.
    pub persons_network: NetworkReach,
    /// The ports that each gets.
    pub ports: Option<Ports>,
    /// Variables of the setup command and of commands that agents run there. `{origin}`, `{worktree}`, `{agent}` and `{port}` in a
    /// value stand for what they say.
    pub environment: Vec<(String, String)>,
}

impl WorktreePolicy {
    /// Where the worktree of an agent is to be.
    pub(super) fn path(&self, common_dir: &Path, agent: AgentId) -> PathBuf {
        self.root.join(worktrees_folder(common_dir)).join(agent.short())
    }

    /// While what it returns is held, no process makes a worktree again that was removed; whoever dies with it gives it back.
    pub(crate) fn lock(&self) -> Result<File, WorktreeError> {
        let failed =
            |doing| move |source| WorktreeError::File { doing, path: self.root.clone(), source };
        fs::create_dir_all(&self.root).map_err(failed("make the directory"))?;
        let root = File::open(&self.root).map_err(failed("open"))?;
        match root.lock() {
            // There are file systems without locks; git itself refuses to make one twice.
            Err(error) if error.kind() != ErrorKind::Unsupported => Err(failed("lock")(error)),
            Ok(()) | Err(_) => Ok(root),
        }
    }

    /// The directory that says whose ports are whose.
    pub(super) fn blocks(&self) -> PathBuf {
        self.root.join("ports")
    }

    /// What commands in the worktree find in their environment.
    pub(super) fn variables(
        &self,
        origin: &Path,
        path: &Path,
        agent: AgentId,
    ) -> Vec<(String, String)> {
        let port = self.ports.and_then(|_| Ports::of(&self.blocks(), path));
        let [origin, path] = [origin, path].map(|path| path.to_string_lossy().into_owned());
        let port_text = port.map_or_else(String::new, |port| port.to_string());
        let filled = |value: &str| {
            let value = value.replace("{origin}", &origin).replace("{worktree}", &path);
            value.replace("{agent}", &agent.to_string()).replace("{port}", &port_text)
        };
        let own = self.environment.iter().map(|(name, value)| (name.clone(), filled(value)));
        let mut variables: Vec<_> = own.collect();
        variables.push(("TINE_WORKTREE".to_owned(), path.clone()));
        variables.push(("TINE_ORIGIN".to_owned(), origin.clone()));
        if let (Some(port), Some(ports)) = (port, self.ports) {
            variables.push(("TINE_PORT".to_owned(), port.to_string()));
            variables.push(("TINE_PORT_COUNT".to_owned(), ports.count.to_string()));
        }
        variables
    }
}

/// The name of the folder that holds all worktrees of a repository, by the repository's own folder.
pub fn worktrees_folder(common_dir: &Path) -> String {
    let repository = match common_dir.file_name() {
        Some(name) if name == ".git" => common_dir.parent().and_then(Path::file_name),
        // That of a bare one, by custom, ends so.
        Some(_) | None => common_dir.file_stem(),
    };
    let name = repository.map_or_else(|| "repository".into(), |name| name.to_string_lossy());
    let hash = blake3::hash(common_dir.as_os_str().as_encoded_bytes()).to_hex();
    format!("{name}-{}", &hash[..8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worktree_is_found_by_its_repository_and_its_agent() {
        let policy = WorktreePolicy {
            root: "/data/worktrees".into(),
            setup: None,
            setup_time_max: Duration::ZERO,
            confinement: Confinement::default(),
            persons_network: NetworkReach::none(),
            ports: None,
            environment: vec![("CACHE".into(), "{origin}/target:{port}:{agent}".into())],
        };
        let agent = AgentId::from_random([1; 16]);
        let shown = |common: &str| policy.path(Path::new(common), agent).display().to_string();
        let paths = ["/srv/code/app/.git", "/srv/app.git", "/"].map(shown);
        insta::assert_snapshot!(paths.join("\n"), @"
        /data/worktrees/app-1d4210bc/01010101
        /data/worktrees/app-87e2c44a/01010101
        /data/worktrees/repository-329f85ac/01010101
        ");
        let variables = policy.variables(Path::new("/srv/code/app"), Path::new("/data/w"), agent);
        let shown: Vec<_> =
            variables.iter().map(|(name, value)| format!("{name}={value}")).collect();
        insta::assert_snapshot!(shown.join("\n"), @"
        CACHE=/srv/code/app/target::01010101-0101-4101-8101-010101010101
        TINE_WORKTREE=/data/w
        TINE_ORIGIN=/srv/code/app
        ");
    }
}
