//! What is made from the command line's own types, and the doctor.

use crate::support::{Home, Ran};

/// Words as a shell hands them over when Tab is pressed behind the last one, and what it gets.
fn offered(home: &Home, words: &[&str]) -> Vec<String> {
    let mut tine = home.tine(&[&["--", "tine"], words].concat());
    tine.env("TINE_COMPLETE", "bash").env("_CLAP_IFS", "\n");
    tine.env("_CLAP_COMPLETE_INDEX", words.len().to_string());
    let ran = Ran::of(&mut tine);
    assert_eq!((ran.code, ran.stderr.as_str()), (0, ""), "{words:?}");
    ran.stdout.lines().map(str::to_owned).collect()
}

#[test]
fn a_shell_offers_commands_agents_and_models() {
    let home = Home::new();
    assert_eq!(offered(&home, &["show", ""])[..1], ["--full"]);
    // Nobody's store is made by looking for agents.
    assert!(!home.path().join("tine.db").exists());
    home.done(&["run", "-q", "--model", "sim/echo", "--name", "base", "hello"]);
    assert_eq!(offered(&home, &["fo"]), ["fork"]);
    assert_eq!(offered(&home, &["fork", "ba"]), ["base"]);
    assert_eq!(offered(&home, &["-r", ""])[..1], ["base"]);
    assert_eq!(offered(&home, &["run", "-m", "deepseek/deepseek-c"]).len(), 2);
    assert_eq!(offered(&home, &["--permission-mode", "b"]), ["bypass"]);
    assert_eq!(offered(&home, &["login", "a"]), ["anthropic"]);
    assert!(offered(&home, &["worktree", ""]).contains(&"recover".to_owned()));
}

