//! A directory `in` where an agent works, and a directory `out` beside it that is not its own.

use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tine_model::RawJson;
use tine_tools::{Place, Toolbox};
use tokio_util::sync::CancellationToken;

pub(crate) struct House {
    home: TempDir,
    pub(crate) place: Place,
    runtime: tokio::runtime::Runtime,
}

impl House {
    pub(crate) fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let real = home.path().canonicalize().unwrap();
        for name in ["in/sub", "out"] {
            std::fs::create_dir_all(real.join(name)).unwrap();
        }
        std::fs::write(real.join("in/sub/f"), "inside\n").unwrap();
        std::fs::write(real.join("out/f"), "outside\n").unwrap();
        let place = Place::new(&real.join("in")).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        Self { home, place, runtime }
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.home.path().canonicalize().unwrap().join(name)
    }

    pub(crate) fn link(&self, target: impl AsRef<Path>, name: &str) {
        std::os::unix::fs::symlink(target, self.path(name)).unwrap();
    }

    /// Runs a tool at a place, errors marked, the paths of the house shortened.
    pub(crate) fn run_at(&self, place: &Place, tool: &str, input: &serde_json::Value) -> String {
        let toolbox = Toolbox::built_in();
        let input = RawJson::parse(&input.to_string()).unwrap();
        let cancel = CancellationToken::new();
        let tool = toolbox.get(tool).unwrap();
        let output = self.runtime.block_on(tool.run(place, &input, &cancel));
        let text = output.text.replace(&self.path("").display().to_string(), "HOUSE/");
        if output.is_error { format!("error: {text}") } else { text }
    }

    /// Runs a tool without anybody's judgement.
    pub(crate) fn run(&self, tool: &str, input: &serde_json::Value) -> String {
        self.run_at(&self.place, tool, input)
    }

    /// Both halves of a call, with something in between: the look at where the path leads, and the opening of that.
    pub(crate) fn run_after(
        &self,
        (tool, input): (&str, &serde_json::Value),
        between: impl FnOnce(),
    ) -> String {
        let raw = RawJson::parse(&input.to_string()).unwrap();
        let (directory, real) = (self.place.directory(), self.place.real_directory());
        let call = tine_guard::Call::new(tool, &raw, directory);
        let real = tine_guard::real_call(&call, real).unwrap().unwrap();
        between();
        self.run_at(&self.place.judged(&real.path), tool, input)
    }

    /// The same with nothing in between.
    pub(crate) fn run_judged(&self, tool: &str, input: &serde_json::Value) -> String {
        self.run_after((tool, input), || {})
    }

    pub(crate) fn names(&self, folder: &str) -> Vec<String> {
        let mut names: Vec<String> = std::fs::read_dir(self.path(folder))
            .unwrap()
            .map(|entry| entry.unwrap().file_name().to_string_lossy().into_owned())
            .collect();
        names.sort();
        names
    }
}

pub(crate) fn file(path: &str) -> serde_json::Value {
    serde_json::json!({ "file_path": path })
}

pub(crate) fn write(path: &str) -> serde_json::Value {
    serde_json::json!({ "file_path": path, "content": "written\n" })
}

pub(crate) fn search(path: &str) -> serde_json::Value {
    serde_json::json!({ "pattern": "side", "path": path, "output_mode": "content" })
}

pub(crate) fn list(path: &str) -> serde_json::Value {
    serde_json::json!({ "pattern": "*", "path": path })
}
