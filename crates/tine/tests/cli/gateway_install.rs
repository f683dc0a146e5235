//! `tine gateway install` and `tine gateway remove` on the settings files of two hosts.

use std::fs;

use serde_json::{Value, json};

use crate::pty::Terminal;
use crate::support::{Home, Ran};

const HOSTS: [(&str, &str); 2] =
    [("claude-code", ".claude/settings.json"), ("codex", ".codex/hooks.json")];

/// The code and output of a command, without what differs from machine to machine.
fn shown(home: &Home, arguments: &[&str]) -> String {
    let ran = home.ran(&[&["gateway"], arguments].concat());
    home.shown(&ran).replace(env!("CARGO_BIN_EXE_tine"), "[TINE]")
}

#[test]
fn the_hook_goes_into_a_hosts_settings_and_out_again_without_a_trace() {
    for (host, file) in HOSTS {
        let home = Home::new();
        let file = home.path().join(file);
        let dry = home.json(&["gateway", "install", host, "--dry-run", "--json"]);
        assert_eq!((&dry["outcome"], &dry["host"]), (&json!("would_write"), &json!(host)));
        assert!(!file.exists());
        home.done(&["gateway", "install", host, "--yes"]);
        let text = fs::read_to_string(&file).unwrap();
        let settings: Value = serde_json::from_str(text.trim_end()).unwrap();
        let command = format!("{} gateway hook", env!("CARGO_BIN_EXE_tine"));
        let hook = json!({"type": "command", "command": command, "timeout": 10});
        assert_eq!(settings, json!({"hooks": {"UserPromptSubmit": [{"hooks": [hook]}]}}));
        let again = home.json(&["gateway", "install", host, "--yes", "--json"]);
        assert_eq!(again["outcome"], "nothing");
        let gone = home.json(&["gateway", "remove", host, "--yes", "--json"]);
        assert_eq!((&gone["outcome"], &gone["deleted"]), (&json!("written"), &json!(true)));
        // The file and the folder that was made for it; no store was opened either.
        assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
        assert_eq!(home.json(&["gateway", "remove", host, "--json"])["outcome"], "nothing");
    }
}

