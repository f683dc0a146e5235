//! From a call of a tool to the command of tine that does it.

use rmcp::model::JsonObject;
use serde_json::Value;

use super::PATIENCE;

/// Longest word of a command line, in bytes, below what Linux takes (128 KiB), with room for an option's name.
const WORD_BYTES_MAX: usize = 127 * 1024;

/// A tool and its command.
pub(super) struct Tool {
    pub(super) name: &'static str,
    /// The subcommand, and what is always said with it.
    command: &'static [&'static str],
    parameters: &'static [Parameter],
    pub(super) pace: Pace,
}

/// The time that a command may take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Pace {
    /// It is waited for.
    Short,
    /// It waits for a worker, and says itself how long.
    Waits,
    /// It goes on when nobody waits any more, also after the end of the connection. This command, followed by the agent, shows what
    /// became of it.
    Long(&'static [&'static str]),
}

impl Pace {
    /// The command that shows what became of work, of the agent that was named.
    pub(super) fn follow_up(self, agent: Option<String>) -> Option<Vec<String>> {
        let Self::Long(command) = self else { return None };
        let words = command.iter().map(|word| (*word).to_owned());
        Some(words.chain(["--".to_owned()]).chain(agent).collect())
    }
}

/// A parameter and its place on the command line.
struct Parameter {
    name: &'static str,
    place: Place,
}

enum Place {
    /// Behind the options.
    Operand,
    /// Behind the options, one for each item.
    Operands,
    /// `--name=VALUE`.
    Option(&'static str),
    /// `--name=ITEM`, one for each item.
    Options(&'static str),
    /// These words, where it is true.
    Flag(&'static [&'static str]),
}

const fn at(name: &'static str, place: Place) -> Parameter {
    Parameter { name, place }
}

const AGENT: Parameter = at("agent", Place::Operand);
const TASK: Parameter = at("task", Place::Operand);
const NAME: Parameter = at("name", Place::Option("--name"));
const CONTEXT: Parameter = at("context", Place::Option("--context"));
const WORKTREE: Parameter = at("worktree", Place::Flag(&["--worktree"]));
const MODE: Parameter = at("permission_mode", Place::Option("--permission-mode"));
const ESTIMATE: Parameter = at("estimate", Place::Flag(&["--estimate"]));

const TASKS: Pace = Pace::Long(&["task", "list", "--json"]);
const TREE: Pace = Pace::Long(&["tree", "--json"]);

/// All tools. Their declarations, in the same order, are in `tools.json`.
pub(super) const TOOLS: &[Tool] = &[
    Tool {
        name: "fork",
        command: &["fork", "--json", "--wait-for-permission"],
        parameters: &[AGENT, at("prompt", Place::Operand), NAME, CONTEXT, WORKTREE, MODE, ESTIMATE],
        pace: TREE,
    },
    Tool {
        name: "fan",
        command: &["fan", "--json", "--wait-for-permission"],
        parameters: &[
            AGENT,
            at("directives", Place::Options("--directive")),
            CONTEXT,
            WORKTREE,
            MODE,
            ESTIMATE,
        ],
        pace: TASKS,
    },
    Tool {
        name: "task_start",
        command: &["task", "start", "--json", "--wait-for-permission"],
        parameters: &[
            AGENT,
            at("prompt", Place::Operand),
            at("description", Place::Option("--description")),
            NAME,
            CONTEXT,
            WORKTREE,
            MODE,
        ],
        pace: Pace::Short,
    },
    Tool {
        name: "task_output",
        command: &["task", "output", "--json"],
        parameters: &[
            TASK,
            at("wait", Place::Flag(&["--block", PATIENCE.option])),
            at("since", Place::Option("--since")),
        ],
        pace: Pace::Waits,
    },
    Tool {
        name: "task_list",
        command: &["task", "list", "--json"],
        parameters: &[AGENT],
        pace: Pace::Short,
    },
    Tool {
        name: "task_send",
        command: &["task", "send", "--json"],
        parameters: &[TASK, at("text", Place::Operand)],
        pace: Pace::Short,
    },
    Tool {
        name: "task_cancel",
        command: &["task", "cancel", "--json"],
        parameters: &[TASK, at("soft", Place::Flag(&["--soft"]))],
        pace: Pace::Short,
    },
    Tool {
        name: "pick",
        command: &["pick", "--json", "--wait-for-permission", "--take=none"],
        parameters: &[
            AGENT,
            at("directive", Place::Option("--directive")),
            at("forks", Place::Option("--forks")),
            at("check", Place::Option("--check")),
        ],
        pace: TASKS,
    },
    Tool {
        name: "apply",
        command: &["apply", "--json"],
        parameters: &[
            AGENT,
            at("paths", Place::Operands),
            at("dry_run", Place::Flag(&["--dry-run"])),
            at("undo", Place::Flag(&["--undo"])),
        ],
        pace: Pace::Short,
    },
    Tool {
        name: "merge_back",
        command: &["merge-back", "--json", "--no-edit"],
        parameters: &[
            AGENT,
            at("into", Place::Option("--into")),
            at("text", Place::Option("--text")),
            at("instructions", Place::Option("--instructions")),
        ],
        pace: TREE,
    },
    Tool { name: "tree", command: &["tree", "--json"], parameters: &[AGENT], pace: Pace::Short },
    // As text: a conversation of any length as JSON would fill the context of whoever asks.
    Tool { name: "show", command: &["show"], parameters: &[AGENT], pace: Pace::Short },
    Tool { name: "cost", command: &["cost", "--json"], parameters: &[AGENT], pace: Pace::Short },
    Tool {
        name: "import",
        command: &["import", "--json"],
        parameters: &[at("file", Place::Operand), NAME, at("model", Place::Option("--model"))],
        pace: Pace::Short,
    },
];

impl Tool {
    /// The tool of this name.
    pub(super) fn named(name: &str) -> Option<&'static Self> {
        TOOLS.iter().find(|tool| tool.name == name)
    }

