//! How a run ended, in exit codes and advice.

use std::collections::HashMap;
use std::path::Path;

use tine_cache::Models;
use tine_fork::run::{RunError, RunEvent, RunReport};
use tine_guard::{Call, PermissionMode, Rules, Verdict, Width, judge};
use tine_model::{AgentId, Outcome, Role, Spent, ToolCallId, Usage};
use tine_runtime::StoreError;

use crate::ask::Refusal;
use crate::budget;
use crate::fail::{
    BUDGET, FAILED, Failure, INTERRUPTED, PERMISSION, TIMED_OUT, TOOL_FAILED, TURN_LIMIT,
};
use crate::output;
use crate::render::shell_quoted;
use crate::render::task::TaskShape;
use crate::render::worktree::PlaceShape;
use tine_tui::figures::plural;
use tine_tui::words::summary;

/// Most calls that an error names.
const CALLS_NAMED_MAX: usize = 3;

/// Most failed calls that are remembered.
const FAILED_CALLS_MAX: usize = 100;

/// A run that is over, as it is reported.
#[derive(Debug, Default)]
pub(crate) struct Ended {
    /// The outcome's word; `None` for a run that could not begin, or whose end could not be written down.
    pub(crate) outcome: Option<&'static str>,
    /// The last text of the model.
    pub(crate) text: String,
    pub(crate) turns: u32,
    pub(crate) tool_uses: u32,
    pub(crate) usage: Usage,
    /// What it cost, in USD; `None` for a model without a known price.
    pub(crate) dollars: Option<f64>,
    /// The model whose prices stand in, where this one has none of its own.
    pub(crate) priced_as: Option<String>,
    /// Calls that were refused because nobody could be asked.
    pub(crate) refused: Vec<Refusal>,
    /// The workers that it started, as they were when it was over.
    pub(crate) tasks: Vec<TaskShape>,
    /// The agent's own worktree.
    pub(crate) worktree: Option<PlaceShape>,
    /// Why the command fails, if it does.
    pub(crate) failure: Option<Failure>,
}

/// What is known of a run beside its report.
pub(crate) struct Circumstances {
    pub(crate) agent: AgentId,
    /// Whether somebody killed the agent.
    pub(crate) killed: bool,
    pub(crate) refused: Vec<Refusal>,
    /// Failed tool calls that the command is to mind; empty when it does not.
    pub(crate) failed_calls: Vec<String>,
}

impl Ended {
    /// A run that has a report.
    pub(crate) fn of(report: &RunReport, circumstances: Circumstances) -> Self {
        let failure = failure(report, &circumstances);
        Self {
            outcome: Some(report.outcome.as_str()),
            text: report.final_text().unwrap_or_default(),
            turns: report.turns,
            tool_uses: report.tool_uses,
            usage: report.usage,
            dollars: None,
            priced_as: None,
            refused: circumstances.refused,
            tasks: Vec::new(),
            worktree: None,
            failure,
        }
    }

    /// The same, priced: each request by its own size and time.
    pub(crate) fn priced(self, models: &Models, model: &str, requests: &[Spent]) -> Self {
        let dollars = models.facts(model).prices.cost(requests);
        Self { dollars, priced_as: models.priced_as(model).map(str::to_owned), ..self }
    }

    /// A run that could not begin, or whose end could not be written down.
    pub(crate) fn without_report(failure: Failure) -> Self {
        Self { failure: Some(failure), ..Self::default() }
    }
}

