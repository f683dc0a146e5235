//! The user's settings of git for commands to which the home is not shown: what they say about how things are found and shown, without
//! keys and programs.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};

use tine_guard::redact;

use super::scratch::Scratch;
use crate::own_git::GitCall;

/// Sections of which every setting goes along: how things are shown, who somebody is, what is preferred. None of them names a program. Sorted.
const SECTIONS: [&str; 17] = [
    "advice",
    "alias",
    "apply",
    "blame",
    "color",
    "column",
    "grep",
    "i18n",
    "log",
    "pretty",
    "pull",
    "rebase",
    "safe",
    "stash",
    "status",
    "tag",
    "versionsort",
];

/// Single settings that go along: of sections in which others name programs or places. Sorted.
const SETTINGS: [&str; 36] = [
    "branch.autosetupmerge",
    "branch.autosetuprebase",
    "branch.sort",
    "core.abbrev",
    "core.attributesfile",
    "core.autocrlf",
    "core.bigfilethreshold",
    "core.checkstat",
    "core.commentchar",
    "core.eol",
    "core.excludesfile",
    "core.filemode",
    "core.ignorecase",
    "core.logallrefupdates",
    "core.precomposeunicode",
    "core.quotepath",
    "core.trustctime",
    "core.whitespace",
    "diff.algorithm",
    "diff.colormoved",
    "diff.colormovedws",
    "diff.context",
    "diff.indentheuristic",
    "diff.interhunkcontext",
    "diff.mnemonicprefix",
    "diff.noprefix",
    "diff.relative",
    "diff.renames",
    "diff.submodule",
    "format.pretty",
    "init.defaultbranch",
    "merge.conflictstyle",
    "push.default",
    "user.email",
    "user.name",
    "user.useconfigonly",
];

/// Files that are shown where they lie: the setting that names one, and its name below git's own folder of settings where none does.
const FILES: [(&str, &str); 2] =
    [("core.excludesfile", "ignore"), ("core.attributesfile", "attributes")];

/// The file of settings.
const CONFIG: &str = "config";

/// A copy of the settings, in a directory of its own, and the files that they name.
pub(super) struct GitSettings {
    directory: Scratch,
    /// Real paths of files that are shown beside it.
    pub(super) files: Vec<PathBuf>,
}

impl GitSettings {
    /// Copies what goes along of the settings that count in `directory` for the user with this home and these variables. Blocks for as long
    /// as one call of git takes.
    pub(super) fn copy(
        directory: &Path,
        home: &Path,
        variables: &[(OsString, OsString)],
    ) -> io::Result<Self> {
        let variable = |name: &str| variables.iter().find(|(known, _)| known == name);
        let given = |name: &str| variable(name).map(|(_, value)| value.clone());
        let own = given("XDG_CONFIG_HOME").filter(|value| !value.is_empty());
        let own = own.map_or_else(|| home.join(".config"), PathBuf::from);
        let mut named = vec![("HOME", home.into()), ("XDG_CONFIG_HOME", own.clone().into())];
        named.extend(given("GIT_CONFIG_GLOBAL").map(|file| ("GIT_CONFIG_GLOBAL", file)));
        let arguments =
            ["config", "--list", "--show-scope", "--includes", "-z"].map(OsString::from);
        let call = GitCall { variables: &named, ..GitCall::look(directory, &arguments) };
        let output = call.run(|| ()).map_err(io::Error::other)?;
        // Where the settings cannot be read, git itself says so to the command.
        let listed = if output.status.success() { output.stdout } else { Vec::new() };
        let listed = String::from_utf8_lossy(&listed);
        let settings: Vec<(&str, Option<&str>)> = global(&listed).collect();
        let copies = Scratch::apart()?;
        let mut text =
            String::from("# What goes along of the user's settings: neither keys nor programs.\n");
        for (name, value) in settings.iter().filter(|(name, value)| goes_along(name, *value)) {
            write(&mut text, name, *value);
        }
        let file = |(name, usual): (&str, &str)| {
            let set = settings.iter().rev().find(|(known, _)| *known == name);
            match set.and_then(|(_, value)| *value) {
                Some(value) => in_home(value, home),
                None => Some(own.join("git").join(usual)),
            }
        };
        let files = FILES.into_iter().filter_map(file).filter_map(|file| file.canonicalize().ok());
        let files = files.filter(|file| file.is_file()).collect();
        std::fs::write(copies.path().join(CONFIG), text)?;
        Ok(Self { directory: copies, files })
    }

    /// The directory with the copies.
    pub(super) fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// The file of settings.
    pub(super) fn config(&self) -> PathBuf {
        self.directory.path().join(CONFIG)
    }
}

/// The user's own of the settings that git lists: `SCOPE NUL NAME LF VALUE NUL`, without the value where a name stands alone.
fn global(listed: &str) -> impl Iterator<Item = (&str, Option<&str>)> {
    let mut fields = listed.split_terminator('\0');
    let pairs = std::iter::from_fn(move || Some((fields.next()?, fields.next()?)));
    pairs.filter(|(scope, _)| *scope == "global").map(|(_, setting)| {
        match setting.split_once('\n') {
            Some((name, value)) => (name, Some(value)),
            None => (setting, None),
        }
    })
}

