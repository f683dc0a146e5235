//! No input makes a tool panic or do harm.

use proptest::prelude::*;
use tine_model::RawJson;
use tine_tools::{Place, Toolbox};
use tokio_util::sync::CancellationToken;

/// The fields of all tools, so that many inputs come past the check of names.
const FIELDS: [&str; 14] = [
    "file_path",
    "offset",
    "limit",
    "content",
    "old_string",
    "new_string",
    "replace_all",
    "pattern",
    "path",
    "glob",
    "type",
    "output_mode",
    "context",
    "head_limit",
];

fn any_json() -> impl Strategy<Value = serde_json::Value> {
    let leaf = prop_oneof![
        Just(serde_json::Value::Null),
        any::<bool>().prop_map(Into::into),
        any::<i64>().prop_map(Into::into),
        any::<f64>().prop_map(Into::into),
        // No `/` and no `..`, so that nothing outside the temporary directory is walked.
        "[a-z*?{}\\[\\]()|\\\\~\0]{0,10}".prop_map(Into::into),
        "[\\PC&&[^/.]]{0,10}".prop_map(Into::into),
    ];
    let key = || prop_oneof![4 => prop::sample::select(FIELDS.to_vec()).prop_map(str::to_owned), 1 => "\\PC{0,6}"];
    leaf.prop_recursive(3, 24, 5, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Into::into),
            prop::collection::vec((key(), inner), 0..5)
                .prop_map(|fields| serde_json::Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn no_tool_panics_on_any_input(input in any_json()) {
        let directory = tempfile::tempdir()?;
        let place = Place::new(&directory.path().canonicalize()?)?;
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        let raw = RawJson::parse(&input.to_string())?;
        for spec in Toolbox::built_in().with_repl().specs() {
            let is_command = input.get("command").is_some_and(serde_json::Value::is_string);
            if spec.name == "Bash" && is_command {
                continue;
            }
            let toolbox = Toolbox::built_in().with_repl();
            let Some(tool) = toolbox.get(spec.name) else { continue };
            let output = runtime.block_on(tool.run(&place, &raw, &CancellationToken::new()));
            prop_assert!(!output.text.contains("stopped unexpectedly"), "{}", output.text);
            prop_assert!(!output.text.is_empty());
        }
    }
}
