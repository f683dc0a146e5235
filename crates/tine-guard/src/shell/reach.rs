//! Whether what an accepted command reads lies inside a directory and holds no secret, by its text alone.
//!
//! A recursive search (`grep -r`, `rg`) counts by the folder where it starts, as the search tool of the same kind does:
//! the files below it are not known here. After `cd` a path counts from the new directory and from the old one, because
//! `cd` may have failed. A wildcard counts as a secret when it could become the name of one.

use std::path::{Path, PathBuf};

use super::utility::ReadPath;
use crate::paths::{PathPlace, place_of};
use crate::secrets::{copied, is_secret, secret_patterns};

/// Most directories in which a command may be by then; each `cd` doubles the ways there are.
const DIRECTORIES_MAX: usize = 8;

/// Files that are nobody's.
const NOBODYS: [&str; 3] = ["-", "/dev/null", "/dev/stdin"];

/// A path that a command reads, from one of the directories in which it may be by then.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Reached {
    /// Absolute, without `.` and `..`, with its wildcards.
    pub(crate) absolute: PathBuf,
    /// Whether it has wildcards.
    pub(crate) glob: bool,
    /// Whether what is in it is printed.
    pub(crate) contents: bool,
    /// True if the shell or git changes to this directory.
    pub(crate) moves: bool,
}

/// Where the paths of an accepted command lead, and the first thing about them that needs somebody's word.
pub(crate) fn reach(directory: &Path, paths: &[ReadPath]) -> (Vec<Reached>, Option<String>) {
    let mut directories: Vec<PathBuf> = vec![directory.to_path_buf()];
    let mut all = Vec::new();
    let mut objection: Option<String> = None;
    let mut object = |why: String| {
        objection.get_or_insert(why);
    };
    for path in paths {
        if NOBODYS.contains(&path.text.as_str()) {
            continue;
        }
        let shown = path.text.escape_debug();
        if path.tilde {
            object(if path.text.starts_with('~') {
                format!("`{shown}` is outside the directory")
            } else {
                format!("`{shown}` depends on a variable")
            });
            continue;
        }
        if climbs_back(&path.text) {
            object(format!("`{shown}` leads back out of a folder that may be a link"));
        }
        let mut targets = Vec::new();
        for from in &directories {
            // A `~` that the shell does not replace is the beginning of a name.
            let name = if path.text.starts_with('~') { "./" } else { "" };
            let absolute = match place_of(from, &format!("{name}{}", path.text)) {
                PathPlace::Inside(relative) => from.join(relative),
                PathPlace::Outside(path) => path,
            };
            if matches!(place_of(directory, &absolute.to_string_lossy()), PathPlace::Outside(_)) {
                object(format!("`{shown}` is outside the directory"));
            } else if path.contents && may_be_secret(&absolute, path.glob) {
                object(format!("`{shown}` may hold keys or passwords"));
            }
            targets.push(absolute);
        }
        if path.moves {
            directories.extend(targets.iter().cloned());
            if directories.len() > DIRECTORIES_MAX {
                object("it changes its directory too often to be followed".to_owned());
                break;
            }
        }
        let reached = |absolute| Reached {
            absolute,
            glob: path.glob,
            contents: path.contents,
            moves: path.moves,
        };
        all.extend(targets.into_iter().map(reached));
    }
    (all, objection)
}

/// The first path, as it is written, whose content is printed and may be keys or passwords, wherever it lies.
pub(crate) fn secret<'a>(directory: &Path, paths: &'a [ReadPath]) -> Option<&'a str> {
    let written =
        |path: &&ReadPath| path.contents && may_be_secret(Path::new(&path.text), path.glob);
    let (reached, _) = reach(directory, paths);
    let really = |at: &Reached| at.contents && may_be_secret(&at.absolute, at.glob);
    let moved =
        reached.iter().any(really).then(|| paths.iter().find(|path| path.contents)).flatten();
    paths.iter().find(written).or(moved).map(|path| path.text.as_str())
}

/// Whether `..` follows a folder: the system goes to the parent of where a link leads, and not to where it stands.
pub(crate) fn climbs_back(path: &str) -> bool {
    path.split('/').skip_while(|part| matches!(*part, "" | "." | "..")).any(|part| part == "..")
}

fn may_be_secret(path: &Path, glob: bool) -> bool {
    if is_secret(path) {
        return true;
    }
    let names =
        path.components().map(|component| component.as_os_str().to_string_lossy().to_lowercase());
    glob && names.into_iter().any(|name| {
        let wild = name.contains(['*', '?', '[']);
        // The shell's wildcards do not become a name's first dot.
        wild && copied(&name).any(|name| {
            secret_patterns(name).any(|secret| {
                (!secret.starts_with('.') || name.starts_with('.'))
                    && overlap(name.as_bytes(), secret.as_bytes())
            })
        })
    })
}

