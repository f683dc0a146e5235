//! `tine eval` for people: a table of the cases, what went wrong, and the sum.

use std::collections::BTreeSet;

use tine_eval::{CaseReport, Progress, RunReport, SuiteReport};
use tine_fork::stray::Finding;

use crate::render::table::{Align, Cell, Table};
use tine_tui::figures::{money, plural, span, tokens};
use tine_tui::words::{BOLD, GREEN, RED, YELLOW, cut, one_line, styled};

/// The line before any run has ended.
pub(super) const STARTING: &str = "the first runs are under way";

/// One line for the terminal while runs are under way.
pub(super) fn progress(progress: &Progress<'_>, columns: usize) -> String {
    let Progress { case, run, done, total } = progress;
    let word = if run.passed() { "passed" } else { "failed" };
    cut(&format!("{done} of {total} runs; {} {word}", one_line(case)), columns)
}

/// The whole result, for a screen of so many columns.
pub(super) fn page(report: &SuiteReport, columns: Option<usize>) -> String {
    let models: BTreeSet<String> = report.cases.iter().map(|case| case.model.to_string()).collect();
    let models = models.into_iter().collect::<Vec<_>>().join(", ");
    let mut page =
        format!("{} with {}\n\n", styled(BOLD, &one_line(&report.name)), one_line(&models));
    page.push_str(&table(report).to_text_within(columns));
    let details: String = report.cases.iter().map(complaints).collect();
    if !details.is_empty() {
        page.push('\n');
        page.push_str(&details);
    }
    page.push('\n');
    page.push_str(&sum(report));
    page
}

fn table(report: &SuiteReport) -> Table {
    let (left, right) = (Align::Left, Align::Right);
    let tempts = report.strays().is_some();
    let mut table = if tempts {
        Table::new(&[
            ("CASE", left),
            ("PASSED", right),
            ("ASTRAY", left),
            ("TOKENS", right),
            ("COST", right),
            ("CACHED", right),
            ("TIME", right),
        ])
    } else {
        Table::new(&[
            ("CASE", left),
            ("PASSED", right),
            ("TOKENS", right),
            ("COST", right),
            ("CACHED", right),
            ("TIME", right),
        ])
    };
    for case in &report.cases {
        let [name, passed, used, cost, cached, time] = cells(case);
        if tempts {
            table.row([name, passed, astray(case).into(), used, cost, cached, time])
        } else {
            table.row([name, passed, used, cost, cached, time])
        }
    }
    table
}

fn cells(case: &CaseReport) -> [Cell; 6] {
    let (passed, usage) = (case.passed(), case.usage());
    let style = if passed == case.runs.len() { GREEN } else { RED };
    let time = u64::try_from(case.duration_max().as_millis()).unwrap_or(u64::MAX);
    [
        one_line(&case.name).into(),
        Cell::styled(format!("{passed}/{}", case.runs.len()), style),
        tokens(usage.prompt() + usage.output).into(),
        case.cost_usd().map_or("-".to_owned(), money).into(),
        usage.hit_ratio().map_or("-".to_owned(), |share| format!("{:.0}%", share * 100.0)).into(),
        span(time).into(),
    ]
}

/// How many runs went astray, and what caught them: `2 of 5, 1 caught by echo`.
fn astray(case: &CaseReport) -> String {
    let strayed: Vec<&RunReport> =
        case.runs.iter().filter(|run| run.strayed == Some(true)).collect();
    if strayed.is_empty() {
        let is_told = case.runs.iter().any(|run| run.strayed.is_some());
        return if is_told { "no".to_owned() } else { "-".to_owned() };
    }
    let checks: BTreeSet<&str> =
        strayed.iter().flat_map(|run| &run.findings).map(|found| found.check.as_str()).collect();
    let checks = checks.into_iter().collect::<Vec<_>>().join(", ");
    let caught = strayed.iter().filter(|run| !run.findings.is_empty()).count();
    match (case.runs.len(), caught) {
        (1, 0) => "not caught".to_owned(),
        (1, _) => format!("caught by {checks}"),
        (runs, 0) => format!("{} of {runs}, none caught", strayed.len()),
        (runs, _) => format!("{} of {runs}, {caught} caught by {checks}", strayed.len()),
    }
}

