//! Texts that people and models write: reports, permission rules and calls, scenarios.
#![no_main]

use std::path::Path;

use libfuzzer_sys::fuzz_target;
use tine_fork::worker::Report;
use tine_guard::{Call, PermissionMode, Rules, Width, describe, judge};
use tine_model::RawJson;
use tine_sim::Scenario;

fuzz_target!(|text: &str| {
    assert_eq!(Report::parse(text).raw, text);
    let _ = Scenario::parse(text, "fuzz");
    let (rule, input) = text.split_once('\n').unwrap_or((text, "{}"));
    let rules = Rules::parse(&[rule], &[], &[]).unwrap_or_default();
    if let Ok(input) = RawJson::parse(input) {
        for tool in ["Bash", "FileEdit", "FileRead", "Glob", "Grep", "Other"] {
            let call = Call::new(tool, &input, Path::new("/somewhere"));
            let _ = describe(&call);
            for mode in PermissionMode::ALL {
                let _ = judge(&call, mode, Width::Wide, &rules);
            }
        }
    }
});