/// Whether some name is covered by both patterns. Brackets count as any character.
pub(crate) fn overlap(one: &[u8], other: &[u8]) -> bool {
    let (one, other) = (simplified(one), simplified(other));
    // The places in `other` that are reached together with a place in `one`.
    let close = |reached: &mut Vec<bool>| {
        for at in 0..other.len() {
            if reached[at] && other[at] == b'*' {
                reached[at + 1] = true;
            }
        }
    };
    let mut reached = vec![false; other.len() + 1];
    reached[0] = true;
    close(&mut reached);
    for byte in &one {
        let mut next = vec![false; other.len() + 1];
        for at in (0..=other.len()).filter(|at| reached[*at]) {
            if *byte == b'*' {
                // It covers nothing, or one more of whatever the other holds.
                next[at..].fill(true);
                break;
            }
            match other.get(at) {
                Some(b'*') => next[at] = true,
                Some(mine) if *mine == *byte || *mine == b'?' || *byte == b'?' => {
                    next[at + 1] = true
                }
                _ => {}
            }
        }
        reached = next;
        close(&mut reached);
    }
    reached[other.len()]
}

/// The pattern with every bracket expression as `?`.
fn simplified(pattern: &[u8]) -> Vec<u8> {
    let mut out = Vec::new();
    let mut rest = pattern;
    while let [first, more @ ..] = rest {
        rest = more;
        let end = more.iter().skip(1).position(|byte| *byte == b']').filter(|_| *first == b'[');
        match end {
            Some(end) => {
                out.push(b'?');
                rest = &more[end + 2..];
            }
            None => out.push(*first),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell::{Width, shell_verdict};

    fn check(command: &str) -> String {
        let verdict = shell_verdict(command, Width::Strict);
        assert!(verdict.read_only, "{command}: {}", verdict.reason);
        reach(Path::new("/srv/app"), &verdict.paths).1.unwrap_or_else(|| "nothing".to_owned())
    }

    #[test]
    fn what_lies_inside_and_is_no_secret_is_free() {
        for command in [
            "ls",
            "cat src/a.rs",
            "grep -rn foo .",
            "cd src && cat a.rs",
            "cat /srv/app/a",
            "wc -l *.py",
            "head -5 a 2>/dev/null | sort",
            "ls *",
            "cat - </dev/null",
            "git log HEAD~3..HEAD -- src",
            "ls .env",
            "cat src/*.rs",
            "find . -name '*.pem'",
            "git show HEAD:src/a.rs",
            "cat a[0-9].txt",
            "cat '~x'",
            "grep -rf~x y",
            "basename \"$PWD\"",
            "echo $HOME/*",
        ] {
            assert_eq!(check(command), "nothing", "{command}");
        }
    }

    #[test]
    fn what_lies_outside_or_may_be_a_secret_is_named() {
        insta::assert_snapshot!(check("cat /etc/passwd"), @"`/etc/passwd` is outside the directory");
        insta::assert_snapshot!(check("ls ~/x"), @"`~/x` is outside the directory");
        insta::assert_snapshot!(check("cd .. && ls"), @"`..` is outside the directory");
        insta::assert_snapshot!(check("cd src && cat ../../b"), @"`../../b` is outside the directory");
        insta::assert_snapshot!(check("cat link/../a"), @"`link/../a` leads back out of a folder that may be a link");
        insta::assert_snapshot!(check("cat \"$PWD/a\""), @"`$PWD/a` depends on a variable");
        insta::assert_snapshot!(check("cd \"${HOME}/a\" && ls"), @"`$HOME/a` depends on a variable");
        insta::assert_snapshot!(check("grep \"$USER\" a"), @"`$USER` depends on a variable");
        insta::assert_snapshot!(check("cd"), @"`~` is outside the directory");
        insta::assert_snapshot!(check("wc -l < ../x"), @"`../x` is outside the directory");
        insta::assert_snapshot!(check("grep -f /etc/shadow x"), @"`/etc/shadow` is outside the directory");
        for secret in [
            "cat .env",
            "cat .e*",
            "cat ./.en?",
            "cat *",
            "cat *.pem",
            "head src/*",
            "cat id_[r]sa",
            "grep x .env",
            "cat <.env",
            "git show HEAD:.env",
            "cat .ENV",
            "sort deploy/.env.production",
            "cat *.k*",
            "cat .ss*/config",
        ] {
            assert!(check(secret).ends_with("may hold keys or passwords"), "{secret}");
        }
    }
}
