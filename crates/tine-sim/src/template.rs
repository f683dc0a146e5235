//! Text with holes: `{{user}}`, `{{tool_result.0}}`, `{{tool_result.last | first_line}}`.
//!
//! A template is checked when the scenario is loaded; rendering cannot fail. `\{{` writes two literal braces.

use serde::Deserialize;

use crate::conversation::Conversation;

/// A checked template.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(crate) struct Template(Vec<Part>);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Part {
    Literal(String),
    Hole { source: Source, filters: Vec<Filter> },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    User,
    ToolResult(usize),
    LastToolResult,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Filter {
    Lines(usize),
    Skip(usize),
    SkipLast(usize),
    FirstLine,
    CountLines,
    Trim,
    Indent(usize),
    After(String),
}

/// Widest indentation a filter may ask for; more is a slip of the pen, and the text is built in memory.
const INDENT_MAX: usize = 80;

/// What is wrong with a template.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum TemplateError {
    /// `{{` without `}}`.
    #[error("a `{{{{` is never closed")]
    Unclosed,
    /// The part before the first `|` is not a known name.
    #[error("unknown name `{0}`: expected `user`, `tool_result.N` or `tool_result.last`")]
    UnknownName(String),
    /// A part after a `|` is not a known filter.
    #[error(
        "unknown filter `{0}`: expected `lines N`, `skip N`, `skip_last N`, `first_line`, `count_lines`, `trim`, `after WORD` or `indent N` (N at most {INDENT_MAX})"
    )]
    UnknownFilter(String),
}

impl TryFrom<String> for Template {
    type Error = TemplateError;

    fn try_from(text: String) -> Result<Self, TemplateError> {
        Self::parse(&text)
    }
}

impl Template {
    pub(crate) fn parse(text: &str) -> Result<Self, TemplateError> {
        let mut parts = Vec::new();
        let mut literal = String::new();
        let mut rest = text;
        while let Some(at) = rest.find("{{") {
            if let Some(before) = rest[..at].strip_suffix('\\') {
                literal.push_str(before);
                literal.push_str("{{");
                rest = &rest[at + 2..];
                continue;
            }
            literal.push_str(&rest[..at]);
            let end = rest[at..].find("}}").ok_or(TemplateError::Unclosed)? + at;
            if !literal.is_empty() {
                parts.push(Part::Literal(std::mem::take(&mut literal)));
            }
            parts.push(hole(&rest[at + 2..end])?);
            rest = &rest[end + 2..];
        }
        literal.push_str(rest);
        if !literal.is_empty() {
            parts.push(Part::Literal(literal));
        }
        Ok(Self(parts))
    }

    pub(crate) fn render(&self, conversation: &Conversation<'_>) -> String {
        self.0.iter().fold(String::new(), |mut text, part| {
            match part {
                Part::Literal(literal) => text.push_str(literal),
                Part::Hole { source, filters } => {
                    let value = source.value(conversation);
                    text.push_str(&filters.iter().fold(value, |value, filter| filter.apply(value)));
                }
            }
            text
        })
    }
}

fn hole(inside: &str) -> Result<Part, TemplateError> {
    let mut pieces = inside.split('|').map(str::trim);
    let name = pieces.next().unwrap_or_default();
    let source = match name.strip_prefix("tool_result.") {
        _ if name == "user" => Source::User,
        Some("last") => Source::LastToolResult,
        Some(number) => match number.parse() {
            Ok(index) => Source::ToolResult(index),
            Err(_) => return Err(TemplateError::UnknownName(name.to_owned())),
        },
        None => return Err(TemplateError::UnknownName(name.to_owned())),
    };
    Ok(Part::Hole { source, filters: pieces.map(filter).collect::<Result<_, _>>()? })
}

fn filter(text: &str) -> Result<Filter, TemplateError> {
    let unknown = || TemplateError::UnknownFilter(text.to_owned());
    let words: Vec<&str> = text.split_whitespace().collect();
    match words.as_slice() {
        ["first_line"] => Ok(Filter::FirstLine),
        ["count_lines"] => Ok(Filter::CountLines),
        ["trim"] => Ok(Filter::Trim),
        ["after", word] => Ok(Filter::After((*word).to_owned())),
        ["lines", count] => count.parse().map(Filter::Lines).map_err(|_| unknown()),
        ["skip", count] => count.parse().map(Filter::Skip).map_err(|_| unknown()),
        ["skip_last", count] => count.parse().map(Filter::SkipLast).map_err(|_| unknown()),
        ["indent", width] => match width.parse() {
            Ok(width) if width <= INDENT_MAX => Ok(Filter::Indent(width)),
            _ => Err(unknown()),
        },
        _ => Err(unknown()),
    }
}

