//! Everything that users get wrong, and everything that goes wrong around them: an error, a cause, a hint, a code.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpListener};

use tine_model::AgentId;
use tine_store::{AgentFilter, AgentStore, CreateAgent, Head, NewAgent, OpenOptions, SqliteStore};

use crate::sim_serve::Server;
use crate::support::{Home, Ran};

/// A provider that answers every request with a fault.
fn with_fault(fault: &str) -> String {
    format!(
        "name = \"faulty\"\n[[turn]]\ntext = \"a longer answer, in several pieces\"\nfault = {fault}\n"
    )
}

/// What a run says when its provider is a simulator with a scenario.
fn run_against(scenario: &str, model: &str) -> String {
    let home = Home::new();
    let path = home.write("case.toml", scenario);
    let server = Server::start(&home, &["--scenario", path.to_str().unwrap()]);
    run_at(&home, &server.field("anthropic"), model)
}

/// What a run says when its provider is at an address.
fn run_at(home: &Home, url: &str, model: &str) -> String {
    home.write("config.toml", "[requests]\npatience = \"1s\"\n");
    let mut command = home.tine(&["run", "hello", "--model", model]);
    command.env("ANTHROPIC_BASE_URL", url).env("ANTHROPIC_API_KEY", "wrong-secret");
    let ran = Ran::of(&mut command);
    let text = home.shown(&ran);
    assert!(!text.contains("wrong-secret"), "{text}");
    text
}

