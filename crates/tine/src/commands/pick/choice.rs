//! The table of those to pick from, and the one keystroke.

use std::io::{self, Read as _};

use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcsetattr,
};
use tine_model::{AgentId, TaskStatus};
use tine_runtime::{Candidate, best};

use crate::fail::Failure;
use crate::output;
use crate::render::figures::{money, span};
use crate::render::table::{Align, Table};
use crate::render::words::{BOLD, DIM, one_line, styled};

/// Most candidates that one key can name.
const KEYS: &str = "123456789";

/// What the person wants.
pub(super) enum Choice {
    Take(AgentId),
    Show(AgentId),
    Nobody,
}

/// One line for each: what became of it, whether it passes, how much it changed, what it cost, and what it says of it.
pub(in crate::commands) fn table(candidates: &[Candidate]) -> String {
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
    let failed = candidates.iter().enumerate().filter_map(|(index, candidate)| {
        let checked = candidate.checked.as_ref().filter(|checked| !checked.passed)?;
        // The wall's own line says nothing of the work.
        let said = checked.output.lines().filter(|line| !line.starts_with("[confined: "));
        let last: Vec<&str> = said.rev().take(2).collect();
        let last: Vec<String> = last.into_iter().rev().map(one_line).collect();
        Some(format!("{}\n", styled(DIM, &format!("{}: {}", index + 1, last.join(" ")))))
    });
    let failed: String = failed.collect();
    format!("{}{failed}", table.without_empty(&["CHECK", "COST", "TIME", "REPORT"]).to_text())
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
    let shows = first == Some('d');
    let named = if shows { raw.key() } else { first };
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

/// The terminal, giving each key at once and showing none; as it was before when this is dropped.
struct Raw {
    before: Termios,
}

impl Raw {
    fn begin() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut raw = before.clone();
        raw.local_modes -= LocalModes::ICANON | LocalModes::ECHO;
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
