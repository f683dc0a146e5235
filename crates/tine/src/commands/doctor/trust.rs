//! The check of trust: which content of the directory counts.

use std::path::Path;

use super::Check;
use crate::config::Config;
use crate::crew::defined;
use crate::trust::{Project, TrustState};
use tine_tui::figures::plural;

pub(super) fn checks(config: &Config, directory: &Path) -> Vec<Check> {
    if config.projects.is_empty() {
        return vec![Check::ok("trust", "the directory brings no settings or agents along")];
    }
    let agents = defined(config, directory).map(|(_, withheld)| withheld).unwrap_or_default();
    let withheld = config.withheld.iter().chain(&agents);
    let withheld = withheld.map(|one| Check::warning("trust", one.line()));
    config.projects.iter().map(check).chain(withheld).collect()
}

fn check(project: &Project) -> Check {
    let root = project.root.display();
    let files = plural(project.content.0.len() as u64, "file");
    match &project.state {
        TrustState::Trusted => Check::ok("trust", format!("{root} is trusted ({files})")),
        TrustState::New => Check::warning("trust", format!("{root} is not trusted ({files})"))
            .hint("its settings do not count; `tine trust` shows and trusts them"),
        TrustState::Changed => {
            Check::warning("trust", format!("{root} has changed since you trusted it"))
                .hint("only what its settings forbade holds; `tine trust` shows the difference")
        }
        TrustState::Unfit(why) => {
            Check::warning("trust", format!("{root} cannot be trusted: {why}"))
                .hint("its settings do not count")
        }
    }
}
