//! The variables that a confined command gets: those it needs to find programs and to speak the user's language, and none
//! that hold a key, reach a service of the session, or make a program run something else.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// Names that pass.
const NAMES: [&str; 39] = [
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

/// Variables that name a file of certificates, which are trusted and are no keys. They pass as well.
const CERTIFICATES: [&str; 5] = [
    "SSL_CERT_FILE",
    "NODE_EXTRA_CA_CERTS",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "GIT_SSL_CAINFO",
];

/// Caches of tools that do not go by `XDG_CACHE_HOME`: the variable, and the folder in the command's own cache. In the user's nothing can be
/// written, so that a tool fails with it. Sources: the documentation of npm (`cache`), pnpm (`storeDir`) and Yarn (`globalFolder`).
const CACHES: [(&str, &str); 3] =
    [("npm_config_cache", "npm"), ("npm_config_store_dir", "pnpm"), ("YARN_GLOBAL_FOLDER", "yarn")];

/// Variables by which tools keep their caches in `cache`.
pub(super) fn caches(cache: &Path) -> impl Iterator<Item = (OsString, OsString)> {
    let own = CACHES.into_iter().map(|(name, folder)| (name.into(), cache.join(folder).into()));
    own.chain([("XDG_CACHE_HOME".into(), cache.into())])
}

/// The files of certificates that the variables name, which are shown whatever their names are.
pub(super) fn certificates(all: &[(OsString, OsString)]) -> impl Iterator<Item = PathBuf> {
    let named = all.iter().filter(|(name, _)| CERTIFICATES.iter().any(|known| name == known));
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

fn passes(name: &str, more: &[String]) -> bool {
    NAMES.contains(&name)
        || CERTIFICATES.contains(&name)
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
    fn what_runs_programs_or_reaches_a_service_does_not_pass() {
        for name in ["PATH", "HOME", "LC_ALL", "CARGO_HOME", "SSL_CERT_FILE", "MY_FLAG"] {
            assert!(passes(name, &["MY_FLAG".to_owned()]), "{name}");
        }
        for name in [
            "ANTHROPIC_API_KEY",
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
