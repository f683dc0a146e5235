//! What came of a run of all checks: the failures, each with its last lines and the command that runs it alone, and what was not run.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::{Context as _, Result, bail};
use quick_junit::{Report, TestCase, TestCaseStatus};

use crate::hosts::{Host, Ran};

/// Lines of a failed test that are shown again at the end.
const LAST_LINES: usize = 12;

/// Characters of such a line: a test may print a whole request.
const LINE_CHARACTERS: usize = 300;

/// Requires everything.
const ALL: &str = "all";

/// The outcome so far.
#[derive(Debug)]
pub(super) struct Outcome {
    failed: Vec<Failed>,
    not_run: Vec<NotRun>,
    /// The file in which tests wrote what they could not run.
    not_run_file: PathBuf,
    /// The report of cargo-nextest.
    junit: PathBuf,
}

/// A step or a test that failed.
#[derive(Debug, PartialEq, Eq)]
struct Failed {
    name: String,
    last_lines: String,
    /// The command that runs it alone; empty where the last lines hold it.
    alone: String,
}

/// A test that this machine cannot run.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct NotRun {
    needs: String,
    what: String,
    why: String,
}

impl Outcome {
    /// Nothing has come of anything yet. Removes the reports of the last run.
    pub(super) fn new(target: &Path, not_run_file: PathBuf) -> Result<Self> {
        let junit = target.join("nextest").join("default").join("junit.xml");
        if junit.exists() {
            fs::remove_file(&junit).context("cannot remove the last report of the tests")?;
        }
        Ok(Self { failed: Vec::new(), not_run: Vec::new(), not_run_file, junit })
    }

    /// Takes in how a step ended. The error of a step names the command that runs it alone.
    pub(super) fn step(&mut self, name: &str, result: Result<()>) {
        if let Err(error) = result {
            eprintln!("==> {name} FAILED; the run goes on");
            let last_lines = format!("{error:#}");
            self.failed.push(Failed { name: name.to_owned(), last_lines, alone: String::new() });
        }
    }

    /// Takes in how the smoke test of a host ended.
    pub(super) fn host(&mut self, host: &Host, result: Result<Ran>) {
        match result {
            Ok(Ran::Passed) => {}
            Ok(Ran::NotRun(why)) => {
                eprintln!("==> NOT RUN: {}: {why}", host.name);
                let (needs, what) = (host.name.to_owned(), host.about.to_owned());
                self.not_run.push(NotRun { needs, what, why });
            }
            Err(error) => self.step(host.name, Err(error)),
        }
    }

    /// Takes in how the tests ended: each failed one by cargo-nextest's report, where it ran them.
    pub(super) fn tests(&mut self, result: Result<()>, has_nextest: bool) -> Result<()> {
        let report = fs::read_to_string(&self.junit).ok().filter(|_| has_nextest);
        let Some(text) = report else {
            self.step("tests", result);
            return Ok(());
        };
        let report =
            Report::deserialize_from_str(&text).context("cannot read the tests' report")?;
        let (failed, retried) = read(&report);
        for test in retried {
            eprintln!("==> retried: {test} failed first, and passed when it ran again");
        }
        match result {
            Err(error) if failed.is_empty() => self.step("tests", Err(error)),
            _ => self.failed.extend(failed),
        }
        Ok(())
    }

    /// Prints the lists. An error says how much failed; what is required and was not run has failed.
    pub(super) fn close(mut self, required: &[String], start: Instant) -> Result<()> {
        let lines = fs::read_to_string(&self.not_run_file).unwrap_or_default();
        self.not_run.extend(lines.lines().filter_map(NotRun::read));
        self.not_run.sort();
        self.not_run.dedup();
        eprint!("{}", table(&self.not_run));
        let is_required = |needs: &str| required.iter().any(|word| word == needs || word == ALL);
        let lacking: Vec<&NotRun> =
            self.not_run.iter().filter(|test| is_required(&test.needs)).collect();
        self.failed.extend(lacking.iter().map(|test| Failed {
            name: format!("not run, but required: {}", test.what),
            last_lines: format!("needs {}: {}", test.needs, test.why),
            alone: String::new(),
        }));
        eprint!("{}", list(&self.failed));
        let (failed, not_run) = (self.failed.len(), self.not_run.len());
        let seconds = start.elapsed().as_secs_f64();
        if failed == 0 {
            eprintln!("==> everything passed in {seconds:.1} s; {not_run} not run");
            return Ok(());
        }
        bail!("{failed} failed in {seconds:.1} s; {not_run} not run")
    }
}

impl NotRun {
    /// Reads a line of `tine_testkit::not_run`.
    fn read(line: &str) -> Option<Self> {
        let mut fields = line.split('\t').map(str::to_owned);
        Some(Self { needs: fields.next()?, what: fields.next()?, why: fields.next()? })
    }
}

/// The failed tests of a report, and those that passed when they ran again.
fn read(report: &Report) -> (Vec<Failed>, Vec<String>) {
    let (mut failed, mut retried) = (Vec::new(), Vec::new());
    for suite in &report.test_suites {
        for case in &suite.test_cases {
            match &case.status {
                TestCaseStatus::NonSuccess { .. } => {
                    failed.push(Failed::of(suite.name.as_str(), case))
                }
                TestCaseStatus::Success { flaky_runs } if !flaky_runs.is_empty() => {
                    retried.push(format!("{} {}", suite.name.as_str(), case.name.as_str()));
                }
                TestCaseStatus::Success { .. } | TestCaseStatus::Skipped { .. } => {}
            }
        }
    }
    (failed, retried)
}

