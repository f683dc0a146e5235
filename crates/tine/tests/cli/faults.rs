//! Faults of providers, each with its outcome: one table, which `docs/faults.md` shows. Each row is tried here.

use std::path::Path;

use serde_json::{Value, json};

use crate::sim_serve::Server;
use crate::support::{Home, Ran};

/// A provider's fault.
struct Fault {
    /// In words, for the table.
    fault: &'static str,
    /// The answer of tine to it, in words.
    does: &'static str,
    /// A part of a line that the person reads.
    sees: &'static str,
    /// The exit code.
    code: i32,
    /// The number of requests.
    requests: usize,
    /// The scenario's rules before the one that answers `All is well.`
    rules: &'static str,
    /// The conversation before the prompt.
    before: Before,
}

/// A conversation before the prompt, in Anthropic's form.
#[derive(Clone, Copy, PartialEq)]
enum Before {
    Nothing,
    /// A thought that another account signed.
    Thought,
    /// A picture that is none.
    Picture,
    /// Calls with an id of another provider, twice.
    Ids,
    /// More than the window holds.
    Much,
}

const ONCE: &str = "[[turn]]\nfault = { times = 1, ";

fn faults() -> Vec<Fault> {
    let fault = |fault, does, sees, (code, requests), rules| Fault {
        fault,
        does,
        sees,
        code,
        requests,
        rules,
        before: Before::Nothing,
    };
    let of = |before, row: Fault| Fault { before, ..row };
    vec![
        fault(
            "A reply that is cut in its middle",
            "asks again, up to 10 times within `requests.patience`; what had come is kept as a note",
            "retrying in",
            (0, 2),
            "[[turn]]\ntext = \"All is well.\"\nfault = { times = 1, cut_after_events = 5 }",
        ),
        fault(
            "An error event in the middle of a reply",
            "asks again, as for a cut",
            "retrying in",
            (0, 2),
            "[[turn]]\ntext = \"All is well.\"\nfault = { times = 1, error_event_after = 5 }",
        ),
        fault(
            "A connection that is closed before the reply",
            "asks again",
            "retrying in",
            (0, 2),
            "close_before_first_byte = true }",
        ),
        fault(
            "Overload (529, 503) and faults of the provider (500, 502)",
            "waits and asks again, within `requests.patience`",
            "retrying in",
            (0, 2),
            "status = 529 }",
        ),
        fault(
            "A gateway's page instead of a reply (502)",
            "asks again",
            "retrying in",
            (0, 2),
            "status = 502, html = true }",
        ),
        fault(
            "Too many requests (429), with `retry-after` or without",
            "waits as long as it is told to; all requests of the account wait, and fewer go at once",
            "retrying in",
            (0, 2),
            "status = 429, retry_after = 0 }",
        ),
        fault(
            "Money that other requests hold (402 with `retry-after`)",
            "waits as long as it is told to",
            "retrying in",
            (0, 2),
            "status = 402, retry_after = 0 }",
        ),
        fault(
            "An account without money",
            "ends at once",
            "no credit left",
            (1, 1),
            "status = 400, message = \"Your credit balance is too low to access the API.\" }",
        ),
        fault(
            "A key that is not accepted (401)",
            "ends at once",
            "not authenticated",
            (1, 1),
            "status = 401 }",
        ),
        fault(
            "A login page or a proxy (403, HTML)",
            "ends at once",
            "not the API's answer",
            (1, 1),
            "status = 403, html = true }",
        ),
        fault(
            "A request that is refused for another reason (400)",
            "ends with the provider's words and a way out",
            "`tine compact AGENT` goes on from a text of it",
            (1, 1),
            "status = 400, message = \"the moon is full\" }",
        ),
        of(
            Before::Thought,
            fault(
                "Reasoning that another account has signed, or nobody",
                "goes on without that reasoning; the log keeps it",
                "requests leave out `reasoning up to entry",
                (0, 2),
                "",
            ),
        ),
        of(
            Before::Picture,
            fault(
                "A picture or document that the provider cannot read or does not take",
                "goes on without it; the log keeps it",
                "requests leave out `pictures",
                (0, 2),
                "",
            ),
        ),
        of(
            Before::Ids,
            fault(
                "Ids of calls that repeat, or have another provider's form",
                "sends others in their place, the same for call and result, always the same ones",
                "",
                (0, 1),
                "",
            ),
        ),
        fault(
            "A member or a cache setting that the server does not know",
            "goes on without it, and begins later conversations at that host so",
            "requests leave out `diagnostics`",
            (0, 2),
            "status = 400, message = \"diagnostics: Extra inputs are not permitted\" }",
        ),
        of(
            Before::Much,
            fault(
                "A conversation that is longer than the window",
                "learns the window, makes the conversation shorter and goes on",
                "",
                (0, 3),
                "",
            ),
        ),
        fault(
            "A reply that says nothing",
            "asks again twice, then fails",
            "the model gave no answer",
            (1, 3),
            "[[turn]]\ntext = \"\"",
        ),
        fault(
            "A reply of reasoning alone",
            "asks again twice, then fails",
            "the model gave no answer",
            (1, 3),
            "[[turn]]\nthinking = \"hm\"\ntext = \"\"",
        ),
        fault(
            "A reply that ends for an unknown reason",
            "keeps its words, and fails: they may not be all",
            "eclipse",
            (1, 1),
            "[[turn]]\ntext = \"Half of\"\nstop_reason = \"eclipse\"\nfault = { pings = 1 }",
        ),
        fault(
            "A reply that is cut at the limit of its length",
            "keeps its words, and says that they are cut",
            "cut at its token limit",
            (1, 1),
            "[[turn]]\ntext = \"Half of\"\nstop_reason = \"max_tokens\"",
        ),
        fault(
            "A call whose arguments are no JSON",
            "does not run it, and tells the model",
            "not a JSON object",
            (0, 2),
            "[[turn]]\nwhen = { tool_results = 0 }\ntool_calls = [{ name = \"Glob\", input_raw = \"{\\\"pattern\\\": \\\"*.t\" }]",
        ),
        fault(
            "Events and blocks that nobody knows, signs of life, no figures of what was billed",
            "passes over them; what nobody knows is counted as unknown",
            "",
            (0, 1),
            "[[turn]]\ntext = \"All is well.\"\nfault = { unknown_events = true, pings = 3, no_usage = true }",
        ),
    ]
}

