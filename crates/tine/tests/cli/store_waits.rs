//! Writes that wait because another process holds the database's lock: said in the stream of a run and on the screen of the terminal.

use std::io::{BufRead, BufReader};
use std::process::{Child, ChildStdin, Command, Stdio};

use serde_json::Value;

use crate::crash::start;
use crate::pty::Terminal;
use crate::support::{Home, not_run};

/// Takes the lock and says so; lets go of it when its input ends.
const HOLDER: &str = "
import sqlite3, sys
held = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=60)
held.execute('BEGIN IMMEDIATE')
print('held', flush=True)
sys.stdin.read()
held.execute('COMMIT')
";

/// Another process that holds the lock.
struct Holder {
    process: Child,
    input: Option<ChildStdin>,
}

impl Holder {
    /// Returns `None`, and says so, where there is no program that could hold it.
    #[expect(clippy::disallowed_methods, reason = "another program holds the lock")]
    fn of(home: &Home) -> Option<Self> {
        let mut command = Command::new("python3");
        command.args(["-c", HOLDER]).arg(home.path().join("tine.db"));
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut said = String::new();
        let started = command.spawn().ok().filter(|process| process.stdout.is_some());
        let held = started.and_then(|mut process| {
            BufReader::new(process.stdout.take()?).read_line(&mut said).ok()?;
            let input = process.stdin.take();
            Some(Self { process, input })
        });
        if said != "held\n" {
            not_run("there is no python3 with SQLite here to hold the lock");
        }
        held.filter(|_| said == "held\n")
    }

    fn let_go(mut self) {
        drop(self.input.take());
        assert!(self.process.wait().unwrap().success());
    }
}

#[test]
fn a_stream_says_once_that_a_write_waits_and_nothing_is_lost() {
    let home = Home::new();
    let model = home.model(
        r#"
        name = "waits"
        [[turn]]
        when = { tool_results = 0 }
        tool_calls = [{ name = "Bash", input = { command = "until [ -e go ]; do :; done; echo gone" } }]
        [[turn]]
        text = "All is well."
        "#,
    );
    let stream = ["--output-format", "stream-json", "--allow", "Bash", "go"];
    let mut run = start(&home, &[&["run", "--model", &model], &stream[..]].concat());
    let lines = BufReader::new(run.stdout.take().unwrap()).lines();
    let mut records = lines.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap());
    assert!(records.any(|record| record["type"] == "tool_call"));
    let Some(holder) = Holder::of(&home) else {
        run.kill().unwrap();
        run.wait().unwrap();
        return;
    };
    std::fs::write(home.work().join("go"), "").unwrap();
    assert!(records.any(|record| record["type"] == "store_waits"));
    holder.let_go();
    let rest: Vec<Value> = records.collect();
    assert!(rest.iter().all(|record| record["type"] != "store_waits"), "{rest:?}");
    assert_eq!(rest.last().unwrap()["text"], "All is well.");
    assert!(run.wait().unwrap().success());
}

#[test]
fn the_screen_says_that_a_write_waits() {
    let home = crate::talk::home();
    let mut terminal = Terminal::start_with(&home, &[], &[]);
    terminal.screen("Say what is to be done.");
    terminal.see_at_rest("hello\r", "You said: hello");
    let Some(holder) = Holder::of(&home) else { return };
    terminal.see("again\r", "another process holds the database's lock");
    holder.let_go();
    terminal.at_rest("You said: again");
    terminal.type_in("/quit\r");
    assert_eq!(terminal.end().0, 0);
}
