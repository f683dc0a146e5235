//! A machine with a host, an agent of tine's, and the simulator as the only provider.
//!
//! Claude Code, facts of version 2.1.330: in a terminal it asks three things before it listens, unless `.claude.json` in its home says
//! `hasCompletedOnboarding` (else it asks for colours), `customApiKeyResponses.approved` with the last 20 characters of
//! `ANTHROPIC_API_KEY` (else it asks if it may use the key), and `projects.DIRECTORY.hasTrustDialogAccepted` (else it asks if the
//! folder is trusted). Servers of `--mcp-config` need no approval, those of a project's `.mcp.json` do. `--allowedTools` takes all words that
//! follow it, so the prompt stands before it. `-p` asks none of these.
//!
//! Codex 0.169.0: `exec` refuses a tool that is not read-only unless the server's `default_tools_approval_mode` is `approve`.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tine_testkit::{until, until_some};

use crate::foreign::{self, KEY, Running};
use crate::pty::Place;
use crate::sim_serve::{Server, bodies};
use crate::support::{Home, Ran};

/// The host's model fans out. One worker reports at once, the other asks for a command first. `FAN` is the host's name of the tool.
const SCENARIO: &str = r#"
name = "hosts"

[[turn]]
when = { user_contains = "Fan out", tool_results = 0 }
tool_calls = [{ name = "FAN", input = { agent = "base", directives = ["look", "change"] } }]

[[turn]]
when = { last_tool = "FAN" }
text = "Both have reported."

[[turn]]
when = { user_contains = "Task: change", tool_results = 0 }
tool_calls = [{ name = "Bash", input = { command = "touch changed" } }]

[[turn]]
when = { user_contains = "Task: change" }
text = "Scope: a change\nResult: it was changed\nKey files: none\nFiles changed: changed\nIssues: none"

[[turn]]
when = { user_contains = "Task:" }
text = "Scope: a look\nResult: it was seen\nKey files: none\nFiles changed: none\nIssues: none"

[[turn]]
text = "ok"
"#;

pub(super) struct Machine {
    pub(super) home: Home,
    provider: Server,
}

impl Machine {
    /// With an agent `base`, and a model that calls tine's `fan` by this name.
    pub(super) fn new(fan: &str) -> Self {
        let home = Home::new().without_nudges();
        let scenario = home.write("case.toml", &SCENARIO.replace("FAN", fan));
        let bodies = home.path().join("bodies");
        let (scenario, bodies) = (scenario.to_str().unwrap(), bodies.to_str().unwrap());
        let provider = Server::start(&home, &["--scenario", scenario, "--log-bodies", bodies]);
        home.import("anthropic/claude-test", "base", 2);
        let machine = Self { home, provider };
        machine.write_settings();
        machine
    }

    /// Settings of each host: the provider, and tine as an MCP server.
    fn write_settings(&self) {
        let (tine, environment) = (env!("CARGO_BIN_EXE_tine"), self.environment());
        let address = self.provider.field("anthropic");
        let server = json!({"command": tine, "args": ["mcp"], "env": environment});
        self.write("mcp.json", &json!({"mcpServers": {"tine": server}}));
        let trusted = json!({"hasTrustDialogAccepted": true});
        let approved = &KEY[KEY.len() - 20..];
        let seed = json!({
            "hasCompletedOnboarding": true,
            "customApiKeyResponses": {"approved": [approved]},
            "projects": {self.home.work().to_str().unwrap(): trusted},
        });
        self.write(".claude.json", &seed);
        let options = json!({"baseURL": format!("{address}/v1"), "apiKey": KEY});
        let models = json!({"claude-test": {"limit": {"context": 200_000, "output": 8_000}}});
        let provider = json!({"npm": "@ai-sdk/anthropic", "options": options, "models": models});
        let server = json!({"type": "local", "command": [tine, "mcp"], "environment": environment});
        let opencode = json!({
            "autoupdate": false, "share": "disabled", "snapshot": false,
            "model": "sim/claude-test", "small_model": "sim/claude-test",
            "provider": {"sim": provider}, "mcp": {"tine": server},
        });
        self.write(".config/opencode/opencode.json", &opencode);
        // A JSON text is a TOML text, too.
        let variables = environment.as_object().unwrap().iter();
        let variables: Vec<String> =
            variables.map(|(name, value)| format!("{name} = {value}")).collect();
        let codex = format!(
            "model = \"gpt-test\"\nmodel_provider = \"sim\"\ncheck_for_update_on_startup = false\n\
             [analytics]\nenabled = false\n\
             [model_providers.sim]\nname = \"sim\"\nbase_url = \"{}\"\nwire_api = \"responses\"\nenv_key = \"ANTHROPIC_API_KEY\"\n\
             [mcp_servers.tine]\ndefault_tools_approval_mode = \"approve\"\ncommand = {}\nargs = [\"mcp\"]\nenv = {{ {} }}\n",
            self.provider.field("openai"),
            json!(tine),
            variables.join(", "),
        );
        self.home.write("user/.codex/config.toml", &codex);
    }

