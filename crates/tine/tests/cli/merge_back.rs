//! `tine merge-back`: what it prints, what becomes of the text, and what it refuses.

use std::os::unix::fs::PermissionsExt;

use crate::support::{Home, Ran};

/// Writes a summary when one is asked for.
const SCENARIO: &str = r##"
name = "case"

[[turn]]
when = { user_contains = "What you answer now is appended" }
text = "# Findings\n\nA queue is faster, if n < 100."

[[turn]]
text = "You said: {{user}}"
"##;

/// A home with `base`, and `plan-b`, which was forked from it and has spoken.
fn forked() -> Home {
    let home = Home::new();
    let model = home.model(SCENARIO);
    home.done(&["run", "--name", "base", "--model", &model, "one"]);
    home.done(&["fork", "base", "--name", "plan-b", "try a queue"]);
    home
}

/// The links that an agent's log has.
fn links(home: &Home, agent: &str) -> Vec<serde_json::Value> {
    let shown = home.json(&["show", agent, "--json"]);
    let entries = shown["entries"].as_array().unwrap().iter();
    let blocks = entries.filter_map(|entry| entry["message"]["blocks"].as_array()).flatten();
    blocks.filter_map(|block| block.get("merge_back").cloned()).collect()
}

/// An editor that does this to the file; its command.
pub(crate) fn editor(home: &Home, script: &str) -> String {
    let path = home.write("editor", &format!("#!/bin/sh\n{script}\n"));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    format!("{} --quiet", path.display())
}

fn edited(home: &Home, script: &str, more: &[&str]) -> Ran {
    let arguments = [&["merge-back", "plan-b", "--edit"], more].concat();
    let mut command = home.tine(&arguments);
    std::fs::create_dir_all(home.path().join("tmp")).unwrap();
    command.env("EDITOR", editor(home, script)).env("TMPDIR", home.path().join("tmp"));
    Ran::of(&mut command)
}

