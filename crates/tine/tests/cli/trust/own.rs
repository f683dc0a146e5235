//! tine's own files where they lie in the directory that an agent works in: an agent that edits unasked writes none of them, for they
//! hold trust, reaches, rules and lasting answers.

use std::path::Path;

use crate::support::Home;

/// A scenario that writes one file after the other.
fn scenario(files: &[&str]) -> String {
    let turn = |(at, file): (usize, &&str)| {
        format!(
            "[[turn]]\nwhen = {{ turn = {at} }}\ntool_calls = [{{ name = \"FileWrite\", input = {{ file_path = \"{file}\", content = \"x\" }} }}]\n"
        )
    };
    let turns: String = files.iter().enumerate().map(turn).collect();
    format!("name = \"case\"\n{turns}[[turn]]\ntext = \"done\"\n")
}

/// The files that an agent has written of those that it tried, with this option on the command line and in these surroundings.
fn written(home: &Home, files: &[&str], xdg: bool, options: &[&str]) -> Vec<String> {
    let model = home.model(&scenario(files));
    let arguments = ["-C", "..", "run", "-q", "--model", model.as_str(), "go"];
    let mut command = home.tine(&[&arguments, options].concat());
    if xdg {
        command.env_remove("TINE_HOME");
    }
    command.output().unwrap();
    let is_written = |file: &&&str| {
        std::fs::read_to_string(home.path().join(Path::new(file))).is_ok_and(|text| text == "x")
    };
    files.iter().filter(is_written).map(ToString::to_string).collect()
}

const EDITS: &str = "--permission-mode=accept-edits";

#[test]
fn an_agent_that_edits_unasked_writes_none_of_tines_own_files() {
    let home = Home::new();
    let files =
        ["config.toml", "models.toml", "trust/a.json", "agents/z.md", "run/x", "tine.db-wal", "a"];
    assert_eq!(written(&home, &files, false, &[EDITS]), ["a"]);
    // A rule that allows the tool does not mean them either.
    let files = ["config.toml", "b"];
    assert_eq!(written(&home, &files, false, &["--allow", "FileWrite"]), ["b"]);
    // Nor does a link.
    std::os::unix::fs::symlink("trust", home.path().join("link")).unwrap();
    assert!(written(&home, &["link/a.json"], false, &[EDITS]).is_empty());
}

#[test]
fn so_it_is_in_a_home_with_the_usual_directories() {
    let home = Home::new();
    let files = [
        ".local/share/tine/trust/a.json",
        ".local/share/tine/tine.db-journal",
        ".config/tine/config.toml",
        ".config/tine/agents/z.md",
        ".local/state/tine/log/x",
        ".local/bin/ls",
        "bin/ls",
        ".pythonstartup",
        "lib/usercustomize.py",
        "AGENTS.md",
        "sub/CLAUDE.md",
        ".worktreeinclude",
        ".local/share/a",
    ];
    assert_eq!(written(&home, &files, true, &[EDITS]), [".local/share/a"]);
}