#[test]
fn a_person_sees_the_lines_that_change_and_is_asked() {
    let home = Home::new();
    let before = "{\n  \"model\": \"opus\",\n  \"hooks\": {\n    \"Stop\": []\n  }\n}\n";
    let file = home.write(".claude/settings.json", before);
    check!(shown(&home, &["install", "claude-code"]), @"
    code: 42
    --- stdout
    --- stderr
    error: [HOME]/.claude/settings.json would change, and nobody can be asked
    hint: --dry-run shows the change; --yes makes it
    ");
    check!(shown(&home, &["install", "claude-code", "--dry-run"]), @r#"
    code: 0
    --- stdout
    [HOME]/.claude/settings.json
      -     "Stop": []
      +     "Stop": [],
      +     "UserPromptSubmit": [
      +       {
      +         "hooks": [
      +           {
      +             "type": "command",
      +             "command": "[TINE] gateway hook",
      +             "timeout": 10
      +           }
      +         ]
      +       }
      +     ]
    --- stderr
    nothing was changed: this was a dry run
    "#);
    check!(shown(&home, &["install", "claude-code", "--yes"]), @r#"
    code: 0
    --- stdout
    [HOME]/.claude/settings.json
      -     "Stop": []
      +     "Stop": [],
      +     "UserPromptSubmit": [
      +       {
      +         "hooks": [
      +           {
      +             "type": "command",
      +             "command": "[TINE] gateway hook",
      +             "timeout": 10
      +           }
      +         ]
      +       }
      +     ]
    --- stderr
    new sessions of Claude Code get reports and messages with the next prompt; `tine gateway remove claude-code` takes the hook out
    note: Claude Code runs hooks of your own settings without asking; `/hooks` there lists them
    "#);
    check!(shown(&home, &["install", "claude-code", "--yes"]), @"
    code: 0
    --- stdout
    --- stderr
    tine's hook is in Claude Code's settings already: [HOME]/.claude/settings.json
    note: Claude Code runs hooks of your own settings without asking; `/hooks` there lists them
    ");
    check!(shown(&home, &["remove", "claude-code", "--yes"]), @r#"
    code: 0
    --- stdout
    [HOME]/.claude/settings.json
      -     "Stop": [],
      -     "UserPromptSubmit": [
      -       {
      -         "hooks": [
      -           {
      -             "type": "command",
      -             "command": "[TINE] gateway hook",
      -             "timeout": 10
      -           }
      -         ]
      -       }
      -     ]
      +     "Stop": []
    --- stderr
    new sessions of Claude Code run no hook of tine any more
    "#);
    assert_eq!(fs::read_to_string(&file).unwrap(), before);
    check!(shown(&home, &["remove", "claude-code"]), @"
    code: 0
    --- stdout
    --- stderr
    there is no hook of tine in Claude Code's settings: [HOME]/.claude/settings.json
    ");
    check!(shown(&home, &["install", "codex", "--yes"]), @r#"
    code: 0
    --- stdout
    [HOME]/.codex/hooks.json
      + {
      +   "hooks": {
      +     "UserPromptSubmit": [
      +       {
      +         "hooks": [
      +           {
      +             "type": "command",
      +             "command": "[TINE] gateway hook",
      +             "timeout": 10
      +           }
      +         ]
      +       }
      +     ]
      +   }
      + }
      +
    --- stderr
    new sessions of Codex get reports and messages with the next prompt; `tine gateway remove codex` takes the hook out
    note: Codex skips the hook until you trust it: type `/hooks` there, and again after it has changed
    "#);
}

#[test]
fn nothing_is_changed_where_a_person_does_not_agree() {
    let home = Home::new();
    let file = home.write(".claude/settings.json", "{}\n");
    for (answer, code) in [("n", 42), ("y", 0)] {
        assert_eq!(fs::read_to_string(&file).unwrap(), "{}\n");
        let mut terminal = Terminal::start(&home, &["gateway", "install", "claude-code"]);
        terminal.until("Go on? [y/N]: ", 1);
        terminal.type_in(&format!("{answer}\r"));
        let (ended, text) = terminal.end();
        assert_eq!(ended, code, "{text}");
        assert!(text.contains("gateway hook") && text.contains("UserPromptSubmit"), "{text}");
    }
    assert!(fs::read_to_string(&file).unwrap().contains("gateway hook"));
}

#[test]
fn settings_that_are_not_understood_are_left_alone() {
    let home = Home::new();
    let ran = |text: &str| {
        let file = home.write(".claude/settings.json", text);
        let ran = shown(&home, &["install", "claude-code", "--yes"]);
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
        ran
    };
    check!(ran("{\n  // mine\n  \"hooks\": {}\n}"), @"
    code: 42
    --- stdout
    --- stderr
    error: tine cannot be put into [HOME]/.claude/settings.json: it holds comments or commas that the host does not read
    hint: nothing was changed; mend the file, or edit `hooks.UserPromptSubmit` in it by hand
    ");
    check!(ran("{\"hooks\": {\"UserPromptSubmit\": {}}}"), @"
    code: 42
    --- stdout
    --- stderr
    error: tine cannot be put into [HOME]/.claude/settings.json: `UserPromptSubmit` is not a list
    hint: nothing was changed; mend the file, or edit `hooks.UserPromptSubmit` in it by hand
    ");
}

#[test]
fn an_agents_command_changes_no_settings_of_a_host() {
    let home = Home::new();
    for deed in ["install", "remove"] {
        let mut tine = home.tine(&["gateway", deed, "codex", "--yes"]);
        let ran = Ran::of(tine.env("TINE_AGENT", "11111111-1111-4111-8111-111111111111"));
        assert_eq!(ran.code, 56, "{}", ran.stderr);
    }
    assert_eq!(fs::read_dir(home.path()).unwrap().count(), 1);
}
