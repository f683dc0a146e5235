//! A memory directory `mem` beside a directory `out`, in a home of its own.

use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tine_guard::filter::{AutoMemFilter, ToolFilter};
use tine_model::RawJson;

pub(crate) struct Home(TempDir);

impl Home {
    pub(crate) fn new() -> Self {
        let home = Self(tine_testkit::scratch());
        for folder in ["mem/notes", "out", "home/.ssh"] {
            std::fs::create_dir_all(home.path(folder)).unwrap();
        }
        for file in ["mem/a.md", "out/a.md", "home/.ssh/id_rsa", "home/.env"] {
            std::fs::write(home.path(file), "x").unwrap();
        }
        home
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn text(&self, name: &str) -> String {
        self.path(name).to_string_lossy().into_owned()
    }

    pub(crate) fn link(&self, target: impl AsRef<Path>, name: &str) {
        std::os::unix::fs::symlink(target, self.path(name)).unwrap();
    }

    pub(crate) fn filter(&self) -> AutoMemFilter {
        AutoMemFilter::new(self.path("mem")).unwrap().in_directory(&self.path("home"))
    }

    /// What a filter says, with the paths of the home shortened.
    pub(crate) fn said(&self, filter: &dyn ToolFilter, tool: &str, input: &str) -> String {
        said(filter, tool, input).replace(&self.text(""), "HOME/")
    }
}

/// What a filter says; its three methods must agree.
pub(crate) fn said(filter: &dyn ToolFilter, tool: &str, input: &str) -> String {
    let input = RawJson::parse(input).unwrap();
    let checked = filter.check(tool, &input);
    assert_eq!(filter.allows(tool, &input), checked.is_ok());
    match checked {
        Ok(()) => "allow".to_owned(),
        Err(denial) => {
            assert_eq!(filter.denial_message(tool, &input), denial.to_string());
            format!("{}: {denial}", denial.code().as_str())
        }
    }
}

pub(crate) fn file(path: &str) -> String {
    serde_json::json!({ "file_path": path }).to_string()
}

pub(crate) fn command(text: &str) -> String {
    serde_json::json!({ "command": text }).to_string()
}
