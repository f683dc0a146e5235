//! The settings of worktrees.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tine_model::{NetworkReach, Reach};
use tine_runtime::{Confinement, WorktreePolicy, WorktreePorts};

use crate::cli::LimitArgs;
use crate::config::{Config, WorktreeTable};
use crate::confine::usual_workers;
use crate::durations::duration;
use crate::fail::Failure;

/// How long a setup command may take unless the user says otherwise: enough to install what a project needs.
const SETUP_TIME_DEFAULT: Duration = Duration::from_secs(600);

/// The first port that is handed out: above those that systems and servers use by themselves, below those that systems lend to
/// outgoing connections (Linux: 32768 and above).
const FIRST_PORT_DEFAULT: u16 = 21_000;

/// Reads how worktrees are made; `None` where the user wants none. `by_person` is false in a command that an agent runs.
pub(crate) fn policy(
    config: &Config,
    root: &Path,
    by_person: bool,
) -> Result<Option<WorktreePolicy>, Failure> {
    let WorktreeTable { enabled, directory, setup, setup_time, setup_network, .. } =
        config.worktree.clone();
    let WorktreeTable { ports, first_port, environment, .. } = config.worktree.clone();
    if enabled == Some(false) {
        return Ok(None);
    }
    let root = match directory.map(PathBuf::from) {
        None => root.to_owned(),
        Some(directory) if directory.is_absolute() => directory,
        Some(directory) => {
            let shown = directory.display();
            return Err(Failure::input(format!(
                "worktree.directory is `{shown}`, which is relative"
            ))
            .hint("give an absolute path: worktrees of all repositories go below it"));
        }
    };
    let setup_time_max = match setup_time {
        None => SETUP_TIME_DEFAULT,
        Some(text) => duration(&text).ok_or_else(|| {
            Failure::input(format!("worktree.setup_time cannot be `{text}`"))
                .hint("it is a number and a unit, such as 90s, 30m or 1h")
        })?,
    };
    // Whatever the flags of one command say: a worktree is also made where no run begins.
    let confinement = if setup.is_some() {
        usual_workers(config, &LimitArgs::default(), Path::new("/"))?
    } else {
        Confinement::default()
    };
    let reach = confinement.reach.reach().clone();
    let setup_network = setup_network.unwrap_or_default().0;
    let network = reach.network.and(&setup_network);
    let network = network.map_err(|error| {
        Failure::input(format!("worktree.setup_network and confine.network together: {error}"))
            .hint("\"internet\" is all public web servers, \"*.example.com\" all below a name")
    })?;
    let first = first_port.unwrap_or(FIRST_PORT_DEFAULT);
    let count = ports.filter(|count| *count > 0);
    Ok(Some(WorktreePolicy {
        root,
        setup,
        setup_time_max,
        persons_network: if by_person { setup_network } else { NetworkReach::none() },
        confinement: Confinement { reach: Reach { network, ..reach }.into(), ..confinement },
        ports: count.map(|count| WorktreePorts { first, count }),
        environment: environment.unwrap_or_default().into_iter().collect(),
    }))
}
