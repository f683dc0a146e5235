//! The variables that a confined command gets: those it needs to find programs and to speak the user's language, and none
//! that hold a key, reach a service of the session, or make a program run something else.

use std::ffi::OsString;

/// Names that pass.
const NAMES: [&str; 34] = [
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
];

/// Beginnings that pass.
const BEGINNINGS: [&str; 1] = ["LC_"];

/// Those of `all` that pass: the list above, and `more`.
pub(super) fn passed(
    all: impl Iterator<Item = (OsString, OsString)>,
    more: &[String],
) -> Vec<(OsString, OsString)> {
    all.filter(|(name, _)| name.to_str().is_some_and(|name| passes(name, more))).collect()
}

fn passes(name: &str, more: &[String]) -> bool {
    NAMES.contains(&name)
        || BEGINNINGS.iter().any(|beginning| name.starts_with(beginning))
        || more.iter().any(|wanted| wanted == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_runs_programs_or_reaches_a_service_does_not_pass() {
        for name in ["PATH", "HOME", "LC_ALL", "CARGO_HOME", "MY_FLAG"] {
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
