//! Settings that keep git from running what a directory says.
//!
//! Git takes any directory with `HEAD`, `objects` and `refs` for a repository of its own and runs the programs that its `config`
//! names, `core.fsmonitor` already for `git status`. Such files may come with a checkout, an archive or another run. With these
//! settings a bare repository must be named (`--git-dir`), and the one program that reading commands start is not started.

/// Settings and their values.
const SETTINGS: [(&str, &str); 2] =
    [("safe.bareRepository", "explicit"), ("core.fsmonitor", "false")];

/// The variable that says how many settings the environment holds.
pub(super) const COUNT: &str = "GIT_CONFIG_COUNT";

/// Most settings that an environment may bring along; git itself takes some millions, which no command's environment holds.
const BROUGHT_MAX: usize = 10_000;

/// Variables that set them, after those that `count`, the command's `GIT_CONFIG_COUNT`, says are there already. None if it
/// says nothing that git would understand: then no command of git runs at all.
pub(super) fn variables(count: Option<&str>) -> Vec<(String, String)> {
    let brought = match count.map(str::trim) {
        None | Some("") => 0,
        Some(count) => match count.parse::<usize>() {
            Ok(brought) if brought <= BROUGHT_MAX => brought,
            Ok(_) | Err(_) => return Vec::new(),
        },
    };
    let settings = (brought..).zip(SETTINGS).flat_map(|(number, (key, value))| {
        [
            (format!("GIT_CONFIG_KEY_{number}"), key.to_owned()),
            (format!("GIT_CONFIG_VALUE_{number}"), value.to_owned()),
        ]
    });
    let count = (COUNT.to_owned(), (brought + SETTINGS.len()).to_string());
    settings.chain([count]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_come_after_those_that_are_there() {
        let shown = |count| {
            let all = variables(count).into_iter().map(|(name, value)| format!("{name}={value}"));
            all.collect::<Vec<_>>().join(" ")
        };
        insta::assert_snapshot!(shown(None), @"GIT_CONFIG_KEY_0=safe.bareRepository GIT_CONFIG_VALUE_0=explicit GIT_CONFIG_KEY_1=core.fsmonitor GIT_CONFIG_VALUE_1=false GIT_CONFIG_COUNT=2");
        insta::assert_snapshot!(shown(Some("1")), @"GIT_CONFIG_KEY_1=safe.bareRepository GIT_CONFIG_VALUE_1=explicit GIT_CONFIG_KEY_2=core.fsmonitor GIT_CONFIG_VALUE_2=false GIT_CONFIG_COUNT=3");
        assert_eq!(shown(Some("")), shown(None));
        assert_eq!((shown(Some("x")), shown(Some("99999999"))), (String::new(), String::new()));
    }
}
