//! The variables that a confined command gets: those it needs to find programs and to speak the user's language, and none
//! that hold a key, reach a service of the session, or make a program run something else. Tools that write on the way find their
//! caches in a place of the command's own.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::os::unix::fs::symlink;
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

/// When a tool's cache is the command's own.
#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    /// Always: the tool writes there whatever it does.
    Always,
    /// Where there is a network. Without one the user's, which is read, is the only one that holds anything.
    WithNetwork,
    /// Where there is none, so that nobody tries again what cannot work.
    WithoutNetwork,
    /// Where this folder below the user's home is there.
    Home(&'static str),
}

/// Variables of tools that keep a cache and fetch what is not in it: the name, its value, and when it is set. `{cache}` is the command's
/// own folder, `{home}` the user's home, `{java}` how Java finds the proxy. In the user's caches nothing can be written, so that tools fail
/// with them.
///
/// Sources: the documentation of npm (`cache`), pnpm (`PNPM_HOME`, below which its store lies), Yarn (`globalFolder`), pip
/// (`cache-dir`), uv (`UV_CACHE_DIR`), Composer (`COMPOSER_CACHE_DIR`), Cargo (`CARGO_HOME`), Go (`go help environment`), Maven (local
/// repositories; the second one is read since 3.9) and Gradle (`GRADLE_USER_HOME`, shared read-only dependency cache).
const CACHES: [(&str, &str, When); 17] = [
    ("XDG_CACHE_HOME", "{cache}", When::Always),
    ("npm_config_cache", "{cache}/npm", When::Always),
    ("PNPM_HOME", "{cache}/pnpm", When::Always),
    ("YARN_GLOBAL_FOLDER", "{cache}/yarn", When::Always),
    ("PIP_CACHE_DIR", "{cache}/pip", When::Always),
    ("UV_CACHE_DIR", "{cache}/uv", When::Always),
    ("COMPOSER_CACHE_DIR", "{cache}/composer", When::Always),
    ("GRADLE_USER_HOME", "{cache}/gradle", When::Always),
    ("GRADLE_RO_DEP_CACHE", "{home}/.gradle/caches", When::Home(".gradle/caches/modules-2")),
    ("CARGO_HOME", "{cache}/cargo", When::WithNetwork),
    ("GOMODCACHE", "{cache}/go-mod", When::WithNetwork),
    // Else nobody can remove it.
    ("GOFLAGS", "-modcacherw", When::WithNetwork),
    (
        "MAVEN_OPTS",
        "{java} -Dmaven.repo.local={cache}/maven -Dmaven.repo.local.tail={home}/.m2/repository",
        When::WithNetwork,
    ),
    ("GRADLE_OPTS", "{java}", When::WithNetwork),
    ("npm_config_fetch_retries", "0", When::WithoutNetwork),
    ("CARGO_NET_RETRY", "0", When::WithoutNetwork),
    ("PIP_RETRIES", "0", When::WithoutNetwork),
];

/// Settings of Java, which knows no variable for a proxy; `{port}` is where it listens.
const JAVA: &str = "-Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort={port} -Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort={port}";

/// Downloaded crates that an own Cargo home finds in the user's, at the most.
const CRATES_MAX: usize = 20_000;

/// Variables by which tools keep their caches in `cache`. `port` is where the proxy listens, if there is a network.
pub(super) fn caches(
    cache: &Path,
    home: Option<&Path>,
    port: Option<u16>,
) -> Vec<(OsString, OsString)> {
    let is_set = |when: When| match when {
        When::Always => true,
        When::WithNetwork => port.is_some(),
        When::WithoutNetwork => port.is_none(),
        When::Home(folder) => home.is_some_and(|home| home.join(folder).is_dir()),
    };
    let value = |text: &str| -> Option<OsString> {
        let java = port.map(|port| JAVA.replace("{port}", &port.to_string())).unwrap_or_default();
        let text = text.replace("{java}", &java).replace("{cache}", cache.to_str()?);
        Some(
            match home.and_then(Path::to_str) {
                Some(home) => text.replace("{home}", home),
                None if text.contains("{home}") => return None,
                None => text,
            }
            .into(),
        )
    };
    let set = CACHES.iter().filter(|(_, _, when)| is_set(*when));
    set.filter_map(|(name, text, _)| Some(((*name).into(), value(text)?))).collect()
}

