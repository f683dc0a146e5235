//! `tine mcp install` and `tine mcp remove` on the settings files of three hosts.

use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;

use serde_json::json;

use crate::support::{Home, Ran};

const HOSTS: [(&str, &str); 3] = [
    ("claude-code", ".claude.json"),
    ("codex", ".codex/config.toml"),
    ("opencode", ".config/opencode/opencode.json"),
];

/// The code and output of a command, without what differs from machine to machine.
fn shown(home: &Home, ran: &Ran) -> String {
    home.shown(ran).replace(env!("CARGO_BIN_EXE_tine"), "[TINE]")
}

fn mode(file: &Path) -> u32 {
    fs::metadata(file).unwrap().permissions().mode() & 0o777
}

fn entries(home: &Home) -> Vec<String> {
    let names = fs::read_dir(home.path()).unwrap();
    let mut names: Vec<String> =
        names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn tine_goes_into_a_hosts_settings_and_out_again_without_a_trace() {
    for (host, file) in HOSTS {
        let home = Home::new();
        let file = home.path().join(file);
        let dry = home.json(&["mcp", "install", host, "--dry-run", "--json"]);
        assert_eq!((&dry["outcome"], &dry["host"]), (&json!("would_write"), &json!(host)));
        assert_eq!(dry["file"], file.to_str().unwrap());
        assert_eq!(entries(&home), ["work"]);
        home.done(&["mcp", "install", host]);
        let text = fs::read_to_string(&file).unwrap();
        let lines: Vec<String> =
            text.lines().map(|line| format!("+ {line}").trim_end().to_owned()).collect();
        assert_eq!(dry["diff"], json!(lines));
        assert_eq!(mode(&file), 0o600);
        let again = home.json(&["mcp", "install", host, "--json"]);
        assert_eq!((&again["outcome"], &again["diff"]), (&json!("nothing"), &json!([])));
        home.done(&["mcp", "remove", host, "--dry-run"]);
        assert_eq!(fs::read_to_string(&file).unwrap(), text);
        let gone = home.json(&["mcp", "remove", host, "--json"]);
        assert_eq!((&gone["outcome"], &gone["deleted"]), (&json!("written"), &json!(true)));
        // The file and every folder that was made for it; no store was opened either.
        assert_eq!(entries(&home), ["work"]);
        assert_eq!(home.json(&["mcp", "remove", host, "--json"])["outcome"], "nothing");
    }
}

#[test]
fn a_person_sees_the_lines_that_change() {
    let home = Home::new();
    home.write(".claude.json", "{\n  \"numStartups\": 3,\n  \"userID\": \"a\"\n}");
    let ran = |arguments: &[&str]| shown(&home, &home.ran(&[&["mcp"], arguments].concat()));
    check!(ran(&["install", "claude-code"]), @r#"
    code: 0
    --- stdout
    [HOME]/.claude.json
      -   "userID": "a"
      +   "userID": "a",
      +   "mcpServers": {
      +     "tine": {
      +       "type": "stdio",
      +       "command": "[TINE]",
      +       "args": [
      +         "mcp"
      +       ],
      +       "env": {}
      +     }
      +   }
    --- stderr
    new sessions of Claude Code have tine's tools; `tine mcp remove claude-code` takes them out
    "#);
    check!(ran(&["install", "claude-code"]), @"
    code: 0
    --- stdout
    --- stderr
    tine is in Claude Code's settings already: [HOME]/.claude.json
    ");
    check!(ran(&["remove", "claude-code", "--dry-run"]), @r#"
    code: 0
    --- stdout
    [HOME]/.claude.json
      -   "userID": "a",
      -   "mcpServers": {
      -     "tine": {
      -       "type": "stdio",
      -       "command": "[TINE]",
      -       "args": [
      -         "mcp"
      -       ],
      -       "env": {}
      -     }
      -   }
      +   "userID": "a"
    --- stderr
    nothing was changed: this was a dry run
    "#);
    home.done(&["mcp", "remove", "claude-code"]);
    check!(ran(&["remove", "claude-code"]), @"
    code: 0
    --- stdout
    --- stderr
    there is no tine in Claude Code's settings: [HOME]/.claude.json
    ");
    home.write(
        ".codex/config.toml",
        "model = \"a\"\n\n[mcp_servers.tine]\ncommand = \"/old/tine\"\n",
    );
    check!(ran(&["install", "codex"]), @r#"
    code: 0
    --- stdout
    [HOME]/.codex/config.toml
      - command = "/old/tine"
      + command = "[TINE]"
      + args = ["mcp"]
    --- stderr
    another entry `tine` was replaced; new sessions of Codex start this one
    "#);
    check!(ran(&["install", "cursor"]), @"
    code: 2
    --- stdout
    --- stderr
    error: invalid value 'cursor' for '<HOST>'
      [possible values: claude-code, codex, opencode]

    For more information, try '--help'.
    ");
}

#[test]
fn links_permissions_and_folders_stay_as_they_are() {
    for (host, file) in HOSTS {
        let home = Home::new();
        let settings = home.path().join(file);
        let text = if host == "codex" { "# mine\r\n" } else { "{\r\n}" };
        let real = home.write("dotfiles/settings", text);
        fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
        fs::create_dir_all(settings.parent().unwrap()).unwrap();
        symlink(&real, &settings).unwrap();
        home.done(&["mcp", "install", host]);
        assert!(settings.is_symlink() && fs::read_to_string(&real).unwrap().contains("tine"));
        assert_eq!(mode(&real), 0o640);
        home.done(&["mcp", "remove", host]);
        assert!(settings.is_symlink());
        assert_eq!((fs::read_to_string(&real).unwrap().as_str(), mode(&real)), (text, 0o640));
        // A link that leads to nothing yet.
        fs::remove_file(&real).unwrap();
        home.done(&["mcp", "install", host]);
        assert!(settings.is_symlink() && real.exists());
        home.done(&["mcp", "remove", host]);
        // The folder was there before.
        assert!(settings.is_symlink() && !real.exists() && home.path().join("dotfiles").exists());
    }
}

#[test]
fn settings_that_cannot_be_read_are_left_alone() {
    let home = Home::new();
    let file = home.write(".claude.json", "{\"a\": 1,,}");
    for deed in ["install", "remove"] {
        assert_eq!(home.ran(&["mcp", deed, "claude-code"]).code, 42);
    }
    check!(shown(&home, &home.ran(&["mcp", "install", "claude-code"])), @"
    code: 42
    --- stdout
    --- stderr
    error: tine cannot be put into [HOME]/.claude.json: Unexpected token in object on line 1 column 9
    hint: nothing was changed; mend the file, or edit `mcpServers.tine` in it by hand
    ");
    assert_eq!(fs::read_to_string(&file).unwrap(), "{\"a\": 1,,}");
    fs::write(&file, b"{\"a\": \"\xff\"}").unwrap();
    check!(shown(&home, &home.ran(&["mcp", "install", "claude-code"])), @"
    code: 42
    --- stdout
    --- stderr
    error: cannot read [HOME]/.claude.json: invalid utf-8 sequence of 1 bytes from index 7
    hint: it is not text: nothing was changed
    ");
    fs::remove_file(&file).unwrap();
    fs::create_dir(&file).unwrap();
    assert_eq!(home.ran(&["mcp", "install", "claude-code"]).code, 42);
    assert_eq!(entries(&home), [".claude.json", "work"]);
}

#[test]
fn the_file_is_the_one_that_the_host_reads() {
    let home = Home::new();
    let elsewhere = home.path().join("a");
    let file = |host: &str| {
        let mut tine = home.tine(&["mcp", "install", host, "--dry-run", "--json"]);
        for variable in ["CLAUDE_CONFIG_DIR", "CODEX_HOME", "XDG_CONFIG_HOME"] {
            tine.env(variable, &elsewhere);
        }
        let seen: serde_json::Value = serde_json::from_str(&Ran::of(&mut tine).stdout).unwrap();
        home.masked(seen["file"].as_str().unwrap())
    };
    assert_eq!(file("claude-code"), "[HOME]/a/.claude.json");
    assert_eq!(file("codex"), "[HOME]/a/config.toml");
    assert_eq!(file("opencode"), "[HOME]/a/opencode/opencode.json");
    home.write("a/opencode/opencode.json", "{}");
    home.write("a/opencode/opencode.jsonc", "{} // mine");
    home.write("a/.config.json", "{}");
    assert_eq!(file("opencode"), "[HOME]/a/opencode/opencode.jsonc");
    assert_eq!(file("claude-code"), "[HOME]/a/.config.json");
    home.write("a/opencode/opencode.json", "{\"mcp\": {\"tine\": {}}}");
    assert_eq!(file("opencode"), "[HOME]/a/opencode/opencode.json");
}

#[test]
fn the_host_is_told_the_name_where_path_leads_to_this_program() {
    let home = Home::new();
    let program = |path: &Path| {
        let mut tine = home.tine(&["mcp", "install", "codex", "--dry-run", "--json"]);
        let ran = Ran::of(tine.env("PATH", path));
        serde_json::from_str::<serde_json::Value>(&ran.stdout).unwrap()["program"].clone()
    };
    let bin = home.path().join("bin");
    fs::create_dir(&bin).unwrap();
    assert_eq!(program(&bin), env!("CARGO_BIN_EXE_tine"));
    symlink(env!("CARGO_BIN_EXE_tine"), bin.join("tine")).unwrap();
    assert_eq!(program(&bin), "tine");
}

#[test]
fn an_agents_command_changes_no_settings_of_a_host() {
    let home = Home::new();
    for deed in ["install", "remove"] {
        let mut tine = home.tine(&["mcp", deed, "codex"]);
        let ran = Ran::of(tine.env("TINE_AGENT", "11111111-1111-4111-8111-111111111111"));
        assert_eq!(ran.code, 56, "{}", ran.stderr);
    }
    assert_eq!(entries(&home), ["work"]);
}