    /// The command line of a call, without the program. An error says which argument cannot be meant, in words for the model.
    pub(super) fn command_line(&self, arguments: &JsonObject) -> Result<Vec<String>, String> {
        if let Some(unknown) = arguments.keys().find(|name| !self.has(name)) {
            let known: Vec<&str> = self.parameters.iter().map(|one| one.name).collect();
            let known = known.join(", ");
            return Err(format!("{} has no parameter `{unknown}`; it has {known}", self.name));
        }
        let mut line: Vec<String> = self.command.iter().map(|word| (*word).to_owned()).collect();
        let mut operands = Vec::new();
        for parameter in self.parameters {
            let given = arguments.get(parameter.name).filter(|given| !given.is_null());
            let Some(given) = given else { continue };
            let wrong = || match given {
                Value::String(text) if text.len() > WORD_BYTES_MAX => format!(
                    "`{}` of {} is longer than {WORD_BYTES_MAX} bytes; put it into a file and name that",
                    parameter.name, self.name
                ),
                _ => format!("`{}` of {} cannot be {given}", parameter.name, self.name),
            };
            if let Some(choices) = self.choices(parameter.name)
                && !choices.contains(given)
            {
                let choices: Vec<String> = choices.iter().map(Value::to_string).collect();
                return Err(format!("{}; it is one of {}", wrong(), choices.join(", ")));
            }
            match parameter.place {
                Place::Operand => operands.push(word(given).ok_or_else(wrong)?),
                Place::Operands => operands.extend(words(given).ok_or_else(wrong)?),
                Place::Option(option) => {
                    line.push(format!("{option}={}", word(given).ok_or_else(wrong)?));
                }
                Place::Options(option) => {
                    let items = words(given).ok_or_else(wrong)?;
                    line.extend(items.iter().map(|item| format!("{option}={item}")));
                }
                Place::Flag(words) => {
                    if given.as_bool().ok_or_else(wrong)? {
                        line.extend(words.iter().map(|word| (*word).to_owned()));
                    }
                }
            }
        }
        line.push("--".to_owned());
        line.extend(operands);
        Ok(line)
    }

    /// The values that the declaration names. The command would take others that are not for a model to choose.
    fn choices(&self, parameter: &str) -> Option<&'static Vec<Value>> {
        let declared = super::declarations().iter().find(|declared| declared.name == self.name)?;
        declared.input_schema.get("properties")?.get(parameter)?.get("enum")?.as_array()
    }

    fn has(&self, parameter: &str) -> bool {
        self.parameters.iter().any(|one| one.name == parameter)
    }
}

