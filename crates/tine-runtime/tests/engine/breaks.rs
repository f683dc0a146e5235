//! `fork.cache_break_detected`: the warning that a fork did not get what it was forked for.

use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use tine_wire::Head;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Level, Metadata, Subscriber};

use crate::SCENARIO;
use crate::lab::{Lab, conversation, history, parts};

const MODEL: &str = "anthropic/claude-opus-5-5";

/// Keeps the warnings of this name.
#[derive(Clone, Default)]
struct Warnings(Arc<Mutex<Vec<String>>>);

impl Subscriber for Warnings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.is_event() && metadata.name() == "fork.cache_break_detected"
    }

    fn new_span(&self, _span: &Attributes<'_>) -> Id {
        Id::from_u64(1)
    }

    fn record(&self, _span: &Id, _values: &Record<'_>) {}

    fn record_follows_from(&self, _span: &Id, _follows: &Id) {}

    fn event(&self, event: &Event<'_>) {
        assert_eq!(*event.metadata().level(), Level::WARN);
        let mut fields = Fields(String::new());
        event.record(&mut fields);
        self.0.lock().unwrap().push(fields.0);
    }

    fn enter(&self, _span: &Id) {}

    fn exit(&self, _span: &Id) {}
}

/// One field a line; counts are left out.
struct Fields(String);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        if field.name() != "expected_read" && field.name() != "message" {
            self.0.push_str(&format!("{}: {value:?}\n", field.name()));
        }
    }
}

#[tokio::test]
async fn a_fork_that_reads_nothing_warns_and_names_the_first_difference() {
    let scenario = SCENARIO.replacen(
        "name = \"harbour\"",
        "name = \"harbour\"\nthinking_binding = \"off\"",
        1,
    );
    let lab = Lab::new(&scenario).await;
    let mut base = conversation(MODEL);
    lab.say(MODEL, &mut base, "Please look around.").await;
    let warnings = Warnings::default();
    let _guard = tracing::subscriber::set_default(warnings.clone());

    let healthy = lab.say(MODEL, &mut base.fork(), "And now?").await;
    assert_eq!(healthy.verdicts(), ["ok"]);
    assert_eq!(warnings.0.lock().unwrap().len(), 0, "a fork that reads what it inherits is quiet");

    let mut parts = parts(MODEL);
    parts.tools[0].description.push('!');
    let messages = base.history().iter().map(|item| (*item.message).clone());
    let messages = history(messages.collect::<Vec<_>>());
    let mut broken = base.fork().rewritten(Arc::new(Head::render(parts)), messages);
    lab.say(MODEL, &mut broken, "And now?").await;
    lab.say(MODEL, &mut broken, "And then?").await;
    let warnings = warnings.0.lock().unwrap().clone();
    assert_eq!(
        warnings.len(),
        1,
        "only the first turn of a fork is worth the warning: {warnings:?}"
    );
    insta::assert_snapshot!(warnings[0], @r#"
    verdict: "diverged"
    first_difference: "tool `Glob`"
    read: 0
    hit_ratio: 0.0
    "#);
}
