//! A project's instructions for agents: `AGENTS.md` or `CLAUDE.md`, which go to the provider with the system prompt.
//!
//! They count without trust, so a checkout must not be able to send anything else under their names. A link counts only where
//! it stays in its directory and names no secret, and above the working directory only files of the user count.

use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{Mode, OFlags, openat};
use tine_guard::is_secret;
use tine_tui::words::one_line;

use crate::fail::Failure;

/// Largest file of instructions that is read into the head, in bytes.
const BYTES_MAX: u64 = 64 * 1024;

/// Files that hold a project's instructions; the first that counts in the nearest directory wins.
const FILES: [&str; 2] = ["AGENTS.md", "CLAUDE.md"];

/// The user id of the system's administrator, who can change any file anyway.
const ADMINISTRATOR: u32 = 0;

/// The instructions that count in a directory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Instructions {
    pub(crate) text: Option<String>,
    /// One line for each nearer file that does not count, and for the part of one that does not.
    pub(crate) left_out: Vec<String>,
}

impl Instructions {
    /// Reads the nearest file that counts, from `directory` upwards. `directory` is a real path.
    pub(crate) fn find(directory: &Path) -> Result<Self, Failure> {
        let mut left_out = Vec::new();
        let owners = owners(directory);
        for above in directory.ancestors() {
            for name in FILES {
                let path = above.join(name);
                match refusal(&path, (above != directory).then_some(owners.as_slice())) {
                    Ok(None) => {}
                    Ok(Some(target)) => {
                        if let Some((text, problem)) = read(above, &target, &path)? {
                            left_out.extend(problem);
                            return Ok(Self { text: Some(text), left_out });
                        }
                    }
                    Err(why) => {
                        let line = format!("{} does not count: {why}", path.display());
                        left_out.push(one_line(&line));
                    }
                }
            }
        }
        Ok(Self { text: None, left_out })
    }
}

/// The users whose files count above a working directory: this one, the administrator, and whoever owns the directory.
fn owners(directory: &Path) -> Vec<u32> {
    let owner = fs::metadata(directory).ok().map(|found| found.uid());
    owner.into_iter().chain([rustix::process::geteuid().as_raw(), ADMINISTRATOR]).collect()
}

/// The path below its directory that a file of instructions leads to; `None` without one. The error says why it does not count.
fn refusal(path: &Path, owners: Option<&[u32]>) -> Result<Option<PathBuf>, String> {
    let Some(folder) = path.parent() else { return Ok(None) };
    let Ok(found) = fs::symlink_metadata(path) else { return Ok(None) };
    if let Some(owners) = owners
        && !owners.contains(&found.uid())
    {
        return Err("it belongs to another user".to_owned());
    }
    // A link that leads nowhere is no file.
    let Ok(real) = fs::canonicalize(path) else { return Ok(None) };
    let Ok(target) = real.strip_prefix(folder) else {
        return Err(format!("it is a link to {}, outside its directory", real.display()));
    };
    if found.is_symlink() && is_secret(target) {
        Err(format!("it is a link to {}, which may hold keys", target.display()))
    } else {
        Ok(Some(target.to_owned()))
    }
}

