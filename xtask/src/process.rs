//! Running other programs, with what they print shown to the developer. The only place of `xtask` that starts any.

use std::path::Path;
use std::process::{Command, ExitCode, ExitStatus, Stdio};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};

/// `git`, which must not refuse a checkout that another user owns, as in a container.
pub(crate) fn git() -> Command {
    let mut command = program("git");
    command.args(["-c", "safe.directory=*"]);
    command
}

/// The cargo that runs us, without the variables that `cargo run` set for us: build scripts that watch them would run
/// again each time a developer switches between `cargo build` and `cargo xtask`.
pub(crate) fn cargo() -> Command {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let mut command = program(cargo);
    for (name, _) in std::env::vars_os() {
        let Some(text) = name.to_str() else { continue };
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(&name);
        }
    }
    command
}

/// Any other program.
pub(crate) fn program(name: impl AsRef<std::ffi::OsStr>) -> Command {
    #[expect(clippy::disallowed_methods, reason = "developer automation runs cargo and git")]
    Command::new(name)
}

/// Whether a command succeeds; what it prints is dropped. A program that is not there does not succeed.
pub(crate) fn succeeds(mut command: Command) -> bool {
    let quiet = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    quiet.status().is_ok_and(|status| status.success())
}

/// What a command prints on stdout; an error with what it printed on stderr when it fails.
pub(crate) fn output(mut command: Command) -> Result<String> {
    let shown = shown(&command);
    let output =
        command.stdin(Stdio::null()).output().with_context(|| format!("cannot run `{shown}`"))?;
    if !output.status.success() {
        bail!("`{shown}` failed: {}", String::from_utf8_lossy(&output.stderr).trim());
    }
    String::from_utf8(output.stdout).with_context(|| format!("`{shown}` did not print UTF-8"))
}

/// Runs one announced step in `root`; its failure names it and how to run it alone.
pub(crate) fn step(name: &str, root: &Path, mut command: Command) -> Result<()> {
    let shown = shown(&command);
    eprintln!("==> {name}: {shown}");
    let start = Instant::now();
    let status =
        command.current_dir(root).status().with_context(|| format!("cannot run `{shown}`"))?;
    if !status.success() {
        bail!("{name} failed ({status})\nhint: run it alone: {shown}");
    }
    passed(name, start);
    Ok(())
}

/// The exit code that hands `status` on; as in a shell where a signal ended the program.
pub(crate) fn exit_code(status: ExitStatus) -> ExitCode {
    #[cfg(unix)]
    let signal = std::os::unix::process::ExitStatusExt::signal(&status).map(|signal| 128 + signal);
    #[cfg(not(unix))]
    let signal = None;
    let code = status.code().or(signal).and_then(|code| u8::try_from(code).ok());
    code.map_or(ExitCode::FAILURE, ExitCode::from)
}

/// Says that a step passed, and in which time.
pub(crate) fn passed(name: &str, start: Instant) {
    eprintln!("==> {name} passed in {:.1} s", start.elapsed().as_secs_f64());
}

/// The command as a developer would type it.
fn shown(command: &Command) -> String {
    let program = Path::new(command.get_program());
    let name = program.file_name().unwrap_or(program.as_os_str()).to_string_lossy();
    let settings = command.get_envs().filter_map(|(name, value)| {
        let value = value?.to_string_lossy();
        Some(format!("{}={value}", name.to_string_lossy()))
    });
    let arguments = command.get_args().map(|argument| argument.to_string_lossy().into_owned());
    let words: Vec<String> =
        settings.chain([name.into_owned()]).chain(arguments).map(|word| quoted(&word)).collect();
    words.join(" ")
}

fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_as_it_would_be_typed() {
        let mut command = program("/usr/bin/cargo");
        command
            .args(["nextest", "run", "-E", "test(it's)"])
            .env("RUSTC_BOOTSTRAP", "1")
            .env_remove("CARGO_PKG_NAME");
        assert_eq!(shown(&command), r"RUSTC_BOOTSTRAP=1 cargo nextest run -E 'test(it'\''s)'");
    }

    #[test]
    fn a_program_that_is_not_there_does_not_succeed() {
        assert!(!succeeds(program("tine-no-such-program")));
        assert!(output(program("tine-no-such-program")).is_err());
    }
}
