//! What an agent has read, its forks and its later runs may change, through every door.

use std::path::Path;

use crate::pty::Terminal;
use crate::support::Home;
use crate::worktree::git;

/// Reads a file, changes it, or has a worker change it, as it is told.
const SCENARIO: &str = r#"
name = "reader"
[[turn]]
when = { user_contains = "CHANGE", turn = 0 }
tool_calls = [{ name = "FileEdit", input = { file_path = "src/a.txt", old_string = "one", new_string = "two" } }]
[[turn]]
when = { user_contains = "CHANGE" }
text = "Scope: all\nResult: {{tool_result.last}}"
[[turn]]
when = { user_contains = "READ", turn = 0 }
tool_calls = [{ name = "FileRead", input = { file_path = "src/a.txt" } }]
[[turn]]
when = { user_contains = "SEND", turn = 0 }
tool_calls = [{ name = "Agent", input = { prompt = "CHANGE it", subagent_type = "fork" } }]
[[turn]]
text = "well"
"#;

/// A home with an agent, `base`, that has read `src/a.txt`.
fn reader() -> Home {
    let home = Home::new();
    let model = home.near_model(SCENARIO);
    let settings = format!("model = \"{model}\"\npermission_mode = \"accept-edits\"\n");
    home.write("config.toml", &format!("{settings}[workers]\nnudge = false\n"));
    home.write("work/src/a.txt", "one\nmore\n");
    home.done(&["run", "--name", "base", "READ it"]);
    home
}

fn is_changed(directory: &Path) -> bool {
    std::fs::read_to_string(directory.join("src/a.txt")).unwrap() == "two\nmore\n"
}

#[test]
fn what_was_read_may_be_changed_behind_every_door_of_the_command_line() {
    let doors: [&[&str]; 5] = [
        &["run", "--resume", "base", "CHANGE it"],
        &["fork", "base", "CHANGE it"],
        &["fan", "base", "-d", "CHANGE it"],
        &["task", "start", "base", "CHANGE it", "--fork", "--wait"],
        &["run", "--resume", "base", "SEND somebody"],
    ];
    for door in doors {
        let home = reader();
        let ran = home.ran(door);
        assert!(is_changed(&home.work()), "{door:?}: {}{}", ran.stdout, ran.stderr);
        assert!(!ran.stdout.contains("has not been read"), "{door:?}: {}", ran.stdout);
    }
}

#[test]
fn a_fork_and_a_conversation_taken_up_in_the_terminal_may_change_it() {
    for (arguments, typed) in
        [(&["--continue"][..], "CHANGE it\r"), (&["--continue"][..], "/fork \"CHANGE it\"\r")]
    {
        let home = reader();
        let mut terminal = Terminal::start(&home, arguments);
        terminal.screen("READ it");
        terminal.see_at_rest(typed, "Result:");
        assert!(is_changed(&home.work()), "{typed}");
        terminal.type_in("/quit\r");
        terminal.end();
    }
}

#[test]
fn a_file_that_changed_meanwhile_is_refused_before_anybody_is_asked_and_the_lines_are_named() {
    let home = reader();
    home.write("work/src/a.txt", "one\nmore\nand more\n");
    let changed = "`src/a.txt` has changed since it was last read (line 3 is new); read it again with FileRead";
    let told = home.done(&["run", "--resume", "base", "CHANGE it"]);
    assert!(told.contains(changed), "{told}");
    // Nobody can be asked here, and nobody needs to be.
    let asks = ["run", "--resume", "base", "--permission-mode", "default", "CHANGE it"];
    let told = home.done(&asks);
    assert!(told.contains(changed), "{told}");
}

#[test]
fn a_worker_in_a_worktree_may_change_its_own_copy() {
    let home = reader();
    for arguments in [&["init", "-q"][..], &["add", "-A"], &["commit", "-qm", "first"]] {
        git(&home.work(), arguments);
    }
    let fanned = home.json(&["fan", "base", "-d", "CHANGE it", "--worktree", "--json"]);
    let worker = fanned["tasks"][0]["agent"].as_str().unwrap();
    let place = home.done(&["worktree", "path", worker]);
    assert!(is_changed(Path::new(place.trim())), "{fanned}");
    assert!(!is_changed(&home.work()));
}

#[test]
fn an_imported_conversation_may_change_what_it_shows_as_it_is() {
    let home = reader();
    let talk = |shown: &str| {
        serde_json::json!([
            { "role": "user", "content": "look" },
            { "role": "assistant", "content": [
                { "type": "tool_use", "id": "t1", "name": "Read", "input": { "file_path": "src/a.txt" } }
            ] },
            { "role": "user", "content": [
                { "type": "tool_result", "tool_use_id": "t1", "content": shown }
            ] },
            { "role": "assistant", "content": "I see." }
        ])
        .to_string()
    };
    for (shown, may) in [("     1\tone\n     2\tless", false), ("     1\tone\n     2\tmore", true)]
    {
        home.write("talk.json", &talk(shown));
        let import = ["import", "--format", "messages", "../talk.json", "--json"];
        let imported = home.json(&import);
        let told =
            home.done(&["run", "--resume", imported["agent"].as_str().unwrap(), "CHANGE it"]);
        assert_eq!(told.contains("has not been read yet"), !may, "{told}");
        assert_eq!(is_changed(&home.work()), may, "{told}");
    }
}

#[test]
fn after_a_compaction_only_what_still_stands_there_counts() {
    let home = reader();
    home.done(&["compact", "base", "--keep-tokens", "0"]);
    let told = home.done(&["run", "--resume", "base", "CHANGE it"]);
    assert!(told.contains("`src/a.txt` exists and has not been read yet"), "{told}");
}
