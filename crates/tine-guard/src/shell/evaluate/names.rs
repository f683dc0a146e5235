//! Names of variables: which a text may set for itself, and which may steer a program or the shell.
//!
//! A variable that a text sets is seen by the programs that it starts only where it stood in their environment before.
//! So names that programs know are refused, and of names in capitals only those are accepted that nobody's program knows.

use super::value::Value;

/// Words that names in capitals may be made of, in alphabetical order.
const OWN_WORDS: [&str; 100] = [
    "ALL", "ANSWER", "ARG", "ARGS", "AUTHOR", "BASE", "BODY", "BRANCH", "BYTES", "CHANGED",
    "CHECK", "CLASS", "CMD", "CODE", "COMMIT", "COMMITS", "COUNT", "CRATE", "CRATES", "CURRENT",
    "DATE", "DAY", "DAYS", "DEFAULT", "DEPTH", "DEST", "DIFF", "DIR", "DIRS", "DOC", "DOCS", "END",
    "ENTRY", "ERR", "ERRORS", "EXPECTED", "EXT", "FAILED", "FIELD", "FILE", "FILENAME", "FILES",
    "FIRST", "FOLDER", "FOUND", "FROM", "FUNC", "HASH", "IDX", "INDEX", "INPUT", "ITEM", "ITEMS",
    "KEYWORD", "LAST", "LATEST", "LENGTH", "LIMIT", "LINE", "LIST", "LOCATION", "MATCH", "MATCHES",
    "MAX", "MERGE", "MIN", "MODULE", "MSG", "NAME", "NAMES", "NEW", "NUM", "OLD", "OUT", "OUTPUT",
    "PACKAGE", "PART", "PATTERN", "PKG", "PREFIX", "PREV", "PROJECT", "REPO", "RES", "RESULT",
    "REV", "ROOT", "SEARCH", "SHA", "SIZE", "SRC", "START", "STATUS", "SUBDIR", "SUM", "TAG",
    "TARGET", "TEST", "TO", "TOTAL",
];

/// Further words of the same kind.
const MORE_WORDS: [&str; 9] =
    ["TESTS", "TEXT", "TYPE", "VALUE", "VAR", "VERSION", "WORD", "WORDS", "YEAR"];

/// Names without capitals that programs or the shell know.
const KNOWN: [&str; 3] = ["auto_resume", "histchars", "no_proxy"];

/// Whether a text may set the variable.
pub(super) fn may_be_set(name: &str) -> bool {
    if name.chars().any(|c| c.is_ascii_lowercase()) {
        let mixed = name.starts_with(|c: char| c.is_ascii_uppercase()) && name.contains('_');
        return !mixed && !KNOWN.contains(&name) && !name.to_ascii_lowercase().ends_with("_proxy");
    }
    let own = |part: &str| {
        part.bytes().all(|byte| byte.is_ascii_digit())
            || part.trim_end_matches(|c: char| c.is_ascii_digit()).len() == 1
            || OWN_WORDS.binary_search(&part.trim_end_matches(|c: char| c.is_ascii_digit())).is_ok()
            || MORE_WORDS.contains(&part)
    };
    name != "_" && !name.starts_with('_') && name.split('_').all(own)
}

/// Variables whose text the shell or common programs run, or take for the name of what they run.
const RUN: [&str; 30] = words!(
    "BASHOPTS BASH_ALIASES BASH_CMDS BASH_ENV BROWSER EDITOR ENV GIT_ASKPASS GIT_EDITOR GIT_EXTERNAL_DIFF \
    GIT_PAGER GIT_PROXY_COMMAND GIT_SEQUENCE_EDITOR GIT_SSH GIT_SSH_COMMAND LD_PRELOAD LESSCLOSE LESSOPEN \
    MANPAGER PAGER PROMPT_COMMAND PS0 PS1 PS2 PS4 RUSTC_WRAPPER SHELL SHELLOPTS SSH_ASKPASS VISUAL"
);

/// Whether the text of the variable may be run.
pub(in crate::shell) fn is_run(name: &str) -> bool {
    RUN.binary_search(&name).is_ok()
        || name.starts_with("BASH_FUNC_")
        || name.starts_with("GIT_CONFIG_")
}