#[test]
fn completions_of_a_shell_are_a_script_that_asks() {
    let home = Home::new();
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = home.done(&["completions", shell]);
        assert!(script.contains("TINE_COMPLETE"), "{shell}");
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
    check!(headings.join("\n"), @r#"
    .SH NAME
    .SH SYNOPSIS
    .SH DESCRIPTION
    .SH OPTIONS
    .SH COMMANDS
    .SS "tine run"
    .SS "tine fork"
    .SS "tine fan"
    .SS "tine ps"
    .SS "tine tree"
    .SS "tine show"
    .SS "tine logs"
    .SS "tine wait"
    .SS "tine send"
    .SS "tine compact"
    .SS "tine mark"
    .SS "tine rewind"
    .SS "tine clear"
    .SS "tine merge-back"
    .SS "tine task start"
    .SS "tine task resume"
    .SS "tine task list"
    .SS "tine task output"
    .SS "tine task cancel"
    .SS "tine task hide"
    .SS "tine task send"
    .SS "tine stop"
    .SS "tine kill"
    .SS "tine hide"
    .SS "tine rm"
    .SS "tine diff"
    .SS "tine apply"
    .SS "tine merge"
    .SS "tine cherry-pick"
    .SS "tine pick"
    .SS "tine worktree list"
    .SS "tine worktree rm"
    .SS "tine worktree recover"
    .SS "tine worktree gc"
    .SS "tine worktree purge"
    .SS "tine worktree repair"
    .SS "tine worktree path"
    .SS "tine permission list"
    .SS "tine permission allow"
    .SS "tine permission deny"
    .SS "tine permission revoke"
    .SS "tine permission rules"
    .SS "tine permission why"
    .SS "tine trust"
    .SS "tine login"
    .SS "tine logout"
    .SS "tine models"
    .SS "tine rename"
    .SS "tine import"
    .SS "tine export"
    .SS "tine digest"
    .SS "tine mcp"
    .SS "tine mcp install"
    .SS "tine mcp remove"
    .SS "tine with"
    .SS "tine gateway serve"
    .SS "tine gateway hook"
    .SS "tine gateway install"
    .SS "tine gateway remove"
    .SS "tine worker"
    .SS "tine cluster status"
    .SS "tine cluster doctor"
    .SS "tine away"
    .SS "tine dream"
    .SS "tine dream status"
    .SS "tine dream log"
    .SS "tine dream undo"
    .SS "tine tick"
    .SS "tine cost"
    .SS "tine budget"
    .SS "tine cache explain"
    .SS "tine guard shell"
    .SS "tine guard filter"
    .SS "tine sim serve"
    .SS "tine eval"
    .SS "tine demo"
    .SS "tine doctor"
    .SS "tine completions"
    .SS "tine man"
    .SH WORDS
    .SH MODELS
    .SH CACHE
    .SH PERMISSIONS
    .SH TRUST
    .SH QUESTIONS
    .SH BUDGETS
    .SH SECRETS
    .SH "CONVERSATIONS OF OTHER TOOLS"
    .SH CONFINEMENT
    .SH WORKERS
    .SH "DEFINED AGENTS"
    .SH "WHAT A FORK INHERITS"
    .SH WORKTREES
    .SH "CONCLUSIONS OF A FORK"
    .SH STOPS
    .SH EVALUATIONS
    .SH SETTINGS
    .SH ENVIRONMENT
    .SH FILES
    .SH JSON
    .SH "EXIT STATUS"
    .SH VERSION
    "#);
}

#[test]
fn the_help_of_a_command_ends_with_examples() {
    let home = Home::new();
    check!(home.done(&["ps", "--help"]), @r#"
    List agents

    Usage: tine ps [OPTIONS]

    Options:
      -a, --all              Dead and hidden agents too
      -C, --directory <DIR>  Work in this directory instead of the current one
          --json             Print JSON
      -h, --help             Print help

    Examples:
      tine ps
      tine ps --json | jq -r '.[]
          | select([.state, .task.status] | any(. == "interrupted")) | .id'
    "#);
    check!(home.done(&["sim", "serve", "--help"]), @r#"
    Serve a scenario on loopback until interrupted; prints the URLs as JSON

    Usage: tine sim serve [OPTIONS]

    Options:
      -C, --directory <DIR>      Work in this directory instead of the current one
          --scenario <SCENARIO>  A built-in scenario or a TOML file [default: echo]
      -p, --port <PORT>          Port on loopback; 0 takes a free one [default: 0]
          --clock <CLOCK>        The clock that cache lifetimes go by; a manual one stands still until
                                 POST /sim/clock {"advance_ms": N} [default: system] [possible values:
                                 system, manual]
          --log-bodies <DIR>     Write each request's body, verbatim, into this directory
      -h, --help                 Print help

    Examples:
      tine sim serve
      tine sim serve --scenario ./case.toml --port 8080 --log-bodies ./bodies
      export ANTHROPIC_BASE_URL=http://127.0.0.1:[PORT] ANTHROPIC_API_KEY=any
    "#);
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
            !["version", "bash", "git", "confinement", "worktrees: git", "worktrees: directory"]
                .iter()
                .any(|name| line.contains(&format!("  {name}: ")))
        })
        .collect();
    check!(home.masked(&shown.join("\n")), @"
    ok    data directory: [HOME] is writable
    ok    lock directory: [HOME]/run is made when it is first needed
    ok    database: [HOME]/tine.db opens, has this version's schema, and holds 0 agents
    ok    integrity: every page and reference of the database is whole
    ok    leases: no agent is held by a dead process
    ok    worktrees: 0 there, of 0 worktrees that were made
    ok    conversations: [HOME]/tine.db holds all of them as plain text, and only you can read it
    ok    settings: no configuration file
    ok    workers: models fork: when the model asks for `fork`
    ok    workers: workers run: in the background, and report by notification
    ok    workers: depth: workers start no workers
    ok    workers: reports: wake the agent that started the worker
    ok    workers: without a terminal: the same; permissions decide what they may do
    ok    provider anthropic: ANTHROPIC_API_KEY is set; requests go to https://api.anthropic.com
    ok    provider openai: OPENAI_API_KEY is not set; requests go to https://api.openai.com/v1
    ok    provider gemini: GEMINI_API_KEY is not set; requests go to https://generativelanguage.googleapis.com
    ok    provider deepseek: DEEPSEEK_API_KEY is not set; requests go to https://api.deepseek.com
    ok    provider minimax: MINIMAX_API_KEY is not set; requests go to https://api.minimax.io/anthropic
    ok    provider openai-compat: OPENAI_COMPAT_API_KEY is not set; no base URL (OPENAI_COMPAT_BASE_URL is not set)
    ok    default model: anthropic/claude-opus-5-5 (ANTHROPIC_API_KEY is set)
    ok    what leaves this machine: what a model is asked, to https://api.anthropic.com. tine itself sends nothing else and to nobody else; commands that agents run reach what you allow them
    ok    trust: the directory brings no settings or agents along
    ok    agents by name: none is defined
    ok    prices and cache rules: as of 2026-11-21
    ok    terminal: stdout is not a terminal, stderr is not a terminal, TERM=dumb
    ok    simulator: an agent was made, asked sim/echo, and was answered
    ready
    ");
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
    check!(home.masked(&lines.join("\n")), @r#"
    {"name":"settings","status":"ok","detail":"read from [HOME]/config.toml","hint":null}
    {"name":"setting model","status":"ok","detail":"acme/x (from [HOME]/config.toml)","hint":null}
    {"name":"setting permission_mode","status":"ok","detail":"read-only (from TINE_PERMISSION_MODE)","hint":null}
    {"name":"setting max_output_tokens","status":"ok","detail":"100 (from [HOME]/config.toml)","hint":null}
    {"name":"setting permissions.deny","status":"ok","detail":"Bash(rm*)","hint":null}
    {"name":"default model","status":"failure","detail":"unknown model `acme/x`","hint":"models are anthropic/NAME, openai/NAME, openai-chat/NAME, gemini/NAME, deepseek/NAME, minimax/NAME, openai-compat/NAME (any server that speaks OpenAI's format), and sim/SCENARIO"}
    "#);
}

#[test]
fn the_doctor_fails_on_settings_with_which_a_run_fails() {
    let home = Home::new();
    let told = |settings: &str| {
        home.write("config.toml", settings);
        let ran = home.ran(&["doctor"]);
        let is_told = |line: &&str| line.starts_with("fail") || !line.starts_with([' ', 'o', 'w']);
        let lines: Vec<&str> = ran.stdout.lines().filter(is_told).collect();
        format!("{} {}", ran.code, home.masked(&lines.join("\n")))
    };
    let all = [
        "[permissions]\nallow = [\"Bash(*\"]\n",
        "permission_mode = \"yolo\"\n",
        "model = \"gemini/gemini-3.8-flash\"\neffort = \"max\"\n",
        "[providers.openai]\nbase_url = \"notaurl\"\n",
        "[providers.nosuch]\nbase_url = \"http://localhost\"\n",
        "[keys]\nnosuch = \"ctrl+t\"\n",
        "[cache]\nconfirm_above = -1.0\n",
        "model = \"sim/echo\"\n",
        "",
    ];
    check!(all.map(told).join("\n"), @"
    1 fail  setting permissions: a permission rule in [HOME]/config.toml, line 2: `Bash(*` must end with `)` after its pattern
    not ready: 1 check failed (setting permissions)
    1 fail  setting permission_mode: permission_mode from [HOME]/config.toml: unknown permission mode `yolo`, expected default, accept-edits, read-only or bypass
    not ready: 1 check failed (setting permission_mode)
    1 fail  default model: unknown effort `max` from [HOME]/config.toml
    not ready: 1 check failed (default model)
    1 fail  provider openai: the base URL `notaurl` cannot be used: relative URL without a base
    not ready: 1 check failed (provider openai)
    1 fail  settings: there is a table [providers.nosuch]
    not ready: 1 check failed (settings)
    1 fail  setting keys: a key of the settings cannot be used: there is nothing called `nosuch` that a key could do
    not ready: 1 check failed (setting keys)
    1 fail  setting cache: cache.confirm_above is -1
    not ready: 1 check failed (setting cache)
    0 ready
    0 ready, but no model can be asked yet
    ");
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