/// Returns true for a setting that names neither a program nor a file, and holds no key.
fn goes_along(name: &str, value: Option<&str>) -> bool {
    let section = name.split('.').next().unwrap_or_default();
    let value = value.unwrap_or_default();
    // `git@host:` is no key, `https://name:key@host/` holds one.
    let is_open = |text: &str| !(text.contains("://") && text.contains('@'));
    let is_address = section == "url" && is_open(name) && is_open(value);
    let is_known = SECTIONS.binary_search(&section).is_ok()
        || SETTINGS.binary_search(&name).is_ok()
        || is_address;
    let is_program = value.trim_start().starts_with('!');
    let is_key = [name, value].iter().any(|text| matches!(redact(text), Cow::Owned(_)));
    is_known && !is_program && !is_key
}

/// Adds a setting: `[section "subsection"]`, and the name with its value in quotes.
fn write(text: &mut String, name: &str, value: Option<&str>) {
    let quoted = |text: &str| {
        text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\t', "\\t")
    };
    let Some((section, variable)) = name.rsplit_once('.') else { return };
    let head = match section.split_once('.') {
        Some((section, below)) => {
            format!("[{section} \"{}\"]", below.replace('\\', "\\\\").replace('"', "\\\""))
        }
        None => format!("[{section}]"),
    };
    let set = value.map(|value| format!(" = \"{}\"", quoted(value))).unwrap_or_default();
    // Writing to a text cannot fail.
    let _ = writeln!(text, "{head}\n\t{variable}{set}");
}

/// The path that a setting names; `None` for another user's home.
fn in_home(value: &str, home: &Path) -> Option<PathBuf> {
    match value.strip_prefix("~/") {
        Some(rest) => Some(home.join(rest)),
        None if value.starts_with('~') => None,
        None => Some(Path::new(OsStr::new(value)).to_owned()).filter(|path| path.is_absolute()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lists_are_written_as_they_are_searched() {
        assert!(SECTIONS.is_sorted() && SETTINGS.is_sorted());
    }

    #[test]
    fn what_is_shown_goes_along_and_keys_and_programs_stay() {
        let world = tempfile::tempdir().unwrap();
        let home = world.path().canonicalize().unwrap();
        let repository = home.join("work");
        std::fs::create_dir_all(&repository).unwrap();
        std::fs::write(home.join("ignored"), "*.swp\n").unwrap();
        std::fs::write(home.join("more"), "[user]\n\temail = at@work.example\n").unwrap();
        let settings = r#"
[user]
	name = "A \"B\" C\\D"
	signingKey = 0123
	password = hunter2
[branch "main"]
	description = a secret
[url "git@host.example:"]
	insteadOf = h:
[core]
	excludesFile = ~/ignored
	pager = less
	fsmonitor = /x/run
	sshCommand = ssh -i key
[alias]
	st = status -sb
	run = !sh -c x
[diff]
	algorithm = histogram
	external = run-me
[filter "lfs"]
	clean = git-lfs clean -- %f
[credential]
	helper = store
[url "https://mirror.example/"]
	insteadOf = https://github.com/
[url "https://user:pass@mirror.example/"]
	insteadOf = https://other.example/
[status]
	short
[include]
	path = more
"#;
        std::fs::write(home.join(".gitconfig"), settings).unwrap();
        let copy = GitSettings::copy(&repository, &home, &[]).unwrap();
        let text = std::fs::read_to_string(copy.config()).unwrap();
        insta::assert_snapshot!(text, @r#"
        # What goes along of the user's settings: neither keys nor programs.
        [user]
        	name = "A \"B\" C\\D"
        [url "git@host.example:"]
        	insteadof = "h:"
        [core]
        	excludesfile = "~/ignored"
        [alias]
        	st = "status -sb"
        [diff]
        	algorithm = "histogram"
        [url "https://mirror.example/"]
        	insteadof = "https://github.com/"
        [status]
        	short
        [user]
        	email = "at@work.example"
        "#);
        assert_eq!(copy.files, [home.join("ignored")]);
    }

    #[test]
    fn without_settings_the_usual_files_of_the_home_count() {
        let home = tempfile::tempdir().unwrap();
        let usual = home.path().join(".config/git");
        std::fs::create_dir_all(&usual).unwrap();
        std::fs::write(usual.join("ignore"), ".idea/\n").unwrap();
        let copy = GitSettings::copy(home.path(), home.path(), &[]).unwrap();
        assert_eq!(copy.files, [usual.join("ignore").canonicalize().unwrap()]);
        // A file that is none of git's does not keep the wall from standing.
        std::fs::write(home.path().join(".gitconfig"), "[[").unwrap();
        assert!(GitSettings::copy(home.path(), home.path(), &[]).is_ok());
    }
}