/// Variables of one command's environment that change only how it writes, with the values that they may get; none: any.
const HARMLESS: [(&str, &[&str]); 22] = [
    ("CLICOLOR", &[]),
    ("CLICOLOR_FORCE", &[]),
    ("COLUMNS", &[]),
    ("FORCE_COLOR", &[]),
    ("GIT_OPTIONAL_LOCKS", &["0"]),
    ("GIT_PAGER", &["cat", ""]),
    ("GIT_TERMINAL_PROMPT", &["0"]),
    ("GREP_COLOR", &[]),
    ("GREP_COLORS", &[]),
    ("LANG", &[]),
    ("LANGUAGE", &[]),
    ("LC_ALL", &[]),
    ("LC_COLLATE", &[]),
    ("LC_CTYPE", &[]),
    ("LC_NUMERIC", &[]),
    ("LC_TIME", &[]),
    ("LS_COLORS", &[]),
    ("MANPAGER", &["cat", ""]),
    ("NO_COLOR", &[]),
    ("PAGER", &["cat", ""]),
    ("TERM", &[]),
    ("TZ", &[]),
];

/// Whether a command may get the variable with this value; `None` for one that is not known.
pub(super) fn is_harmless(name: &str, value: Option<&str>) -> bool {
    let values = HARMLESS.iter().find(|(known, _)| *known == name).map(|(_, values)| *values);
    match (values, value) {
        (Some([]), Some(value)) => {
            // A language or colour is a short name; a path would name a file of translations.
            value.chars().all(|c| c.is_ascii_alphanumeric() || "._-:;=@,*".contains(c))
                || name == "TZ" && !value.starts_with([':', '/', '.']) && !value.contains("..")
        }
        (Some(values), Some(value)) => values.contains(&value),
        (_, None) | (None, _) => false,
    }
}

/// Parts of names of variables that hold keys.
const KEYS: [&str; 11] =
    words!("TOKEN SECRET PASSWORD PASSWD PASSPHRASE CREDENTIAL APIKEY _KEY PRIVATE AUTH COOKIE");

/// The value of a variable that the text did not set; `None` where it may be a key.
pub(super) fn from_outside(name: &str) -> Option<Value> {
    match name {
        "HOME" => Some(Value::home()),
        "PWD" => Some(Value::text(".")),
        "USER" | "LOGNAME" | "HOSTNAME" | "SHELL" | "OSTYPE" | "HOSTTYPE" | "MACHTYPE" | "0" => {
            Some(Value::Names)
        }
        "?" | "#" | "$" | "UID" | "EUID" | "PPID" | "RANDOM" | "SRANDOM" | "SECONDS" | "LINENO"
        | "EPOCHSECONDS" | "BASHPID" | "SHLVL" | "COLUMNS" | "LINES" => Some(Value::Number),
        "1" | "2" | "3" | "4" | "5" | "6" | "7" | "8" | "9" => Some(Value::text("")),
        "!" | "-" | "@" | "*" => None,
        _ => {
            let upper = name.to_ascii_uppercase();
            let key = upper.ends_with("KEY") || KEYS.iter().any(|part| upper.contains(part));
            (!key).then_some(Value::Any)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_steer_programs_are_not_set() {
        assert!(OWN_WORDS.is_sorted() && RUN.is_sorted());
        for name in ["f", "file", "i", "FILE", "BASE_DIR", "N", "F1", "myVar", "path", "COMMIT_SHA"]
        {
            assert!(may_be_set(name), "{name}");
        }
        for name in [
            "PATH",
            "LD_PRELOAD",
            "BASH_ENV",
            "ENV",
            "IFS",
            "PS4",
            "PROMPT_COMMAND",
            "GIT_DIR",
            "HOME",
            "http_proxy",
            "PAGER",
            "_",
            "RANDOM",
            "CDPATH",
            "SHELLOPTS",
            "GIT_EXTERNAL_DIFF",
            "LESSOPEN",
            "PYTHONSTARTUP",
            "RIPGREP_CONFIG_PATH",
            "TMPDIR",
            "PWD",
            "CC",
            "_X",
            "BASH_FUNC_ls",
        ] {
            assert!(!may_be_set(name), "{name}");
        }
        assert!(is_harmless("LC_ALL", Some("C.UTF-8")) && !is_harmless("LC_ALL", Some("/tmp/x")));
        assert!(!is_harmless("PATH", Some(".")) && !is_harmless("GIT_PAGER", Some("sh")));
    }
}
