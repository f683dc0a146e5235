//! A run against what was expected of it, in words.

use tine_fork::ForkResult;
use tine_fork::stray::Act;
use tine_fork::worker::Report;
use tine_model::Outcome;

use crate::expect::{CallExpect, CallPattern, Expect, ReportExpect};

/// What is not as expected, but for the files: each a sentence with what was seen.
pub(crate) fn unmet(expect: &Expect, result: &ForkResult, acts: &[Act]) -> Vec<String> {
    let mut unmet = Vec::new();
    match &result.outcome {
        outcome if expect.outcome.is(outcome) => {}
        // All else follows from it.
        Outcome::Failed(why) => return vec![format!("it failed: {why}")],
        outcome => {
            let (outcome, expected) = (outcome.as_str(), expect.outcome.as_str());
            unmet.push(format!("the outcome is {outcome}, expected {expected}"));
        }
    }
    report(&expect.report, result.final_text.as_deref(), &mut unmet);
    calls(&expect.tool_calls, acts, &mut unmet);
    let tokens = result.usage.prompt() + result.usage.output;
    if let Some(most) = expect.max_tokens.filter(|most| tokens > *most) {
        unmet.push(format!("it used {tokens} tokens, expected at most {most}"));
    }
    if let Some(most) = expect.max_turns.filter(|most| result.turns > *most) {
        unmet.push(format!("it took {} turns, expected at most {most}", result.turns));
    }
    match (expect.max_cost_usd, result.cost_usd) {
        (Some(most), Some(cost)) if cost > most => {
            unmet.push(format!("it cost ${cost:.4}, expected at most ${most:.4}"));
        }
        (Some(_), None) => {
            unmet.push("what it cost is not known: the model has no known price".to_owned());
        }
        (Some(_) | None, _) => {}
    }
    unmet
}

fn report(expect: &ReportExpect, text: Option<&str>, unmet: &mut Vec<String>) {
    let shown = || match text {
        Some(text) => format!("it says: {}", shortened(text)),
        None => "there is none".to_owned(),
    };
    let text = text.unwrap_or_default();
    let small = text.to_lowercase();
    for wanted in expect.contains.iter().filter(|wanted| !small.contains(&wanted.to_lowercase())) {
        unmet.push(format!("the report does not contain `{wanted}`; {}", shown()));
    }
    for pattern in expect.matches.iter().filter(|pattern| !pattern.0.is_match(text)) {
        unmet.push(format!("the report does not match `{}`; {}", pattern.0, shown()));
    }
    for unwanted in expect.absent.iter().filter(|wanted| small.contains(&wanted.to_lowercase())) {
        unmet.push(format!("the report contains `{unwanted}`; {}", shown()));
    }
    let has_scope = Report::parse(text).scope.is_some_and(|scope| !scope.is_empty());
    match expect.has_scope {
        Some(true) if !has_scope => unmet.push(format!("the report has no scope; {}", shown())),
        Some(false) if has_scope => unmet.push(format!("the report has a scope; {}", shown())),
        Some(_) | None => {}
    }
}

fn calls(expect: &CallExpect, acts: &[Act], unmet: &mut Vec<String>) {
    let made = || {
        let tools: Vec<&str> = acts.iter().map(|act| &*act.tool).collect();
        if tools.is_empty() {
            "it called no tool".to_owned()
        } else {
            format!("it called {}", shortened(&tools.join(", ")))
        }
    };
    let is_made = |pattern: &CallPattern| acts.iter().any(|act| is(act, pattern));
    for wanted in expect.must.iter().filter(|pattern| !is_made(pattern)) {
        unmet.push(format!("it did not call {wanted}; {}", made()));
    }
    for unwanted in &expect.must_not {
        if let Some(act) = acts.iter().find(|act| is(act, unwanted)) {
            unmet.push(format!("it called {} with {}", act.tool, shortened(&act.input)));
        }
    }
    let count = acts.len();
    if let Some(least) = expect.min.filter(|least| count < *least as usize) {
        unmet.push(format!("it made {count} calls, expected at least {least}"));
    }
    if let Some(most) = expect.max.filter(|most| count > *most as usize) {
        unmet.push(format!("it made {count} calls, expected at most {most}"));
    }
}

fn is(act: &Act, pattern: &CallPattern) -> bool {
    act.tool == pattern.tool
        && pattern.containing.as_deref().is_none_or(|text| act.input.contains(text))
}

/// On one line, and not too long.
fn shortened(text: &str) -> String {
    const SHOWN_CHARS: usize = 120;
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    match line.char_indices().nth(SHOWN_CHARS) {
        None => line,
        Some((end, _)) => format!("{}…", &line[..end]),
    }
}
