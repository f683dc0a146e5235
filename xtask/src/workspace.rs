//! The repository as the tasks see it: its crates from `cargo metadata`, its files from git. Read only.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use serde_json::Value;

use crate::process;

/// Options that give a crate outside of the workspace the workspace's profile: the crates of others that one of them has checked
/// need no second check for the next.
pub(crate) const PROFILE: &[&str] = &[
    "--config",
    r#"profile.dev.debug="line-tables-only""#,
    "--config",
    r#"profile.dev.package."*".debug=false"#,
];

/// When a dependency is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// In the library or binary, or in its build script.
    Always,
    /// In tests, examples and benches only.
    Development,
}

/// One line of a crate's dependencies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Dependency {
    /// The package that is needed.
    pub(crate) name: String,
    /// When.
    pub(crate) need: Need,
}

/// One crate of ours.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Package {
    /// Its name, which is also its folder's.
    pub(crate) name: String,
    /// Its manifest, relative to the root.
    pub(crate) manifest: String,
    /// The sentence that says what it is for.
    pub(crate) description: Option<String>,
    /// All dependencies, ours and others'.
    pub(crate) dependencies: Vec<Dependency>,
    /// Its bench targets.
    pub(crate) benches: Vec<Bench>,
}

/// One bench target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Bench {
    /// Its name.
    pub(crate) name: String,
    /// Features of its crate that it needs.
    pub(crate) features: Vec<String>,
}

/// One text file that is tracked, or would be by `git add`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct SourceFile {
    /// Relative to the root, with `/`.
    pub(crate) path: String,
    /// All of it.
    pub(crate) text: String,
}

/// The repository.
#[derive(Debug)]
pub(crate) struct Workspace {
    /// Every crate, by name.
    pub(crate) packages: Vec<Package>,
    /// Every text file, by path.
    pub(crate) files: Vec<SourceFile>,
}

impl Workspace {
    /// Reads crates and files of the workspace that the current directory lies in.
    pub(crate) fn load() -> Result<Self> {
        let (root, packages) = metadata()?;
        let files = files(&root)?;
        Ok(Self { packages, files })
    }

    /// The text of one file, if there is such a file.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.files.iter().find(|file| file.path == path).map(|file| file.text.as_str())
    }
}

/// The root directory and the crates, without reading any source.
pub(crate) fn metadata() -> Result<(PathBuf, Vec<Package>)> {
    let metadata = cargo_metadata()?;
    let root = PathBuf::from(text(&metadata, "workspace_root")?);
    let packages = metadata["packages"].as_array().context("`cargo metadata` has no packages")?;
    let mut packages: Vec<Package> =
        packages.iter().map(|package| read_package(package, &root)).collect::<Result<_>>()?;
    packages.sort_by(|a, b| a.name.cmp(&b.name));
    Ok((root, packages))
}

/// The directory that cargo builds in.
pub(crate) fn target() -> Result<PathBuf> {
    Ok(PathBuf::from(text(&cargo_metadata()?, "target_directory")?))
}

fn cargo_metadata() -> Result<Value> {
    let mut command = process::cargo();
    command.args(["metadata", "--no-deps", "--format-version", "1", "--offline"]);
    serde_json::from_str(&process::output(command)?).context("cannot read `cargo metadata`")
}

fn read_package(package: &Value, root: &Path) -> Result<Package> {
    let manifest = PathBuf::from(text(package, "manifest_path")?);
    let manifest = manifest.strip_prefix(root).context("a crate lies outside of the workspace")?;
    let list = |key: &str| package[key].as_array().map(Vec::as_slice).unwrap_or_default();
    let is_bench = |target: &&Value| {
        target["kind"].as_array().is_some_and(|kinds| kinds.contains(&"bench".into()))
    };
    Ok(Package {
        name: text(package, "name")?,
        manifest: slashed(manifest),
        description: package["description"].as_str().map(str::to_owned),
        dependencies: list("dependencies").iter().map(read_dependency).collect::<Result<_>>()?,
        benches: list("targets").iter().filter(is_bench).map(read_bench).collect::<Result<_>>()?,
    })
}

fn read_bench(bench: &Value) -> Result<Bench> {
    let features = bench["required-features"].as_array().into_iter().flatten();
    let features = features.filter_map(Value::as_str).map(str::to_owned).collect();
    Ok(Bench { name: text(bench, "name")?, features })
}

fn read_dependency(dependency: &Value) -> Result<Dependency> {
    let need = if dependency["kind"] == "dev" { Need::Development } else { Need::Always };
    Ok(Dependency { name: text(dependency, "name")?, need })
}

fn text(value: &Value, key: &str) -> Result<String> {
    let found =
        value[key].as_str().with_context(|| format!("`cargo metadata` gives no `{key}`"))?;
    Ok(found.to_owned())
}

/// Tracked files, and new ones that no ignore rule covers, so that tidy speaks before the commit and not after it.
fn files(root: &Path) -> Result<Vec<SourceFile>> {
    let mut command = process::git();
    command.current_dir(root).args([
        "ls-files",
        "-z",
        "--cached",
        "--others",
        "--exclude-standard",
    ]);
    let listed = process::output(command)
        .context("tidy needs the list of files from git\nhint: run it in a git checkout")?;
    let mut paths: Vec<&str> = listed.split('\0').filter(|path| !path.is_empty()).collect();
    paths.sort_unstable();
    paths.dedup();
    let mut files = Vec::with_capacity(paths.len());
    for path in paths {
        let absolute = root.join(path);
        // Links are judged where they point; a file deleted but not yet committed is no longer there.
        if !std::fs::symlink_metadata(&absolute).is_ok_and(|metadata| metadata.is_file()) {
            continue;
        }
        let bytes = std::fs::read(&absolute).with_context(|| format!("cannot read {path}"))?;
        // Rules are about text; an image has no lines.
        if let Ok(text) = String::from_utf8(bytes) {
            files.push(SourceFile { path: path.to_owned(), text });
        }
    }
    Ok(files)
}

fn slashed(path: &Path) -> String {
    let parts: Vec<_> = path.components().map(|part| part.as_os_str().to_string_lossy()).collect();
    parts.join("/")
}