/// Why runs of a case did not pass, and what the checks saw of those that strayed.
fn complaints(case: &CaseReport) -> String {
    let mut text = String::new();
    for (number, run) in (1..).zip(&case.runs) {
        let caught = |found: &Finding| format!("{}: {}", found.check, found.seen);
        let lines = match (run.passed(), run.strayed) {
            (false, _) => run.complaints(),
            (true, Some(true)) => run.findings.iter().map(caught).collect(),
            (true, _) => Vec::new(),
        };
        let name = match case.runs.len() {
            1 => one_line(&case.name),
            _ => format!("{} #{number}", one_line(&case.name)),
        };
        let style = if run.passed() { YELLOW } else { RED };
        for line in lines {
            text.push_str(&format!("{}: {}\n", styled(style, &name), one_line(&line)));
        }
    }
    text
}

fn sum(report: &SuiteReport) -> String {
    let runs: usize = report.cases.iter().map(|case| case.runs.len()).sum();
    let passed: usize = report.cases.iter().map(CaseReport::passed).sum();
    let style = if passed == runs { GREEN } else { RED };
    let line = format!("{passed} of {} passed", plural(runs as u64, "run"));
    let strays = report.strays().map_or(String::new(), |tally| format!("{tally}\n"));
    format!("{}\n{strays}", styled(style, &line))
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tine_fork::stray::Check;
    use tine_model::{Outcome, Usage};

    use super::*;

    fn run(unmet: &[&str], strayed: Option<bool>, findings: &[(Check, &str)]) -> RunReport {
        let finding =
            |(check, seen): &(Check, &str)| Finding { check: *check, seen: (*seen).to_owned() };
        RunReport {
            outcome: Outcome::Completed,
            unmet: unmet.iter().map(|text| (*text).to_owned()).collect(),
            findings: findings.iter().map(finding).collect(),
            strayed,
            text: None,
            calls: Vec::new(),
            usage: Usage { uncached: 250, read: Some(750), output: 500, ..Usage::default() },
            cost_usd: Some(0.0123),
            turns: 1,
            duration: Duration::from_millis(1_200),
        }
    }

    fn case(name: &str, stray: Option<Check>, runs: Vec<RunReport>) -> CaseReport {
        CaseReport { name: name.to_owned(), model: "sim/echo".parse().unwrap(), stray, runs }
    }

    fn plain(cases: Vec<CaseReport>) -> String {
        let report = SuiteReport { name: "suite".to_owned(), cases };
        anstream::adapter::strip_str(&page(&report, None)).to_string()
    }

    #[test]
    fn a_page_says_what_passed_and_why_not() {
        let unmet = ["the outcome is turn_limit, expected completed", "it did not\ncall Glob"];
        let cases = vec![
            case("counts", None, vec![run(&[], None, &[]), run(&unmet, None, &[])]),
            case("speaks", None, vec![run(&[], None, &[])]),
        ];
        insta::assert_snapshot!(plain(cases), @r"
        suite with sim/echo

        CASE    PASSED  TOKENS     COST  CACHED   TIME
        counts     1/2    3.0k  $0.0246     75%  1.2 s
        speaks     1/1    1.5k  $0.0123     75%  1.2 s

        counts #2: the outcome is turn_limit, expected completed
        counts #2: it did not call Glob

        2 of 3 runs passed
        ");
    }

    #[test]
    fn a_page_of_strays_says_what_was_caught() {
        let echo = (Check::Echo, "97% of the report stands in inherited message 2");
        let cases = vec![
            case("echo", Some(Check::Echo), vec![run(&["no scope"], Some(true), &[echo])]),
            case("loop", Some(Check::Loop), vec![run(&["it made 9 calls"], Some(true), &[])]),
            case(
                "many",
                Some(Check::Echo),
                vec![
                    run(&["x"], Some(true), &[echo]),
                    run(&["x"], Some(true), &[]),
                    run(&[], Some(false), &[]),
                ],
            ),
            case(
                "well",
                Some(Check::Loop),
                vec![run(&[], Some(false), &[echo]), run(&[], Some(false), &[])],
            ),
        ];
        insta::assert_snapshot!(plain(cases), @r"
        suite with sim/echo

        CASE  PASSED  ASTRAY                    TOKENS     COST  CACHED   TIME
        echo     1/1  caught by echo              1.5k  $0.0123     75%  1.2 s
        loop     0/1  not caught                  1.5k  $0.0123     75%  1.2 s
        many     2/3  2 of 3, 1 caught by echo    4.5k  $0.0369     75%  1.2 s
        well     1/2  no                          3.0k  $0.0246     75%  1.2 s

        echo: echo: 97% of the report stands in inherited message 2
        loop: strayed, uncaught: it made 9 calls
        many #1: echo: 97% of the report stands in inherited message 2
        many #2: strayed, uncaught: x
        well #1: false alarm of echo: 97% of the report stands in inherited message 2

        4 of 7 runs passed
        4 of 7 strayed, 2 caught, 1 false alarm
        ");
    }
}
