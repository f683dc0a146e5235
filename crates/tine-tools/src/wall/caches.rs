//! The caches of package managers: those that tools write on the way lie in a place of the command's own, and what the user's hold is read
//! where that is safe.

use std::ffi::OsString;
use std::io;
use std::os::unix::fs::symlink;
use std::path::Path;

/// When a tool's cache is the command's own.
#[derive(Clone, Copy, PartialEq, Eq)]
enum When {
    /// Always: the tool writes there whatever it does.
    Always,
    /// With a network. Without one the user's, which is read, is the only one that holds anything.
    WithNetwork,
    /// Without a network, so that nobody tries again what cannot work.
    WithoutNetwork,
    /// With this folder below the user's home.
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
pub(super) fn variables(
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
        match home.and_then(Path::to_str) {
            Some(home) => Some(text.replace("{home}", home).into()),
            None => (!text.contains("{home}")).then(|| text.into()),
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn caches_are_the_commands_own_and_read_from_the_users_where_that_is_safe() {
        let home = tempfile::tempdir().unwrap();
        let shown = |port: Option<u16>| {
            let all = variables(Path::new("/own"), Some(home.path()), port);
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
}
