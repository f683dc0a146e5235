//! What the demo says to its agents, and what they may do. What they answer is in the simulator's scenario `demo`.

use std::path::Path;

use tine_guard::{PermissionMode, Rules};
use tine_model::{ModelSettings, Reach};
use tine_runtime::{NewRoot, Permissions, system_prompt};
use tine_sim::Scenario;

use crate::fail::Failure;

/// The simulator's scenario.
pub(super) const SCENARIO: &str = "demo";

/// The model that all agents of the demo have.
pub(super) const MODEL: &str = "sim/demo";

/// What the root agent is told. The scenario knows it by these words.
pub(super) const PROMPT: &str = "Get to know this directory.";

/// Longest reply; those of the scenario are far shorter.
const OUTPUT_TOKENS: u32 = 8_192;

/// A worker's job. The scenario knows each directive by its words.
pub(super) struct Job {
    pub(super) title: &'static str,
    pub(super) directive: &'static str,
}

/// The jobs. The shortest directive leads.
pub(super) const JOBS: [Job; 6] = [
    Job {
        title: "sizes by language",
        directive: "Measure the sizes by language: files, lines and bytes of each kind.",
    },
    Job {
        title: "longest files",
        directive: "Find the longest files, and see how the longest of them begins.",
    },
    Job {
        title: "open ends",
        directive: "List the open ends: the lines that say what is left to do.",
    },
    Job {
        title: "recent history",
        directive: "Tell the recent history: commits and people, or else the newest files.",
    },
    Job { title: "tests", directive: "Count the tests, and see whether any are switched off." },
    Job {
        title: "directories, copies",
        directive: "Find the largest directories, and the files that are copies of others.",
    },
];

/// The root agent.
pub(super) fn root(model: &str, directory: &Path) -> Result<NewRoot, Failure> {
    let model =
        model.parse().map_err(|error| Failure::failed("the demo's model").because(&error))?;
    Ok(NewRoot {
        name: None,
        settings: ModelSettings { model, max_tokens: OUTPUT_TOKENS, thinking: None, effort: None },
        system: system_prompt(None),
        stream: true,
        directory: directory.to_owned(),
        reach: Reach::open(),
    })
}

/// What a demo may do: what the mode says inside the directory, and run the scenario's own commands, each allowed by its exact
/// text. There is nobody to ask for more.
pub(super) fn permissions(name: &str, mode: PermissionMode) -> Result<Permissions, Failure> {
    let failed = |error: &dyn std::error::Error| {
        Failure::failed(format!("the built-in scenario {name} is broken")).because(error)
    };
    let scenario = Scenario::built_in(name).map_err(|error| failed(&error))?;
    let commands = scenario.literal_inputs("Bash", "command");
    let allow: Vec<String> = commands.iter().map(|command| format!("Bash({command})")).collect();
    let rules = Rules::parse(&allow, &[], &[]).map_err(|error| failed(&error))?;
    Ok(Permissions::new(mode, rules))
}

#[cfg(test)]
mod tests {
    use tine_guard::{Call, Width, judge};
    use tine_model::RawJson;

    use super::*;

    #[test]
    fn the_scenarios_commands_run_and_no_others() {
        for (name, mode) in
            [(SCENARIO, PermissionMode::Default), ("worktrees", PermissionMode::AcceptEdits)]
        {
            check(name, mode);
        }
    }

    fn check(name: &str, mode: PermissionMode) {
        let permissions = permissions(name, mode).unwrap();
        let verdict = |command: &str| {
            let input = serde_json::json!({ "command": command }).to_string();
            let input = RawJson::parse(&input).unwrap();
            let call = Call::new("Bash", &input, Path::new("/srv"));
            judge(&call, permissions.mode.get(), Width::Strict, &permissions.rules)
        };
        let scenario = Scenario::built_in(name).unwrap();
        let commands = scenario.literal_inputs("Bash", "command");
        assert!(commands.len() > 5, "{}", commands.len());
        for command in commands {
            assert!(verdict(command).is_free(), "{command}");
            assert!(!verdict(&format!("{command}\ntouch x")).is_free(), "{command}");
        }
        assert!(!verdict("touch x").is_free());
    }
}
