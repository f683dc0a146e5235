//! `tine with` and `tine gateway serve`.

use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use serde_json::Value;

use crate::sim_serve::Server;
use crate::support::Home;

/// Options of a program that is told its base URL by `LLM_URL`.
const LLM_URL: [&str; 5] = ["with", "--base-url-env", "LLM_URL", "--format", "anthropic"];

#[test]
fn a_program_is_given_an_address_and_its_end_is_the_end() {
    let home = Home::new();
    let with = |script: &str| home.ran(&[LLM_URL.as_slice(), &["sh", "-c", script]].concat());
    let ran = with("printf %s \"$LLM_URL\"; exit 7");
    assert_eq!(ran.code, 7, "{}", ran.stderr);
    let (address, path) = ran.stdout.split_once("127.0.0.1:").unwrap();
    assert!(address == "http://" && path.ends_with("/anthropic"), "{}", ran.stdout);
    assert_eq!(with("kill -KILL $$").code, 128 + 9);
}

#[test]
fn a_program_that_is_not_there_or_not_known_is_told() {
    let home = Home::new();
    let ran = home.ran(&["with", "claude", "-p", "hi"]);
    insta::assert_snapshot!(home.shown(&ran), @"
    code: 1
    --- stdout
    --- stderr
    error: cannot run claude: No such file or directory (os error 2)
    hint: install it, or give its path
    ");
    let ran = home.ran(&["with", "some-agent"]);
    insta::assert_snapshot!(home.shown(&ran), @"
    code: 2
    --- stdout
    --- stderr
    error: nobody knows how some-agent is told its base URL
    hint: say it: `tine with --base-url-env NAME --format anthropic|openai PROGRAM`
    ");
    let ran = home.ran(&["with"]);
    assert_eq!(ran.code, 2, "{}", ran.stderr);
}

/// The bodies that a provider got, in order.
fn bodies(home: &Home) -> Vec<Vec<u8>> {
    let folder = home.path().join("bodies");
    let index = std::fs::read_to_string(folder.join("index.jsonl")).unwrap();
    let file = |line: &str| {
        let entry: Value = serde_json::from_str(line).unwrap();
        std::fs::read(folder.join(entry["file"].as_str().unwrap())).unwrap()
    };
    index.lines().map(file).collect()
}

#[test]
fn a_provider_gets_the_same_bytes_with_and_without_the_gateway() {
    let home = Home::new();
    let folder = home.path().join("bodies");
    let provider = Server::start(&home, &["--log-bodies", folder.to_str().unwrap()]);
    let address = provider.field("anthropic");
    let run = ["run", "say it", "--model", "anthropic/claude-test"];
    let with = ["with", "--base-url-env", "ANTHROPIC_BASE_URL", "--format", "anthropic"];
    let through = [with.as_slice(), &[env!("CARGO_BIN_EXE_tine")], &run].concat();
    for arguments in [run.as_slice(), &through] {
        let mut command = home.tine(arguments);
        command.env("ANTHROPIC_BASE_URL", &address).env("ANTHROPIC_API_KEY", "any");
        let output = command.output().unwrap();
        let printed = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && printed.contains("say it"), "{printed}");
    }
    let [direct, passed] = <[Vec<u8>; 2]>::try_from(bodies(&home)).unwrap();
    assert_eq!(String::from_utf8(direct).unwrap(), String::from_utf8(passed).unwrap());
}

#[test]
fn a_signal_to_end_is_handed_on() {
    let home = Home::new();
    let script = "trap 'exit 5' TERM; echo ready; while :; do sleep 0.05; done";
    let arguments = [LLM_URL.as_slice(), &["sh", "-c", script]].concat();
    let mut child =
        crate::crash::command(&home, &arguments).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    assert_eq!(line, "ready\n");
    assert_cmd::Command::new("kill").arg(child.id().to_string()).assert().success();
    assert_eq!(child.wait().unwrap().code(), Some(5));
}

#[test]
fn a_gateway_of_its_own_says_its_addresses_and_ends_with_a_signal() {
    let home = Home::new();
    let mut child =
        crate::crash::command(&home, &["gateway", "serve"]).stdout(Stdio::piped()).spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let told: Value = serde_json::from_str(&line).unwrap();
    assert!(told["anthropic"].as_str().unwrap().ends_with("/anthropic"), "{told}");
    assert!(told["openai"].as_str().unwrap().ends_with("/openai/v1"), "{told}");
    assert_cmd::Command::new("kill").arg(child.id().to_string()).assert().success();
    assert_eq!(child.wait().unwrap().code(), Some(0));
}
