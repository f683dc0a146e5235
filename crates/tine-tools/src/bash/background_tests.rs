//! Commands in the background: started, read, waited for, listed, stopped, and whose they are.

use std::io::Write as _;
use std::sync::Arc;
use std::time::Duration;

use tine_model::RawJson;
use tokio_util::sync::CancellationToken;

use super::{Background, Bash, BashOutput};
use crate::place::Limits;
use crate::place::fixture::Fixture;
use crate::tool::Tool;

/// An agent with a place of its own.
struct Agent {
    fixture: Fixture,
    background: Arc<Background>,
}

impl Agent {
    fn new(above: Vec<Arc<Background>>) -> Self {
        let background = Arc::new(Background::new(above, 1_000));
        let background_look = Duration::from_millis(50);
        let mut fixture = Fixture::with_limits(Limits { background_look, ..Limits::default() });
        fixture.place = fixture.place.fork().with_background(Arc::clone(&background));
        Self { fixture, background }
    }

    async fn call(&self, tool: &dyn Tool, input: serde_json::Value) -> String {
        let input = RawJson::parse(&input.to_string()).unwrap();
        let output = tool.run(&self.fixture.place, &input, &CancellationToken::new()).await;
        format!("{}{}", if output.is_error { "error: " } else { "" }, output.text)
    }

    async fn start(&self, name: &str, command: &str) -> String {
        let input = serde_json::json!({
            "command": command, "run_in_background": true, "name": name,
        });
        self.call(&Bash, input).await
    }

    async fn output(&self, input: serde_json::Value) -> String {
        self.call(&BashOutput, input).await
    }
}

/// Prints a line for each line of the file `say`, in order.
const ECHO: &str = "touch say; exec tail -n +1 -f -s 0.01 say";

