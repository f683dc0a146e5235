//! What a log shows of forks, and what filters select of it.

use std::io;
use std::sync::{Arc, Mutex};

use tine_fork::ForkParams;
use tine_testkit::Answer;
use tracing_subscriber::EnvFilter;

use crate::house::{House, model};
use crate::telemetry::{LONG, NoEcho, long, read};

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The log under this filter of a fork that tells all there is to tell.
async fn log(filter: &str) -> String {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt()
        .with_env_filter(EnvFilter::new(filter))
        .with_writer(move || writer.clone())
        .without_time()
        .with_ansi(false)
        .finish();
    let guard = tracing::subscriber::set_default(subscriber);
    let house = long(House::new("anthropic/m"));
    let model = model([
        Answer::calls([("c1", "Echo", "{}")]).with_usage(read(LONG * 3 / 10)),
        Answer::text("done").with_usage(read(LONG / 10)),
    ]);
    let params = ForkParams { tool_filter: Arc::new(NoEcho), ..house.params(&model) };
    house.fork(params).await.join().await.unwrap();
    drop(guard);
    let bytes = log.0.lock().unwrap().clone();
    String::from_utf8(bytes).unwrap()
}

/// Shows: the name of each event stands in its line of a log, behind the span of its fork.
#[tokio::test(start_paused = true)]
async fn a_line_of_the_log_has_the_name_of_its_event() {
    let log = log("fork=debug").await;
    let lines = log.lines().map(|line| {
        let (span, fields) = line.split_once('{').unwrap();
        format!("{span}: {}", fields.split_once("}: ").unwrap().1)
    });
    insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"), @r#"
     WARN fork.subagent: fork.cache_break_detected: a fork's inherited part was not served by the cache: read 3,000 tokens; the other 10,126 of this prefix were in no cache yet verdict="cold" first_difference="unknown" expected_read=0 read=3000 hit_ratio=0.3
    DEBUG fork.subagent: fork.tool_filter: refused tool="Echo" code="other"
     WARN fork.subagent: fork.cache_drop_detected: the cache serves less than half of what it served a turn before: 1,000 tokens were read, which is the size of no entry of ours verdict="race" first_difference="unknown" read_before=3000 read=1000
    DEBUG fork.subagent: fork.turn_loop: outcome="completed" turns=2 tool_uses=1 prompt_tokens=20000 output_tokens=6 duration_ms=0
    "#);
}

/// Shows: a filter selects each event by its name, and all of them by what their names begin with.
#[tokio::test(start_paused = true)]
async fn a_filter_selects_an_event_by_its_name() {
    let names = [
        ("fork.cache_break_detected", "warn"),
        ("fork.tool_filter", "debug"),
        ("fork.cache_drop_detected", "warn"),
        ("fork.turn_loop", "debug"),
    ];
    for (name, level) in names {
        let log = log(&format!("{name}={level}")).await;
        assert_eq!(log.lines().count(), 1, "{name}: {log}");
        assert!(
            log.trim_start().starts_with(&format!("{} {name}: ", level.to_uppercase())),
            "{log}"
        );
    }
    assert_eq!(log("off").await, "");
}
