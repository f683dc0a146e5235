//! A request for permission as a person reads it: who, what, where and why.

use tine_model::AgentId;
use tine_runtime::PermissionRow;
use unicode_width::UnicodeWidthStr;

use tine_tui::figures::plural;
use tine_tui::question::{Asked, Shade, asked_lines, warning};
use tine_tui::words::{BOLD, DIM, YELLOW, cut, folded, harmless, one_line, styled};

/// Most lines of a change that a question shows by itself.
const CHANGE_LINES_MAX: usize = 40;

/// Columns of the name or task of the one who asks.
const LABEL_COLUMNS: usize = 50;

/// A question, and what a person should know of it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Shown<'a> {
    pub(crate) agent: AgentId,
    /// The name or task of the one who asks.
    pub(crate) label: Option<&'a str>,
    /// The call.
    pub(crate) asked: Asked<'a>,
    pub(crate) directory: &'a str,
    pub(crate) why: &'a str,
    /// What the call would destroy or change in place.
    pub(crate) warning: Option<&'a str>,
}

impl<'a> Shown<'a> {
    /// That of a request as it is kept.
    pub(crate) fn of(row: &'a PermissionRow, label: Option<&'a str>) -> Self {
        Self {
            agent: row.agent,
            label,
            asked: Asked { tool: &row.tool, what: &row.what, input: &row.input },
            directory: &row.directory,
            why: &row.why,
            warning: row.warning.as_deref(),
        }
    }
}

/// The question without its choices, every line ended but the last; `mark` stands before it. False if not all of it is there.
pub(crate) fn question(mark: &str, asked: &Shown<'_>, columns: usize) -> (String, bool) {
    let who = match asked.label {
        None => asked.agent.short(),
        Some(label) => {
            format!("{} ({})", cut(&one_line(label), LABEL_COLUMNS), asked.agent.short())
        }
    };
    let tool = styled(BOLD, &harmless(asked.asked.tool));
    let mut text = format!("{mark} {} wants to use {tool}", styled(BOLD, &who));
    let (details, hidden) = details(&asked.asked);
    for line in details {
        text.push_str("\n  ");
        text.push_str(&line);
    }
    if hidden > 0 {
        let more = plural(hidden as u64, "more line");
        text.push_str(&format!("\n  {}", styled(DIM, &format!("… {more}"))));
    }
    for warning in asked.warning.map(str::to_owned).into_iter().chain(warning(&asked.asked)) {
        text.push_str(&format!("\n  {}: {}", styled(YELLOW, "warning"), one_line(&warning)));
    }
    for line in where_and_why(asked, columns.saturating_sub(2)) {
        text.push_str(&format!("\n  {}", styled(DIM, &line)));
    }
    (text, hidden == 0)
}

/// On one line where that fits; else the reason on lines of its own, so that it can be read on any terminal.
fn where_and_why(asked: &Shown<'_>, columns: usize) -> Vec<String> {
    let (place, why) = (one_line(asked.directory), one_line(asked.why));
    let together = format!("in {place}: {why}");
    if together.width() <= columns {
        return vec![together];
    }
    let mut lines = vec![format!("in {place}:")];
    lines.extend(folded(&why, columns));
    lines
}

/// The call: all of a command, and the first lines of a change. Returns the number of lines that are left out, too.
fn details(asked: &Asked<'_>) -> (Vec<String>, usize) {
    let (mut lines, mut changes) = (Vec::new(), 0);
    for line in asked_lines(asked) {
        changes += usize::from(!matches!(line.shade, Shade::Subject | Shade::Said));
        if changes <= CHANGE_LINES_MAX {
            let text = format!("{}{}", line.shade.sign(), line.text());
            lines.push(styled(line.shade.style(), &text));
        }
    }
    (lines, changes.saturating_sub(CHANGE_LINES_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(tool: &str, input: &str, label: Option<&str>) -> String {
        let what = format!("{tool}: …");
        let asked = Shown {
            agent: AgentId::from_random([0x1a; 16]),
            label,
            asked: Asked { tool, what: &what, input },
            directory: "/srv/app",
            why: "no rule allows this command",
            warning: (tool == "Bash").then_some("deletes files"),
        };
        anstream::adapter::strip_str(&question("?", &asked, 100).0).to_string()
    }

    #[test]
    fn a_command_is_shown_in_full() {
        let text = asked("Bash", r#"{"command":"cargo test\nrm -rf \u001b[8mx"}"#, None);
        insta::assert_snapshot!(text, @r"
        ? 1a1a1a1a wants to use Bash
          cargo test
          rm -rf \u{1b}[8mx
          warning: deletes files
          in /srv/app: no rule allows this command
        ");
    }

    #[test]
    fn an_edit_is_shown_with_both_sides() {
        let input = r#"{"file_path":"src/a.rs","old_string":"let x = 1;","new_string":"let x = 2;\nlet y = 3;"}"#;
        insta::assert_snapshot!(asked("FileEdit", input, Some("fix the bug")), @"
        ? fix the bug (1a1a1a1a) wants to use FileEdit
          src/a.rs
          - let x = 1;
          + let x = 2;
          + let y = 3;
          in /srv/app: no rule allows this command
        ");
    }

    #[test]
    fn a_long_file_is_cut_and_says_so() {
        let content = "line\\n".repeat(45);
        let text =
            asked("FileWrite", &format!(r#"{{"file_path":"a","content":"{content}"}}"#), None);
        assert!(text.contains("\n  … 5 more lines"), "{text}");
    }
}