impl Source {
    fn value(self, conversation: &Conversation<'_>) -> String {
        let results = &conversation.tool_results;
        let (found, label) = match self {
            Self::User => return conversation.user.to_owned(),
            Self::ToolResult(index) => (results.get(index), index.to_string()),
            Self::LastToolResult => (results.last(), "last".to_owned()),
        };
        found.map_or_else(|| format!("(no tool result {label})"), |result| result.text.to_string())
    }
}

impl Filter {
    fn apply(&self, text: String) -> String {
        let join = |lines: Vec<String>| lines.join("\n");
        match self {
            Self::After(word) => {
                let behind = text.split_once(word.as_str()).map(|(_, behind)| behind.to_owned());
                behind.unwrap_or(text)
            }
            Self::Lines(count) => join(text.lines().take(*count).map(str::to_owned).collect()),
            Self::Skip(count) => join(text.lines().skip(*count).map(str::to_owned).collect()),
            Self::SkipLast(count) => {
                let kept = text.lines().count().saturating_sub(*count);
                join(text.lines().take(kept).map(str::to_owned).collect())
            }
            Self::FirstLine => text.lines().next().unwrap_or_default().to_owned(),
            Self::CountLines => text.lines().count().to_string(),
            Self::Trim => text.trim().to_owned(),
            Self::Indent(width) => {
                let pad = " ".repeat(*width);
                join(text.lines().map(|line| format!("{pad}{line}")).collect())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::conversation::ToolOutput;

    fn check(template: &str, expected: &str) {
        let output = |text: &'static str| ToolOutput { tool: "bash", text: text.into() };
        let conversation = Conversation {
            user: "count the files",
            tool_results: vec![output("a\nb\nc\n"), output("  last  ")],
            ..Conversation::default()
        };
        let rendered = match Template::parse(template) {
            Ok(template) => template.render(&conversation),
            Err(error) => format!("error: {error}"),
        };
        assert_eq!(rendered, expected, "{template}");
    }

    #[test]
    fn holes_are_filled_from_the_conversation() {
        check("plain", "plain");
        check("You asked: {{user}}.", "You asked: count the files.");
        check("{{ tool_result.1 }}|{{tool_result.last}}", "  last  |  last  ");
        check("{{tool_result.7}}", "(no tool result 7)");
        check(r"\{{user}} is {{user}}", "{{user}} is count the files");
    }

    #[test]
    fn filters_apply_left_to_right() {
        check("{{tool_result.0 | lines 2}}", "a\nb");
        check("{{tool_result.0 | skip 1}}", "b\nc");
        check("{{tool_result.0 | skip_last 1}}", "a\nb");
        check("[{{tool_result.0 | skip 4}}{{tool_result.0 | skip_last 4}}]", "[]");
        check("{{tool_result.0 | skip 1 | first_line}}", "b");
        check("{{tool_result.0 | first_line}}", "a");
        check("{{tool_result.0 | count_lines}}", "3");
        check("{{user | after the | trim}} {{user | after nothing}}", "files count the files");
        check("[{{tool_result.last | trim}}]", "[last]");
        check("{{tool_result.0 | lines 2 | indent 2}}", "  a\n  b");
    }

    #[test]
    fn a_wrong_template_says_what_is_known() {
        check("{{user", "error: a `{{` is never closed");
        let names = "expected `user`, `tool_result.N` or `tool_result.last`";
        check("{{model}}", &format!("error: unknown name `model`: {names}"));
        check("{{tool_result.x}}", &format!("error: unknown name `tool_result.x`: {names}"));
        check(
            "{{user | shout}}",
            "error: unknown filter `shout`: expected `lines N`, `skip N`, `skip_last N`, `first_line`, `count_lines`, `trim`, `after WORD` or `indent N` (N at most 80)",
        );
    }
}
