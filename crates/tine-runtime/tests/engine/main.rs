//! The cache engine against the simulator, over real sockets: what a fork costs, what was expected of the cache, and what is
//! said when it served less. `deterministic` lists the twelve tests that every cache engine should pass.

#![expect(clippy::unwrap_used, reason = "a step that fails is a failed test")]

mod beside;
mod breaks;
mod brought_back;
mod deterministic;
mod estimates;
mod explicit;
mod fans;
mod forms;
mod house;
mod keep_warm;
mod lab;
mod lifetimes;
mod mixed_faults;
mod mutation;
mod providers;
mod shorter;
mod slots;
mod stages;
mod strict_hosts;
mod verdicts;
mod weather;
mod windows;
mod workers;

/// A small world: it thinks, looks once and answers; workers report at once.
const SCENARIO: &str = r#"
name = "harbour"

[[turn]]
when = { user_contains = "Task number" }
text = "Scope: my task\nResult: done\nKey files: none\nFiles changed: none\nIssues: none"

[[turn]]
when = { user_contains = "look", tool_results = 0 }
thinking = "I should look first."
text = "I look."
tool_calls = [{ name = "Glob", input = { pattern = "*.ledger" } }]

[[turn]]
when = { user_contains = "wait", tool_results = 0 }
thinking = "This takes two."
tool_calls = [
    { name = "Bash", input = { command = "while [ ! -e go ]; do sleep 0.01; done; echo gone" } },
    { name = "Glob", input = { pattern = "*.rope" } },
]

[[turn]]
thinking = "It is simple."
text = "All is well."
"#;

/// One model of each wire format and each set of rules.
const MODELS: [&str; 6] = [
    "anthropic/claude-opus-5-5",
    "openai/gpt-6.1-sol",
    "openai-chat/gpt-6.1-sol",
    "gemini/gemini-3.8-flash",
    "deepseek/deepseek-v4-flash",
    "minimax/MiniMax-M3",
];

/// Long enough for every entry to be gone.
const LONG_AGO_MS: i64 = 13 * 60 * 60 * 1000;
