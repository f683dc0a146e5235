//! The table of those to pick from, and the question whose work is taken.

use std::collections::HashMap;
use std::io::{self, Read as _};

use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};
use tine_model::{AgentId, TaskStatus};
use tine_runtime::{Candidate, best};

use crate::fail::Failure;
use crate::output;
use crate::render::table::{Align, Table};
use tine_tui::figures::{money, span};
use tine_tui::words::{BOLD, DIM, cut, harmless, one_line, styled};

/// Lines of a failed check that are shown: what most test runners end with, and how it ended.
const CHECK_LINES_MAX: usize = 6;

/// How the line begins that the tool adds behind a wall.
const WALL_NOTE: &str = "[confined: ";

/// What a terminal sends for Ctrl-C where it makes no signal of it.
const INTERRUPT: char = '\u{3}';

/// Longest line of an answer.
const ANSWER_BYTES_MAX: usize = 4096;

/// What the person wants.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Choice {
    Take(AgentId),
    Show(AgentId),
    Nobody,
    /// To end, by Ctrl-C.
    Interrupt,
}

/// The names of those that have one.
pub(in crate::commands) type Names = HashMap<AgentId, String>;

/// One line for each: what became of it, whether it passes, how much it changed, what it cost, and what it says of it; then how the
/// checks failed. `columns`: of the screen, where there is one.
pub(in crate::commands) fn table(
    candidates: &[Candidate],
    names: &Names,
    columns: Option<usize>,
) -> String {
    let mut table = Table::new(&[
        ("", Align::Right),
        ("AGENT", Align::Left),
        ("STATUS", Align::Left),
        ("CHECK", Align::Left),
        ("FILES", Align::Right),
        ("LINES", Align::Right),
        ("COST", Align::Right),
        ("TIME", Align::Right),
        ("REPORT", Align::Left),
    ]);
    let best = best(candidates).map(|best| best.agent);
    for (index, candidate) in candidates.iter().enumerate() {
        let lines = candidate.lines();
        let mark = if Some(candidate.agent) == best { "*" } else { "" };
        let check = match &candidate.checked {
            None => "",
            Some(checked) if checked.passed => "passed",
            Some(_) => "failed",
        };
        table.row([
            format!("{mark}{}", index + 1).into(),
            names
                .get(&candidate.agent)
                .map_or_else(|| candidate.agent.short(), Clone::clone)
                .into(),
            candidate.status.map_or("", TaskStatus::as_str).replace('_', " ").into(),
            check.into(),
            candidate.changes.files.len().to_string().into(),
            format!("+{} -{}", lines.added, lines.removed).into(),
            candidate.dollars.map_or_else(String::new, money).into(),
            candidate
                .duration_ms
                .map_or_else(String::new, |ms| span(u64::try_from(ms).unwrap_or(0)))
                .into(),
            candidate.said.as_deref().map_or_else(String::new, one_line).into(),
        ]);
    }
    let table = table.without_empty(&["STATUS", "CHECK", "COST", "TIME", "REPORT"]);
    let numbered = candidates.iter().enumerate();
    let failed = numbered.filter_map(|(index, candidate)| {
        let checked = candidate.checked.as_ref().filter(|checked| !checked.passed)?;
        Some(failure(index + 1, &checked.output, columns))
    });
    format!("{}{}", table.cut_to(columns).to_text(), failed.collect::<String>())
}

/// The last lines that a check printed, and how it ended, each cut to the screen.
fn failure(number: usize, output: &str, columns: Option<usize>) -> String {
    let mut lines: Vec<&str> = output.lines().filter(|line| !line.trim().is_empty()).collect();
    // Where the wall stands is for whoever wrote a command to meet it.
    if lines.last().is_some_and(|line| line.starts_with(WALL_NOTE)) {
        lines.pop();
    }
    let from = lines.len().saturating_sub(CHECK_LINES_MAX);
    let number = format!("{number}: ");
    let shown = lines[from..].iter().enumerate().map(|(index, line)| {
        let before = if index == 0 { number.clone() } else { " ".repeat(number.len()) };
        let line = format!("{before}{}", harmless(line).replace('\t', " "));
        let line = columns.map_or(line.clone(), |columns| cut(&line, columns));
        format!("{}\n", styled(DIM, &line))
    });
    shown.collect()
}