fn failure(report: &RunReport, circumstances: &Circumstances) -> Option<Failure> {
    let id = circumstances.agent.short();
    let resume = going_on(report, &id);
    let with_code = |code: u8, message: &str| Failure::coded(code, message);
    Some(match &report.outcome {
        Outcome::Completed => return completed(&circumstances.refused, &circumstances.failed_calls),
        Outcome::TurnLimit => with_code(TURN_LIMIT, "the turn limit was reached")
            .hint(format!("{resume}; --max-turns sets the limit")),
        Outcome::BudgetExhausted => match &report.reached {
            Some(reached) => budget::ended(reached, &id).hint(format!("then {resume}")),
            None => with_code(BUDGET, "the budget of tokens is spent")
                .hint(format!("{resume}; --budget sets the budget")),
        },
        Outcome::TimedOut => with_code(TIMED_OUT, "the time limit was reached")
            .hint(format!("{resume}; --timeout sets the limit")),
        Outcome::Aborted if circumstances.killed => {
            with_code(INTERRUPTED, &format!("agent {id} was killed"))
                .hint(format!("a dead agent stays dead; `tine show {id}` still shows it"))
        }
        Outcome::Aborted => with_code(INTERRUPTED, "interrupted").hint(format!("what came is kept; {resume}")),
        Outcome::LengthCut => with_code(FAILED, "the reply was cut at its token limit")
            .hint(format!("`tine run --resume {id} \"go on\"` asks for the rest"))
            .hint("--max-output-tokens sets the limit of a new agent's replies"),
        Outcome::Refused => with_code(FAILED, "the model refused to answer").hint(format!(
            "fork the agent from an earlier entry and ask in another way: `tine show {id}` lists the entries"
        )),
        Outcome::Failed(why) => match &report.error {
            Some(RunError::Llm(error)) => error.into(),
            Some(RunError::Journal(error)) => match error.0.downcast_ref::<StoreError>() {
                Some(store) => Failure::failed("the log could not be written").because(store),
                None => Failure::failed(why.clone()),
            }
            .hint(format!("everything before is kept; {resume}")),
            None => Failure::failed(why.clone()),
        },
    })
}

/// How to go on. A reply that was cut off is the model's last word, so that it takes a prompt.
fn going_on(report: &RunReport, id: &str) -> String {
    let spoke = report.messages.last().is_some_and(|message| {
        message.role() == Role::Assistant && message.tool_calls().next().is_none()
    });
    let prompt = if spoke { " \"go on\"" } else { "" };
    format!("`tine run --resume {id}{prompt}` goes on")
}

/// The exit code of a worker that did not complete. `outcome` is [`Outcome::as_str`] of its end; one that failed after calls of it were
/// refused because nobody could be asked failed by that.
pub(crate) fn code_of(outcome: &str, (worker, refused): (AgentId, &[Refusal])) -> u8 {
    let was_refused = || refused.iter().any(|refusal| refusal.agent == worker);
    let codes = [
        (Outcome::TurnLimit, TURN_LIMIT),
        (Outcome::BudgetExhausted, BUDGET),
        (Outcome::TimedOut, TIMED_OUT),
        (Outcome::Aborted, INTERRUPTED),
    ];
    let known = codes.iter().find(|(of, _)| of.as_str() == outcome).map(|(_, code)| *code);
    known.unwrap_or_else(|| if was_refused() { PERMISSION } else { FAILED })
}

/// Why a command fails although its work came to an end: calls that were refused because nobody could be asked, or that failed where
/// that is to be minded.
pub(crate) fn completed(refused: &[Refusal], failed_calls: &[String]) -> Option<Failure> {
    if !refused.is_empty() {
        let calls: Vec<&str> = refused.iter().map(|refusal| refusal.call.as_str()).collect();
        let message = format!("nobody answered, so this was not done: {}", named(&calls));
        let mut failure = Failure::coded(PERMISSION, message);
        failure = failure.hint(format!("allow it with {}", allows(refused)));
        return Some(failure.hint(
            "or run it in a terminal, or answer from another one with --wait-for-permission",
        ));
    }
    if failed_calls.is_empty() {
        return None;
    }
    let calls: Vec<&str> = failed_calls.iter().map(String::as_str).collect();
    let message = format!("a tool call failed: {}", named(&calls));
    Some(Failure::coded(TOOL_FAILED, message))
}