impl Failed {
    fn of(binary: &str, case: &TestCase) -> Self {
        let test = case.name.as_str();
        let printed = [&case.system_out, &case.system_err];
        let printed: Vec<&str> = printed.into_iter().flatten().map(|text| text.as_str()).collect();
        Self {
            name: format!("{binary} {test}"),
            last_lines: last_lines(&printed.join("\n")),
            alone: format!("cargo xtask test -- -E 'binary_id(={binary}) & test(={test})'"),
        }
    }
}

/// The last lines before the backtrace, which says where the test stands and not what it saw.
fn last_lines(printed: &str) -> String {
    let told = printed.split("\nstack backtrace:").next().unwrap_or_default();
    let lines: Vec<&str> = told.lines().filter(|line| !line.trim().is_empty()).collect();
    let last = lines.get(lines.len().saturating_sub(LAST_LINES)..).unwrap_or_default();
    let cut = |line: &&str| match line.char_indices().nth(LINE_CHARACTERS) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => (*line).to_owned(),
    };
    last.iter().map(cut).collect::<Vec<_>>().join("\n")
}

fn list(failed: &[Failed]) -> String {
    let mut text = String::new();
    if failed.is_empty() {
        return text;
    }
    // Writing to a text cannot fail.
    let _ = writeln!(text, "==> failed: {}", failed.len());
    for Failed { name, last_lines, alone } in failed {
        let _ = writeln!(text, "  {name}");
        for line in last_lines.lines() {
            let _ = writeln!(text, "      {line}");
        }
        if !alone.is_empty() {
            let _ = writeln!(text, "    run it alone: {alone}");
        }
    }
    text
}

fn table(not_run: &[NotRun]) -> String {
    let mut text = String::new();
    if not_run.is_empty() {
        return text;
    }
    let width = |field: fn(&NotRun) -> &str| {
        not_run.iter().map(|test| field(test).chars().count()).max().unwrap_or_default()
    };
    let (needs_width, what_width) =
        (width(|test| &test.needs).max(5), width(|test| &test.what).max(4));
    let _ = writeln!(text, "==> not run here, and why");
    let _ = writeln!(text, "    {:<needs_width$}  {:<what_width$}  why", "needs", "what");
    for NotRun { needs, what, why } in not_run {
        let _ = writeln!(text, "    {needs:<needs_width$}  {what:<what_width$}  {why}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const REPORT: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="nextest-run" tests="3" failures="1" errors="0">
  <testsuite name="tine::cli" tests="3" disabled="0" errors="0" failures="1">
    <testcase name="talk::one" classname="tine::cli" time="0.1"/>
    <testcase name="talk::two" classname="tine::cli" time="0.1">
      <failure type="test failure">boom</failure>
      <system-out>running 1 test</system-out>
      <system-err>thread 'talk::two' panicked at a.rs:1:1:
no "x" in
the screen
stack backtrace:
   0: one
   1: two</system-err>
    </testcase>
    <testcase name="talk::three" classname="tine::cli" time="0.1">
      <flakyFailure type="test failure">late</flakyFailure>
    </testcase>
  </testsuite>
</testsuites>"#;

    #[test]
    fn each_failed_test_is_listed_with_what_it_said_and_how_to_run_it_alone() {
        let (failed, retried) = read(&Report::deserialize_from_str(REPORT).unwrap());
        let expected = "\
==> failed: 1
  tine::cli talk::two
      running 1 test
      thread 'talk::two' panicked at a.rs:1:1:
      no \"x\" in
      the screen
    run it alone: cargo xtask test -- -E 'binary_id(=tine::cli) & test(=talk::two)'
";
        assert_eq!(list(&failed), expected);
        assert_eq!(retried, ["tine::cli talk::three"]);
        assert_eq!(list(&[]), "");
    }

    #[test]
    fn a_long_line_is_cut() {
        let told = last_lines(&format!("short\n{}", "ä".repeat(2 * LINE_CHARACTERS)));
        assert_eq!(told, format!("short\n{}…", "ä".repeat(LINE_CHARACTERS)));
    }

    fn outcome(folder: &Path, lines: &str) -> Outcome {
        fs::write(folder.join("not-run"), lines).unwrap();
        Outcome::new(folder, folder.join("not-run")).unwrap()
    }

    #[test]
    fn what_is_not_run_fails_only_where_it_is_required() {
        let folder = tempfile::tempdir().unwrap();
        let lines = "namespaces\tview\tuser namespaces are off\n".repeat(2);
        let close = |required: &[&str]| {
            let required: Vec<String> = required.iter().map(|&word| word.to_owned()).collect();
            outcome(folder.path(), &lines).close(&required, Instant::now())
        };
        close(&[]).unwrap();
        close(&["sdks"]).unwrap();
        for required in ["namespaces", "all"] {
            let error = close(&[required]).unwrap_err().to_string();
            assert!(error.starts_with("1 failed in ") && error.ends_with("; 1 not run"), "{error}");
        }
        let expected = "\
==> not run here, and why
    needs       what  why
    namespaces  view  user namespaces are off
";
        let rows: Vec<NotRun> = lines.lines().take(1).filter_map(NotRun::read).collect();
        assert_eq!(table(&rows), expected);
    }

    #[test]
    fn a_failed_step_is_counted_and_does_not_end_the_run() {
        let folder = tempfile::tempdir().unwrap();
        let mut outcome = outcome(folder.path(), "");
        outcome.step("tidy", Err(anyhow::anyhow!("a file is too long")));
        outcome.step("doctests", Ok(()));
        outcome.tests(Err(anyhow::anyhow!("no report")), true).unwrap();
        assert_eq!(outcome.failed.len(), 2);
        assert!(outcome.close(&[], Instant::now()).is_err());
    }
}
