//! Places that settings of git name: files of settings, folders of hooks, and files of the programs that git runs.
//!
//! What stands there runs when somebody works in the checkout later, as git's own settings and hooks do. Only where settings lead is
//! told here; whether commands may write there is somebody else's question.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use crate::own_git::looked;

/// Settings whose value is a path, from the top of the checkout. Source: git-config(1).
const PATHS: [&str; 2] = ["core.attributesfile", "core.hookspath"];

/// Settings whose value is a command: the section, and the last word of the name. Source: git-config(1).
const COMMANDS: [(&str, &str); 22] = [
    ("alias", "*"),
    ("core", "alternaterefscommand"),
    ("core", "askpass"),
    ("core", "editor"),
    ("core", "fsmonitor"),
    ("core", "pager"),
    ("core", "sshcommand"),
    ("credential", "helper"),
    ("diff", "command"),
    ("diff", "external"),
    ("diff", "textconv"),
    ("difftool", "cmd"),
    ("filter", "clean"),
    ("filter", "process"),
    ("filter", "smudge"),
    ("gpg", "program"),
    ("merge", "driver"),
    ("mergetool", "cmd"),
    ("remote", "receivepack"),
    ("remote", "uploadpack"),
    ("sequence", "editor"),
    ("trailer", "cmd"),
];

/// Words without which a file of settings names nothing, in lower case.
const TELLING: [&[u8]; 4] = [b"include", b"filter", b"merge", b"hookspath"];

/// Most bytes of a file of settings that is looked at for these words; a larger one is taken to have them.
const SETTINGS_BYTES_MAX: u64 = 64 * 1024;

/// The word in front of the name of a file that a setting stands in.
const FILE: &[u8] = b"file:";

/// Returns true if the settings of the checkout at `top` may name such a place: a look that starts no git.
pub(super) fn may_name(top: &Path) -> bool {
    let settings = top.join(".git/config");
    let Ok(about) = settings.symlink_metadata() else { return top.join(".git").is_file() };
    if !about.is_file() || about.len() > SETTINGS_BYTES_MAX {
        return true;
    }
    let Ok(text) = std::fs::read(&settings) else { return true };
    let text = text.to_ascii_lowercase();
    let has = |word: &[u8]| text.windows(word.len()).any(|found| found == word);
    TELLING.iter().any(|word| has(word))
        || COMMANDS.iter().any(|(section, name)| match *name {
            "*" => has(section.as_bytes()),
            name => has(name.as_bytes()),
        })
}

/// The places that exist, without links, and never a directory that the checkout lies in.
pub(super) fn places(top: &Path, home: Option<&Path>) -> Vec<PathBuf> {
    const LIST: [&str; 5] = ["config", "--null", "--list", "--includes", "--show-origin"];
    let Some(listed) = looked(top, LIST) else { return Vec::new() };
    let mut parts = listed.split(|byte| *byte == 0);
    let mut found = Vec::new();
    while let (Some(origin), Some(setting)) = (parts.next(), parts.next()) {
        // What tine's own call sets stands in no file.
        let Some(origin) = origin.strip_prefix(FILE) else { continue };
        let Some(end) = setting.iter().position(|byte| *byte == b'\n') else { continue };
        let (key, value) = (String::from_utf8_lossy(&setting[..end]), &setting[end + 1..]);
        let (Some((section, _)), Some((_, name))) = (key.split_once('.'), key.rsplit_once('.'))
        else {
            continue;
        };
        let file = top.join(OsStr::from_bytes(origin));
        if matches!(section, "include" | "includeif") && name == "path" {
            found.extend(file.parent().and_then(|folder| place(folder, value, home)));
        } else if PATHS.contains(&&*key) {
            found.extend(place(top, value, home));
        } else if COMMANDS
            .iter()
            .any(|(of, word)| *of == section && (*word == "*" || *word == name))
        {
            let is_end = |byte: &u8| !byte.is_ascii_alphanumeric() && !b"/._-+~@".contains(byte);
            let words = value.split(is_end).filter(|word| !word.is_empty());
            found.extend(
                words.filter_map(|word| place(top, word, home)).filter(|path| path.is_file()),
            );
        }
    }
    found.retain(|path| !top.starts_with(path));
    found.sort();
    found.dedup();
    found
}

/// The place that a path of the settings leads to.
fn place(base: &Path, value: &[u8], home: Option<&Path>) -> Option<PathBuf> {
    let path = match value.strip_prefix(b"~/") {
        Some(below) => home?.join(OsStr::from_bytes(below)),
        None => base.join(OsStr::from_bytes(value)),
    };
    path.canonicalize().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_lead_to_hooks_settings_and_programs_of_the_checkout() {
        let root = tempfile::tempdir().unwrap();
        let top = root.path().canonicalize().unwrap();
        for file in
            ["hooks/pre-commit", "conf/more", "conf/most", "tools/clean.sh", "tools/m", "src/a"]
        {
            let path = top.join(file);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        assert!(looked(&top, ["init", "--quiet"]).is_some());
        assert!(!may_name(&top) && places(&top, None).is_empty());
        let settings = "[core]\n\thooksPath = hooks\n[include]\n\tpath = ../conf/more\n[filter \"a\"]\n\tclean = sh \"./tools/clean.sh\" %f\n\
            [merge \"b\"]\n\tdriver = tools/m %A src\n[user]\n\tname = src/a\n";
        std::fs::write(top.join(".git/config"), settings).unwrap();
        std::fs::write(top.join("conf/more"), "[include]\n\tpath = most\n").unwrap();
        assert!(may_name(&top));
        let found = places(&top, None);
        let found: Vec<_> = found.iter().map(|path| path.strip_prefix(&top).unwrap()).collect();
        let expected = ["conf/more", "conf/most", "hooks", "tools/clean.sh", "tools/m"];
        assert_eq!(found, expected.map(Path::new));
        std::fs::write(top.join(".git/config"), "[core]\n\thooksPath = .\n").unwrap();
        assert!(places(&top, None).is_empty(), "the checkout itself stays writable");
    }
}
