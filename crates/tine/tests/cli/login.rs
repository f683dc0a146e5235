//! Keys of providers that `tine login` stores, and the models that they open.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use crate::pty::Terminal;
use crate::sim_serve::Server;
use crate::support::{Home, Ran};

/// One question to a server that refuses requests without a key.
fn asked(home: &Home, server: &Server) -> Ran {
    let mut run = home.tine(&["run", "-q", "--model", "anthropic/claude-opus-5-5", "hello"]);
    Ran::of(run.env("ANTHROPIC_BASE_URL", server.field("anthropic")))
}

fn piped(home: &Home, arguments: &[&str], stdin: &str) -> Ran {
    Ran::of(home.tine(arguments).write_stdin(stdin))
}

fn credentials(home: &Home) -> PathBuf {
    home.path().join("credentials.json")
}

#[test]
fn a_stored_key_is_used_until_it_is_removed() {
    let home = Home::new();
    let server = Server::start(&home, &[]);
    assert_eq!(asked(&home, &server).code, 1);
    check!(home.shown(&piped(&home, &["login", "anthropic"], " sk-one \nmore\n")), @"
    code: 0
    --- stdout
    The key of anthropic is stored in [HOME]/credentials.json
    --- stderr
    `tine models` lists what you can use
    ");
    let mode = std::fs::metadata(credentials(&home)).unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let ran = asked(&home, &server);
    assert_eq!((ran.code, ran.stdout.lines().next()), (0, Some("hello")), "{}", ran.stderr);
    check!(home.shown(&home.ran(&["login"])), @"
    code: 0
    --- stdout
    PROVIDER       KEY
    anthropic      stored by `tine login`
    openai         none
    gemini         none
    deepseek       none
    minimax        none
    openai-compat  none
    --- stderr
    `tine login PROVIDER` stores a key, `tine login PROVIDER --helper COMMAND` a command that prints it; `tine logout PROVIDER` removes either
    ");
    assert_eq!(piped(&home, &["login", "openai"], "sk-two").code, 0);
    check!(home.shown(&piped(&home, &["login"], "sk-three\n")), @"
    code: 2
    --- stdout
    --- stderr
    error: a key was piped in, and no provider named
    hint: `tine login PROVIDER` stores it, for one of anthropic, openai, gemini, deepseek, minimax, openai-compat
    ");
    check!(home.shown(&home.ran(&["logout", "openai-chat"])), @"
    code: 0
    --- stdout
    The key of openai is removed from [HOME]/credentials.json
    --- stderr
    ");
    check!(home.shown(&home.ran(&["logout", "openai"])), @"
    code: 42
    --- stdout
    --- stderr
    error: no key of openai is stored
    hint: `tine login` alone lists where each key is from
    ");
    home.done(&["logout", "anthropic"]);
    assert_eq!(asked(&home, &server).code, 1);
}

#[test]
fn a_command_prints_the_key_once_in_a_process() {
    let home = Home::new();
    let server = Server::start(&home, &[]);
    let runs = home.path().join("runs");
    let helper = |rest: &str| format!("echo x >> {}; {rest}", runs.display());
    home.done(&["login", "anthropic", "--helper", &helper("echo sk-three")]);
    // Neither who stores it nor who only looks runs it.
    home.done(&["login"]);
    home.ran(&["doctor"]);
    assert!(!runs.exists());
    let ran = asked(&home, &server);
    assert_eq!(
        (ran.code, std::fs::read_to_string(&runs).unwrap().as_str()),
        (0, "x\n"),
        "{}",
        ran.stderr
    );
    let wrong = |rest: &str| {
        home.done(&["login", "anthropic", "--helper", rest]);
        home.shown(&asked(&home, &server))
    };
    check!(wrong("echo locked >&2; exit 3"), @"
    code: 42
    --- stdout
    --- stderr
    error: cannot get the key of anthropic: `echo locked >&2; exit 3`: exit status: 3: locked
    hint: try the command by hand; `tine login PROVIDER` stores another one, or a key
    ");
    check!(wrong("echo two words"), @"
    code: 42
    --- stdout
    --- stderr
    error: cannot get the key of anthropic: what it printed has blanks or characters that no key has
    hint: try the command by hand; `tine login PROVIDER` stores another one, or a key
    ");
    check!(wrong("true"), @"
    code: 42
    --- stdout
    --- stderr
    error: cannot get the key of anthropic: what it printed is empty
    hint: try the command by hand; `tine login PROVIDER` stores another one, or a key
    ");
}

#[test]
fn keys_that_are_none_and_files_that_others_read_are_refused() {
    let home = Home::new();
    check!(home.shown(&piped(&home, &["login", "acme"], "k")), @"
    code: 42
    --- stdout
    --- stderr
    error: `acme` is no provider that takes a key
    hint: providers are anthropic, openai, gemini, deepseek, minimax, openai-compat
    ");
    check!(home.shown(&piped(&home, &["login", "sim"], "k")), @"
    code: 42
    --- stdout
    --- stderr
    error: `sim` is no provider that takes a key
    hint: providers are anthropic, openai, gemini, deepseek, minimax, openai-compat
    ");
    check!(home.shown(&piped(&home, &["login", "anthropic"], "\n")), @"
    code: 42
    --- stdout
    --- stderr
    error: the key is empty
    ");
    check!(home.shown(&piped(&home, &["login", "anthropic"], "two words\n")), @"
    code: 42
    --- stdout
    --- stderr
    error: the key has blanks or characters that no key has
    ");
    check!(home.shown(&home.ran(&["login", "--helper", "x"])), @"
    code: 2
    --- stdout
    --- stderr
    error: the following required arguments were not provided:
      <PROVIDER>

    Usage: tine login --helper <COMMAND> <PROVIDER>

    For more information, try '--help'.
    ");
    check!(home.shown(&home.ran(&["login", "anthropic", "--helper", " "])), @"
    code: 2
    --- stdout
    --- stderr
    error: --helper is empty
    hint: it is a command that prints the key
    ");
    assert!(!credentials(&home).exists());
    let mut inside = home.tine(&["login", "anthropic"]);
    inside.env("TINE_AGENT", "01010101-0101-4101-8101-010101010101").write_stdin("k");
    check!(home.shown(&Ran::of(&mut inside)), @"
    code: 56
    --- stdout
    --- stderr
    error: an agent's command stores no keys
    hint: a person runs `tine login` in a terminal; TINE_AGENT is set here
    ");
    assert_eq!(piped(&home, &["login", "anthropic"], "k").code, 0);
    let readable = std::fs::Permissions::from_mode(0o644);
    std::fs::set_permissions(credentials(&home), readable).unwrap();
    check!(home.shown(&home.ran(&["ps"])), @"
    code: 42
    --- stdout
    --- stderr
    error: [HOME]/credentials.json holds keys, and others may read it
    hint: `chmod 600 [HOME]/credentials.json`
    ");
    let private = std::fs::Permissions::from_mode(0o600);
    home.write("credentials.json", "{\"anthropic\": {\"key\": sk-secret}}");
    std::fs::set_permissions(credentials(&home), private).unwrap();
    check!(home.shown(&home.ran(&["ps"])), @"
    code: 42
    --- stdout
    --- stderr
    error: [HOME]/credentials.json is not as `tine login` writes it, line 1
    hint: mend it, or remove it and run `tine login` again
    ");
}

#[test]
fn a_key_is_typed_without_being_shown() {
    let home = Home::new();
    let mut terminal = Terminal::start(&home, &["login", "anthropic"]);
    terminal.screen("Key of anthropic (it is not shown):");
    terminal.type_in("sk-not-shown\r");
    let (code, text) = terminal.end();
    assert_eq!(code, 0, "{text}");
    assert!(text.contains("is stored in") && !text.contains("not-shown"), "{text}");
    assert!(std::fs::read_to_string(credentials(&home)).unwrap().contains("sk-not-shown"));
}

#[test]
fn models_are_listed_with_what_they_cost() {
    let home = Home::new();
    let models = |arguments: &[&str]| {
        let mut command = home.tine(&[&["models"], arguments].concat());
        // Nobody's servers are looked for.
        Ran::of(command.env("TINE_LOCAL_PORTS", ""))
    };
    check!(home.shown(&models(&[])), @"
    code: 0
    --- stdout
    --- stderr
    No key is set, and no server of models answers on this machine
    hint: `tine login PROVIDER` stores a key; `tine models --all` lists all models that tine knows
    ");
    assert_eq!(piped(&home, &["login", "minimax"], "k").code, 0);
    home.write(
        "models.toml",
        "[[model]]\nname = \"minimax/MiniMax-M3*\"\nread = 0.01\nsource = \"my contract\"\n",
    );
    let listed = models(&[]).stdout;
    let row = listed.lines().find(|line| line.contains("MiniMax-M3")).unwrap();
    check!(row, @"*  minimax/MiniMax-M3               0.30    0.01    1.20    1.0M  5 min  stored by `tine login`");
    let all: serde_json::Value =
        serde_json::from_str(&models(&["--all", "--json"]).stdout).unwrap();
    let all = all["models"].as_array().unwrap();
    assert!(all.len() > 50);
    let row = all.iter().find(|row| row["model"] == "minimax/MiniMax-M3").unwrap();
    check!(row.to_string(), @r#"{"model":"minimax/MiniMax-M3","default":true,"available":"stored by `tine login`","price":{"input":0.3,"read":0.01,"write_short":0.3,"write_long":0.3,"output":1.2},"context_tokens":1000000,"cache_short_seconds":300,"cache_long_seconds":null,"source":"my contract"}"#);
    let none = all.iter().find(|row| row["model"] == "gemini/gemini-3.8-flash").unwrap();
    assert!(none["available"].is_null(), "{none}");
}