#[test]
fn without_a_key_or_a_model() {
    let home = Home::new();
    check!(home.shown(&home.ran(&["run", "hello"])), @"
    code: 42
    --- stdout
    --- stderr
    error: no model is configured and no API key is set
    hint: store a key with `tine login`, or set ANTHROPIC_API_KEY or OPENAI_API_KEY; --model provider/name names a model
    hint: `tine` alone, in a terminal, finds the models of Ollama, llama-server, vLLM and LM Studio
    hint: `--model sim/echo` and `tine demo` need no key
    ");
    check!(home.shown(&home.ran(&["run", "hello", "--model", "anthropic/x"])), @"
    code: 42
    --- stdout
    --- stderr
    error: no API key: ANTHROPIC_API_KEY is not set
    hint: store the key with `tine login`, or set ANTHROPIC_API_KEY; `--model sim/echo` needs none
    ");
    check!(home.shown(&home.ran(&["run", "hello", "--model", "openai-compat/x"])), @r"
    code: 42
    --- stdout
    --- stderr
    error: no base URL for provider `openai-compat`: OPENAI_COMPAT_BASE_URL is not set
    hint: set OPENAI_COMPAT_BASE_URL, or base_url in config.toml, to the server's address (for Ollama http://localhost:11434/v1)
    ");
}

/// A budget for thinking that Anthropic refuses costs no round trip.
#[test]
fn budgets_for_thinking_that_are_refused() {
    let home = Home::new();
    let with = |model: &str, more: &[&str]| {
        let all = [&["run", "hello", "--model", model, "--thinking"], more].concat();
        let mut command = home.tine(&all);
        // Nobody listens there: what is sent ends with another error.
        command.env("ANTHROPIC_API_KEY", "k").env("ANTHROPIC_BASE_URL", "http://127.0.0.1:9");
        home.shown(&Ran::of(&mut command))
    };
    check!(with("anthropic/claude-sonnet-4-5", &["1023"]), @"
    code: 42
    --- stdout
    --- stderr
    error: a thinking budget of 1023 tokens is too small
    hint: the least is 1024
    ");
    check!(with("anthropic/claude-sonnet-4-5", &["2048", "--max-output-tokens", "2048"]), @"
    code: 42
    --- stdout
    --- stderr
    error: a thinking budget of 2048 tokens leaves none of 2048 for the reply
    hint: a longer reply is allowed by --max-output-tokens or the setting max_output_tokens
    ");
    check!(with("anthropic/claude-opus-5-5", &["2048"]), @"
    code: 42
    --- stdout
    --- stderr
    error: anthropic/claude-opus-5-5 takes no thinking budget
    hint: it decides itself how much it thinks: --thinking adaptive
    hint: --effort low|medium|high|xhigh|max says how much work it puts in
    ");
    check!(with("anthropic/claude-opus-5-5", &["much"]), @"
    code: 2
    --- stdout
    --- stderr
    error: invalid value 'much' for '--thinking <THINKING>': it is `adaptive` or a number of tokens

    For more information, try '--help'.
    ");
    home.write("config.toml", "thinking = \"512\"\n");
    let ran = home.ran(&["run", "hello", "--model", "anthropic/claude-sonnet-4-5"]);
    assert!(ran.code == 42 && ran.stderr.contains("budget of 512 tokens is too small"), "{ran:?}");
}

#[test]
fn models_that_are_none() {
    let home = Home::new();
    for model in ["gpt", "acme/x", "anthropic/", "sim/none"] {
        let ran = home.ran(&["run", "hello", "--model", model]);
        assert_eq!(ran.code, 42, "{model}: {}", ran.stderr);
    }
    check!(home.shown(&home.ran(&["run", "hello", "--model", "gpt"])), @"
    code: 42
    --- stdout
    --- stderr
    error: unknown model `gpt`
    hint: did you mean openai/gpt-rosalind, openai/gpt-daybreak-red-latest, openai/gpt-daybreak-blue-latest, openai/gpt-audio-mini, openai/gpt-audio, openai/gpt-6.2-sol?
    ");
    check!(home.shown(&home.ran(&["run", "hello", "--model", "acme/x"])), @"
    code: 42
    --- stdout
    --- stderr
    error: unknown model `acme/x`
    hint: models are anthropic/NAME, openai/NAME, openai-chat/NAME, gemini/NAME, deepseek/NAME, minimax/NAME, openai-compat/NAME (any server that speaks OpenAI's format), and sim/SCENARIO
    ");
    check!(home.shown(&home.ran(&["run", "hello", "--model", "sim/none"])), @"
    code: 42
    --- stdout
    --- stderr
    error: cannot use the scenario `none`: no scenario `none`: it is neither a file nor one of the built-in scenarios (echo, demo, tour, worktrees)
    hint: a simulator model is sim/NAME of a built-in scenario, or sim/PATH of a TOML file
    ");
}

#[test]
fn a_key_that_is_refused() {
    let scenario = with_fault("{ status = 401, message = \"invalid x-api-key\" }");
    check!(run_against(&scenario, "anthropic/x"), @r"
    code: 1
    --- stdout
    --- stderr
    agent [AGENT8] · anthropic/x
    failed · 0 turns
    go on: tine run --resume [AGENT8]
    error: not authenticated (status 401, authentication_error): invalid x-api-key
    hint: the key is not accepted; check it, and that it belongs to this provider
    ");
}

#[test]
fn a_model_that_the_provider_does_not_know() {
    let scenario = "name = \"case\"\nmodels = [\"known\"]\n[[turn]]\ntext = \"hi\"\n";
    check!(run_against(scenario, "anthropic/unknown"), @r"
    code: 1
    --- stdout
    --- stderr
    agent [AGENT8] · anthropic/unknown
    failed · 0 turns
    go on: tine run --resume [AGENT8]
    error: not found (status 404, not_found_error): model: unknown
    hint: the model or the address is unknown to the provider; check the model's name
    ");
}

#[test]
fn a_host_that_nobody_listens_on() {
    let home = Home::new();
    // Bound and dropped: for the length of a test nobody else gets this port.
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap().local_addr().unwrap().port();
    check!(run_at(&home, &format!("http://127.0.0.1:{port}"), "anthropic/x"), @r"
    code: 1
    --- stdout
    --- stderr
    agent [AGENT8] · anthropic/x
    retrying in 0.5 s: cannot reach http://127.0.0.1:[PORT]/v1/messages: Connection refused (os error 111)
    failed · 0 turns
    go on: tine run --resume [AGENT8]
    error: cannot reach http://127.0.0.1:[PORT]/v1/messages (tried 2 times): Connection refused (os error 111)
    hint: check the network, the proxy settings and the base URL; nothing is lost, `tine run --continue` goes on
    ");
    // The prompt is kept, and the run can go on.
    assert_eq!(home.json(&["ps", "--json"])[0]["state"], "interrupted");
    check!(run_at(&home, "ftp://example.com", "anthropic/x"), @r"
    code: 42
    --- stdout
    --- stderr
    error: the base URL `ftp://example.com` cannot be used: it does not begin with http:// or https://
    hint: a base URL looks like https://host or http://localhost:11434/v1
    ");
}

#[test]
fn a_proxys_page_instead_of_an_answer() {
    check!(run_against(&with_fault("{ status = 403, html = true }"), "anthropic/x"), @r"
    code: 1
    --- stdout
    --- stderr
    agent [AGENT8] · anthropic/x
    failed · 0 turns
    go on: tine run --resume [AGENT8]
    error: not the API's answer (status 403): a web page answered instead of the Messages API: “Bad gateway (simulated)”
    hint: something else answers at this address: a proxy, a login page, or a wrong base URL
    ");
}

#[test]
fn a_page_with_a_good_status_instead_of_an_answer() {
    let home = Home::new();
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let login = std::thread::spawn(move || {
        let page = "<html><body>Please log in</body></html>";
        let (mut stream, _) = listener.accept().unwrap();
        let mut seen = Vec::new();
        // The request ends with its body's closing brace; its length does not matter here.
        while !seen.ends_with(b"}") {
            let mut buffer = [0; 65536];
            let count = stream.read(&mut buffer).unwrap();
            seen.extend_from_slice(&buffer[..count]);
        }
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close";
        write!(stream, "{head}\r\ncontent-length: {}\r\n\r\n{page}", page.len()).unwrap();
    });
    check!(run_at(&home, &url, "anthropic/x"), @r"
    code: 1
    --- stdout
    --- stderr
    agent [AGENT8] · anthropic/x
    failed · 0 turns
    go on: tine run --resume [AGENT8]
    error: not the API's answer (status 200): a web page answered instead of the Messages API: “Please log in”
    hint: something else answers at this address: a proxy, a login page, or a wrong base URL
    ");
    login.join().unwrap();
}

#[test]
fn a_stream_that_breaks_off() {
    shape!(run_against(&with_fault("{ cut_after_events = 5 }"), "anthropic/x"), @r"
    code: 1
    --- stdout
    --- stderr
    agent [AGENT8] · anthropic/x
    retrying in 0 s: the reply broke off: the connection was lost: unexpected EOF during chunk size line
    failed · 0 turns
    0 read, 0 written, 0 uncached, 0 output · go on: tine run --resume [AGENT8]
    error: the reply broke off: the connection was lost: unexpected EOF during chunk size line
    hint: what arrived is kept; `tine run --continue` asks again
    ");
}

#[test]
fn a_tool_call_whose_arguments_are_no_json_does_not_end_the_run() {
    let home = Home::new();
    let model = home.model(
        r#"
name = "case"
[[turn]]
when = { tool_results = 0 }
tool_calls = [{ name = "Glob", input_raw = "{\"pattern\": \"*.t" }]
[[turn]]
text = "The tool said: {{tool_result.last}}"
"#,
    );
    let ran = home.ran(&["run", "hello", "--model", &model, "--name", "a"]);
    shape!(home.shown(&ran), @r#"
    code: 0
    --- stdout
    The tool said: The arguments of this call are not a JSON object, so it was not run. They begin: {"pattern": "*.t
    --- stderr
    agent [AGENT8] a · sim/[HOME]/case.toml
      ⎿ The arguments of this call are not a JSON object, so it was not run. They begin: {"pattern": "…
    completed · 2 turns · 1 tool call · $0 at anthropic/claude-opus-5-5 prices
    0 read, 0 written, 0 uncached, 0 output · go on: tine run --resume [AGENT8]
    "#);
    assert!(home.done(&["show", "a"]).contains("not a JSON object"));
}

#[test]
fn agents_that_are_not_found() {
    let home = Home::new();
    home.import("sim/echo", "base", 2);
    check!(home.shown(&home.ran(&["show", "00000000"])), @r"
    code: 42
    --- stdout
    --- stderr
    error: no agent `[AGENT8]`
    hint: `tine ps --all` lists all agents
    ");
    check!(home.shown(&home.ran(&["show", "abc"])), @r"
    code: 42
    --- stdout
    --- stderr
    error: `abc` is too short: an agent is named by at least 4 characters of its id
    hint: an agent is named by its name or by the first characters of its id
    ");
    check!(home.shown(&home.ran(&["show", "nobody"])), @r"
    code: 42
    --- stdout
    --- stderr
    error: no agent `nobody`
    hint: `tine ps --all` lists all agents
    ");
    check!(home.shown(&home.ran(&["fork", "base", "--at", "77"])), @r"
    code: 42
    --- stdout
    --- stderr
    error: agent [AGENT-ID] has no entry 77
    hint: `tine show AGENT` lists its entries
    ");
}

/// Makes two agents whose ids begin with these two bytes, as those of random ids do sooner or later; the second has a name.
fn alike(home: &Home, beginning: [u8; 2], name: Option<&str>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let path = home.path().join("tine.db");
        let store = SqliteStore::open(path, OpenOptions::default()).await.unwrap();
        let base = store.agents(AgentFilter::All).await.unwrap().remove(0);
        for (last, name) in [(1, None), (2, name)] {
            let mut random = [last; 16];
            random[..2].copy_from_slice(&beginning);
            let agent = NewAgent {
                id: AgentId::from_random(random),
                name: name.map(str::to_owned),
                standing: base.standing,
                context: base.context,
                settings: base.settings.clone(),
                head: Head { hash: base.head, body: None },
                directory: base.directory.clone(),
                reach: base.reach.clone(),
                depth: base.depth,
            };
            let create = CreateAgent { agent, entries: vec![], now_ms: base.created_ms };
            store.create_agent(create).await.unwrap();
        }
    });
}

#[test]
fn a_prefix_of_two_agents() {
    let home = Home::new();
    home.import("sim/echo", "base", 1);
    alike(&home, [0xab, 0xcd], None);
    let ran = home.ran(&["show", "abcd"]);
    assert!(ran.stderr.matches(" abcd").count() >= 2, "{}", ran.stderr);
    let (error, _) = ran.stderr.split_once('\n').unwrap();
    check!(error, @"error: `abcd` names more than one agent");
}

/// Every command that takes an agent, with a word of four hexadecimal digits in its place.
const OF_AN_AGENT: &[&[&str]] = &[
    &["show", "WORD"],
    &["logs", "WORD"],
    &["tree", "WORD"],
    &["cost", "WORD"],
    &["budget", "WORD"],
    &["cache", "explain", "WORD"],
    &["export", "WORD"],
    &["run", "--resume", "WORD", "hi"],
    &["fork", "WORD"],
    &["fan", "WORD", "-d", "look"],
    &["pick", "WORD", "-d", "look"],
    &["merge-back", "WORD", "--no-edit"],
    &["compact", "WORD"],
    &["send", "WORD", "hi"],
    &["wait", "WORD"],
    &["rename", "WORD", "other"],
    &["task", "start", "WORD", "look"],
    &["task", "list", "WORD"],
    &["task", "output", "WORD"],
    &["task", "cancel", "WORD"],
    &["task", "clear", "WORD"],
    &["stop", "WORD"],
    &["kill", "WORD"],
    &["reap", "WORD"],
    &["rm", "WORD", "--dry-run"],
    &["diff", "WORD"],
    &["apply", "WORD"],
    &["merge", "WORD"],
    &["cherry-pick", "WORD"],
    &["drop", "WORD"],
    &["recover", "WORD"],
    &["worktree", "path", "WORD"],
];

#[test]
fn a_word_that_is_a_name_and_the_beginning_of_an_id_never_acts() {
    let home = Home::new();
    home.import("sim/echo", "base", 1);
    // An earlier version took such a name.
    alike(&home, [0xab, 0xcd], Some("abcd"));
    alike(&home, [0xef, 0xef], Some("f00d"));
    let before = home.json(&["ps", "--all", "--json"]);
    for line in OF_AN_AGENT {
        let line: Vec<&str> =
            line.iter().map(|word| if *word == "WORD" { "abcd" } else { word }).collect();
        let ran = home.ran(&line);
        assert_eq!(ran.code, 42, "{line:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("`abcd` names more than one agent"), "{}", ran.stderr);
    }
    assert_eq!(home.json(&["ps", "--all", "--json"]), before);
    check!(home.ran(&["kill", "abcd"]).stderr, @"
    error: `abcd` names more than one agent
    hint: give more characters of an id; it may be [AGENT-ID], [AGENT-ID] (abcd)
    ");
    // Alone, the name is as good as any.
    assert!(home.done(&["show", "f00d"]).contains("f00d"));
}

#[test]
fn settings_that_are_wrong() {
    let home = Home::new();
    let wrong = |text: &str| {
        home.write("config.toml", text);
        home.shown(&home.ran(&["ps"]))
    };
    check!(wrong("model = "), @r"
    code: 42
    --- stdout
    --- stderr
    error: [HOME]/config.toml is not a configuration file: TOML parse error at line 1, column 9
      |
    1 | model = 
      |         ^
    string values must be quoted, expected literal string
    hint: the manual, `tine man`, lists the settings
    ");
    check!(wrong("modle = \"x/y\""), @r#"
    code: 42
    --- stdout
    --- stderr
    error: [HOME]/config.toml is not a configuration file: TOML parse error at line 1, column 1
      |
    1 | modle = "x/y"
      | ^^^^^
    unknown field `modle`, expected one of `model`, `permission_mode`, `max_output_tokens`, `effort`, `thinking`, `stream`, `repl`, `compact`, `permissions`, `providers`, `cache`, `requests`, `confine`, `budget`, `fork`, `workers`, `worktree`, `dream`, `away`, `gateway`, `cluster`, `keys`, `terminal`, `trust`
    hint: the manual, `tine man`, lists the settings
    "#);
    home.write("config.toml", "");
    home.write("work/.tine/config.toml", "permission_mode = \"bypass\"");
    check!(home.shown(&home.ran(&["ps", "--trust"])), @r"
    code: 42
    --- stdout
    --- stderr
    error: [HOME]/work/.tine/config.toml may not set permission_mode
    hint: a project's file can only narrow permissions; put this into your own config.toml
    ");
    // The doctor says the same, and goes on with its other checks.
    let doctor = home.ran(&["doctor", "--trust"]);
    assert_eq!(doctor.code, 1);
    assert!(doctor.stdout.contains("fail  settings: "), "{}", doctor.stdout);
    assert!(doctor.stdout.contains("ok    simulator: "), "{}", doctor.stdout);
}

#[test]
fn files_that_are_no_conversations() {
    let home = Home::new();
    let import = |text: &[u8]| {
        std::fs::write(home.path().join("file"), text).unwrap();
        let arguments = ["import", "../file", "--model", "sim/echo"];
        home.shown(&home.ran(&arguments))
    };
    check!(import(b""), @"
    code: 42
    --- stdout
    --- stderr
    error: there are no messages
    hint: the file is a JSON array, or one JSON object a line, of messages with `role` and `content`, or a session of Claude Code, Codex or OpenCode
    ");
    check!(import(b"hello"), @"
    code: 42
    --- stdout
    --- stderr
    error: line 1 is not valid JSON: expected value at line 1 column 1
    hint: the file is a JSON array, or one JSON object a line, of messages with `role` and `content`, or a session of Claude Code, Codex or OpenCode
    ");
    check!(import(b"[\n{\"role\":\"user\",\"content\":\"hi\"},\n{\"role\":\"uncle\",\"content\":\"hi\"}\n]"), @"
    code: 42
    --- stdout
    --- stderr
    error: message 2 (line 3) cannot be read: the role `uncle` is not known
    hint: the file is a JSON array, or one JSON object a line, of messages with `role` and `content`, or a session of Claude Code, Codex or OpenCode
    ");
    check!(import(b"{\"role\":\"user\",\"content\":\"hi\"}\n{\"role\":\"assistant\"}\n"), @r#"
    code: 0
    --- stdout
    [AGENT8] has 2 messages
    --- stderr
    hint: `tine run --resume [AGENT8] "…"` goes on with it, `tine fork [AGENT8]` forks it
    "#);
    check!(import(b"{\"role\":\"system\",\"content\":\"alone\"}"), @"
    code: 42
    --- stdout
    --- stderr
    error: there are no messages
    hint: the file is a JSON array, or one JSON object a line, of messages with `role` and `content`, or a session of Claude Code, Codex or OpenCode
    ");
    check!(import(b"\"\xff\""), @r"
    code: 42
    --- stdout
    --- stderr
    error: ../file is not UTF-8 text (byte 1)
    hint: convert it first, for instance with `iconv -t UTF-8`
    ");
    check!(home.shown(&home.ran(&["import", "none.json", "--model", "sim/echo"])), @r"
    code: 42
    --- stdout
    --- stderr
    error: cannot read none.json: No such file or directory (os error 2)
    hint: give a file of messages, or `-` for standard input
    ");
    // What it is comes first: whether a model is needed, the file says.
    check!(home.shown(&home.ran(&["import", "../file"])), @r"
    code: 42
    --- stdout
    --- stderr
    error: ../file is not UTF-8 text (byte 1)
    hint: convert it first, for instance with `iconv -t UTF-8`
    ");
    check!(home.shown(&home.ran(&["ps"])), @"
    code: 0
    --- stdout
    ID        KIND  STATE  MODEL     AGE  USED  DIRECTORY  TITLE
    [AGENT8]  talk  idle   sim/echo   0s    0s  .          hi
    --- stderr
    ");
}

#[test]
fn a_wrong_command_line() {
    let home = Home::new();
    check!(home.shown(&home.ran(&["sho"])), @"
    code: 2
    --- stdout
    --- stderr
    error: there is no command `sho`
    hint: did you mean `tine show`?
    hint: `tine run sho` says this word to an agent
    ");
    assert_eq!(home.ran(&["fan", "base"]).code, 2);
    assert_eq!(home.ran(&["wait"]).code, 2);
}

#[test]
fn a_wait_that_takes_too_long() {
    let home = Home::new();
    let scenario = "name = \"slow\"\n[[turn]]\ntext = \"x\"\nfault = { stall_after_events = 1 }\n";
    let path = home.write("slow.toml", scenario);
    let base = home.import(&format!("sim/{}", path.display()), "base", 1);
    let run = home.tine(&["run", "--resume", "base", "hello", "--timeout", "300"]);
    #[expect(clippy::disallowed_methods, reason = "the run goes on beside the test")]
    let mut child = std::process::Command::new(run.get_program())
        .args(run.get_args())
        .env("TINE_HOME", home.path())
        .current_dir(home.work())
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .spawn()
        .unwrap();
    tine_testkit::until("a run", || home.json(&["ps", "--json"])[0]["state"] == "running");
    check!(home.shown(&home.ran(&["wait", "base", "--timeout", "0"])), @r"
    code: 124
    --- stdout
    [AGENT8]  base  running
    --- stderr
    time is up; 1 of 1 not finished
    ");
    let late = home.ran(&["wait", "base", "--timeout", "0", "--json"]);
    check!(home.shown(&late), @r#"
    code: 124
    --- stdout
    {"timed_out":true,"agents":[{"agent":"[AGENT-ID]","id":"[AGENT-ID]","name":"base","state":"running","finished":false,"status":"running","task":null}]}
    --- stderr
    "#);
    // Its process is killed: the wait notices, although nobody writes to the store.
    child.kill().unwrap();
    child.wait().unwrap();
    check!(home.shown(&home.ran(&["wait", "base", "--timeout", "100"])), @r"
    code: 0
    --- stdout
    [AGENT8]  base  interrupted
    --- stderr
    ");
    assert_eq!(home.json(&["ps", "--json"])[0]["id"], base.as_str());
}

#[test]
fn a_model_without_its_provider_is_offered_at_a_terminal_too() {
    let home = Home::new();
    let ran = Ran::of(home.tine(&["--plain", "-m", "opus"]).write_stdin(""));
    assert_eq!(ran.code, 42);
    assert!(ran.stderr.contains("hint: did you mean anthropic/claude-opus-5-5"), "{}", ran.stderr);
}
