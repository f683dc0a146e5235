//! `tine rm`, through the real binary.

use crate::support::{Home, Ran};
use crate::worktree::{base, git, place};

const WORD: &str = "an-unmistakable-word";

/// All files of the home's own that hold a word.
fn holders(home: &Home, word: &str) -> Vec<String> {
    let mut left = vec![home.path().to_path_buf()];
    let mut found = Vec::new();
    while let Some(path) = left.pop() {
        if path.is_dir() {
            left.extend(std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if let Ok(content) = std::fs::read(&path)
            && content.windows(word.len()).any(|bytes| bytes == word.as_bytes())
        {
            found.push(path.strip_prefix(home.path()).unwrap().display().to_string());
        }
    }
    found
}

#[test]
fn a_removed_conversation_leaves_no_word_and_its_forks_keep_what_they_inherited() {
    let home = Home::new();
    home.write("config.toml", "model = \"sim/echo\"\n");
    home.done(&["run", "-q", "-n", "base", "what is shared"]);
    home.done(&["fork", "base", "-n", "kept"]);
    home.done(&["run", "-q", "--resume", "base", &format!("tell nobody: {WORD}")]);
    home.done(&["fork", "base", "-n", "gone", &format!("and {WORD} again")]);
    assert!(!holders(&home, WORD).is_empty());
    let before = home.ran(&["show", "kept", "--json"]).stdout;
    check!(home.shown(&home.ran(&["rm", "base", "gone", "--dry-run"])), @"
    code: 0
    --- stdout
    would remove [AGENT8]  base  4 entries; 2 stay, which forks have inherited
    would remove [AGENT8]  gone  3 entries
    --- stderr
    note: 2 agents would go; reports stay in the conversations that received them
    ");
    check!(home.shown(&home.ran(&["rm", "base", "gone"])), @"
    code: 42
    --- stdout
    --- stderr
    error: 2 conversations would be lost for good
    hint: --dry-run lists what goes; --yes removes it for good
    ");
    assert_eq!(home.json(&["ps", "--json"]).as_array().unwrap().len(), 3);
    check!(home.shown(&home.ran(&["rm", "base", "gone", "--yes"])), @"
    code: 0
    --- stdout
    removed [AGENT8]  base  4 entries; 2 stay, which forks have inherited
    removed [AGENT8]  gone  3 entries
    --- stderr
    overwriting what is left of it in the store's files …
    ");
    assert_eq!(holders(&home, WORD), [""; 0]);
    let after = home.ran(&["show", "kept", "--json"]).stdout;
    let without_times = |text: &str| {
        text.lines().filter(|line| !line.contains("parent")).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(without_times(&before), without_times(&after));
    home.done(&["run", "-q", "--resume", "kept", "go on"]);
    check!(home.shown(&home.ran(&["rm", "kept", "--tree", "--yes", "--json"])), @r#"
    code: 0
    --- stdout
    {"dry_run":false,"removed":[{"agent":"[AGENT-ID]","entries":2,"inherited":0,"worktree":null,"worktree_stays":null},{"agent":"[AGENT-ID]","entries":3,"inherited":0,"worktree":null,"worktree_stays":null}],"overwritten":true}
    --- stderr
    overwriting what is left of it in the store's files …
    "#);
    check!(home.shown(&home.ran(&["rm", "--older-than", "1d"])), @"
    code: 0
    --- stdout
    --- stderr
    nothing to remove
    ");
    check!(home.shown(&home.ran(&["rm", "--older-than", "soon"])), @"
    code: 2
    --- stdout
    --- stderr
    error: --older-than cannot be `soon`
    hint: it is a number and a unit, such as 12h or 90d
    ");
}

#[test]
fn an_agents_command_removes_nothing_and_who_runs_stays() {
    let home = Home::new();
    home.write("config.toml", "model = \"sim/echo\"\n");
    home.done(&["run", "-q", "-n", "base", "hello"]);
    let id = home.json(&["ps", "--json"])[0]["id"].as_str().unwrap().to_owned();
    let ran = Ran::of(home.tine(&["rm", "base", "--yes"]).env("TINE_AGENT", &id));
    check!(home.shown(&ran), @"
    code: 56
    --- stdout
    --- stderr
    error: an agent's command removes no conversations
    hint: a person runs `tine rm` in a terminal; TINE_AGENT is set here
    ");
    let ran = Ran::of(home.tine(&["rm", "base", "--dry-run"]).env("TINE_AGENT", &id));
    assert_eq!(ran.code, 0, "{}", ran.stderr);
}

#[test]
fn a_worktree_goes_with_its_agent_and_all_that_was_kept_of_it() {
    let home = base();
    home.done(&["fork", "base", "-n", "far", "--worktree"]);
    let path = place(&home, "far");
    std::fs::write(path.join("new.txt"), "work\n").unwrap();
    home.done(&["rm", "far", "--yes"]);
    assert!(!path.exists());
    assert_eq!(git(&home.work(), &["for-each-ref", "refs/tine/"]), "");
    let left = home.json(&["worktree", "list", "--json"]);
    assert_eq!(left["worktrees"].as_array().unwrap().len(), 0);
}

#[test]
fn what_only_a_removed_fork_had_inherited_goes_with_it() {
    let home = Home::new();
    home.write("config.toml", "model = \"sim/echo\"\n");
    home.done(&["run", "-q", "-n", "base", "what is shared"]);
    let at = home.json(&["fork", "base", "--json"])["fork_point"].clone();
    home.done(&["run", "-q", "--resume", "base", &format!("tell nobody: {WORD}")]);
    home.done(&["fork", "base", "-n", "mid"]);
    home.done(&["fork", &format!("mid@{at}"), "-n", "kept"]);
    let before = home.ran(&["export", "kept", "--format", "messages"]).stdout;
    home.done(&["task", "start", "mid", "harmless", "-w"]);
    home.done(&["rm", "base", "mid", "--yes"]);
    assert_eq!(holders(&home, WORD), [""; 0]);
    assert_eq!(home.ran(&["export", "kept", "--format", "messages"]).stdout, before);
    home.done(&["run", "-q", "--resume", "kept", "go on"]);
}

#[test]
fn a_worktree_that_several_work_in_goes_with_the_last_of_them() {
    for steps in [&[&["far", "near"][..]][..], &[&["far"], &["near"]]] {
        let home = base();
        home.done(&["fork", "base", "-n", "far", "--worktree"]);
        home.done(&["fork", "far", "-n", "near"]);
        let path = place(&home, "far");
        std::fs::write(path.join("new.txt"), WORD).unwrap();
        for step in steps {
            assert!(path.exists());
            home.done(&[&["rm", "--yes"], *step].concat());
        }
        assert!(!path.exists());
        assert_eq!(holders(&home, WORD), [""; 0]);
        assert_eq!(git(&home.work(), &["for-each-ref", "refs/tine/"]), "");
    }
}

#[test]
fn the_files_of_a_worktree_go_where_their_repository_is_gone() {
    let home = base();
    home.done(&["fork", "base", "-n", "far", "--worktree"]);
    let path = place(&home, "far");
    std::fs::write(path.join("new.txt"), WORD).unwrap();
    std::fs::rename(home.work().join(".git"), home.path().join("elsewhere")).unwrap();
    home.done(&["rm", "far", "--yes"]);
    assert!(!path.exists());
    assert_eq!(holders(&home, WORD), [""; 0]);
}