fn named(calls: &[&str]) -> String {
    let mut text = calls.iter().take(CALLS_NAMED_MAX).copied().collect::<Vec<_>>().join("; ");
    let more = calls.len().saturating_sub(CALLS_NAMED_MAX);
    if more > 0 {
        text.push_str(&format!("; and {more} more"));
    }
    text
}

/// Says what workers were not allowed to do because nobody could be asked.
pub(crate) fn warn_of_refusals(refused: &[Refusal]) {
    let Some(first) = refused.first() else { return };
    let (count, call) = (plural(refused.len() as u64, "call"), &first.call);
    output::say(&format!("warning: {count} refused because nobody could be asked, such as {call}"));
    output::say(&format!("hint: allow it with {}", allows(refused)));
}

/// The options that would have allowed these calls, as far as their number does not confuse.
fn allows(refused: &[Refusal]) -> String {
    let mut options: Vec<String> = Vec::new();
    for refusal in refused {
        let option = format!("--allow {}", shell_quoted(&rule_for(refusal)));
        if !options.contains(&option) && options.len() < CALLS_NAMED_MAX {
            options.push(option);
        }
    }
    options.join(" ")
}

/// The narrowest rule that would have allowed a call like this one.
fn rule_for(refusal: &Refusal) -> String {
    let mut rules = Vec::new();
    if let Some(command) = refusal.call.strip_prefix("Bash: ") {
        let program = command.split_whitespace().next().unwrap_or_default();
        rules.push(format!("Bash({command})"));
        rules.push(format!("Bash({program} *)"));
    }
    if let Some((tool, path)) = refusal.call.split_once(": ").filter(|_| rules.is_empty()) {
        rules.push(format!("{tool}({path})"));
    }
    let (tool, input) = (refusal.tool.as_str(), &refusal.input);
    let call = Call::new(tool, input, Path::new(&refusal.directory));
    let allows = |rule: &String| {
        let rules = Rules::parse(std::slice::from_ref(rule), &[], &[]);
        rules.is_ok_and(|rules| {
            judge(&call, PermissionMode::Default, Width::Strict, &rules) == Verdict::Allow
        })
    };
    rules.into_iter().find(allows).unwrap_or_else(|| refusal.tool.clone())
}

/// Keeps which tool calls failed.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    running: HashMap<ToolCallId, String>,
    failed: Vec<String>,
}

impl Tally {
    /// The calls that failed, in the order of their ends.
    pub(crate) fn failed(self) -> Vec<String> {
        self.failed
    }

