//! What others see of a fork: observers, registries, the log.

use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use tine_fork::run::{Journal, JournalError, MemoryJournal, RequestRecord};
use tine_fork::{
    FilesTouched, ForkEntry, ForkMessage, ForkParams, ForkRegistry, ForkResult, ForkSubagent,
    OnMessage, OnMessageChain, QuerySource,
};
use tine_model::{EntryId, Message, Outcome};
use tine_testkit::Answer;

use crate::house::{House, every_format, model};

type Cause = Box<dyn std::error::Error + Send + Sync>;

#[derive(Default)]
struct Seen(Mutex<Vec<String>>);

impl OnMessage for Seen {
    fn on_message(&self, told: &ForkMessage<'_>) {
        let line =
            format!("{} {} {} {:?}", told.agent, told.label, told.source, told.message.role());
        self.0.lock().unwrap().push(line);
    }
}

/// Keeps what it is told.
#[derive(Default)]
struct Rows {
    lines: Arc<Mutex<Vec<String>>>,
    refuses: bool,
}

struct Log(Arc<Mutex<Vec<String>>>, MemoryJournal);

#[async_trait]
impl Journal for Log {
    async fn message(&self, message: &Arc<Message>) -> Result<EntryId, JournalError> {
        self.0.lock().unwrap().push(format!("message {:?}", message.role()));
        self.1.message(message).await
    }

    fn now_ms(&self) -> i64 {
        0
    }

    async fn request_answered(&self, _record: &RequestRecord) -> Result<(), JournalError> {
        Ok(())
    }

    async fn notice(&self, _text: &str) -> Result<(), JournalError> {
        Ok(())
    }
}

#[async_trait]
impl ForkRegistry for Rows {
    async fn register(&self, fork: ForkEntry<'_>) -> Result<Arc<dyn Journal>, Cause> {
        if self.refuses {
            return Err("the disk is full".into());
        }
        let ForkEntry { parent, label, source, directive, .. } = fork;
        self.lines.lock().unwrap().push(format!("begins {parent} {label} {source} `{directive}`"));
        Ok(Arc::new(Log(Arc::clone(&self.lines), MemoryJournal::default())))
    }

    async fn finished(&self, result: &ForkResult) -> Result<(), Cause> {
        self.lines.lock().unwrap().push(format!("ends {}", result.outcome.as_str()));
        Err("nobody listens".into())
    }
}

every_format! {
    /// Shows: an observer sees every message, with source and label on each, and a panic in one of them is isolated.
    async fn observers_see_every_message_and_survive_each_other(house: House) {
        let seen = Arc::new(Seen::default());
        let panics: Arc<dyn OnMessage> = Arc::new(|_: &ForkMessage<'_>| panic!("an observer's bug"));
        let chain = OnMessageChain::new([panics, Arc::clone(&seen) as Arc<dyn OnMessage>]);
        let model = model([Answer::calls([("c1", "Echo", "{}")]), Answer::text("ok")]);
        let params = ForkParams {
            on_message: Some(Arc::new(chain)),
            query_source: QuerySource::SessionMemory,
            fork_label: "notes".to_owned(),
            ..house.params(&model)
        };
        let result = house.fork(params).await.join().await.unwrap();
        assert_eq!(result.outcome, Outcome::Completed);
        let agent = result.run_id.to_string();
        let lines = ["User", "Assistant", "User", "Assistant"];
        let lines: Vec<String> = lines.iter().map(|role| format!("{agent} notes session_memory {role}")).collect();
        assert_eq!(*seen.0.lock().unwrap(), lines);
    }

    /// Shows: with a registry a fork leaves rows and a transcript, and none if it skips it.
    async fn a_registry_keeps_what_does_not_skip_its_transcript(house: House) {
        let rows = Arc::new(Rows::default());
        let house = House { forks: house.forks.clone().with_registry(Arc::clone(&rows) as _), ..house };
        let model = model([Answer::text("hidden"), Answer::text("seen")]);
        let hidden = ForkParams { skip_transcript: true, ..house.params(&model) };
        assert_eq!(house.fork(hidden).await.join().await.unwrap().outcome, Outcome::Completed);
        assert!(rows.lines.lock().unwrap().is_empty());
        let result = house.fork(house.params(&model)).await.join().await.unwrap();
        assert_eq!(result.final_text.as_deref(), Some("seen"), "a registry that fails at the end costs nothing");
        let lines = ["begins parent fork fork `go`", "message User", "message Assistant", "ends completed"];
        assert_eq!(*rows.lines.lock().unwrap(), lines);
    }

    /// Shows: files that calls wrote are collected, and those of refused calls are not.
    async fn files_touched_are_those_that_were_written(house: House) {
        let files = FilesTouched::new();
        let calls = [
            ("c1", "FileWrite", r#"{"file_path":"/notes/a.md","content":"x"}"#),
            ("c2", "Echo", r#"{"file_path":"/notes/b.md"}"#),
        ];
        let model = model([Answer::calls(calls), Answer::text("ok")]);
        let params = ForkParams { on_message: Some(Arc::clone(&files) as _), ..house.params(&model) };
        house.fork(params).await.join().await.unwrap();
        assert!(files.files().is_empty(), "this house has no FileWrite: the call was answered with an error");
    }
}

#[tokio::test]
async fn a_registry_that_refuses_keeps_the_fork_from_starting() {
    let house = House::new("anthropic/m");
    let rows = Rows { refuses: true, ..Rows::default() };
    let house = House { forks: house.forks.clone().with_registry(Arc::new(rows)), ..house };
    let model = model([]);
    let error = house.forks.fork(house.params(&model)).await.unwrap_err();
    assert_eq!(error.to_string(), "the fork could not be registered");
    assert!(model.requests().is_empty());
}
