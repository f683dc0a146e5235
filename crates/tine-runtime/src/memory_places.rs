//! The directories of the projects' memories.

use std::path::{Path, PathBuf};

/// The directories of memories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemoryPlaces {
    /// The directory that holds one for each project.
    pub root: PathBuf,
    /// The one for all projects, where the user has named it.
    pub named: Option<PathBuf>,
}

impl MemoryPlaces {
    /// The memory of a project: a folder of its name, and of a number of its place.
    pub fn of(&self, project: &Path) -> PathBuf {
        if let Some(named) = &self.named {
            return named.clone();
        }
        let hash = blake3::hash(project.as_os_str().as_encoded_bytes()).to_hex();
        let name = project.file_name().map_or_else(String::new, |name| {
            let letters = name.to_string_lossy();
            letters.chars().filter(|c| c.is_ascii_alphanumeric() || *c == '-').take(40).collect()
        });
        let name = if name.is_empty() { "project" } else { &name };
        self.root.join(format!("{name}-{}", &hash[..8]))
    }
}