/// Asks for a line, again after each that is no answer.
pub(super) fn ask(candidates: &[Candidate]) -> Result<Choice, Failure> {
    let agents: Vec<AgentId> = candidates.iter().map(|candidate| candidate.agent).collect();
    let question =
        format!("take 1-{}, d and a number to see the difference, Enter for none: ", agents.len());
    loop {
        let lines = Lines::begin()
            .map_err(|error| Failure::failed("cannot read from the terminal").because(&error))?;
        // What is typed from here on is an answer.
        output::prompt(&styled(BOLD, &question));
        let Some(line) = lines.next() else { return Ok(Choice::Nobody) };
        if line.ends_with(INTERRUPT) {
            return Ok(interrupted(lines));
        }
        match read(&line, &agents) {
            Some(choice) => return Ok(choice),
            None => output::say(&format!("`{}` is no answer", line.trim().escape_debug())),
        }
    }
}

/// What a line means, if it is an answer.
fn read(line: &str, agents: &[AgentId]) -> Option<Choice> {
    let line = line.trim().to_lowercase();
    if ["", "n", "no", "none"].contains(&line.as_str()) {
        return Some(Choice::Nobody);
    }
    let (number, shows) = match line.strip_prefix('d') {
        Some(number) => (number.trim(), true),
        None => (line.as_str(), false),
    };
    let agent = *agents.get(number.parse::<usize>().ok()?.checked_sub(1)?)?;
    Some(if shows { Choice::Show(agent) } else { Choice::Take(agent) })
}

/// Gives the terminal back, and ends the line of the question.
fn interrupted(lines: Lines) -> Choice {
    drop(lines);
    output::say("");
    Choice::Interrupt
}

/// The terminal, giving whole lines, and Ctrl-C as the end of one; as it was before when this is dropped.
struct Lines {
    before: Termios,
}

impl Lines {
    fn begin() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut lines = before.clone();
        // A signal would meet whoever listens in this process by now, and not this question.
        lines.local_modes -= LocalModes::ISIG;
        lines.special_codes[SpecialCodeIndex::VEOL] = INTERRUPT as u8;
        // What was typed before the question is no answer to it.
        tcsetattr(io::stdin(), OptionalActions::Flush, &lines)?;
        Ok(Self { before })
    }

    /// The next line; `None` where the terminal gives no more.
    fn next(&self) -> Option<String> {
        let mut line = Vec::new();
        let mut byte = [0];
        while line.len() < ANSWER_BYTES_MAX {
            if io::stdin().read(&mut byte).ok()? == 0 {
                return None;
            }
            line.push(byte[0]);
            if matches!(char::from(byte[0]), '\n' | INTERRUPT) {
                break;
            }
        }
        Some(String::from_utf8_lossy(&line).into_owned())
    }
}

impl Drop for Lines {
    fn drop(&mut self) {
        // The terminal may be gone.
        tcsetattr(io::stdin(), OptionalActions::Now, &self.before).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_an_answer_or_is_asked_for_again() {
        let agents: [AgentId; 2] = [1, 2].map(|byte| AgentId::from_random([byte; 16]));
        let read = |line: &str| read(line, &agents);
        assert_eq!(read("2\n"), Some(Choice::Take(agents[1])));
        assert_eq!(read("d1\n"), Some(Choice::Show(agents[0])));
        assert_eq!(read(" D 2 \n"), Some(Choice::Show(agents[1])));
        assert_eq!(read("\n"), Some(Choice::Nobody));
        assert_eq!(read("none\n"), Some(Choice::Nobody));
        for line in ["3\n", "0\n", "d\n", "d9\n", "y\n", "12\n", "-1\n"] {
            assert_eq!(read(line), None, "{line:?}");
        }
    }

    #[test]
    fn a_failed_check_shows_its_own_last_lines() {
        let output = "running\n\none FAILED\ntwo FAILED\nthree\tFAILED\nfour FAILED \u{1b}[2J\n5 of a long line\n[exit code 1]\n[confined: writes only below /w]";
        let shown =
            |columns| anstream::adapter::strip_str(&failure(12, output, columns)).to_string();
        insta::assert_snapshot!(shown(None), @r"
        12: one FAILED
            two FAILED
            three FAILED
            four FAILED \u{1b}[2J
            5 of a long line
            [exit code 1]
        ");
        insta::assert_snapshot!(shown(Some(16)), @r"
        12: one FAILED
            two FAILED
            three FAILED
            four FAILED…
            5 of a long…
            [exit code …
        ");
        insta::assert_snapshot!(anstream::adapter::strip_str(&failure(1, "[exit code 3]", None)).to_string(), @"1: [exit code 3]");
    }
}