/// A value as a word of a command line: no process takes a NUL or a longer one, and `-` would be standard input.
fn word(value: &Value) -> Option<String> {
    match value {
        Value::String(text) if text == "-" || text.contains('\0') => None,
        Value::String(text) if text.len() > WORD_BYTES_MAX => None,
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        _ => None,
    }
}

fn words(value: &Value) -> Option<Vec<String>> {
    value.as_array()?.iter().map(word).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(tool: &str, arguments: Value) -> Result<String, String> {
        let Value::Object(arguments) = arguments else { unreachable!("an object") };
        Tool::named(tool).unwrap().command_line(&arguments).map(|line| line.join("|"))
    }

    #[test]
    fn a_call_is_a_command_line_that_clap_takes() {
        let call = serde_json::json!({
            "agent": "base", "directives": ["--a -b", "c"], "worktree": true, "estimate": false,
            "context": "last 3", "permission_mode": null,
        });
        insta::assert_snapshot!(line("fan", call).unwrap(), @"fan|--json|--wait-for-permission|--directive=--a -b|--directive=c|--context=last 3|--worktree|--|base");
        for tool in TOOLS {
            let mut arguments = JsonObject::new();
            for parameter in tool.parameters {
                let value = match parameter.place {
                    Place::Operand | Place::Option(_) => Value::from("3"),
                    Place::Operands | Place::Options(_) => serde_json::json!(["3"]),
                    Place::Flag(_) => Value::from(true),
                };
                arguments.insert(parameter.name.to_owned(), value);
            }
            // They exclude each other.
            arguments.remove("undo");
            arguments.remove("instructions");
            arguments.insert("permission_mode".to_owned(), Value::from("plan"));
            arguments.insert("context".to_owned(), Value::from("last 3"));
            arguments.retain(|name, _| tool.has(name));
            let line = tool.command_line(&arguments).unwrap();
            let line = ["tine".to_owned()].into_iter().chain(line);
            let parsed = crate::cli::command().try_get_matches_from(line);
            assert!(parsed.is_ok(), "{}: {}", tool.name, parsed.unwrap_err());
        }
    }

    #[test]
    fn an_argument_that_cannot_be_meant_is_told() {
        let told = |tool, arguments| line(tool, arguments).unwrap_err();
        insta::assert_snapshot!(told("tree", serde_json::json!({"agnet": "x"})), @"tree has no parameter `agnet`; it has agent");
        insta::assert_snapshot!(told("fan", serde_json::json!({"agent": "x", "directives": "one"})), @r#"`directives` of fan cannot be "one""#);
        insta::assert_snapshot!(told("apply", serde_json::json!({"agent": ["x"]})), @r#"`agent` of apply cannot be ["x"]"#);
    }

    #[test]
    fn a_model_chooses_among_what_is_declared_alone() {
        for (mode, is_taken) in [("plan", true), ("bypass", false), ("Plan", false), ("", false)] {
            for tool in ["fork", "fan", "task_start"] {
                let call = serde_json::json!({"agent": "base", "permission_mode": mode});
                assert_eq!(line(tool, call).is_ok(), is_taken, "{tool} {mode}");
            }
        }
        insta::assert_snapshot!(line("fan", serde_json::json!({"permission_mode": "bypass"})).unwrap_err(), @r#"`permission_mode` of fan cannot be "bypass"; it is one of "default", "accept-edits", "plan""#);
        let long = "x".repeat(WORD_BYTES_MAX + 1);
        for text in ["-", "a\0b", &long] {
            assert!(line("fork", serde_json::json!({"agent": "base", "prompt": text})).is_err());
            assert!(line("fan", serde_json::json!({"agent": "b", "directives": [text]})).is_err());
        }
    }

    #[test]
    fn each_declaration_names_the_parameters_that_are_read() {
        for (declared, tool) in crate::mcp::declarations().iter().zip(TOOLS) {
            assert_eq!(declared.name, tool.name);
            let properties = declared.input_schema["properties"].as_object().unwrap();
            let mut declared: Vec<&str> = properties.keys().map(String::as_str).collect();
            let mut read: Vec<&str> = tool.parameters.iter().map(|one| one.name).collect();
            declared.sort_unstable();
            read.sort_unstable();
            assert_eq!(declared, read, "{}", tool.name);
        }
        assert_eq!(crate::mcp::declarations().len(), TOOLS.len());
    }
}
