//! A suite's end as JUnit XML, for CI systems.

use quick_junit::{NonSuccessKind, Report, SerializeError, TestCase, TestCaseStatus, TestSuite};
use tine_guard::redact;

use crate::report::{CaseReport, RunReport, SuiteReport};

/// The report could not be written as XML.
#[derive(Debug, thiserror::Error)]
#[error("the report cannot be written as JUnit XML")]
pub struct JunitError(#[from] SerializeError);

/// The whole report; keys and passwords are taken out of what models said. Each run is a test case: `case`, or `case #2` where
/// there are several.
pub fn junit(report: &SuiteReport) -> Result<String, JunitError> {
    let mut xml = Report::new("tine eval");
    let mut suite = TestSuite::new(&*report.name);
    for case in &report.cases {
        for (number, run) in (1..).zip(&case.runs) {
            suite.add_test_case(test_case(report, case, run, number));
        }
    }
    let time = report.cases.iter().flat_map(|case| &case.runs).map(|run| run.duration).sum();
    suite.set_time(time);
    xml.set_time(time);
    xml.add_test_suite(suite);
    Ok(xml.to_string()?)
}

fn test_case(report: &SuiteReport, case: &CaseReport, run: &RunReport, number: usize) -> TestCase {
    let name = match case.runs.len() {
        1 => case.name.clone(),
        _ => format!("{} #{number}", case.name),
    };
    let complaints = run.complaints();
    let complaints: Vec<_> = complaints.iter().map(|complaint| redact(complaint)).collect();
    let status = match complaints.first() {
        None => TestCaseStatus::success(),
        Some(first) => {
            let mut status = TestCaseStatus::non_success(NonSuccessKind::Failure);
            status.set_message(&**first).set_type(run.outcome.as_str());
            status.set_description(complaints.join("\n"));
            status
        }
    };
    let mut test = TestCase::new(name, status);
    test.set_classname(&*report.name).set_time(run.duration);
    test.add_property(("model", case.model.to_string().as_str()));
    test.add_property(("tokens", (run.usage.prompt() + run.usage.output).to_string().as_str()));
    if let Some(text) = &run.text {
        test.set_system_out(&*redact(text));
    }
    test
}