    /// Notes a step of a run.
    pub(crate) fn note(&mut self, step: &RunEvent) {
        match step {
            RunEvent::ToolStarted { call } => {
                self.running.insert(call.id.clone(), call.name.clone());
            }
            RunEvent::ToolFinished { id, answer } => {
                let name = self.running.remove(id);
                if answer.is_error && self.failed.len() < FAILED_CALLS_MAX {
                    let why = summary(answer);
                    self.failed.push(match name {
                        Some(name) => format!("{name}: {why}"),
                        None => why,
                    });
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use tine_model::RawJson;

    use super::*;

    fn report(outcome: Outcome) -> RunReport {
        RunReport {
            outcome,
            messages: Vec::new(),
            usage: Usage::default(),
            requests: Vec::new(),
            turns: 1,
            tool_uses: 0,
            denials: tine_fork::tools::Denials::default(),
            error: None,
            reached: None,
        }
    }

    fn circumstances() -> Circumstances {
        Circumstances {
            agent: AgentId::from_random([0x1a; 16]),
            killed: false,
            refused: Vec::new(),
            failed_calls: Vec::new(),
        }
    }

    fn refusal(tool: &str, call: &str) -> Refusal {
        let command = call.strip_prefix("Bash: ");
        let input = command.map(|command| serde_json::json!({ "command": command }).to_string());
        Refusal {
            input: RawJson::parse(
                &input.unwrap_or_else(|| r#"{"file_path":"a","content":""}"#.into()),
            )
            .unwrap(),
            directory: "/srv".to_owned(),
            agent: AgentId::from_random([0x1a; 16]),
            tool: tool.to_owned(),
            call: call.to_owned(),
            why: "why".to_owned(),
        }
    }

    #[test]
    fn every_outcome_has_its_code_and_its_advice() {
        let outcomes = [
            Outcome::Completed,
            Outcome::TurnLimit,
            Outcome::BudgetExhausted,
            Outcome::TimedOut,
            Outcome::Aborted,
            Outcome::LengthCut,
            Outcome::Refused,
            Outcome::Failed("the disk is full".to_owned()),
        ];
        let texts = outcomes.map(|outcome| {
            let name = outcome.as_str();
            match Ended::of(&report(outcome), circumstances()).failure {
                None => format!("{name}: 0"),
                Some(failure) => format!("{name}: {} {}", failure.code, failure.text()),
            }
        });
        insta::assert_snapshot!(texts.join("\n"), @r#"
        completed: 0
        turn_limit: 53 error: the turn limit was reached
        hint: `tine run --resume 1a1a1a1a` goes on; --max-turns sets the limit
        budget_exhausted: 55 error: the budget of tokens is spent
        hint: `tine run --resume 1a1a1a1a` goes on; --budget sets the budget
        timed_out: 124 error: the time limit was reached
        hint: `tine run --resume 1a1a1a1a` goes on; --timeout sets the limit
        aborted: 130 error: interrupted
        hint: what came is kept; `tine run --resume 1a1a1a1a` goes on
        length_cut: 1 error: the reply was cut at its token limit
        hint: `tine run --resume 1a1a1a1a "go on"` asks for the rest
        hint: --max-output-tokens sets the limit of a new agent's replies
        refused: 1 error: the model refused to answer
        hint: fork the agent from an earlier entry and ask in another way: `tine show 1a1a1a1a` lists the entries
        failed: 1 error: the disk is full
        "#);
    }

    #[test]
    fn a_completed_run_fails_when_calls_were_refused_or_failed() {
        let code = |circumstances: Circumstances| {
            let ended = Ended::of(&report(Outcome::Completed), circumstances);
            ended
                .failure
                .map(|failure| format!("{} {}", failure.code, failure.text()))
                .unwrap_or_default()
        };
        let refused =
            vec![refusal("Bash", "Bash: cargo test"), refusal("FileWrite", "FileWrite: a")];
        let failed_calls = vec!["Bash: exit code 1".to_owned()];
        let both = Circumstances { refused, failed_calls: failed_calls.clone(), ..circumstances() };
        insta::assert_snapshot!(code(both), @"
        56 error: nobody answered, so this was not done: Bash: cargo test; FileWrite: a
        hint: allow it with --allow 'Bash(cargo test)' --allow 'FileWrite(a)'
        hint: or run it in a terminal, or answer from another one with --wait-for-permission
        ");
        insta::assert_snapshot!(code(Circumstances { failed_calls, ..circumstances() }), @"54 error: a tool call failed: Bash: exit code 1");
    }

    #[test]
    fn the_advised_rule_fits_the_call() {
        assert_eq!(rule_for(&refusal("Bash", "Bash: cargo test")), "Bash(cargo test)");
        assert_eq!(rule_for(&refusal("Bash", "Bash: make")), "Bash(make)");
        assert_eq!(rule_for(&refusal("Bash", "Bash: a && b")), "Bash(a && b)");
        assert_eq!(rule_for(&refusal("FileWrite", "FileWrite: a")), "FileWrite(a)");
        let quotes = refusal("Bash", "Bash: sh -c 'make'");
        assert_eq!(allows(&[quotes]), r"--allow 'Bash(sh -c '\''make'\'')'");
    }
}
