//! A text in the user's editor, between the draft and the ancestor that gets it.

use std::fs;
use std::path::Path;

use tine_model::AgentRecord;
use tine_runtime::ForkPart;

use crate::editor::{Editor, place};
use crate::fail::{Failure, INTERRUPTED};
use tine_tui::words::one_line;

/// What a user can do where no editor edits.
const WITHOUT_EDITOR: &str = "--no-edit appends the text as it is; --dry-run only prints it";

/// The editor for a text.
pub(super) fn find() -> Result<Editor, Failure> {
    Editor::find().map_err(|failure| failure.hint(WITHOUT_EDITOR))
}

/// The text as the user leaves it. Where the editor fails, the file stays, since a draft is paid for.
pub(super) async fn edited(
    editor: &Editor,
    part: &ForkPart,
    (source, into): (&AgentRecord, &AgentRecord),
    text: &str,
) -> Result<String, Failure> {
    let comment = comment(part, (source, into));
    let path = place(&format!("tine-merge-back-{}", source.id.short()));
    let edited = editor.edit(&path, &format!("{text}\n\n{comment}")).await;
    let (edited, has_ended_well) = edited.map_err(|failure| failure.hint(WITHOUT_EDITOR))?;
    let text = without(&edited, &comment);
    if !has_ended_well {
        fs::write(&path, text).map_err(|error| {
            Failure::failed(format!("cannot write {}", path.display())).because(&error)
        })?;
        return Err(kept(&path, &source.id.short()));
    }
    // Whoever cannot remove it can still read what was appended.
    let _ = fs::remove_file(&path);
    match text {
        text if text.is_empty() => {
            Err(Failure::coded(INTERRUPTED, "the text is empty: nothing was brought back"))
        }
        text => Ok(text),
    }
}

fn kept(path: &Path, source: &str) -> Failure {
    Failure::failed("the editor failed: nothing was brought back").hint(format!(
        "the text is kept: `tine merge-back {source} --file {}` appends it",
        path.display()
    ))
}

/// What the user is told below the text.
fn comment(part: &ForkPart, (source, into): (&AgentRecord, &AgentRecord)) -> String {
    let named = |record: &AgentRecord| {
        let name = record.name.as_deref().map(|name| format!(" ({})", one_line(name)));
        format!("{}{}", record.id.short(), name.unwrap_or_default())
    };
    format!(
        "# This is appended to {}, marked as what came of its fork\n\
        # {}, entries {} to {}.\n\
        # These four lines are left out; other lines may begin with # as well.\n\
        # An empty text brings nothing back.\n",
        named(into),
        named(source),
        part.first,
        part.last,
    )
}

/// The text without the lines of the comment, wherever they have got to. Headings of Markdown begin with the same sign, so that
/// nothing else may go.
fn without(text: &str, comment: &str) -> String {
    let is_comment = |line: &&str| comment.lines().any(|own| own == line.trim_end());
    let lines: Vec<&str> = text.lines().filter(|line| !is_comment(line)).collect();
    lines.join("\n").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_our_own_lines_are_left_out() {
        let comment = "# one\n# two\n";
        let check = |text: &str, expected: &str| assert_eq!(without(text, comment), expected);
        check("# Findings\n\n- a\n\n# one\n# two\n", "# Findings\n\n- a");
        check("# two\na\r\n# one  \nb", "a\nb");
        check("# one\n# two\n\n \n", "");
        check("# one more", "# one more");
    }
}
