//! Writes that wait because another process holds the database's lock: said in the stream of a run and on the screen of the terminal.

use std::io::{BufRead, BufReader};
use std::sync::{Arc, Mutex, mpsc};
use std::thread::{self, JoinHandle};

use serde_json::Value;
use tine_model::AgentId;
use tine_store::{BudgetStore, OpenOptions, SqliteStore};

use crate::crash::start;
use crate::pty::Terminal;
use crate::support::Home;

/// A write of this process that changes nothing and does not end: it holds the lock.
pub(crate) struct Holder {
    write: JoinHandle<()>,
    go: mpsc::Sender<()>,
}

impl Holder {
    pub(crate) fn of(home: &Home) -> Self {
        let path = home.path().join("tine.db");
        let ((held, is_held), (go, goes)) = (mpsc::channel(), mpsc::channel());
        let goes = Mutex::new(goes);
        let wait = move |step| {
            if step == "commit" {
                held.send(()).unwrap();
                goes.lock().unwrap().recv().unwrap();
            }
            Ok(())
        };
        let options = OpenOptions { step_hook: Some(Arc::new(wait)), ..OpenOptions::default() };
        let write = async {
            let store = SqliteStore::open(path, options).await.unwrap();
            store.leave_line(AgentId::from_random([0; 16])).await.unwrap();
        };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let write = thread::spawn(move || runtime.block_on(write));
        is_held.recv().unwrap();
        Self { write, go }
    }

    pub(crate) fn let_go(self) {
        self.go.send(()).unwrap();
        self.write.join().unwrap();
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
    let holder = Holder::of(&home);
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
    let holder = Holder::of(&home);
    terminal.see("again\r", "another process holds the database's lock");
    holder.let_go();
    terminal.at_rest("You said: again");
    terminal.type_in("/quit\r");
    assert_eq!(terminal.end().0, 0);
}
