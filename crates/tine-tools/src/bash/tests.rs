use std::time::Instant;

use super::process::{Process, SHELLS, StartError};
use super::*;
use crate::place::fixture::Fixture;

fn order(command: &str) -> String {
    serde_json::json!({ "command": command }).to_string()
}

/// Whether the process is gone; one that is dead and only waits for its parent counts as gone.
pub(super) fn is_gone(id: &str) -> bool {
    match std::fs::read_to_string(format!("/proc/{id}/stat")) {
        Ok(stat) => stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z')),
        Err(_) => {
            let id = id.parse().ok().and_then(rustix::process::Pid::from_raw).unwrap();
            rustix::process::test_kill_process(id).is_err()
        }
    }
}

/// Waits for a condition; the bound only ends a failing test.
pub(super) async fn eventually(what: &str, condition: impl Fn() -> bool) {
    let start = Instant::now();
    while !condition() {
        assert!(start.elapsed() < Duration::from_secs(20), "never: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// The ids that the command has written to the file `pids`, one a line.
fn ids(fixture: &Fixture) -> Vec<String> {
    let text = std::fs::read_to_string(fixture.path("pids")).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

const TWO_SLEEPERS: &str = "echo $$ >> pids; sleep 1000 & echo $! >> pids; \
    (trap '' TERM; sleep 1000) & echo $! >> pids; echo started; sleep 1000 & echo $! >> pids; wait";

fn quick() -> Fixture {
    let limits = Limits { command_grace: Duration::from_millis(50), ..Limits::default() };
    Fixture::with_limits(limits)
}

#[tokio::test]
async fn output_comes_in_order_with_the_exit_code() {
    let fixture = Fixture::new();
    let run = async |command: &str| fixture.run(&Bash, &order(command)).await;
    insta::assert_snapshot!(run("echo out; echo err >&2; echo -n end").await, @"
    out
    err
    end
    [exit code 0]
    ");
    insta::assert_snapshot!(run("echo bad; exit 3").await, @"
    error: bad
    [exit code 3]
    ");
    insta::assert_snapshot!(run("true").await, @"[exit code 0]");
    insta::assert_snapshot!(run("kill -9 $$").await, @"error: [ended by signal 9]");
    insta::assert_snapshot!(run("cat; read x; echo $?").await, @"
    1
    [exit code 0]
    ");
    insta::assert_snapshot!(run("cd /; pwd").await, @"
    /
    [exit code 0]
    ");
    assert_eq!(run("pwd").await, format!("{}\n[exit code 0]", fixture.place.directory().display()));
}

#[tokio::test]
async fn wrong_arguments_are_explained() {
    let fixture = Fixture::new();
    let run = |input| fixture.run(&Bash, input);
    insta::assert_snapshot!(run("{}").await, @"error: `command` is missing; it must be a string");
    insta::assert_snapshot!(run(r#"{"command":" "}"#).await, @"error: `command` must not be empty");
    insta::assert_snapshot!(run(r#"{"command":"a\u0000"}"#).await, @"error: `command` must not contain a NUL character");
    insta::assert_snapshot!(run(r#"{"command":"ls","timeout_ms":700000}"#).await, @"error: `timeout_ms` must be at most 600000");
    insta::assert_snapshot!(run(r#"{"cmd":"ls"}"#).await, @"error: unknown argument `cmd`; Bash takes command, timeout_ms, description, timeout, run_in_background, name");
    let long = order(&"x".repeat(200_000));
    insta::assert_snapshot!(run(&long).await, @"error: `command` is longer than 131071 bytes; write a script with FileWrite and run that");
    std::fs::remove_dir_all(fixture.place.directory()).unwrap();
    let output = run(r#"{"command":"ls"}"#).await;
    assert!(output.ends_with("` does not exist"), "{output}");
}

#[tokio::test]
async fn a_missing_bash_falls_back_and_no_shell_is_an_error() {
    let fixture = Fixture::new();
    assert!(Process::start(&["no-such-shell", "sh"], "true", &fixture.place).is_ok());
    let error = Process::start(&["no-such-shell"], "true", &fixture.place).unwrap_err();
    assert!(matches!(error, StartError::NoShell));
    insta::assert_snapshot!(ToolOutput::from(start_failure(&fixture.place, &error)).text, @"neither bash nor sh was found in PATH; commands cannot be run here");
}

#[tokio::test]
async fn the_environment_is_quiet_and_without_keys() {
    let fixture = Fixture::new();
    let shown = "echo $TINE $PAGER $GIT_PAGER $TERM $GIT_TERMINAL_PROMPT";
    insta::assert_snapshot!(fixture.run(&Bash, &order(shown)).await, @"
    1 cat cat dumb 0
    [exit code 0]
    ");
    let names = fixture.run(&Bash, &order("compgen -e")).await;
    assert_eq!(names.lines().find(|name| is_withheld_variable(name, "")), None);
    for name in [
        "ANTHROPIC_API_KEY",
        "OPENAI_API_KEY",
        "GH_TOKEN",
        "AWS_SECRET_ACCESS_KEY",
        "AWS_ACCESS_KEY_ID",
        "npm_config_token",
        "CLIENT_SECRET",
        "API_KEY",
        "BASH_ENV",
        "OPENAI_KEY",
        "KEY",
        "PGPASSWORD",
        "MYSQL_PWD",
        "MY_PASS",
        "PASSWD",
        "GITHUB_PAT",
        "NPM_AUTH",
        "AUTH_HEADER",
        "SENTRY_DSN",
        "SECRETS",
    ] {
        assert!(is_withheld_variable(name, "x"), "{name}");
    }
    for name in [
        "PATH",
        "HOME",
        "PWD",
        "OLDPWD",
        "TOKENIZERS_PARALLELISM",
        "SSH_AUTH_SOCK",
        "SSH_ASKPASS",
        "ANTHROPIC_BASE_URL",
        "SIGNING_PUBLIC_KEY",
    ] {
        assert!(!is_withheld_variable(name, "/usr/bin:/bin"), "{name}");
    }
    let token = ["gh", "p_aB3dE5gH7jK9mN2pQ4rS6tU8vW0xY1zCaB3d"].concat();
    assert!(is_withheld_variable("PLAIN", &token));
    assert!(is_withheld_variable("DATABASE_URL", &["postgres://a:hunter2", "@db/x"].concat()));
    assert!(!is_withheld_variable("DATABASE_URL", "postgres://a@db/x"));
}

#[tokio::test]
async fn long_output_keeps_both_ends() {
    let fixture = Fixture::new();
    let output = fixture.run(&Bash, &order("seq 1 200000")).await;
    assert!(output.starts_with("1\n2\n3\n"));
    assert!(output.ends_with("199999\n200000\n[exit code 0]"), "{output}");
    let cut = output.lines().find(|line| line.starts_with('…')).unwrap();
    insta::assert_snapshot!(cut, @"… 1258895 characters (194636 lines) cut …");
}

#[tokio::test]
async fn cancelling_ends_every_process_of_the_group() {
    let fixture = quick();
    let cancel = CancellationToken::new();
    let input = RawJson::parse(&order(TWO_SLEEPERS)).unwrap();
    let started = async {
        eventually("all have started", || ids(&fixture).len() == 4).await;
        cancel.cancel();
    };
    let (output, ()) = tokio::join!(Bash.run(&fixture.place, &input, &cancel), started);
    assert_eq!(output, ToolOutput::failed("started\n[cancelled; the command was stopped]"));
    eventually("all are gone", || ids(&fixture).iter().all(|id| is_gone(id))).await;
}

#[tokio::test]
async fn the_time_limit_ends_every_process_of_the_group() {
    let fixture = quick();
    // Long enough for the sleepers to start on any but a very busy machine; if they have not, there
    // is less to check, but nothing fails.
    let input = serde_json::json!({ "command": TWO_SLEEPERS, "timeout_ms": 1_500 }).to_string();
    let output = fixture.run(&Bash, &input).await;
    assert!(output.ends_with("[timed out after 1500 ms; the command was stopped]"), "{output}");
    eventually("all are gone", || ids(&fixture).iter().all(|id| is_gone(id))).await;
}

#[tokio::test]
async fn dropping_the_call_kills_every_process_of_the_group() {
    let fixture = quick();
    let cancel = CancellationToken::new();
    let input = RawJson::parse(&order(TWO_SLEEPERS)).unwrap();
    {
        let call = Bash.run(&fixture.place, &input, &cancel);
        tokio::select! {
            _ = call => unreachable!("the command sleeps"),
            () = eventually("all have started", || ids(&fixture).len() == 4) => {}
        }
    }
    eventually("all are gone", || ids(&fixture).iter().all(|id| is_gone(id))).await;
}

#[tokio::test]
async fn a_child_left_in_the_background_neither_holds_the_call_nor_survives_it() {
    let fixture = quick();
    let output = fixture.run(&Bash, &order("sleep 1000 & echo $! > pids; echo hi")).await;
    insta::assert_snapshot!(output, @"
    hi
    [exit code 0; processes left in the background were stopped]
    ");
    eventually("it is gone", || ids(&fixture).iter().all(|id| is_gone(id))).await;
}

#[cfg(target_os = "linux")] // for `setsid`
#[tokio::test]
async fn a_child_outside_the_group_cannot_hold_the_call() {
    let fixture = quick();
    let command = "setsid sh -c 'echo $$ > pids; exec yes' & while ! test -s pids; do :; done";
    let output = fixture.run(&Bash, &order(command)).await;
    assert!(
        output.ends_with("[exit code 0; processes left in the background were stopped]"),
        "{output}"
    );
    eventually("it is gone", || ids(&fixture).iter().all(|id| is_gone(id))).await;
}

#[cfg(target_os = "linux")] // for `setsid` and `/proc`
#[tokio::test]
async fn cancelling_finds_what_has_left_the_group() {
    let fixture = quick();
    let cancel = CancellationToken::new();
    let far = "(setsid sh -c 'echo $$ >> pids; exec sleep 1000' &) ; sleep 1000";
    let input = RawJson::parse(&order(far)).unwrap();
    let started = async {
        eventually("it has started", || ids(&fixture).len() == 1).await;
        cancel.cancel();
    };
    let (output, ()) = tokio::join!(Bash.run(&fixture.place, &input, &cancel), started);
    assert_eq!(output, ToolOutput::failed("[cancelled; the command was stopped]"));
    eventually("it is gone", || ids(&fixture).iter().all(|id| is_gone(id))).await;
}

#[test]
fn bash_is_tried_before_sh() {
    assert_eq!(SHELLS, ["bash", "sh"]);
}

#[tokio::test]
async fn a_command_finds_the_variables_of_its_place() {
    let fixture = Fixture::new();
    let place = fixture.place.fork().with_variables([("TINE_AGENT".into(), "a b".into())]);
    let input = tine_model::RawJson::parse(&order("echo \"<$TINE_AGENT>\"")).unwrap();
    let output = Bash.run(&place, &input, &CancellationToken::new()).await;
    assert_eq!(output.text, "<a b>\n[exit code 0]");
}

/// Keeps what it sees.
#[derive(Default)]
struct Seen(std::sync::Mutex<Vec<String>>);

impl crate::OutputWatcher for Seen {
    fn started(&self) {
        self.0.lock().unwrap().push("started".to_owned());
    }

    fn printed(&self, bytes: &[u8]) {
        self.0.lock().unwrap().push(String::from_utf8_lossy(bytes).into_owned());
    }
}

#[tokio::test]
async fn what_a_command_prints_is_seen_while_it_runs() {
    let fixture = Fixture::new();
    let seen = std::sync::Arc::new(Seen::default());
    let place = fixture.place.share().with_output_watcher(std::sync::Arc::clone(&seen) as _);
    // It ends only once its first line was seen.
    let command = "echo one; while ! test -e go; do :; done; echo two";
    let input = RawJson::parse(&order(command)).unwrap();
    let cancel = CancellationToken::new();
    let watched = async {
        eventually("its first line", || seen.0.lock().unwrap().concat() == "startedone\n").await;
        fixture.write("go", "");
    };
    let (output, ()) = tokio::join!(Bash.run(&place, &input, &cancel), watched);
    assert_eq!(output.text, "one\ntwo\n[exit code 0]");
    assert_eq!(seen.0.lock().unwrap().concat(), "startedone\ntwo\n");
}