/// Makes a Cargo home in `own` which finds the settings and the downloaded crates of `users`. What cannot be linked is fetched again.
pub(super) fn link_cargo_home(users: &Path, own: &Path) -> io::Result<()> {
    std::fs::create_dir_all(own)?;
    for name in ["config.toml", "config"] {
        let settings = users.join(name);
        if settings.is_file() {
            symlink(settings, own.join(name))?;
        }
    }
    let crates = "registry/cache";
    let Ok(registries) = std::fs::read_dir(users.join(crates)) else { return Ok(()) };
    let mut left = CRATES_MAX;
    for registry in registries.flatten() {
        let folder = own.join(crates).join(registry.file_name());
        std::fs::create_dir_all(&folder)?;
        for downloaded in std::fs::read_dir(registry.path())?.flatten().take(left) {
            symlink(downloaded.path(), folder.join(downloaded.file_name()))?;
            left -= 1;
        }
    }
    Ok(())
}

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
    fn caches_are_the_commands_own_and_read_from_the_users_where_that_is_safe() {
        let home = tempfile::tempdir().unwrap();
        let shown = |port: Option<u16>| {
            let all = caches(Path::new("/own"), Some(home.path()), port);
            let text = |(name, value): &(OsString, OsString)| {
                format!("{}={}", name.display(), value.display())
                    .replace(&home.path().display().to_string(), "/home/user")
            };
            all.iter().map(text).collect::<Vec<_>>().join("\n")
        };
        insta::assert_snapshot!(shown(None), @"
        XDG_CACHE_HOME=/own
        npm_config_cache=/own/npm
        PNPM_HOME=/own/pnpm
        YARN_GLOBAL_FOLDER=/own/yarn
        PIP_CACHE_DIR=/own/pip
        UV_CACHE_DIR=/own/uv
        COMPOSER_CACHE_DIR=/own/composer
        GRADLE_USER_HOME=/own/gradle
        npm_config_fetch_retries=0
        CARGO_NET_RETRY=0
        PIP_RETRIES=0
        ");
        std::fs::create_dir_all(home.path().join(".gradle/caches/modules-2")).unwrap();
        insta::assert_snapshot!(shown(Some(3128)), @"
        XDG_CACHE_HOME=/own
        npm_config_cache=/own/npm
        PNPM_HOME=/own/pnpm
        YARN_GLOBAL_FOLDER=/own/yarn
        PIP_CACHE_DIR=/own/pip
        UV_CACHE_DIR=/own/uv
        COMPOSER_CACHE_DIR=/own/composer
        GRADLE_USER_HOME=/own/gradle
        GRADLE_RO_DEP_CACHE=/home/user/.gradle/caches
        CARGO_HOME=/own/cargo
        GOMODCACHE=/own/go-mod
        GOFLAGS=-modcacherw
        MAVEN_OPTS=-Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=3128 -Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=3128 -Dmaven.repo.local=/own/maven -Dmaven.repo.local.tail=/home/user/.m2/repository
        GRADLE_OPTS=-Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=3128 -Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=3128
        ");
    }

    #[test]
    fn a_cargo_home_finds_the_users_crates_and_settings_and_no_keys() {
        let root = tempfile::tempdir().unwrap();
        let (users, own) = (root.path().join("users"), root.path().join("own"));
        let registry = "registry/cache/index.crates.io-1";
        std::fs::create_dir_all(users.join(registry)).unwrap();
        for name in ["config.toml", "credentials.toml", &format!("{registry}/a-1.0.0.crate")] {
            std::fs::write(users.join(name), name).unwrap();
        }
        link_cargo_home(&users, &own).unwrap();
        let read = |name: &str| std::fs::read_to_string(own.join(name)).ok();
        assert_eq!(read("config.toml").as_deref(), Some("config.toml"));
        assert!(read(&format!("{registry}/a-1.0.0.crate")).is_some());
        assert_eq!(read("credentials.toml"), None);
        link_cargo_home(&root.path().join("nowhere"), &root.path().join("other")).unwrap();
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
