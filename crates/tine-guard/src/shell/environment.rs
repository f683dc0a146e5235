//! The variables whose text may be shown: they say where things are and how the machine speaks, and hold no keys.
//!
//! The list is of names that shells, desktops and language tools set for everybody. Any other name may be somebody's
//! key, and is not known here.

/// Names in alphabetical order, for the search.
const SHOWN: [&str; 58] = words!(
    "CARGO_HOME CI COLORTERM COLUMNS CONDA_DEFAULT_ENV CONDA_PREFIX DISPLAY EDITOR EUID GEM_HOME GIT_EDITOR \
    GIT_PAGER GOBIN GOPATH GOROOT HOME HOSTNAME HOSTTYPE JAVA_HOME LANG LANGUAGE LC_ALL LC_CTYPE LD_LIBRARY_PATH \
    LINES LOGNAME MACHTYPE MANPATH NODE_ENV NODE_PATH NVM_DIR OLDPWD OSTYPE PAGER PATH PKG_CONFIG_PATH PWD \
    PYENV_ROOT PYTHONPATH RUSTUP_HOME RUSTUP_TOOLCHAIN RUST_BACKTRACE RUST_LOG SHELL SHLVL TERM TMPDIR TZ UID \
    USER VIRTUAL_ENV VISUAL XDG_CACHE_HOME XDG_CONFIG_HOME XDG_DATA_HOME XDG_RUNTIME_DIR XDG_SESSION_TYPE \
    XDG_STATE_HOME"
);

/// Whether the text of the variable may be shown.
pub(super) fn may_be_shown(name: &str) -> bool {
    SHOWN.binary_search(&name).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_listed_name_is_found_and_no_key_is() {
        assert!(SHOWN.is_sorted());
        assert!(SHOWN.iter().all(|name| may_be_shown(name)));
        for name in ["GITHUB_TOKEN", "home", "HOME_", "", "AWS_PROFILE", "_"] {
            assert!(!may_be_shown(name), "{name}");
        }
    }
}
