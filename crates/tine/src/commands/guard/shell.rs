//! `tine guard shell`: whether a command only reads; one command, or one a line.

use std::io::{self, BufRead};

use serde::{Deserialize, Serialize};
use tine_guard::{ShellText, ShellVerdict, Width, shell_verdict, warning};

use super::lines::{self, Line};
use crate::cli::GuardShellArgs;
use crate::fail::{Failure, PERMISSION};
use crate::output;
use tine_tui::words::{GREEN, RED, YELLOW, styled};

/// Longest line of input. The longest command that could run has 128 KiB, and JSON may write each byte as six.
const LINE_BYTES_MAX: u64 = 1024 * 1024;

/// The JSON shape. Others rely on it: it stays as it is.
#[derive(Serialize)]
struct VerdictJson<'a> {
    read_only: bool,
    reason: &'a str,
}

/// A line of input; other fields are ignored, a field written twice is refused.
#[derive(Deserialize)]
struct CommandJson {
    cmd: String,
}

pub(crate) fn shell(args: &GuardShellArgs) -> Result<u8, Failure> {
    let width = if args.wide { Width::Wide } else { Width::Strict };
    let Some(command) = args.command.as_deref().filter(|_| !args.jsonl) else {
        return stream(&mut io::stdin().lock(), width);
    };
    let command = ShellText::new(command);
    let verdict = command.verdict(width);
    if args.json {
        print(verdict)?;
    } else {
        output::line(&told(&command, verdict))?;
    }
    Ok(if verdict.read_only { 0 } else { PERMISSION })
}

/// The verdict for a person, with the warning where there is one.
fn told(command: &ShellText, verdict: &ShellVerdict) -> String {
    let head =
        if verdict.read_only { styled(GREEN, "read-only") } else { styled(RED, "not read-only") };
    let warned = warning(command)
        .map(|warning| format!("\n{}: {}", styled(YELLOW, "warning"), warning.text))
        .unwrap_or_default();
    format!("{head}: {}{warned}", verdict.reason)
}

fn print(verdict: &ShellVerdict) -> Result<(), Failure> {
    output::json(&VerdictJson { read_only: verdict.read_only, reason: &verdict.reason })
}

/// Answers each line as soon as it is read, also one that says nothing sensible.
fn stream(input: &mut impl BufRead, width: Width) -> Result<u8, Failure> {
    let failed = |error: io::Error| Failure::failed("cannot read standard input").because(&error);
    while let Some(line) = lines::next(input, LINE_BYTES_MAX).map_err(failed)? {
        print(&of_line(&line, width))?;
    }
    Ok(0)
}

fn of_line(line: &Line, width: Width) -> ShellVerdict {
    let command = match line {
        Line::Text(line) => command_of(line),
        Line::NotText => Err("the line is not UTF-8".to_owned()),
        Line::TooLong => Err(format!("the line is longer than {LINE_BYTES_MAX} bytes")),
    };
    match command {
        Ok(command) => shell_verdict(&command, width),
        Err(why) => ShellVerdict::refused(why),
    }
}

fn command_of(line: &str) -> Result<String, String> {
    // A list would be taken for the fields in order.
    if !line.trim_start().starts_with('{') {
        return Err("the line is not a JSON object with a text `cmd`".to_owned());
    }
    let parsed: Result<CommandJson, _> = serde_json::from_str(line);
    parsed
        .map(|line| line.cmd)
        .map_err(|error| format!("the line is not a JSON object with a text `cmd`: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(line: &[u8]) -> String {
        let line = lines::next(&mut &*[line, b"\n"].concat(), LINE_BYTES_MAX).unwrap().unwrap();
        let verdict = of_line(&line, Width::Strict);
        format!("{} {}", verdict.read_only, verdict.reason)
    }

    #[test]
    fn every_line_gets_an_answer() {
        insta::assert_snapshot!(answer(br#"{"cmd":"ls -la"}"#), @"true only reading commands: `ls`");
        insta::assert_snapshot!(answer(br#" {"x":1,"cmd":"rm a"} "#), @"false `rm` at column 1: not on the list of commands that only read");
        insta::assert_snapshot!(answer(b""), @"false the line is not a JSON object with a text `cmd`");
        insta::assert_snapshot!(answer(br#"["ls"]"#), @"false the line is not a JSON object with a text `cmd`");
        insta::assert_snapshot!(answer(br#""ls""#), @"false the line is not a JSON object with a text `cmd`");
        insta::assert_snapshot!(answer(b"{}"), @"false the line is not a JSON object with a text `cmd`: missing field `cmd` at line 1 column 2");
        insta::assert_snapshot!(answer(br#"{"cmd":5}"#), @"false the line is not a JSON object with a text `cmd`: invalid type: integer `5`, expected a string at line 1 column 8");
        insta::assert_snapshot!(answer(br#"{"cmd":null}"#), @"false the line is not a JSON object with a text `cmd`: invalid type: null, expected a string at line 1 column 11");
        insta::assert_snapshot!(answer(br#"{"cmd":"ls","cmd":"rm a"}"#), @"false the line is not a JSON object with a text `cmd`: duplicate field `cmd` at line 1 column 17");
        insta::assert_snapshot!(answer(br#"{"cmd":"ls"} {"cmd":"ls"}"#), @"false the line is not a JSON object with a text `cmd`: trailing characters at line 1 column 14");
        insta::assert_snapshot!(answer(br#"{"cmd":"ls \ud800"}"#), @"false the line is not a JSON object with a text `cmd`: unexpected end of hex escape at line 1 column 18");
        insta::assert_snapshot!(answer(b"{\"cmd\":\"ls \xff\"}"), @"false the line is not UTF-8");
        insta::assert_snapshot!(answer(br#"{"cmd":"ls \u0000"}"#), @r"false `\u{0}` at column 4: a control, blank or invisible character");
        insta::assert_snapshot!(answer(&[b"{\"cmd\":".to_vec(), vec![b'['; 100_000]].concat()), @"false the line is not a JSON object with a text `cmd`: invalid type: sequence, expected a string at line 1 column 7");
        insta::assert_snapshot!(answer(&vec![b'x'; LINE_BYTES_MAX as usize + 1]), @"false the line is longer than 1048576 bytes");
    }
}
