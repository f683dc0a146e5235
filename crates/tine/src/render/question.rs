//! A request for permission as a person reads it: who, what, where and why.

use tine_model::AgentId;

use unicode_width::UnicodeWidthStr;

use tine_tui::words::{
    BOLD, CYAN, DIM, GREEN, RED, YELLOW, cut, folded, harmless, one_line, styled,
};

/// Most lines of an edit that a question shows.
const EDIT_LINES_MAX: usize = 40;

/// Columns of the name or task of the one who asks.
const LABEL_COLUMNS: usize = 50;

/// What is asked.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked<'a> {
    pub(crate) agent: AgentId,
    /// The name or task of the one who asks.
    pub(crate) label: Option<&'a str>,
    pub(crate) tool: &'a str,
    /// The call on one line.
    pub(crate) what: &'a str,
    pub(crate) input: &'a str,
    pub(crate) directory: &'a str,
    pub(crate) why: &'a str,
    /// What the call would destroy or change in place.
    pub(crate) warning: Option<&'a str>,
}

/// The question without its choices, every line ended but the last; `mark` stands before it.
pub(crate) fn question(mark: &str, asked: &Asked<'_>, columns: usize) -> String {
    let who = match asked.label {
        None => asked.agent.short(),
        Some(label) => {
            format!("{} ({})", cut(&one_line(label), LABEL_COLUMNS), asked.agent.short())
        }
    };
    let tool = styled(BOLD, &harmless(asked.tool));
    let mut text = format!("{mark} {} wants to use {tool}", styled(BOLD, &who));
    for line in details(asked) {
        text.push_str("\n  ");
        text.push_str(&line);
    }
    if let Some(warning) = asked.warning {
        text.push_str(&format!("\n  {}: {}", styled(YELLOW, "warning"), one_line(warning)));
    }
    for line in where_and_why(asked, columns.saturating_sub(2)) {
        text.push_str(&format!("\n  {}", styled(DIM, &line)));
    }
    text
}

/// On one line where that fits; else the reason on lines of its own, so that it can be read on any terminal.
fn where_and_why(asked: &Asked<'_>, columns: usize) -> Vec<String> {
    let (place, why) = (one_line(asked.directory), one_line(asked.why));
    let together = format!("in {place}: {why}");
    if together.width() <= columns {
        return vec![together];
    }
    let mut lines = vec![format!("in {place}:")];
    lines.extend(folded(&why, columns));
    lines
}

/// What the call would do, in full where that decides: a whole command, both sides of an edit.
fn details(asked: &Asked<'_>) -> Vec<String> {
    let input: serde_json::Value = serde_json::from_str(asked.input).unwrap_or_default();
    let field = |name: &str| input.get(name).and_then(serde_json::Value::as_str);
    let path = || styled(CYAN, &one_line(field("file_path").unwrap_or_default()));
    match asked.tool {
        "Bash" => {
            let command = harmless(field("command").unwrap_or_default());
            command.lines().map(|line| styled(BOLD, line)).collect()
        }
        "FileEdit" => {
            let mut lines = vec![path()];
            lines.extend(side('-', RED, field("old_string").unwrap_or_default()));
            lines.extend(side('+', GREEN, field("new_string").unwrap_or_default()));
            lines
        }
        "FileWrite" => {
            let mut lines = vec![path()];
            lines.extend(side('+', GREEN, field("content").unwrap_or_default()));
            lines
        }
        _ => vec![harmless(asked.what)],
    }
}

fn side(sign: char, style: anstyle::Style, text: &str) -> Vec<String> {
    let text = harmless(text);
    let mut lines: Vec<String> = text
        .lines()
        .take(EDIT_LINES_MAX)
        .map(|line| styled(style, &format!("{sign} {line}")))
        .collect();
    let more = text.lines().count().saturating_sub(EDIT_LINES_MAX);
    if more > 0 {
        lines.push(styled(DIM, &format!("{sign} … {more} more lines")));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(tool: &str, input: &str, label: Option<&str>) -> String {
        let asked = Asked {
            agent: AgentId::from_random([0x1a; 16]),
            label,
            tool,
            what: &format!("{tool}: …"),
            input,
            directory: "/srv/app",
            why: "no rule allows this command",
            warning: (tool == "Bash").then_some("deletes files"),
        };
        anstream::adapter::strip_str(&question("?", &asked, 100)).to_string()
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
        assert!(text.contains("+ … 5 more lines"), "{text}");
    }
}
