//! A text in the user's own editor.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

use crate::environment::variable;
use crate::fail::Failure;
use crate::interrupt::undisturbed;

/// The variables that name an editor; the first that is set counts.
const VARIABLES: [&str; 2] = ["VISUAL", "EDITOR"];

/// Only this user may read what is written to agents, and what they have found out.
const PRIVATE: u32 = 0o600;

/// The user's editor, as a command of a shell.
pub(crate) struct Editor(String);

impl Editor {
    /// The editor that is set. None is guessed: who lands in one that they do not know may not find out of it.
    pub(crate) fn find() -> Result<Self, Failure> {
        let set = VARIABLES.into_iter().filter_map(variable);
        let mut set = set.filter(|command| !command.trim().is_empty());
        set.next().map(Self).ok_or_else(|| {
            Failure::input("no editor is set")
                .hint("set VISUAL or EDITOR to a command such as `nano` or `code --wait`")
        })
    }

    /// Writes a text into a new file, and lets the user edit that: what it holds then, and whether the editor ended well. The file stays.
    pub(crate) async fn edit(&self, path: &Path, text: &str) -> Result<(String, bool), Failure> {
        let failed = |error: io::Error| {
            Failure::failed(format!("cannot edit {}", path.display())).because(&error)
        };
        write(path, text).map_err(failed)?;
        let has_ended_well =
            undisturbed(tine_tools::edit_file(&self.0, path)).await?.map_err(failed)?;
        Ok((fs::read_to_string(path).map_err(failed)?, has_ended_well))
    }

    /// The same for a text that need not outlive the editor. Where that fails the file stays, with what was written.
    pub(crate) async fn edit_text(&self, stem: &str, text: &str) -> Result<String, Failure> {
        let path = place(stem);
        let (text, has_ended_well) = self.edit(&path, text).await?;
        if !has_ended_well {
            return Err(Failure::failed("the editor failed")
                .hint(format!("the text is kept: {}", path.display())));
        }
        // Whoever cannot remove it can still read what was written.
        let _ = fs::remove_file(&path);
        Ok(text)
    }
}

/// Where a text of this process is edited.
pub(crate) fn place(stem: &str) -> PathBuf {
    std::env::temp_dir().join(format!("{stem}-{}.md", std::process::id()))
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(PRIVATE);
    options.open(path)?.write_all(text.as_bytes())
}