/// Reads a file below a directory without following a link, and says what of it does not count; `None` where there is no regular file.
/// No conversation waits for a file that is too large or no text: what can be read of it counts.
fn read(
    directory: &Path,
    target: &Path,
    shown: &Path,
) -> Result<Option<(String, Option<String>)>, Failure> {
    let shown = shown.display();
    let failed =
        |error: std::io::Error| Failure::input(format!("cannot read {shown}")).because(&error);
    let file = match open_below(directory, target) {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    if !file.metadata().map_err(failed)?.is_file() {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    // The length that a file states says nothing in /proc, so the limit is on what is read.
    file.take(BYTES_MAX + 1).read_to_end(&mut bytes).map_err(failed)?;
    let is_cut = bytes.len() as u64 > BYTES_MAX;
    if is_cut {
        bytes.truncate(usize::try_from(BYTES_MAX).unwrap_or(usize::MAX));
        let whole = bytes.utf8_chunks().next().map_or(0, |first| first.valid().len());
        // The cut may fall into a character.
        if bytes.len() - whole < 4 {
            bytes.truncate(whole);
        }
    }
    let (text, is_text) = match String::from_utf8(bytes) {
        Ok(text) => (text, true),
        Err(error) => (String::from_utf8_lossy(error.as_bytes()).into_owned(), false),
    };
    let problem = match (is_cut, is_text) {
        (true, _) => Some(format!("{shown} is larger than 64 KiB, and only its beginning counts")),
        (false, false) => {
            Some(format!("{shown} is not UTF-8, and what cannot be read counts as �"))
        }
        (false, true) => None,
    };
    Ok(Some((text, problem.map(|problem| one_line(&problem)))))
}

/// Opens a file below a directory, name by name, and follows no link. It waits for no writer of a pipe.
fn open_below(directory: &Path, below: &Path) -> std::io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let mut file = File::open(directory)?;
    for name in below.components().filter(|part| matches!(part, Component::Normal(_))) {
        file = File::from(openat(&file, Path::new(name.as_os_str()), flags, Mode::empty())?);
    }
    Ok(file)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    struct Case(tempfile::TempDir);

    impl Case {
        fn new(files: &[(&str, &str)]) -> Self {
            let case = Self(tempfile::tempdir().unwrap());
            for (name, text) in files {
                let path = case.path(name);
                fs::create_dir_all(path.parent().unwrap()).unwrap();
                fs::write(path, text).unwrap();
            }
            case
        }

        fn path(&self, name: &str) -> PathBuf {
            self.0.path().canonicalize().unwrap().join(name)
        }

        fn link(&self, target: &str, name: &str) {
            symlink(target, self.path(name)).unwrap();
        }

        /// The instructions in a directory and what is left out, without the case's path.
        fn found(&self, directory: &str) -> String {
            let found = Instructions::find(&self.path(directory)).unwrap();
            let text = found.text.unwrap_or_else(|| "nothing".to_owned());
            let lines = std::iter::once(text).chain(found.left_out).collect::<Vec<_>>().join("\n");
            lines.replace(self.path("").to_str().unwrap(), "[CASE]/")
        }
    }

    #[test]
    fn the_nearest_file_counts() {
        let case = Case::new(&[("AGENTS.md", "top"), ("a/CLAUDE.md", "a"), ("a/b/x", "")]);
        assert_eq!(case.found("a/b"), "a");
        fs::write(case.path("a/AGENTS.md"), "first").unwrap();
        assert_eq!(case.found("a"), "first");
        assert_eq!(case.found(""), "top");
    }

    #[test]
    fn a_link_counts_where_it_stays_in_its_directory_and_names_no_secret() {
        let case =
            Case::new(&[("outside", "key"), ("r/docs/agents.md", "plain"), ("r/.env", "key")]);
        case.link("docs/agents.md", "r/AGENTS.md");
        assert_eq!(case.found("r"), "plain");
        for (target, reason) in [
            ("../outside", "it is a link to [CASE]/outside, outside its directory"),
            ("docs/../../outside", "it is a link to [CASE]/outside, outside its directory"),
            (".env", "it is a link to .env, which may hold keys"),
        ] {
            fs::remove_file(case.path("r/AGENTS.md")).unwrap();
            case.link(target, "r/AGENTS.md");
            let expected = format!("nothing\n[CASE]/r/AGENTS.md does not count: {reason}");
            assert_eq!(case.found("r"), expected);
        }
        // The other file of the directory counts all the same.
        fs::write(case.path("r/CLAUDE.md"), "own").unwrap();
        assert!(case.found("r").starts_with("own\n"), "{}", case.found("r"));
        fs::remove_file(case.path("r/AGENTS.md")).unwrap();
        case.link("nowhere", "r/AGENTS.md");
        assert_eq!(case.found("r"), "own");
    }

    #[cfg(target_os = "linux")] // for /proc
    #[test]
    fn the_environment_is_not_read_through_a_link() {
        let case = Case::new(&[("r/x", "")]);
        case.link("/proc/self/environ", "r/AGENTS.md");
        let found = case.found("r");
        assert!(found.starts_with("nothing\n") && !found.contains("PATH="), "{found}");
    }

    #[test]
    fn a_file_of_another_user_does_not_count_above_the_working_directory() {
        let case = Case::new(&[("AGENTS.md", "x")]);
        let path = case.path("AGENTS.md");
        let owner = fs::metadata(&path).unwrap().uid();
        let other = owner.wrapping_add(1);
        assert_eq!(refusal(&path, Some(&[owner])), Ok(Some("AGENTS.md".into())));
        assert_eq!(refusal(&path, Some(&[other])), Err("it belongs to another user".to_owned()));
        assert_eq!(refusal(&path, None), Ok(Some("AGENTS.md".into())));
    }

    #[test]
    fn what_can_be_read_of_a_file_counts_and_the_rest_is_said() {
        let case = Case::new(&[("AGENTS.md", &"ä".repeat(33_000)), ("d/AGENTS.md/x", "")]);
        let found = Instructions::find(&case.path("")).unwrap();
        assert_eq!(found.text.unwrap().chars().count(), 32 * 1024);
        let why = "AGENTS.md is larger than 64 KiB, and only its beginning counts";
        assert!(found.left_out[0].ends_with(why), "{:?}", found.left_out);
        fs::write(case.path("AGENTS.md"), b"Use caf\xe9.").unwrap();
        let found = Instructions::find(&case.path("")).unwrap();
        assert_eq!(found.text.as_deref(), Some("Use caf\u{fffd}."));
        assert!(found.left_out[0].contains("AGENTS.md is not UTF-8"), "{:?}", found.left_out);
        assert_eq!(read(&case.path("d"), Path::new("AGENTS.md"), Path::new("x")).unwrap(), None);
    }
}
