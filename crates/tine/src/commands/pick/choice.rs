//! The table of those to pick from, and the one keystroke.

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

/// Most candidates that one key can name.
const KEYS: &str = "123456789";

/// What the person wants.
pub(super) enum Choice {
    Take(AgentId),
    Show(AgentId),
    Nobody,
    /// To end, by Ctrl-C.
    Interrupt,
}

/// One line for each: what became of it, whether it passes, how much it changed, what it cost, and what it says of it; then how the
/// checks failed. `columns`: of the screen, where there is one.
pub(in crate::commands) fn table(candidates: &[Candidate], columns: Option<usize>) -> String {
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
            candidate.agent.short().into(),
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
    let table = table.without_empty(&["CHECK", "COST", "TIME", "REPORT"]);
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

/// Asks for one keystroke; a second one where the first says that a difference is to be shown.
pub(super) fn ask(candidates: &[Candidate]) -> Result<Choice, Failure> {
    let most = candidates.len().min(KEYS.len());
    let question =
        format!("take 1-{most}, d and a number to see the difference, any other key for none: ");
    let raw = Raw::begin()
        .map_err(|error| Failure::failed("cannot read from the terminal").because(&error))?;
    // What is typed from here on is an answer.
    output::prompt(&styled(BOLD, &question));
    let first = raw.key();
    if first == Some(INTERRUPT) {
        return Ok(interrupted(raw));
    }
    let shows = first == Some('d');
    let named = if shows { raw.key() } else { first };
    if named == Some(INTERRUPT) {
        return Ok(interrupted(raw));
    }
    drop(raw);
    let candidate = named.and_then(|key| KEYS.find(key)).and_then(|index| candidates.get(index));
    let typed: String = first.into_iter().chain(named.filter(|_| shows)).collect();
    output::say(&typed.escape_debug().to_string());
    Ok(match (candidate, shows) {
        (Some(candidate), true) => Choice::Show(candidate.agent),
        (Some(candidate), false) => Choice::Take(candidate.agent),
        (None, _) => Choice::Nobody,
    })
}

/// Gives the terminal back, and ends the line of the question.
fn interrupted(raw: Raw) -> Choice {
    drop(raw);
    output::say("");
    Choice::Interrupt
}

/// The terminal, giving each key at once and showing none; as it was before when this is dropped.
struct Raw {
    before: Termios,
}

impl Raw {
    fn begin() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut raw = before.clone();
        // A signal would meet whoever listens in this process by now, and not this question.
        raw.local_modes -= LocalModes::ICANON | LocalModes::ECHO | LocalModes::ISIG;
        raw.special_codes[SpecialCodeIndex::VMIN] = 1;
        raw.special_codes[SpecialCodeIndex::VTIME] = 0;
        // What was typed before the question is no answer to it.
        tcsetattr(io::stdin(), OptionalActions::Flush, &raw)?;
        Ok(Self { before })
    }

    fn key(&self) -> Option<char> {
        let mut byte = [0];
        io::stdin().read_exact(&mut byte).ok()?;
        Some(char::from(byte[0]))
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        // The terminal may be gone.
        tcsetattr(io::stdin(), OptionalActions::Now, &self.before).ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
