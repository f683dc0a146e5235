//! The user's own editor on one file, at the user's own terminal. It is the user's program, started at the user's wish: nothing that an
//! agent says ever becomes part of the command.

use std::io;
use std::path::Path;

use tokio::process::Command;

/// Opens `file` with a command as `$VISUAL` and `$EDITOR` hold it, which may have options, and waits until it has ended; whether it
/// has ended well. It has this process's terminal meanwhile: who calls this should let Ctrl-C be the editor's.
pub async fn edit_file(command: &str, file: &Path) -> io::Result<bool> {
    let status = Command::new("/bin/sh")
        // The file is a word of its own, whatever its name holds.
        .args(["-c", &format!("{command} \"$@\""), "editor"])
        .arg(file)
        .status()
        .await?;
    Ok(status.success())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_command_may_have_options_and_the_file_any_name() {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("a b $(false).md");
        std::fs::write(&file, "one\n").unwrap();
        assert!(edit_file("sed -i -e s/one/two/", &file).await.unwrap());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "two\n");
        assert!(!edit_file("exit 3; :", &file).await.unwrap());
    }
}
