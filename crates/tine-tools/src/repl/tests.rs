use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use tine_model::RawJson;
use tokio_util::sync::CancellationToken;

use crate::place::fixture::Fixture;
use crate::{Caller, ToolOutput, Toolbox};

/// Answers a call with its arguments; refuses to write.
#[derive(Default)]
struct Echo {
    calls: Mutex<Vec<String>>,
    /// Cancelled by the first call.
    cancel: Option<CancellationToken>,
}

#[async_trait]
impl Caller for Echo {
    async fn call(&self, tool: &str, input: &RawJson) -> ToolOutput {
        self.calls.lock().unwrap().push(format!("{tool} {input}"));
        if let Some(cancel) = &self.cancel {
            cancel.cancel();
        }
        match tool {
            "FileWrite" => ToolOutput::failed("Denied: the mode is read-only."),
            _ => ToolOutput::done(format!("{input}")),
        }
    }
}

async fn run_with(echo: Arc<Echo>, code: &str) -> String {
    let fixture = Fixture::new();
    let place = fixture.place.with_caller(echo.clone());
    let input = RawJson::parse(&serde_json::json!({ "code": code }).to_string()).unwrap();
    let repl = Toolbox::built_in().with_repl().get("REPL").unwrap().clone();
    let cancel = echo.cancel.clone().unwrap_or_default();
    let output = repl.run(&place, &input, &cancel).await;
    if output.is_error { format!("error: {}", output.text) } else { output.text }
}

async fn run(code: &str) -> String {
    run_with(Arc::default(), code).await
}

#[tokio::test]
async fn a_script_calls_tools_and_returns_its_last_value() {
    let echo = Arc::new(Echo::default());
    let code = r#"
        for name in ["a", "b"] { print(Grep(#{pattern: "x", path: name})); }
        let refused = "";
        try { FileWrite(#{file_path: "a", content: "b"}) } catch (why) { refused = why; }
        #{refused: refused, sum: [1, 2.5, true, ()]}
    "#;
    insta::assert_snapshot!(run_with(echo.clone(), code).await, @r#"
    {"path":"a","pattern":"x"}
    {"path":"b","pattern":"x"}
    {"refused":"Denied: the mode is read-only.","sum":[1,2.5,true,null]}
    "#);
    insta::assert_snapshot!(echo.calls.lock().unwrap().join("\n"), @r#"
    Grep {"path":"a","pattern":"x"}
    Grep {"path":"b","pattern":"x"}
    FileWrite {"content":"b","file_path":"a"}
    "#);
}

#[tokio::test]
async fn a_failure_keeps_what_was_printed_and_says_where() {
    insta::assert_snapshot!(run("print(1); FileWrite(#{})").await, @"
    error: 1
    [the script failed: Runtime error: Denied: the mode is read-only. (line 1, position 11)]
    ");
    insta::assert_snapshot!(run("let x = ;").await, @"error: [the script failed: Syntax error: Unexpected ';' (line 1, position 9)]");
    insta::assert_snapshot!(run("nothing(1)").await, @"error: [the script failed: Function not found: nothing (i64) (line 1, position 1)]");
    insta::assert_snapshot!(run("let x = 1;").await, @"[the script printed nothing]");
}

#[tokio::test]
async fn there_is_no_other_way_to_the_world() {
    for code in [
        r#"import "x" as y; 1"#,
        r#"eval("1")"#,
        "sleep(1)",
        "sleep(0.5)",
        "timestamp()",
        r#"REPL(#{code: "1"})"#,
        r#"open("x")"#,
    ] {
        let output = run(code).await;
        assert!(output.starts_with("error: [the script failed"), "{code}: {output}");
    }
}

#[tokio::test]
async fn every_script_ends() {
    let deep = "Expression exceeds maximum complexity";
    for (code, limit) in [
        ("loop { }".to_owned(), "Too many operations"),
        ("fn f() { f() } f()".to_owned(), "Stack overflow"),
        (r#"let s = "x"; loop { s += s; }"#.to_owned(), "Length of string too large"),
        ("let a = []; loop { a += a + [1]; }".to_owned(), "Size of array/BLOB too large"),
        (format!("{}1{}", "(".repeat(100_000), ")".repeat(100_000)), deep),
        (format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000)), deep),
        ("{".repeat(100_000), deep),
        ("if true {".repeat(20_000), deep),
        ("- ".repeat(100_000), deep),
        ("! ".repeat(100_000), deep),
        ("a.".repeat(100_000), "failed"),
        ("|x| ".repeat(50_000), deep),
        ("switch x { 1 => ".repeat(10_000), "failed"),
        ("`${".repeat(50_000), "failed"),
    ] {
        let output = run(&code).await;
        let head: String = code.chars().take(20).collect();
        assert!(output.starts_with("error: ") && output.contains(limit), "{head}: {output}");
    }
}

#[tokio::test]
async fn a_script_that_is_cancelled_ends_and_says_so() {
    let cancel = CancellationToken::new();
    let echo = Arc::new(Echo { cancel: Some(cancel), ..Echo::default() });
    let output = run_with(echo, "print(1); Glob(#{}); loop { }").await;
    insta::assert_snapshot!(output, @"
    error: 1
    [cancelled; the script was stopped]
    ");
}

#[tokio::test]
async fn without_somebody_to_ask_a_call_fails() {
    let fixture = Fixture::new();
    let repl = Toolbox::built_in().with_repl().get("REPL").unwrap().clone();
    insta::assert_snapshot!(fixture.run(&*repl, r#"{"code":"Glob(#{})"}"#).await, @"error: [the script failed: Runtime error: no other tool can be called here (line 1, position 1)]");
}
