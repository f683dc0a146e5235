//! What holds for every call.

use std::path::Path;

use proptest::prelude::*;
use tine_guard::filter::{ReadOnlyFilter, ToolFilter, WorkerFilter};
use tine_guard::real_path;
use tine_model::RawJson;

use crate::support::{Home, file};

const TOOLS: [&str; 10] =
    ["Bash", "FileEdit", "FileRead", "FileWrite", "Glob", "Grep", "REPL", "Agent", "bash", "x\ny"];

fn any_input() -> impl Strategy<Value = String> {
    let key = prop_oneof![
        prop::sample::select(vec!["file_path", "path", "pattern", "command", "content", "input"])
            .prop_map(str::to_owned),
        "\\PC{0,4}",
    ];
    let value = prop_oneof![
        "[a-z./~*;$({ \\PC]{0,12}".prop_map(serde_json::Value::from),
        any::<i64>().prop_map(Into::into),
        Just(serde_json::json!({ "file_path": "/x" })),
        Just(serde_json::Value::Null),
    ];
    prop::collection::vec((key, value), 0..4)
        .prop_map(|fields| serde_json::Value::Object(fields.into_iter().collect()).to_string())
}

/// Paths that wander about the home of a test and sometimes back into its memory directory.
fn wandering() -> impl Strategy<Value = Vec<&'static str>> {
    let parts = [
        "mem", "out", "notes", "door", "inner", "top", "..", ".", "", "a.md", "new", "proc",
        "self", "root",
    ];
    prop::collection::vec(prop::sample::select(parts.to_vec()), 0..8)
}

proptest! {
    #[test]
    fn no_call_panics_and_the_answers_agree(
        tool in prop::sample::select(TOOLS.to_vec()),
        input in any_input(),
    ) {
        let home = Home::new();
        let filters: [Box<dyn ToolFilter>; 3] = [
            Box::new(home.filter()),
            Box::new(ReadOnlyFilter::new()),
            Box::new(WorkerFilter::new(home.path("mem")).unwrap()),
        ];
        for filter in filters {
            prop_assert!(!crate::support::said(&*filter, tool, &input).is_empty());
        }
    }

    #[test]
    fn what_may_be_written_leads_into_the_memory_directory(parts in wandering(), start in any::<bool>()) {
        let home = Home::new();
        home.link("../out", "mem/door");
        home.link("notes", "mem/inner");
        home.link("/", "mem/top");
        home.link("mem", "inner");
        let start = if start { home.text("mem/") } else { home.text("") };
        let path = format!("{start}{}", parts.join("/"));
        let input = RawJson::parse(&file(&path)).unwrap();
        if home.filter().allows("FileWrite", &input) {
            let real = real_path(Path::new(&path)).unwrap();
            prop_assert!(real.starts_with(home.path("mem")) && real != home.path("mem"), "{path}");
            // The system agrees about whatever of it exists.
            let mut exists = Path::new(&path).to_path_buf();
            while !exists.exists() {
                prop_assert!(exists.pop());
            }
            if !path.contains("..") {
                prop_assert!(exists.canonicalize().unwrap().starts_with(home.path("mem")), "{path}");
            }
        }
    }
}
