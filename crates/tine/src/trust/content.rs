//! The content of a directory that needs trust, read once.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

/// The folder of a project's own files.
const FOLDER: &str = ".tine";

/// A project's settings, below its root.
pub(crate) const SETTINGS_FILE: &str = ".tine/config.toml";

/// The folder in which a project defines agents, below its root.
pub(crate) const AGENTS_FOLDER: &str = ".tine/agents/";

/// Most files of a directory's content. A person has to read them.
const FILES_MAX: usize = 1_000;

/// Most bytes of all files together: some 5,000 lines. A person has to read them, and a difference of more takes long to find.
const BYTES_MAX: usize = 256 * 1024;

/// Most folders that lie in each other.
const DEPTH_MAX: usize = 16;

/// One file of the content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Entry {
    /// A regular file's bytes.
    File(Vec<u8>),
    /// A symbolic link and its target. Links are never followed, so nothing behind one counts.
    Link(PathBuf),
}

impl Entry {
    /// The hash of the entry, in hex. A link and a file with its target as text have different hashes.
    pub(crate) fn hash(&self) -> String {
        let mut hasher = blake3::Hasher::new();
        match self {
            Self::File(bytes) => hasher.update(b"file\0").update(bytes),
            Self::Link(target) => {
                hasher.update(b"link\0").update(target.as_os_str().as_encoded_bytes())
            }
        };
        hasher.finalize().to_hex().to_string()
    }

    /// The text of a file; `None` for links and for files that are not UTF-8.
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::File(bytes) => std::str::from_utf8(bytes).ok(),
            Self::Link(_) => None,
        }
    }
}

/// The files that need trust, by their paths below the directory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Content(pub(crate) BTreeMap<String, Entry>);

impl Content {
    /// Reads the content of a directory. `own` holds tine's own directories, which are no content of anything. The error says
    /// why the content cannot be trusted as a whole.
    pub(crate) fn read(root: &Path, own: &[PathBuf]) -> Result<Self, String> {
        let mut reading = Reading { root, content: Self::default(), bytes: 0 };
        let folder = root.join(FOLDER);
        if !own.contains(&folder) {
            reading.take(&folder, 0)?;
        }
        Ok(reading.content)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The text of the file at this path.
    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.0.get(path)?.text()
    }

    /// The files directly in a folder whose names have this ending. `folder` ends with `/`.
    pub(crate) fn files_in<'a>(
        &'a self,
        folder: &'a str,
        ending: &'a str,
    ) -> impl Iterator<Item = (&'a str, &'a Entry)> {
        self.0.iter().map(|(path, entry)| (path.as_str(), entry)).filter(move |(path, _)| {
            path.strip_prefix(folder)
                .is_some_and(|name| !name.contains('/') && name.ends_with(ending))
        })
    }
}

/// Content that is being read.
struct Reading<'a> {
    root: &'a Path,
    content: Content,
    bytes: usize,
}

impl Reading<'_> {
    /// Adds what stands at `path`. At the top only a folder has meaning.
    fn take(&mut self, path: &Path, depth: usize) -> Result<(), String> {
        let found = match fs::symlink_metadata(path) {
            Ok(found) => found.file_type(),
            Err(error) if is_absent(&error) => return Ok(()),
            Err(error) => return Err(cannot_read(path, &error)),
        };
        if found.is_symlink() {
            let target = fs::read_link(path).map_err(|error| cannot_read(path, &error))?;
            return self.add(path, Entry::Link(target));
        }
        match (found.is_dir(), depth) {
            (true, _) => self.take_folder(path, depth),
            (false, 0) => Ok(()),
            (false, _) if found.is_file() => {
                let bytes = self.read_file(path).map_err(|error| cannot_read(path, &error))?;
                self.add(path, Entry::File(bytes))
            }
            (false, _) => Err(format!("{} is no regular file", path.display())),
        }
    }

    fn take_folder(&mut self, folder: &Path, depth: usize) -> Result<(), String> {
        if depth > DEPTH_MAX {
            return Err(format!("{} lies too deep", folder.display()));
        }
        let listed = fs::read_dir(folder).map_err(|error| cannot_read(folder, &error))?;
        for entry in listed {
            let entry = entry.map_err(|error| cannot_read(folder, &error))?;
            self.take(&entry.path(), depth + 1)?;
        }
        Ok(())
    }

    fn read_file(&mut self, path: &Path) -> std::io::Result<Vec<u8>> {
        let file = open_regular(path)?;
        let left = BYTES_MAX.saturating_sub(self.bytes);
        let mut bytes = Vec::new();
        file.take(left as u64 + 1).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    fn add(&mut self, path: &Path, entry: Entry) -> Result<(), String> {
        if let Entry::File(bytes) = &entry {
            self.bytes += bytes.len();
        }
        if self.bytes > BYTES_MAX {
            return Err(format!("it has more than {} KiB", BYTES_MAX / 1024));
        }
        if self.content.0.len() >= FILES_MAX {
            return Err(format!("it has more than {FILES_MAX} files"));
        }
        let below = path.strip_prefix(self.root).unwrap_or(path);
        let name = below
            .to_str()
            .ok_or_else(|| format!("the name of {} is not UTF-8", below.display()))?;
        self.content.0.insert(name.to_owned(), entry);
        Ok(())
    }
}