#[test]
fn the_forks_own_summary_is_appended_to_its_parent() {
    let home = forked();
    let ran = home.ran(&["merge-back", "plan-b"]);
    check!(home.shown(&Ran { stderr: crate::support::without_figures(&ran.stderr) + "\n", ..ran }), @"
    code: 0
    --- stdout
    brought [AGENT8] back into [AGENT8], as entry 7
    --- stderr
    this brings entries # to # # messages)
    the summary read # from the cache and has # for #
    hint: `tine run --resume [AGENT8]` lets it go on with that
    ");
    check!(home.masked(&home.done(&["show", "base"])), @"
    [AGENT8]  base
      state        idle
      kind         root
      model        sim/[HOME]/case.toml
      directory    [HOME]/work
      reach        open: commands and file tools touch what you can
      created      [TIME], 0s ago
      id           [AGENT-ID]

    1  user
       <environment>
       Working directory: [HOME]/work
       </environment>
       one

    2  assistant
       You said: one

    3  fork: [AGENT8] was forked from here

    7  user
       (from fork [AGENT8] plan-b, entries 5 to 6)
       # Findings

       A queue is faster, if n < 100.
    ");
    check!(home.done(&["logs", "base"]).lines().last().unwrap(), @"[TIME]       7  user       (from fork [AGENT8] plan-b, entries 5 to 6) # Findings A queue is faster, if n < 100.");
    check!(serde_json::to_string(&links(&home, "base")).unwrap(), @r#"[{"source":"[AGENT-ID]","name":"plan-b","fork_point":2,"first":5,"last":6,"wording":"draft"}]"#);
    // The fork has nothing of it, but for what it cost.
    assert!(!home.done(&["export", "plan-b"]).contains("queue is faster"));
    let explained = home.json(&["cache", "explain", "plan-b", "--json"]);
    assert_eq!(explained["requests"].as_array().unwrap().len(), 2);

    check!(home.shown(&home.ran(&["merge-back", "plan-b"])), @"
    code: 42
    --- stdout
    --- stderr
    error: agent [AGENT-ID] has said nothing since entry 6, up to which it was brought back before
    hint: `tine show [AGENT8]` shows its conversation
    ");
    home.done(&["run", "--resume", "plan-b", "more"]);
    let again = home.ran(&["merge-back", "plan-b", "--text", "No more."]);
    check!(home.shown(&again), @"
    code: 0
    --- stdout
    brought [AGENT8] back into [AGENT8], as entry 10
    --- stderr
    already brought back up to entry 6; this brings entries 8 to 9 (2 messages)
    hint: `tine run --resume [AGENT8]` lets it go on with that
    ");
    let told = home.done(&["run", "--resume", "base", "--quiet", "and now?"]);
    assert_eq!(told, "You said: and now?\n");
}

#[test]
fn a_dry_run_and_json_say_everything_and_change_nothing_or_say_where_it_is() {
    let home = forked();
    let ran = home.ran(&["merge-back", "plan-b", "--dry-run"]);
    assert_eq!((ran.code, &*ran.stdout), (0, "# Findings\n\nA queue is faster, if n < 100.\n"));
    assert_eq!(links(&home, "base").len(), 0);
    let mut json = home.json(&["merge-back", "plan-b", "--dry-run", "--json", "--text", "x"]);
    check!(json.to_string(), @r#"{"source":"[AGENT-ID]","into":"[AGENT-ID]","fork_point":2,"first":5,"last":6,"messages":2,"already":null,"wording":"given","text":"x","entry":null,"mail":null,"usage":null,"cost_usd":null}"#);
    home.write("work/draft.md", "From a file.\n");
    json = home.json(&["merge-back", "plan-b", "--file", "draft.md", "--into", "base", "--json"]);
    assert_eq!(json["text"], "From a file.");
    let entries = home.json(&["show", "base", "--json"])["entries"].clone();
    assert_eq!(entries.as_array().unwrap().last().unwrap()["id"], json["entry"]);
    home.done(&["run", "--resume", "plan-b", "more"]);
    let mut piped = home.tine(&["merge-back", "plan-b", "--file", "-", "--json"]);
    let piped = Ran::of(piped.write_stdin("From a pipe."));
    assert!(piped.stdout.contains(r#""wording":"given","text":"From a pipe.""#), "{piped:?}");
    let json = home.json(&["fork", "plan-b", "--json"]);
    let idle = json["agent"].as_str().unwrap();
    home.done(&["run", "--resume", idle, "three"]);
    let json = home.json(&["merge-back", idle, "--json"]);
    assert!(json["usage"]["output"].as_u64() > Some(0) && json["cost_usd"].is_number(), "{json}");
}

#[test]
fn a_person_has_the_last_word() {
    let home = forked();
    let failed = edited(&home, "exit 1", &["--text", "Mine."]);
    let kept = std::fs::read_dir(home.path().join("tmp")).unwrap().next().unwrap().unwrap().path();
    let kept_at = home.masked(kept.to_str().unwrap());
    check!(home.shown(&failed).replace(&kept_at, "[KEPT]"), @"
    code: 1
    --- stdout
    --- stderr
    this brings entries 5 to 6 (2 messages)
    error: the editor failed: nothing was brought back
    hint: the text is kept: `tine merge-back [AGENT8] --file [KEPT]` appends it
    ");
    assert_eq!(std::fs::read_to_string(&kept).unwrap(), "Mine.");
    assert_eq!(kept.metadata().unwrap().permissions().mode() & 0o777, 0o600);
    std::fs::remove_file(kept).unwrap();
    let seen = edited(&home, r#"cp "$2" "$TINE_HOME/seen"; : > "$2""#, &["--text", "Mine."]);
    assert_eq!(seen.code, 130);
    check!(std::fs::read_to_string(home.path().join("seen")).unwrap(), @"
    Mine.

    # This is appended to [AGENT8] (base), marked as what came of its fork
    # [AGENT8] (plan-b), entries 5 to 6.
    # These four lines are left out; other lines may begin with # as well.
    # An empty text brings nothing back.
    ");

    let empty = edited(&home, r#"sed -i -e 's/^[^#].*//' -e '/Findings/d' "$2""#, &[]);
    assert_eq!((empty.code, &*empty.stdout), (130, ""));
    assert!(empty.stderr.ends_with("error: the text is empty: nothing was brought back\n"));
    assert_eq!(links(&home, "base").len(), 0);

    let ran = edited(&home, r#"sed -i 's/faster/three times faster/' "$2""#, &["--json"]);
    let json: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(json["text"], "# Findings\n\nA queue is three times faster, if n < 100.");
    assert_eq!(json["wording"], "edited");
    assert_eq!(std::fs::read_dir(home.path().join("tmp")).unwrap().count(), 0);
    home.done(&["run", "--resume", "plan-b", "more"]);
    let ran = edited(&home, "true", &["--json"]);
    assert!(ran.stdout.contains(r#""wording":"draft""#), "{ran:?}");
}

#[test]
fn what_cannot_be_done_is_refused_before_anything_is_paid() {
    let home = forked();
    home.done(&["fork", "plan-b", "--name", "silent"]);
    home.done(&["run", "--name", "other", "--model", "sim/echo", "hi"]);
    home.done(&["fork", "other", "--name", "orphan", "more"]);
    home.done(&["kill", "other", "--root"]);
    let mut told = String::new();
    for arguments in [
        &["base"][..],
        &["silent"],
        &["plan-b", "--into", "other"],
        &["plan-b", "--text", " "],
        &["plan-b", "--edit"],
        &["plan-b", "--edit", "--no-edit"],
        &["nobody"],
        &["orphan"],
    ] {
        let ran = home.ran(&[&["merge-back"], arguments].concat());
        let words: Vec<&str> = ran.stderr.lines().take_while(|line| !line.is_empty()).collect();
        told.push_str(&format!("{}: {}\n{}\n", arguments.join(" "), ran.code, words.join("\n")));
    }
    check!(told, @"
    base: 42
    error: agent [AGENT-ID] was not forked from another
    hint: `tine tree` shows who was forked from whom
    silent: 42
    error: agent [AGENT-ID] has said nothing since it was forked
    hint: `tine show [AGENT8]` shows its conversation
    plan-b --into other: 42
    error: agent [AGENT-ID] is no ancestor of agent [AGENT-ID]
    hint: conclusions go to [AGENT8]'s parent, or to an agent above it; `tine tree` shows them
    plan-b --text  : 42
    error: the text is empty
    hint: without --text and --file the fork's own model writes one
    plan-b --edit: 42
    error: no editor is set
    hint: set VISUAL or EDITOR to a command such as `nano` or `code --wait`
    hint: --no-edit appends the text as it is; --dry-run only prints it
    plan-b --edit --no-edit: 2
    error: the argument '--edit' cannot be used with '--no-edit'
    nobody: 42
    error: no agent `nobody`
    hint: `tine ps --all` lists all agents
    orphan: 42
    error: agent [AGENT-ID] is dead
    hint: a dead agent stays dead; `tine ps --all` lists its relatives
    hint: --into brings it back to another ancestor, where one lives
    ");
    let explained = home.json(&["cache", "explain", "plan-b", "--json"]);
    assert_eq!(explained["requests"].as_array().unwrap().len(), 1, "nobody was asked");
}
