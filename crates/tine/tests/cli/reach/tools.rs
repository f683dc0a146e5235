//! The file tools of a confined worker see and write no more than its commands do.

use super::home;

fn call(tool: &str, input: serde_json::Value) -> String {
    format!("{{ name = \"{tool}\", input = {} }}", toml_of(&input))
}

/// An inline table of strings.
fn toml_of(input: &serde_json::Value) -> String {
    let fields = input.as_object().unwrap().iter();
    let fields: Vec<String> = fields.map(|(name, value)| format!("{name} = {value}")).collect();
    format!("{{ {} }}", fields.join(", "))
}

#[cfg(target_os = "linux")] // for the wall
#[test]
fn no_tool_of_a_confined_worker_sees_a_secret_or_plants_what_runs_later() {
    let home = home("name = \"empty\"\n[[turn]]\ntext = \"hello\"\n");
    let path = |name: &str| home.path().join(name).display().to_string();
    for (name, text) in [
        (".ssh/id_x", "the ssh word"),
        (".aws/credentials", "the aws word"),
        ("work/.env", "the env word"),
        ("work/.git/config", "the git word"),
        ("work/notes.md", "the plain word"),
    ] {
        home.write(name, text);
    }
    let mut calls = vec![
        call("FileRead", serde_json::json!({ "file_path": path(".ssh/id_x") })),
        call("Bash", serde_json::json!({ "command": format!("cat {}", path(".ssh/id_x")) })),
        call(
            "Grep",
            serde_json::json!({ "pattern": "word", "path": path(".aws/credentials"), "output_mode": "content" }),
        ),
        call(
            "Grep",
            serde_json::json!({ "pattern": "word", "path": path("."), "output_mode": "content", "glob": "*" }),
        ),
        call("FileRead", serde_json::json!({ "file_path": path("work/.env") })),
        call("FileRead", serde_json::json!({ "file_path": path("tine.db") })),
        call("FileRead", serde_json::json!({ "file_path": "/etc/shadow" })),
        call("FileRead", serde_json::json!({ "file_path": path("work/notes.md") })),
    ];
    let planted = [
        ".git/hooks/pre-commit",
        ".git/config",
        ".vscode/tasks.json",
        ".bashrc",
        ".mcp.json",
        ".tine/config.toml",
        "sub/.git",
        "sub/.github/workflows/ci.yml",
    ];
    for name in planted.iter().chain(&["Makefile", "src/main.rs"]) {
        calls.push(call("FileWrite", serde_json::json!({ "file_path": name, "content": "x" })));
    }
    let edit =
        serde_json::json!({ "file_path": ".git/config", "old_string": "git", "new_string": "my" });
    calls.push(call("FileRead", serde_json::json!({ "file_path": path("work/.git/config") })));
    calls.push(call("FileEdit", edit));
    let secret = path(".ssh/id_x");
    let scripts = [
        format!("FileRead(#{{file_path: \"{secret}\"}})"),
        "FileWrite(#{file_path: \".git/hooks/post-merge\", content: \"x\"})".to_owned(),
    ];
    let runs_scripts = cfg!(feature = "repl");
    for code in scripts.iter().filter(|_| runs_scripts) {
        calls.push(call("REPL", serde_json::json!({ "code": code })));
    }
    let scenario = format!(
        "name = \"tools\"\n[[turn]]\nwhen = {{ user_contains = \"TRY\", turn = 0 }}\ntool_calls = [\n{}\n]\n[[turn]]\ntext = \"Scope: all\\nResult: done\"\n",
        calls.iter().map(|call| format!("    {call},")).collect::<Vec<_>>().join("\n")
    );
    home.write("case.toml", &scenario);
    let settings = std::fs::read_to_string(home.path().join("config.toml")).unwrap();
    home.write("config.toml", &format!("repl = {runs_scripts}\n{settings}"));
    home.done(&["run", "-q", "--name", "a", "hello"]);
    let fanned = home.json(&["fan", "a", "-d", "TRY", "--json"]);
    let worker = fanned["tasks"][0]["agent"].as_str().unwrap();
    let shown = home.json(&["show", worker, "--json"]).to_string();
    for secret in ["the ssh word", "the aws word", "the env word", "root:"] {
        assert!(!shown.contains(secret), "{secret}: {shown}");
    }
    assert!(shown.contains("the plain word"), "{shown}");
    assert!(!home.work().join(".git/hooks").exists());
    for name in planted.iter().filter(|name| **name != ".git/config") {
        assert!(!home.work().join(name).exists(), "{name}");
    }
    assert_eq!(std::fs::read_to_string(home.work().join(".git/config")).unwrap(), "the git word");
    assert!(home.work().join("Makefile").exists() && home.work().join("src/main.rs").exists());
    assert!(shown.contains("`.git/hooks/pre-commit` cannot be written by a confined run: git, a shell, an editor, an agent or CI would follow it later"), "{shown}");
    assert_eq!(
        shown.matches("cannot be written by a confined run").count(),
        planted.len() + 1 + usize::from(runs_scripts),
        "{shown}"
    );
}
