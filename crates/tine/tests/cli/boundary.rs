//! The working directory is a boundary, also for links, names and orders that come late.

use std::os::unix::fs::symlink;

use crate::support::Home;

/// Calls one tool with these arguments, then says so.
fn scenario(tool: &str, input: &str) -> String {
    format!(
        "name = \"case\"\n[[turn]]\nwhen = {{ tool_results = 0 }}\n\
         tool_calls = [{{ name = \"{tool}\", input = {input} }}]\n[[turn]]\ntext = \"ended\"\n"
    )
}

#[test]
fn a_link_out_of_the_directory_is_a_way_out_of_it() {
    let home = Home::new();
    let out = home.write("out/secret.txt", "secret\n");
    symlink(&out, home.work().join("link")).unwrap();
    symlink(home.path().join("out"), home.work().join("door")).unwrap();
    for (tool, input) in [
        ("FileRead", r#"{ file_path = "link" }"#),
        ("FileRead", r#"{ file_path = "door/secret.txt" }"#),
        ("Grep", r#"{ pattern = "secret", path = "door" }"#),
        ("FileWrite", r#"{ file_path = "door/new.txt", content = "x" }"#),
        ("Bash", r#"{ command = "cat link" }"#),
        ("Bash", r#"{ command = "cd door && head -1 secret.txt" }"#),
        ("Bash", r#"{ command = "wc -c < door/secret.txt" }"#),
    ] {
        let model = home.model(&scenario(tool, input));
        let ran = home.ran(&["run", "--model", &model, "--permission-mode", "accept-edits", "go"]);
        assert_eq!(ran.code, 56, "{tool} {input}: {}", ran.stderr);
        assert!(ran.stderr.contains("symbolic link"), "{}", ran.stderr);
    }
    assert!(!home.path().join("out/new.txt").exists());
}

#[cfg(feature = "repl")]
#[test]
fn the_calls_of_a_script_are_judged_like_the_models_own() {
    let home = Home::new();
    home.write("config.toml", "repl = true\n");
    home.write("work/a.txt", "one\ntwo\n");
    let code = r#"print(Grep(#{pattern: \"two\", path: \"a.txt\", output_mode: \"content\"}));
        try { Bash(#{command: \"touch made\"}) } catch (why) { print(why) }
        FileRead(#{file_path: \"../config.toml\"})"#;
    let input = format!("{{ code = \"\"\"{code}\"\"\" }}");
    let model = home.model(&scenario("REPL", &input));
    let ran = home.ran(&["run", "--model", &model, "--output-format", "stream-json", "go"]);
    let told: Vec<String> = ran
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .filter(|record: &serde_json::Value| record["type"] == "tool_result")
        .map(|record| {
            format!("{}: {}", record["id"].as_str().unwrap(), record["text"].as_str().unwrap())
        })
        .collect();
    let told = told.join("\n").replace(&home.path().display().to_string(), "[HOME]");
    shape!(told, @"
    toolu_sim_000001.1: a.txt:2:two
    toolu_sim_000001.2: Denied: no rule allows this command, and it may do more than read: `touch` at column 1: not on the list of commands that only read, and nobody can be asked here. Go on without this call, or do it another way.
    toolu_sim_000001.3: Denied: `[HOME]/config.toml` is outside the directory, and nobody can be asked here. Go on without this call, or do it another way.
    toolu_sim_000001: a.txt:2:two
    Denied: no rule allows this command, and it may do more than read: `touch` at column 1: not on the list of commands that only read, and nobody can be asked here. Go on without this call, or do it another way.
    [the script failed: Runtime error: Denied: `[HOME]/config.toml` is outside the directory, and nobody can be asked here. Go on without this call, or do it another way. (line 3, position 9)]
    ");
    assert!(!home.work().join("made").exists());
}

#[test]
fn a_deny_rule_holds_behind_a_link() {
    let home = Home::new();
    home.write("work/.env", "KEY=1\n");
    symlink(".env", home.work().join("harmless")).unwrap();
    let model = home.model(&scenario("FileRead", r#"{ file_path = "harmless" }"#));
    let arguments = [
        "run",
        "--model",
        &model,
        "--deny",
        "FileRead(.env)",
        "--output-format",
        "stream-json",
        "go",
    ];
    let ran = home.ran(&arguments);
    assert!(!ran.stdout.contains("KEY=1"), "{}", ran.stdout);
}

#[test]
fn a_command_that_only_reads_inside_runs_without_a_question() {
    let home = Home::new();
    home.write("work/a.txt", "one\ntwo\n");
    let run = |command: &str| {
        let model = home.model(&scenario("Bash", &format!("{{ command = \"{command}\" }}")));
        home.ran(&["run", "--model", &model, "--permission-mode", "read-only", "go"])
    };
    assert_eq!(run("cat a.txt | wc -l").code, 0);
    assert_eq!(run("cat ../out/secret.txt").code, 56);
    run("sort -o b.txt a.txt");
    assert!(!home.work().join("b.txt").exists());
}

#[test]
fn a_name_that_could_be_an_id_is_refused() {
    let home = Home::new();
    let agent = home.import("sim/echo", "base", 2);
    home.write("a.json", r#"[{"role": "user", "content": "hello"}]"#);
    let refused = |arguments: &[&str]| {
        let ran = home.ran(arguments);
        assert_eq!(ran.code, 42, "{arguments:?}");
        assert!(
            ran.stderr.contains("it could be the beginning of an agent's id"),
            "{}",
            ran.stderr
        );
        ran
    };
    for name in [agent.as_str(), &agent[..8], &agent[..4], "cafe", "2026", "ca-fe-1"] {
        refused(&["rename", "base", name]);
        refused(&["run", "--model", "sim/echo", "--name", name, "hi"]);
        refused(&["fork", "base", "--name", name]);
        refused(&["run", "--resume", "base", &format!("/fork --name {name}")]);
        refused(&["task", "start", "base", "look", "--name", name]);
        refused(&["import", "../a.json", "--model", "sim/echo", "--name", name]);
    }
    check!(home.shown(&refused(&["rename", "base", "cafe"])), @"
    code: 42
    --- stdout
    --- stderr
    error: `cafe` cannot be a name: it could be the beginning of an agent's id
    hint: put a letter beyond f into it, as in `x-cafe`
    ");
    assert_eq!(home.json(&["ps", "--json"]).as_array().unwrap().len(), 1);
}

#[test]
fn a_worker_that_is_resumed_ends_its_task_after_all() {
    let home = Home::new();
    let failing = "name = \"case\"\n[[turn]]\nfault = { status = 400, message = \"nope\" }\n";
    let model = home.model(failing);
    let parent = home.import(&model, "base", 2);
    let ran = home.ran(&["fan", "base", "-d", "one", "--json"]);
    assert_eq!(ran.code, 1);
    let fan: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    let worker = fan["tasks"][0]["agent"].as_str().unwrap();
    home.model("name = \"case\"\n[[turn]]\ntext = \"Scope: one\\nResult: done\"\n");
    home.done(&["run", "--resume", worker, "--quiet"]);
    let waited = home.json(&["wait", worker, "--json"]);
    assert_eq!(waited["agents"][0]["task"]["status"], "completed", "{waited}");
    // Both ends reach the parent: the failure, and what came of it.
    home.done(&["run", "--resume", &parent, "--quiet", "and?"]);
    let shown = home.done(&["show", &parent, "--full"]);
    assert_eq!(shown.matches("<task-notification>").count(), 2, "{shown}");
}

/// Shows: a rule that denies a command holds for the command, however the model writes it, and for nothing that only mentions it.
#[test]
fn a_deny_rule_holds_for_what_a_line_runs() {
    let home = Home::new();
    let call = |command: &str| {
        let command = serde_json::json!(command);
        format!("[[turn.tool_calls]]\nname = \"Bash\"\ninput.command = {command}\n")
    };
    let calls: String = [
        "touch denied-1",
        "cd . && \"touch\"  denied-2",
        "env X=1 sh -c 'touch denied-3'",
        "x=touch; $x denied-4",
        "echo 'touch denied' > said",
        "printf x > made",
    ]
    .into_iter()
    .map(call)
    .collect();
    let model = home.model(&format!(
        "name = \"d\"\n[[turn]]\nwhen = {{ user_contains = \"go\", tool_results = 0 }}\n{calls}[[turn]]\ntext = \"end\"\n"
    ));
    let ran = home.ran(&[
        "run",
        "--model",
        &model,
        "--allow",
        "Bash",
        "--deny",
        "Bash(touch denied*)",
        "--json",
        "go",
    ]);
    let mut files: Vec<String> = std::fs::read_dir(home.work())
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter(|name| name.starts_with("denied") || name == "said" || name == "made")
        .collect();
    files.sort();
    check!(format!("{} {files:?}", ran.code), @r#"0 ["made", "said"]"#);
}