fn messages(before: Before) -> Value {
    let call =
        json!([{ "type": "tool_use", "id": "functions.Bash:0", "name": "Bash", "input": {} }]);
    let result =
        json!([{ "type": "tool_result", "tool_use_id": "functions.Bash:0", "content": "x" }]);
    let said = |role: &str, content: Value| json!({ "role": role, "content": content });
    match before {
        Before::Nothing => json!([]),
        Before::Thought => json!([
            said("user", json!("hi")),
            said(
                "assistant",
                json!([{ "type": "thinking", "thinking": "hm", "signature": "EqQBother" }, { "type": "text", "text": "hello" }])
            ),
        ]),
        Before::Picture => json!([
            said(
                "user",
                json!([{ "type": "text", "text": "see" }, { "type": "image", "source": { "type": "base64", "media_type": "image/png", "data": "bm9uZQ==" } }])
            ),
            said("assistant", json!("seen")),
        ]),
        Before::Ids => json!([
            said("user", json!("hi")),
            said("assistant", call.clone()),
            said("user", result.clone()),
            said("assistant", call),
            said("user", result),
            said("assistant", json!("done")),
        ]),
        Before::Much => Value::Array(
            (0..60)
                .map(|number| match number % 2 {
                    0 => said("user", json!(format!("{number}: {}", "word ".repeat(300)))),
                    _ => said("assistant", json!("yes")),
                })
                .collect(),
        ),
    }
}

/// A run that meets this fault, and the number of its requests.
fn tried(fault: &Fault) -> (Ran, usize) {
    let home = Home::new();
    let rules = match fault.rules {
        rules if rules.is_empty() || rules.starts_with("[[") => rules.to_owned(),
        rest => format!("{ONCE}{rest}"),
    };
    let window = if fault.before == Before::Much { "window_tokens = 9000\n" } else { "" };
    let scenario =
        format!("name = \"faulty\"\n{window}{rules}\n[[turn]]\ntext = \"All is well.\"\n");
    let path = home.write("case.toml", &scenario);
    let bodies = home.path().join("bodies");
    let server = Server::start(
        &home,
        &["--scenario", path.to_str().unwrap(), "--log-bodies", bodies.to_str().unwrap()],
    );
    let tine = |arguments: &[&str]| {
        let mut command = home.tine(arguments);
        command.env("ANTHROPIC_BASE_URL", server.field("anthropic"));
        Ran::of(command.env("ANTHROPIC_API_KEY", "any"))
    };
    let model = "anthropic/claude-opus-5-5";
    let ran = match fault.before {
        Before::Nothing => tine(&["run", "Is all well?", "--model", model]),
        before => {
            home.write("before.json", &messages(before).to_string());
            let imported = tine(&["import", "../before.json", "--model", model, "--name", "a"]);
            assert_eq!(imported.code, 0, "{}", imported.stderr);
            tine(&["run", "--resume", "a", "Is all well?"])
        }
    };
    let requests = std::fs::read_dir(&bodies).map_or(0, |files| {
        let is_request =
            |file: &std::fs::DirEntry| file.file_name().to_string_lossy().ends_with(".json");
        files.filter_map(Result::ok).filter(is_request).count()
    });
    (ran, requests)
}

#[test]
fn every_fault_of_a_provider_has_the_outcome_that_the_table_says() {
    let mut wrong = Vec::new();
    for fault in faults() {
        let (ran, requests) = tried(&fault);
        let is_told = ran.stderr.contains(fault.sees)
            && (fault.code != 0 || ran.stdout.contains("All is well."));
        if ran.code != fault.code || !is_told || requests != fault.requests {
            wrong.push(format!(
                "{}: code {}, {requests} requests\n{}{}",
                fault.fault, ran.code, ran.stdout, ran.stderr
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n\n"));
}

/// The table of the documents.
fn table() -> String {
    let mut text = "| What the provider does | What tine does | What you see | Exit code |\n|---|---|---|---|\n".to_owned();
    for Fault { fault, does, sees, code, .. } in faults() {
        let sees = match (sees, code) {
            ("", _) => "the answer".to_owned(),
            (sees, 0) => format!("“{sees} …”, then the answer"),
            (sees, _) => format!("“… {sees} …”"),
        };
        text.push_str(&format!("| {fault} | {does} | {sees} | {code} |\n"));
    }
    text
}

#[test]
fn the_documents_show_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/faults.md");
    let shown = std::fs::read_to_string(path).unwrap();
    assert!(shown.contains(&table()), "docs/faults.md is to have this table:\n{}", table());
}
