//! The user's own editor on one file, at the user's own terminal. It is the user's program, started at the user's wish: nothing that an
//! agent says ever becomes part of the command.

use std::io;
use std::path::Path;
use std::process::Stdio;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
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

/// Shows a text by a command as `$PAGER` holds it, which may have options, and waits until it has ended. It has this process's terminal
/// meanwhile. An error means that it failed, and may have shown nothing.
pub async fn page(command: &str, text: &str) -> io::Result<()> {
    let mut pager = Command::new("/bin/sh").args(["-c", command]).stdin(Stdio::piped()).spawn()?;
    if let Some(mut input) = pager.stdin.take() {
        // Whoever leaves early has seen enough.
        let _ = input.write_all(text.as_bytes()).await;
    }
    let status = pager.wait().await?;
    if status.success() { Ok(()) } else { Err(io::Error::other(status.to_string())) }
}

/// Runs a command of the user's that prints something, such as a key, and returns what it printed on standard output. It has no
/// terminal, and ends with the time; the first line of its standard error is part of the error.
pub async fn printed_by(command: &str, time: Duration) -> io::Result<String> {
    let mut started = Command::new("/bin/sh");
    started.args(["-c", command]).stdin(Stdio::null()).kill_on_drop(true);
    let output = tokio::time::timeout(time, started.output()).await.map_err(|_| {
        let seconds = time.as_secs();
        io::Error::new(io::ErrorKind::TimedOut, format!("`{command}` took more than {seconds} s"))
    })??;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let said = said.lines().next().unwrap_or_default();
        return Err(io::Error::other(format!("`{command}`: {}: {said}", output.status)));
    }
    String::from_utf8(output.stdout).map_err(io::Error::other)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_pager_may_leave_early_and_one_that_is_not_there_is_an_error() {
        let text = "line\n".repeat(100_000);
        page("true", &text).await.unwrap();
        page("cat > /dev/null", &text).await.unwrap();
        for failing in ["exit 127", "false", "less '"] {
            page(failing, &text).await.unwrap_err();
        }
    }

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
