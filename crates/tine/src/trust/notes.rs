//! The lines that say what of a checkout does not count.

use std::path::PathBuf;

use super::gate::{Project, TrustState};
use tine_tui::words::one_line;

/// A wish of a trusted project that the user's own settings do not allow.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Withheld {
    /// The wish of the project, such as `model = sim/x`.
    pub(crate) wish: String,
    /// The file that says so.
    pub(crate) file: PathBuf,
    /// The reason, after a colon.
    pub(crate) why: String,
}

impl Withheld {
    /// The wish and its reason on one line.
    pub(crate) fn line(&self) -> String {
        let Self { wish, file, why } = self;
        one_line(&format!("`{wish}` of {} does not count: {why}", file.display()))
    }
}

impl Project {
    /// One line on content that does not count; `None` for trusted content.
    pub(crate) fn line(&self) -> Option<String> {
        let root = self.root.display();
        let line = match &self.state {
            TrustState::Trusted => return None,
            TrustState::New => format!(
                "the settings that {root} brings along do not count until you trust them; `tine trust` shows them"
            ),
            TrustState::Changed => format!(
                "the settings that {root} brings along have changed since you trusted them; only what they forbade holds; `tine trust` shows the difference"
            ),
            TrustState::Unfit(why) => {
                format!("the settings that {root} brings along do not count: {why}")
            }
        };
        Some(one_line(&line))
    }
}

/// One line on the nearest content, if it does not count, and one line for each wish of trusted content that is withheld.
pub(crate) fn notes(projects: &[Project], withheld: &[Withheld]) -> Vec<String> {
    let untrusted = projects.first().and_then(Project::line);
    untrusted.into_iter().chain(withheld.iter().map(Withheld::line)).collect()
}
