//! Settings that keep git from running what a directory says.
//!
//! Git takes any directory with `HEAD`, `objects` and `refs` for a repository of its own and runs the programs that its `config`
//! names, `core.fsmonitor` already for `git status`. Such files may come with a checkout, an archive or another run. With these
//! settings a bare repository must be named (`--git-dir`), and the one program that reading commands start is not started.
//!
//! In a linked worktree, moreover, no command starts work on what all worktrees share.

/// Settings and their values.
const SETTINGS: [(&str, &str); 4] = [
    ("safe.bareRepository", "explicit"),
    ("core.fsmonitor", "false"),
    // Packing ends before its command does: what a command leaves behind is stopped.
    ("gc.autoDetach", "false"),
    ("maintenance.autoDetach", "false"),
];

/// The same for a linked worktree: a commit begins no packing of the shared objects, and a conflict is not noted for the others.
const LINKED_SETTINGS: [(&str, &str); 3] =
    [("gc.auto", "0"), ("maintenance.auto", "false"), ("rerere.enabled", "false")];

/// Settings of a command behind a wall: nothing is signed, since the keys and the agents that hold them lie outside; and packing does not
/// write `info/refs`, a file that only old servers need and that lies beside protected ones.
const WALLED_SETTINGS: [(&str, &str); 3] =
    [("commit.gpgSign", "false"), ("tag.gpgSign", "false"), ("repack.updateServerInfo", "false")];

/// The variable that says how many settings the environment holds.
pub(super) const COUNT: &str = "GIT_CONFIG_COUNT";

/// Most settings that an environment may bring along; git itself takes some millions, which no command's environment holds.
const BROUGHT_MAX: usize = 10_000;

/// Variables that set them, after those that `count`, the command's `GIT_CONFIG_COUNT`, says are there already. None if it
/// says nothing that git would understand: then no command of git runs at all. `is_linked` says that the command runs in a
/// linked worktree, `is_walled` that it runs behind a wall.
pub(super) fn variables(
    count: Option<&str>,
    (is_linked, is_walled): (bool, bool),
) -> Vec<(String, String)> {
    let brought = match count.map(str::trim) {
        None | Some("") => 0,
        Some(count) => match count.parse::<usize>() {
            Ok(brought) if brought <= BROUGHT_MAX => brought,
            Ok(_) | Err(_) => return Vec::new(),
        },
    };
    let linked = if is_linked { LINKED_SETTINGS.as_slice() } else { &[] };
    let walled = if is_walled { WALLED_SETTINGS.as_slice() } else { &[] };
    let settings: Vec<_> = SETTINGS.iter().chain(linked).chain(walled).collect();
    let total = (COUNT.to_owned(), (brought + settings.len()).to_string());
    let settings = (brought..).zip(settings).flat_map(|(number, &(key, value))| {
        [
            (format!("GIT_CONFIG_KEY_{number}"), key.to_owned()),
            (format!("GIT_CONFIG_VALUE_{number}"), value.to_owned()),
        ]
    });
    settings.chain([total]).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_come_after_those_that_are_there() {
        let shown = |count| {
            let all = variables(count, (false, false))
                .into_iter()
                .map(|(name, value)| format!("{name}={value}"));
            all.collect::<Vec<_>>().join(" ")
        };
        insta::assert_snapshot!(shown(None), @"GIT_CONFIG_KEY_0=safe.bareRepository GIT_CONFIG_VALUE_0=explicit GIT_CONFIG_KEY_1=core.fsmonitor GIT_CONFIG_VALUE_1=false GIT_CONFIG_KEY_2=gc.autoDetach GIT_CONFIG_VALUE_2=false GIT_CONFIG_KEY_3=maintenance.autoDetach GIT_CONFIG_VALUE_3=false GIT_CONFIG_COUNT=4");
        insta::assert_snapshot!(shown(Some("1")), @"GIT_CONFIG_KEY_1=safe.bareRepository GIT_CONFIG_VALUE_1=explicit GIT_CONFIG_KEY_2=core.fsmonitor GIT_CONFIG_VALUE_2=false GIT_CONFIG_KEY_3=gc.autoDetach GIT_CONFIG_VALUE_3=false GIT_CONFIG_KEY_4=maintenance.autoDetach GIT_CONFIG_VALUE_4=false GIT_CONFIG_COUNT=5");
        assert_eq!(shown(Some("")), shown(None));
        let linked = variables(None, (true, false));
        assert!(linked.contains(&("GIT_CONFIG_KEY_4".to_owned(), "gc.auto".to_owned())));
        assert!(linked.contains(&(COUNT.to_owned(), "7".to_owned())));
        assert_eq!((shown(Some("x")), shown(Some("99999999"))), (String::new(), String::new()));
    }
}
