//! A conversation as Markdown, for people and for pull requests: what was said as it was said, calls and results in fences
//! that nothing inside can close.

use tine_model::{Block, Message, Role, ToolInput};

use tine_tui::words::{harmless, one_line};

/// The messages under a title. The text is raw: what must not be shown is taken out of the whole.
pub(crate) fn markdown<'a>(
    title: &str,
    model: &str,
    messages: impl Iterator<Item = &'a Message>,
) -> String {
    let mut parts = vec![format!("# {}", one_line(title)), format!("Model: {}", code(model))];
    let mut speaker = None;
    for message in messages {
        // Results are the harness's words between two of the model's; they stand with their calls.
        let is_results = !message.blocks().is_empty()
            && message.blocks().iter().all(|block| matches!(block, Block::ToolResult { .. }));
        if !is_results && speaker != Some(message.role()) {
            speaker = Some(message.role());
            parts.push(heading(message.role()).to_owned());
        }
        parts.extend(message.blocks().iter().filter_map(block));
    }
    format!("{}\n", parts.join("\n\n"))
}

fn heading(role: Role) -> &'static str {
    match role {
        Role::User => "## User",
        Role::Assistant => "## Assistant",
        Role::System => "## System",
    }
}

fn block(block: &Block) -> Option<String> {
    Some(match block {
        Block::Text(text) if text.trim().is_empty() => return None,
        Block::Text(text) => harmless(text.trim()),
        Block::Thinking { text, .. } if text.trim().is_empty() => return None,
        Block::Thinking { text, .. } => quoted(text.trim()),
        Block::RedactedThinking(_) => return None,
        Block::ToolUse { name, input, .. } => {
            let (language, input) = match input {
                ToolInput::Valid(json) => ("json", json.as_str()),
                ToolInput::Invalid(text) => ("", text.as_str()),
            };
            format!("**Call** {}\n\n{}", code(name), fenced(language, input))
        }
        Block::ToolResult { content, is_error, .. } => {
            let word = if *is_error { "**Failed**" } else { "**Result**" };
            let texts: Vec<&str> = content.iter().filter_map(Block::as_text).collect();
            let missing = content.len() - texts.len();
            let text = match (texts.is_empty(), missing) {
                (true, 0) => return Some(format!("{word} (nothing)")),
                (true, _) => return Some(format!("{word} (an image or a document)")),
                (false, _) => texts.join("\n"),
            };
            format!("{word}\n\n{}", fenced("", &text))
        }
        Block::Image(_) => "*(an image)*".to_owned(),
        Block::Document(_) => "*(a document)*".to_owned(),
        Block::Unknown(_) => "*(a part of an unknown kind)*".to_owned(),
    })
}

/// One line as code, whatever it holds.
fn code(text: &str) -> String {
    let text = one_line(text);
    let fence = "`".repeat(longest_run(&text) + 1);
    let space = if text.contains('`') { " " } else { "" };
    format!("{fence}{space}{text}{space}{fence}")
}

/// A fence is longer than any run of ticks in what it holds.
fn fenced(language: &str, text: &str) -> String {
    let text = harmless(text.trim_end());
    let fence = "`".repeat((longest_run(&text) + 1).max(3));
    format!("{fence}{language}\n{text}\n{fence}")
}

fn quoted(text: &str) -> String {
    let text = harmless(text);
    let lines: Vec<String> =
        text.lines().map(|line| format!("> {line}").trim_end().to_owned()).collect();
    lines.join("\n")
}

/// The longest run of ticks.
fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use tine_model::{RawJson, ToolCallId};

    use super::*;

    #[test]
    fn a_conversation_reads_well_and_nothing_breaks_out_of_its_fence() {
        let call = Block::ToolUse {
            id: ToolCallId("t".into()),
            name: "Bash".into(),
            input: ToolInput::Valid(RawJson::parse(r#"{"command":"cat a.md"}"#).unwrap()),
        };
        let thinking = Block::Thinking { text: "hm\n\nyes".into(), signature: Some("s".into()) };
        let messages = [
            Message::user("What is in *a.md*?"),
            Message::new(Role::Assistant, vec![thinking, Block::Text("I look.".into()), call]),
            Message::new(
                Role::User,
                vec![Block::result(
                    ToolCallId("t".into()),
                    "````\n# no heading\n````\u{1b}[31m",
                    false,
                )],
            ),
            Message::new(Role::Assistant, vec![Block::Text("A fence.".into())]),
        ];
        insta::assert_snapshot!(markdown("a", "sim/`x`", messages.iter()), @r#"
        # a

        Model: `` sim/`x` ``

        ## User

        What is in *a.md*?

        ## Assistant

        > hm
        >
        > yes

        I look.

        **Call** `Bash`

        ```json
        {"command":"cat a.md"}
        ```

        **Result**

        `````
        ````
        # no heading
        ````\u{1b}[31m
        `````

        A fence.
        "#);
    }
}
