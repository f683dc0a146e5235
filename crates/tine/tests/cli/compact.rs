//! `tine compact`: what it prints, what the cache makes of it, and what comes of a conversation near the end of its window.

use crate::support::Home;

/// Answers a request for a summary with one, and everything else with what was said.
const SCENARIO: &str = r#"
name = "case"

[[turn]]
when = { user_contains = "about to be made shorter" }
text = "The user counts."

[[turn]]
text = "You said: {{user}}"
"#;

/// What the cache did with each request of an agent.
fn verdicts(home: &Home, agent: &str) -> Vec<String> {
    let explained = home.json(&["cache", "explain", agent, "--json"]);
    let requests = explained["requests"].as_array().unwrap();
    requests.iter().map(|request| request["verdict"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn the_older_part_gives_way_to_a_summary() {
    let home = Home::new();
    let model = home.model(SCENARIO);
    let long = "count ".repeat(4_000);
    home.done(&["run", "--name", "base", "--model", &model, &format!("one {long}")]);
    home.done(&["run", "--resume", "base", &format!("two {long}")]);
    home.done(&["run", "--resume", "base", "three"]);
    home.done(&["fork", "base", "--name", "before"]);

    let ran = home.ran(&["compact", "base", "--keep-tokens", "20"]);
    assert_eq!(ran.code, 0, "{}", ran.stderr);
    check!(ran.stdout, @"compacted [AGENT8]: a summary stands for 4 of 6 messages");
    let show = home.done(&["show", "base"]);
    assert!(show.contains("The user counts.") && show.contains("(no longer counts)"), "{show}");
    let exported = home.done(&["export", "base"]);
    assert!(exported.contains("The user counts.") && !exported.contains("one count"));
    assert!(home.done(&["export", "before"]).contains("one count"));

    home.done(&["run", "--resume", "base", "four"]);
    home.done(&["fork", "base", "five", "--quiet"]);
    // What follows a compaction parts from nothing.
    assert_eq!(verdicts(&home, "base"), ["cold", "ok", "ok", "ok", "ok"]);
    check!(home.shown(&home.ran(&["compact", "base"])), @"
    code: 42
    --- stdout
    --- stderr
    error: the conversation of agent [AGENT-ID] has nothing that could be left out
    hint: --keep-tokens keeps less of it word for word
    ");
    let json =
        home.json(&["compact", "base", "--keep-tokens", "0", "--json", "--instructions", "Count."]);
    assert_eq!(
        (json["left_out"].as_u64(), json["kept"].as_u64(), json["keep"].as_i64()),
        (Some(5), Some(0), None)
    );
}

#[test]
fn a_run_makes_its_conversation_shorter_unless_told_not_to() {
    for (setting, is_there) in [("auto", true), ("off", false)] {
        let home = Home::new();
        home.write("models.toml", "[[model]]\nname = \"sim/*\"\ncontext_tokens = 11000\n");
        home.write("config.toml", &format!("compact = \"{setting}\"\n"));
        // A reply as long as the prompt would not fit behind it.
        let short = "[[turn]]\nwhen = { user_contains = \"one\", turn = 0 }\ntext = \"Counted.\"\n";
        let model = home.model(&SCENARIO.replacen("[[turn]]", &format!("{short}\n[[turn]]"), 1));
        let long = "count ".repeat(4_000);
        home.done(&["run", "--name", "base", "--model", &model, &format!("one {long}")]);
        home.done(&["run", "--resume", "base", "two"]);
        let kinds = home.json(&["show", "base", "--json"])["entries"].clone();
        let compacts = kinds.as_array().unwrap().iter().filter(|entry| entry["kind"] == "compact");
        assert_eq!(compacts.count(), usize::from(is_there), "{setting}");
    }
    let home = Home::new();
    home.write("config.toml", "compact = \"often\"\n");
    check!(home.shown(&home.ran(&["ps"])), @"
    code: 42
    --- stdout
    --- stderr
    error: unknown compact `often` in [HOME]/config.toml
    hint: it is auto or off
    ");
}