    fn write(&self, name: &str, settings: &Value) {
        self.home.write(&format!("user/{name}"), &settings.to_string());
    }

    /// Variables that the host gives to tine.
    fn environment(&self) -> Value {
        json!({
            "TINE_HOME": self.home.path(),
            "ANTHROPIC_BASE_URL": self.provider.field("anthropic"),
            "ANTHROPIC_API_KEY": KEY,
        })
    }

    /// Variables of a host.
    pub(super) fn variables(&self) -> Vec<(&'static str, String)> {
        foreign::variables(&self.provider.field("anthropic"))
    }

    /// Starts a host.
    pub(super) fn start(&self, program: &Path, arguments: &[&str]) -> Running {
        foreign::start(&self.home, &self.variables(), program, arguments)
    }

    /// All blocks that models were given, in requests of Anthropic's and OpenAI's formats.
    fn blocks(&self) -> Vec<Value> {
        let blocks = |body: Vec<u8>| -> Vec<Value> {
            let body: Value = serde_json::from_slice(&body).unwrap();
            let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
            let messages = list(&body["messages"]).into_iter();
            messages.flat_map(|one| list(&one["content"])).chain(list(&body["input"])).collect()
        };
        bodies(&self.home.path().join("bodies")).into_iter().flat_map(blocks).collect()
    }

    /// The results with reports that the host's model was given.
    pub(super) fn results(&self) -> Vec<String> {
        let is_result = |block: &Value| {
            ["tool_result", "function_call_output"].iter().any(|kind| block["type"] == *kind)
        };
        let results = self.blocks().into_iter().filter(is_result).map(|block| block.to_string());
        results.filter(|text| text.contains("it was seen")).collect()
    }

    /// The first text with these words that a model was given.
    pub(super) fn told(&self, words: &str) -> Option<String> {
        let blocks = self.blocks();
        let mut texts = blocks.iter().filter_map(|block| block["text"].as_str());
        texts.find(|text| text.contains(words)).map(str::to_owned)
    }

    /// Waits until a worker asks and the other has reported, allows what is asked, and waits for the end of the host.
    pub(super) fn allow(&self, mut host: Running) -> Ran {
        let question = until_some("a question, or the end of the host", || {
            let questions = self.home.json(&["permission", "list", "--json"]);
            let question = questions.as_array()?.first().cloned();
            question.map(Some).or_else(|| host.code().map(|_| None))
        });
        let Some(question) = question else { panic!("no question: {:?}", host.end()) };
        let (tool, state) = (&question["tool"], &question["state"]);
        assert_eq!((tool, state), (&json!("Bash"), &json!("pending")));
        until("a report", || self.statuses().contains(&json!("completed")));
        assert_eq!(self.statuses().len(), 2);
        assert!(!self.home.work().join("changed").exists() && self.results().is_empty());
        self.home.done(&["permission", "allow", question["id"].as_str().unwrap()]);
        host.end()
    }

    /// The statuses of all tasks.
    pub(super) fn statuses(&self) -> Vec<Value> {
        let tasks = self.home.json(&["task", "list", "--json"]);
        tasks["tasks"].as_array().unwrap().iter().map(|task| task["status"].clone()).collect()
    }
}

impl Drop for Machine {
    /// Workers outlive the host that started them, and one that asks would wait for an answer.
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.home.ran(&["stop", "base"]);
        }
    }
}

/// Claude Code in a terminal.
impl Place for Machine {
    fn program(&self) -> PathBuf {
        foreign::program("TINE_TEST_CLAUDE_CODE")
    }

    fn home(&self) -> PathBuf {
        foreign::user(&self.home)
    }

    fn work(&self) -> PathBuf {
        self.home.work()
    }
}