/// Opens a file without following a link and without waiting for a writer of a pipe.
fn open_regular(path: &Path) -> std::io::Result<File> {
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    // The flags are bits that fit into an `i32` on every system.
    let flags = i32::try_from(flags.bits()).unwrap_or_default();
    let file = OpenOptions::new().read(true).custom_flags(flags).open(path)?;
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        Err(std::io::Error::other("it is no regular file"))
    }
}

fn is_absent(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}

fn cannot_read(path: &Path, error: &std::io::Error) -> String {
    format!("cannot read {}: {error}", path.display())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn read(files: &[(&str, &str)]) -> (tempfile::TempDir, Result<Content, String>) {
        let root = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let content = Content::read(root.path(), &[]);
        (root, content)
    }

    fn names(content: &Content) -> Vec<&str> {
        content.0.keys().map(String::as_str).collect()
    }

    #[test]
    fn content_is_the_folder_and_nothing_that_nobody_reads() {
        let (_root, content) = read(&[
            (".tine/config.toml", "a"),
            (".tine/agents/x.md", "b"),
            (".tine/skills/s/run.sh", "c"),
            (".mcp.json", "{}"),
            ("src/main.rs", "d"),
            (".tinea/config.toml", "e"),
        ]);
        let content = content.unwrap();
        let all = [".tine/agents/x.md", ".tine/config.toml", ".tine/skills/s/run.sh"];
        assert_eq!(names(&content), all);
        let agents: Vec<&str> =
            content.files_in(AGENTS_FOLDER, ".md").map(|(path, _)| path).collect();
        assert_eq!(agents, [".tine/agents/x.md"]);
        assert!(read(&[("src/main.rs", "")]).1.unwrap().is_empty());
    }

    #[test]
    fn links_are_listed_and_never_followed() {
        let (root, _) = read(&[("outside/config.toml", "model = \"a/b\""), (".tine/x", "")]);
        symlink("../outside/config.toml", root.path().join(".tine/config.toml")).unwrap();
        symlink("/etc", root.path().join(".tine/etc")).unwrap();
        let content = Content::read(root.path(), &[]).unwrap();
        assert_eq!(names(&content), [".tine/config.toml", ".tine/etc", ".tine/x"]);
        assert_eq!(content.text(SETTINGS_FILE), None);
        fs::remove_dir_all(root.path().join(".tine")).unwrap();
        symlink("outside", root.path().join(".tine")).unwrap();
        assert_eq!(names(&Content::read(root.path(), &[]).unwrap()), [".tine"]);
    }

    #[test]
    fn content_that_no_person_can_read_is_refused() {
        let many: Vec<String> = (0..=FILES_MAX).map(|at| format!(".tine/{at}")).collect();
        let many: Vec<(&str, &str)> = many.iter().map(|name| (name.as_str(), "")).collect();
        assert_eq!(read(&many).1.unwrap_err(), "it has more than 1000 files");
        let large = "x".repeat(BYTES_MAX / 2 + 1);
        let large = read(&[(".tine/a", &large), (".tine/b", &large)]).1;
        assert_eq!(large.unwrap_err(), "it has more than 256 KiB");
        let (root, _) = read(&[(".tine/x", "")]);
        let pipe = root.path().join(".tine/pipe");
        rustix::fs::mknodat(
            rustix::fs::CWD,
            &pipe,
            rustix::fs::FileType::Fifo,
            rustix::fs::Mode::RUSR,
            0,
        )
        .unwrap();
        let error = Content::read(root.path(), &[]).unwrap_err();
        assert!(error.ends_with(".tine/pipe is no regular file"), "{error}");
    }

    #[test]
    fn a_file_and_a_link_of_the_same_words_differ() {
        let file = Entry::File(b"/etc".to_vec());
        assert_ne!(file.hash(), Entry::Link("/etc".into()).hash());
    }
}
