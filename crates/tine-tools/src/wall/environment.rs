//! The variables that a confined command gets: those it needs to find programs and to speak the user's language, and none
//! that hold a key, reach a service of the session, or make a program run something else.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Names that pass to every confined command. Those of [`CERTIFICATE_VARIABLES`] pass as well, and those that begin with `LC_`.
pub const PASSED_VARIABLES: [&str; 39] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "HOSTNAME",
    "LANG",
    "LANGUAGE",
    "TZ",
    "COLUMNS",
    "LINES",
    "NO_COLOR",
    "CI",
    // Where toolchains are; what is there is read, not written.
    "CARGO_HOME",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "GOROOT",
    "GOPATH",
    "GOTOOLCHAIN",
    "JAVA_HOME",
    "MAVEN_HOME",
    "GRADLE_HOME",
    "NVM_DIR",
    "NVM_BIN",
    "VOLTA_HOME",
    "PYENV_ROOT",
    "VIRTUAL_ENV",
    "CONDA_PREFIX",
    "RBENV_ROOT",
    "SDKMAN_DIR",
    "ASDF_DIR",
    "XDG_CONFIG_HOME",
    "XDG_DATA_HOME",
    "NIX_PATH",
    // Who commits.
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
    "SSL_CERT_DIR",
];

/// Beginnings that pass.
const BEGINNINGS: [&str; 1] = ["LC_"];

/// Variables that name a file of certificates, which are trusted and are no keys. They pass as well, and the file is shown.
pub const CERTIFICATE_VARIABLES: [&str; 5] = [
    "SSL_CERT_FILE",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
];

/// The files of certificates that the variables name, which are shown whatever their names are.
pub(super) fn certificates(all: &[(OsString, OsString)]) -> impl Iterator<Item = PathBuf> {
    let named =
        all.iter().filter(|(name, _)| CERTIFICATE_VARIABLES.iter().any(|known| name == known));
    let real = named.filter_map(|(_, value)| Path::new(value).canonicalize().ok());
    // A directory would be shown with all that is in it.
    real.filter(|path| path.is_file())
}

/// Those of `all` that pass: the list above, and `more`.
pub(super) fn passed(
    all: impl Iterator<Item = (OsString, OsString)>,
    more: &[String],
) -> Vec<(OsString, OsString)> {
    all.filter(|(name, _)| name.to_str().is_some_and(|name| passes(name, more))).collect()
}

/// The variables that were not passed on, of which a command is told once when it asks for one.
#[derive(Debug, Default)]
pub(super) struct Dropped(Mutex<BTreeSet<String>>);

impl Dropped {
    /// Those of `all` that are not among `passed`. Not those that every shell sets for itself.
    pub(super) fn new(all: &[(OsString, OsString)], passed: &[(OsString, OsString)]) -> Self {
        const OWN: [&str; 5] = ["PWD", "OLDPWD", "SHLVL", "_", "TERM"];
        let is_dropped = |name: &OsString| passed.iter().all(|(known, _)| known != name);
        let names = all.iter().map(|(name, _)| name).filter(|name| is_dropped(name));
        let names = names.filter_map(|name| name.to_str()).filter(|name| !OWN.contains(name));
        Self(Mutex::new(names.map(str::to_owned).collect()))
    }

    /// The names that the command uses, or that its output speaks of, and that were not told before. A word of the output without `_` is
    /// taken for a word.
    pub(super) fn asked_for(&self, command: &str, output: &str) -> Vec<String> {
        let mut dropped = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let part = |c: char| !(c.is_ascii_alphanumeric() || c == '_');
        let told = output.split(part).filter(|word| word.contains('_'));
        let words: BTreeSet<&str> = command.split(part).chain(told).collect();
        dropped.extract_if(.., |name| words.contains(name.as_str())).collect()
    }
}

fn passes(name: &str, more: &[String]) -> bool {
    PASSED_VARIABLES.contains(&name)
        || CERTIFICATE_VARIABLES.contains(&name)
        || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
        || more.iter().any(|wanted| wanted == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_are_shown_as_certificates() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path().canonicalize().unwrap();
        let file = root.join("ca.pem");
        std::fs::write(&file, "").unwrap();
        let variables = [("SSL_CERT_FILE", &file), ("CURL_CA_BUNDLE", &root), ("HOME", &file)]
            .map(|(name, path)| (name.into(), path.into()));
        assert_eq!(certificates(&variables).collect::<Vec<_>>(), [file]);
    }

    #[test]
    fn what_was_not_passed_on_is_told_once_to_whoever_asks_for_it() {
        let variables = |names: &[&str]| -> Vec<(OsString, OsString)> {
            names.iter().map(|name| (name.into(), "x".into())).collect()
        };
        let all = ["DATABASE_URL", "AWS_PROFILE", "DEBUG", "EDITOR", "HOME", "SHLVL"];
        let dropped = Dropped::new(&variables(&all), &variables(&["HOME"]));
        assert_eq!(dropped.asked_for("echo $HOME $SHLVL", "DEBUG: no EDITOR"), [""; 0]);
        let output = "error: DATABASE_URL must be set";
        assert_eq!(dropped.asked_for("echo \"${DEBUG}\"", output), ["DATABASE_URL", "DEBUG"]);
        assert_eq!(dropped.asked_for("echo $DEBUG", output), [""; 0]);
    }

    #[test]
    fn what_runs_programs_or_reaches_a_service_does_not_pass() {
        for name in ["PATH", "HOME", "LC_ALL", "CARGO_HOME", "SSL_CERT_FILE", "MY_FLAG"] {
            assert!(passes(name, &["MY_FLAG".to_owned()]), "{name}");
        }
        for name in [
            "ANTHROPIC_API_KEY",
            "DATABASE_URL",
            "SSH_AUTH_SOCK",
            "GPG_AGENT_INFO",
            "DBUS_SESSION_BUS_ADDRESS",
            "DISPLAY",
            "WAYLAND_DISPLAY",
            "XDG_RUNTIME_DIR",
            "LD_PRELOAD",
            "LD_LIBRARY_PATH",
            "BASH_ENV",
            "ENV",
            "BASH_FUNC_ls%%",
            "GIT_SSH_COMMAND",
            "GIT_EXTERNAL_DIFF",
            "PYTHONSTARTUP",
            "NODE_OPTIONS",
            "PERL5OPT",
            "RUSTC_WRAPPER",
            "HTTPS_PROXY",
            "LESSOPEN",
            "EDITOR",
        ] {
            assert!(!passes(name, &[]), "{name}");
        }
    }
}
