//! A text in the user's editor, between the draft and the ancestor that gets it.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use tine_model::AgentRecord;
use tine_runtime::ForkPart;

use crate::connect::variable;
use crate::fail::{Failure, INTERRUPTED};
use crate::interrupt::undisturbed;
use crate::render::words::one_line;

/// The variables that name an editor; the first that is set counts.
const VARIABLES: [&str; 2] = ["VISUAL", "EDITOR"];

/// Only this user may read what an agent has found out.
const PRIVATE: u32 = 0o600;

/// The user's editor, as a command of a shell.
pub(super) struct Editor(String);

impl Editor {
    /// The editor that is set. None is guessed: who lands in one that they do not know may not find out of it.
    pub(super) fn find() -> Result<Self, Failure> {
        let set = VARIABLES.into_iter().filter_map(variable);
        let mut set = set.filter(|command| !command.trim().is_empty());
        set.next().map(Self).ok_or_else(|| {
            Failure::input("no editor is set")
                .hint("set VISUAL or EDITOR to a command such as `nano` or `code --wait`")
                .hint("--no-edit appends the text as it is; --dry-run only prints it")
        })
    }

    /// The text as the user leaves it. Where the editor fails, the file stays, since a draft is paid for.
    pub(super) async fn edit(
        &self,
        part: &ForkPart,
        (source, into): (&AgentRecord, &AgentRecord),
        text: &str,
    ) -> Result<String, Failure> {
        let comment = comment(part, (source, into));
        let name = format!("tine-merge-back-{}-{}.md", source.id.short(), std::process::id());
        let path = std::env::temp_dir().join(name);
        let failed = |error: io::Error| {
            Failure::failed(format!("cannot edit {}", path.display()))
                .because(&error)
                .hint("--no-edit appends the text as it is; --dry-run only prints it")
        };
        write(&path, &format!("{text}\n\n{comment}")).map_err(failed)?;
        let has_ended_well =
            undisturbed(tine_tools::edit_file(&self.0, &path)).await?.map_err(failed)?;
        let edited = fs::read_to_string(&path).map_err(failed)?;
        if !has_ended_well {
            fs::write(&path, without(&edited, &comment)).map_err(failed)?;
            return Err(kept(&path, &source.id.short()));
        }
        // Whoever cannot remove it can still read what was appended.
        let _ = fs::remove_file(&path);
        match without(&edited, &comment) {
            text if text.is_empty() => {
                Err(Failure::coded(INTERRUPTED, "the text is empty: nothing was brought back"))
            }
            text => Ok(text),
        }
    }
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(PRIVATE);
    options.open(path)?.write_all(text.as_bytes())
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
