//! What is made from the command line's own types, and the doctor.

use crate::support::{Home, Ran};

#[test]
fn completions_name_every_command() {
    let home = Home::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = home.done(&["completions", shell]);
        for command in ["fork", "fan", "tree", "doctor"] {
            assert!(script.contains(command), "{shell}: {command}");
        }
    }
    assert_eq!(home.ran(&["completions", "tcsh"]).code, 2);
    // Nothing was made on the way: these commands need no store.
    assert!(!home.path().join("tine.db").exists());
}

#[test]
fn the_manual_is_one_page() {
    let home = Home::new();
    let page = home.done(&["man"]);
    let headings: Vec<&str> =
        page.lines().filter(|line| line.starts_with(".SH ") || line.starts_with(".SS ")).collect();
    check!(headings.join("\n"), @"");
}

#[test]
fn the_help_of_a_command_ends_with_examples() {
    let home = Home::new();
    check!(home.done(&["ps", "--help"]), @"");
    check!(home.done(&["sim", "serve", "--help"]), @"");
}

#[test]
fn the_doctor_finds_nothing_wrong_in_a_new_home() {
    let home = Home::new();
    let mut doctor = home.tine(&["doctor"]);
    let text = Ran::of(doctor.env("TERM", "dumb").env("ANTHROPIC_API_KEY", "hunter22"));
    assert_eq!(text.code, 0, "{}", text.stdout);
    assert!(!text.stdout.contains("hunter22"));
    let shown: Vec<&str> = text
        .stdout
        .lines()
        .filter(|line| {
            !["version", "bash", "git"].iter().any(|name| line.contains(&format!("  {name}: ")))
        })
        .collect();
    check!(home.masked(&shown.join("\n")), @"");
}

#[test]
fn the_doctor_shows_settings_with_their_origin_and_fails_for_a_wrong_model() {
    let home = Home::new();
    home.write(
        "config.toml",
        "model = \"acme/x\"\nmax_output_tokens = 100\n[permissions]\ndeny = [\"Bash(rm*)\"]\n",
    );
    let mut doctor = home.tine(&["doctor", "--json"]);
    let ran = Ran::of(doctor.env("TINE_PERMISSION_MODE", "read-only"));
    assert_eq!(ran.code, 1);
    let found: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(found["ok"], false);
    let lines: Vec<String> = found["checks"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|check| {
            ["setting", "default"]
                .iter()
                .any(|word| check["name"].as_str().unwrap().starts_with(word))
        })
        .map(ToString::to_string)
        .collect();
    check!(home.masked(&lines.join("\n")), @"");
}

#[test]
fn the_doctor_goes_on_when_the_database_is_none() {
    let home = Home::new();
    home.write("tine.db", "not a database, not even nearly; but long enough to be looked at as one. ....................");
    let ran = home.ran(&["doctor"]);
    assert_eq!(ran.code, 1);
    assert!(ran.stdout.contains("fail  database: "), "{}", ran.stdout);
    assert!(ran.stdout.contains("ok    simulator: "), "{}", ran.stdout);
}