#[tokio::test]
async fn a_command_in_the_background_is_read_on_listed_and_stopped_by_its_name() {
    let agent = Agent::new(Vec::new());
    insta::assert_snapshot!(agent.start("echo", ECHO).await, @"[`echo` is running in the background.] BashOutput reads on, and stops it. It ends at the latest with the session that this agent runs in.");
    let say = |text: &str| {
        let mut options = std::fs::OpenOptions::new();
        let mut file = options.append(true).create(true).open(agent.fixture.path("say")).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    };
    say("one\n");
    let wait = serde_json::json!({ "name": "echo", "wait_ms": 60_000 });
    insta::assert_snapshot!(agent.output(wait.clone()).await, @"
    one
    [`echo` is running in the background.]
    ");
    insta::assert_snapshot!(agent.output(serde_json::json!({ "name": "echo" })).await, @"[`echo` is running in the background.]");
    say("two\n");
    insta::assert_snapshot!(agent.output(wait).await, @"
    two
    [`echo` is running in the background.]
    ");
    insta::assert_snapshot!(agent.output(serde_json::json!({})).await, @"echo  [running]  touch say; exec tail -n +1 -f -s 0.01 say");
    insta::assert_snapshot!(agent.start("echo", "true").await, @"
    error: `echo` runs already: touch say; exec tail -n +1 -f -s 0.01 say
    stop it with BashOutput, or choose another name
    ");
    let stop = serde_json::json!({ "name": "echo", "stop": true });
    insta::assert_snapshot!(agent.output(stop).await, @"[`echo` has ended: cancelled; the command was stopped.]");
    insta::assert_snapshot!(agent.output(serde_json::json!({})).await, @"echo  [cancelled; the command was stopped]  touch say; exec tail -n +1 -f -s 0.01 say");
    assert_eq!(agent.background.running(), []);
    // The name is free again.
    agent.start("echo", "echo again; exit 3").await;
    let mut end = agent.background.commands.lock().unwrap()["echo"].end.subscribe();
    end.wait_for(Option::is_some).await.unwrap();
    insta::assert_snapshot!(agent.output(serde_json::json!({})).await, @"echo  [exit code 3]  echo again; exit 3");
}

#[tokio::test]
async fn who_ends_by_itself_is_told_of_once_in_the_next_result() {
    let agent = Agent::new(Vec::new());
    agent.start("server", "until test -e end; do sleep 0.01; done; echo bye; exit 4").await;
    std::fs::write(agent.fixture.path("end"), "").unwrap();
    let command = serde_json::json!({ "command": "true" });
    let mut end = agent.background.commands.lock().unwrap()["server"].end.subscribe();
    end.wait_for(Option::is_some).await.unwrap();
    insta::assert_snapshot!(agent.call(&Bash, command.clone()).await, @"
    [exit code 0]
    [`server` in the background has ended: exit code 4]
    ");
    insta::assert_snapshot!(agent.call(&Bash, command).await, @"[exit code 0]");
    // Nothing of it is lost where its name is taken again.
    insta::assert_snapshot!(agent.start("server", "exec sleep 1000").await, @"
    bye
    [`server` has ended: exit code 4.]
    [`server` is running in the background.] BashOutput reads on, and stops it. It ends at the latest with the session that this agent runs in.
    ");
    insta::assert_snapshot!(agent.output(serde_json::json!({ "name": "server" })).await, @"[`server` is running in the background.]");
}

#[tokio::test]
async fn what_a_parent_started_is_its_own_and_ends_with_it() {
    let parent = Agent::new(Vec::new());
    parent.start("server", "exec sleep 1000").await;
    let fork = Agent::new(vec![Arc::clone(&parent.background)]);
    insta::assert_snapshot!(fork.output(serde_json::json!({})).await, @"server  [running; of the agent that this one was forked from]  exec sleep 1000");
    let read = fork.output(serde_json::json!({ "name": "server" })).await;
    insta::assert_snapshot!(read, @"error: `server` is a command of the agent that this one was forked from: use what it serves; only that agent reads and stops it");
    assert_eq!(fork.output(serde_json::json!({ "name": "server", "stop": true })).await, read);
    parent.background.end().await;
    assert_eq!(parent.background.running(), []);
    insta::assert_snapshot!(fork.output(serde_json::json!({ "name": "server" })).await, @"
    error: no command in the background is named `server`; those of an earlier session have ended with it
    no command of this agent runs in the background
    ");
}

#[tokio::test]
async fn what_cannot_be_meant_is_refused() {
    let agent = Agent::new(Vec::new());
    let mut said = Vec::new();
    for input in [
        serde_json::json!({ "command": "true", "name": "a" }),
        serde_json::json!({ "command": "true", "run_in_background": true, "name": "a b" }),
        serde_json::json!({ "command": "true", "run_in_background": "yes" }),
    ] {
        said.push(agent.call(&Bash, input).await);
    }
    for input in [
        serde_json::json!({ "stop": true }),
        serde_json::json!({ "name": "none" }),
        serde_json::json!({ "wait_ms": 600_001 }),
    ] {
        said.push(agent.output(input).await);
    }
    let place = agent.fixture.place.fork();
    let input = RawJson::parse(r#"{"command":"true","run_in_background":true}"#).unwrap();
    said.push(Bash.run(&place, &input, &CancellationToken::new()).await.text);
    for number in 0..super::background::RUNNING_MAX {
        agent.start(&format!("n{number}"), "exec sleep 1000").await;
    }
    said.push(agent.start("more", "true").await);
    insta::assert_snapshot!(said.join("\n"), @r#"
    error: `name` is for commands with `run_in_background`
    error: `name` must be 1 to 40 letters, digits, `-`, `_` or `.`
    error: `run_in_background` must be true or false, not the string "yes"
    error: `stop` needs the `name` of a command
    error: no command in the background is named `none`; those of an earlier session have ended with it
    no command of this agent runs in the background
    error: `wait_ms` must be at most 600000
    commands cannot run in the background here
    error: 16 commands run in the background; stop one with BashOutput first
    "#);
}

#[tokio::test]
async fn nothing_is_left_of_a_background_that_is_dropped() {
    let agent = Agent::new(Vec::new());
    agent.start("server", "sleep 0.2; echo $$; exec sleep 1000").await;
    let said = agent.output(serde_json::json!({ "name": "server", "wait_ms": 60_000 })).await;
    let id = said.lines().next().unwrap().to_owned();
    drop(agent);
    super::tests::eventually("it is gone", || super::tests::is_gone(&id)).await;
}
