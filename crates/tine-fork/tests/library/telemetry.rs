//! What forks tell through `tracing`.

use std::fmt::Debug;
use std::sync::{Arc, Mutex};

use async_trait::async_trait;
use tine_cache::Models;
use tine_fork::cache::{CacheEngine, CacheLane};
use tine_fork::run::{Conversation, MemoryJournal, Run, RunEvent, RunLimits};
use tine_fork::tools::{CallContext, ToolAnswer, ToolCall};
use tine_fork::{
    AllowAllFilter, CacheSafeParams, ContextMessages, DefaultForkSubagent, ForkParams, QuerySource,
    ToolDispatcher, ToolFilter,
};
use tine_history::{History, Item};
use tine_model::{EntryId, Message, RawJson, Usage};
use tine_testkit::{Answer, ScriptedModel};
use tine_wire::{Head, HeadParts, MarkPoints};
use tokio_util::sync::CancellationToken;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id};
use tracing::subscriber::DefaultGuard;
use tracing::{Event, Subscriber};
use tracing_subscriber::layer::{Context, Layer, SubscriberExt};
use tracing_subscriber::registry::LookupSpan;

use crate::house::{House, every_format, model};

/// Keeps spans and events of ours as lines.
#[derive(Clone, Default)]
struct Caught(Arc<Mutex<Vec<String>>>);

impl Caught {
    /// From here on, on this thread.
    fn catching() -> (Self, DefaultGuard) {
        let caught = Self::default();
        let subscriber = tracing_subscriber::registry().with(caught.clone());
        (caught, tracing::subscriber::set_default(subscriber))
    }

    fn lines(&self, name: &str) -> Vec<String> {
        let lines = self.0.lock().unwrap();
        lines.iter().filter(|line| line.contains(name)).cloned().collect()
    }

    fn keep(&self, line: String) {
        self.0.lock().unwrap().push(line);
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Caught {
    fn on_new_span(&self, attributes: &Attributes<'_>, _: &Id, _: Context<'_, S>) {
        let mut fields = Fields::default();
        attributes.record(&mut fields);
        self.keep(format!("span {}{}", attributes.metadata().name(), fields.0));
    }

    fn on_event(&self, event: &Event<'_>, context: Context<'_, S>) {
        let mut fields = Fields::default();
        event.record(&mut fields);
        let span = context.event_span(event).map_or("nowhere", |span| span.name());
        let metadata = event.metadata();
        self.keep(format!("{} {} in {span}{}", metadata.level(), metadata.name(), fields.0));
    }
}

#[derive(Default)]
struct Fields(String);

impl Visit for Fields {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.push_str(&format!(" {}={value:?}", field.name()));
    }
}

pub(crate) struct NoEcho;

impl ToolFilter for NoEcho {
    fn allows(&self, tool: &str, _input: &RawJson) -> bool {
        tool != "Echo"
    }

    fn denial_message(&self, _tool: &str, _input: &RawJson) -> String {
        "No.".to_owned()
    }
}

/// Tokens of the long prompt below, as a provider would count them.
pub(crate) const LONG: u64 = 10_000;

/// A parent with a prompt that is long enough for every cache.
pub(crate) fn long(house: House) -> House {
    let mut house = house;
    house.request.head.system = "One word. ".repeat(4_000);
    house
}

/// A prompt of which so much was read.
pub(crate) fn read(read: u64) -> Usage {
    Usage { uncached: LONG - read, read: Some(read), output: 3, ..Usage::default() }
}

/// The warnings of a fork whose turns cost this.
async fn warnings(house: &House, turns: impl IntoIterator<Item = Usage>) -> Vec<String> {
    let (caught, _guard) = Caught::catching();
    let mut answers: Vec<Answer> = turns
        .into_iter()
        .map(|usage| Answer::calls([("c1", "Echo", "{}")]).with_usage(usage))
        .collect();
    answers.push(Answer::text("done"));
    let params =
        ForkParams { max_turns: answers.len() as u32 - 1, ..house.params(&model(answers)) };
    house.fork(params).await.join().await.unwrap();
    caught.lines("WARN")
}

every_format! {
    /// Shows: each fork has a span with id, parent, label, source, mode, visibility and key hash; a denial and the end are
    /// events inside it, and no words are in any of them.
    async fn a_fork_has_a_span_and_tells_of_denials_and_its_end(house: House) {
        let (caught, _guard) = Caught::catching();
        let model = model([Answer::calls([("c1", "Echo", r#"{"secret":1}"#)]), Answer::text("secret")]);
        let params = ForkParams {
            tool_filter: Arc::new(NoEcho),
            query_source: QuerySource::SessionMemory,
            fork_label: "notes".to_owned(),
            skip_transcript: true,
            ..house.params(&model)
        };
        let hash = params.cache_safe.cache_key_hash();
        let result = house.fork(params).await.join().await.unwrap();
        let id = result.run_id;
        let span = format!(
            "span fork.subagent fork_run_id={id} parent_agent=\"parent\" fork_label=\"notes\" query_source=\"session_memory\" \
             mode=\"sync\" skip_transcript=true cache_key_hash={hash}"
        );
        assert_eq!(caught.lines("span fork.subagent"), [span]);
        let denial = "DEBUG fork.tool_filter in fork.subagent message=refused tool=\"Echo\" code=";
        let denials = caught.lines("fork.tool_filter");
        assert!(denials.len() == 1 && denials[0].starts_with(denial), "{denials:?}");
        let end = "DEBUG fork.turn_loop in fork.subagent outcome=\"completed\" turns=2 tool_uses=1 prompt_tokens=14 output_tokens=6 \
            duration_ms=0";
        assert_eq!(caught.lines("fork.turn_loop"), [end]);
        assert!(caught.lines("secret").is_empty() && caught.lines("WARN").is_empty());
    }

    /// Shows: a first turn with a hit ratio below 0.5 is a warning event inside the fork's span.
    async fn a_first_turn_that_reads_less_than_half_is_warned_of(house: House) {
        let warnings = warnings(&long(house), [read(LONG * 3 / 10)]).await;
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        assert!(warnings[0].starts_with("WARN fork.cache_break_detected in fork.subagent"), "{warnings:?}");
        assert!(warnings[0].contains("hit_ratio=0.3") && warnings[0].contains("read=3000"), "{warnings:?}");
    }

    /// Shows: nothing read though the prefix is above the provider's minimum is a warning; below it, it is none.
    async fn nothing_read_of_a_long_prefix_is_warned_of(house: House) {
        let short = Usage { uncached: 60, read: Some(0), output: 3, ..Usage::default() };
        let facts = Models::bundled().facts(&house.request.head.settings.model.to_string());
        let is_cached = facts.min_tokens <= short.uncached;
        assert_eq!(warnings(&house, [short]).await.len(), usize::from(is_cached));
        let warnings = warnings(&long(house), [read(0)]).await;
        assert!(warnings.len() == 1 && warnings[0].contains("read=0"), "{warnings:?}");
        assert!(warnings[0].contains("first_difference=\"unknown\""), "{warnings:?}");
    }

    /// Shows: a fork whose parameters were changed says what it is that differs from what the parent has sent; temperature and
    /// limits are never blamed.
    async fn a_break_of_the_embedders_own_making_is_named(house: House) {
        let house = long(house);
        type Change = fn(&mut CacheSafeParams);
        let changes: [(Change, &str); 4] = [
            (|params| params.system_prompt = "Another word. ".repeat(4_000).into(), "system prompt"),
            (|params| params.system_prompt = format!("{}!", params.system_prompt).into(), "system prompt"),
            (|params| params.tools = params.tools.iter().skip(1).cloned().collect(), "tool `"),
            (|params| (params.temperature, params.max_tokens) = (Some(0.5), 7), "unknown"),
        ];
        for (change, expected) in changes {
            let (caught, _guard) = Caught::catching();
            let house = House { forks: DefaultForkSubagent::new(), ..house.clone() };
            let mut params = house.params(&model([Answer::text("ok").with_usage(read(0))]));
            change(&mut params.cache_safe);
            house.fork(params).await.join().await.unwrap();
            let warnings = caught.lines("fork.cache_break_detected");
            assert_eq!(warnings.len(), 1, "{expected}");
            assert!(warnings[0].contains(&format!("first_difference=\"{expected}")), "{warnings:?}");
        }
    }

    /// Shows: a fork that reads what it inherits is silent; so is one whose provider reports nothing, and one of words that nobody
    /// has sent before.
    async fn a_healthy_fork_is_silent(house: House) {
        let house = long(house);
        let none: Vec<String> = Vec::new();
        assert_eq!(warnings(&house, [read(LONG * 9 / 10), read(LONG * 8 / 10), read(LONG * 9 / 10)]).await, none);
        let unreported = Usage { uncached: LONG, output: 3, ..Usage::default() };
        assert_eq!(warnings(&house, [unreported, unreported]).await, none);
        let house = House { forks: DefaultForkSubagent::new(), ..house };
        let (caught, _guard) = Caught::catching();
        let mut params = house.params(&model([Answer::text("ok").with_usage(read(0))]));
        params.cache_safe.fork_context_messages = ContextMessages::from(vec![]).and(Message::user("new"));
        house.fork(params).await.join().await.unwrap();
        assert_eq!(caught.lines("WARN"), none);
    }

    /// Shows: a turn that reads less than half of what the turn before it read is a warning with the suspected cause.
    async fn a_turn_that_reads_half_of_the_one_before_is_warned_of(house: House) {
        let turns = [read(9_000), read(4_400), read(2_200), read(0)];
        let warnings = warnings(&long(house), turns).await;
        assert_eq!(warnings.len(), 2, "{warnings:?}");
        for (warning, part) in warnings.iter().zip(["read_before=9000 read=4400", "read_before=2200 read=0"]) {
            assert!(warning.starts_with("WARN fork.cache_drop_detected in fork.subagent"), "{warning}");
            assert!(warning.contains(part) && warning.contains("verdict=\""), "{warning}");
        }
    }
}

/// Keeps what each call is told of its place in the trace.
#[derive(Default)]
struct Traced(Mutex<Vec<Option<String>>>);

#[async_trait]
impl ToolDispatcher for Traced {
    fn is_read_only(&self, _tool: &str) -> bool {
        true
    }

    async fn dispatch(&self, _call: &ToolCall, context: &CallContext) -> ToolAnswer {
        self.0.lock().unwrap().push(context.traceparent.clone());
        ToolAnswer::ok("ok")
    }
}

every_format! {
    /// Shows: the trace that the parent belongs to reaches tools, so that they can hand it on; one that cannot be read is ignored
    /// with a warning. (With the feature `otel` and providers a call has a span of its own: `tests/otel.rs`.)
    async fn the_trace_of_the_parent_reaches_tools(house: House) {
        let good = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";
        for (given, expected, warned) in [(None, None, 0), (Some(good), Some(good), 0), (Some("00-bad"), None, 1)] {
            let (caught, _guard) = Caught::catching();
            let tools = Arc::new(Traced::default());
            let model = model([Answer::calls([("c1", "Echo", "{}")]), Answer::text("ok")]);
            let mut params = ForkParams { tool_dispatcher: Arc::clone(&tools) as _, ..house.params(&model) };
            params.parent_ctx.traceparent = given.map(str::to_owned);
            house.fork(params).await.join().await.unwrap();
            assert_eq!(*tools.0.lock().unwrap(), [expected.map(str::to_owned)]);
            let warnings = caught.lines("WARN");
            assert_eq!(warnings.len(), warned);
            assert!(warnings.iter().all(|line| line.contains("in fork.subagent message=the parent's `traceparent`")), "{warnings:?}");
        }
    }
}

/// One turn of a conversation, whose cost is this.
async fn turn(conversation: &mut Conversation, lane: &CacheLane, (prompt, usage): (&str, Usage)) {
    let model = ScriptedModel::new([Answer::text("ok").with_usage(usage)]);
    let house = House::new("anthropic/m");
    let run = Run {
        conversation,
        llm: &model,
        tools: &*house.tools,
        agent: "it",
        filter: &AllowAllFilter,
        journal: &MemoryJournal::default(),
        observer: &|_: RunEvent| {},
        limits: RunLimits::default(),
        reminder: None,
        seat: None,
        cache: Some(lane.clone()),
        compactor: None,
        cancel: CancellationToken::new(),
    };
    run.go([Message::user(prompt)]).await;
}

/// Shows: a break names the first part that differs.
#[tokio::test(start_paused = true)]
async fn a_break_names_the_first_difference() {
    let house = long(House::new("anthropic/m"));
    let settings = house.request.head.settings.clone();
    let facts = Models::bundled().facts("anthropic/m");
    let lane = CacheLane::new(CacheEngine::new(), &settings.model, "", facts);
    let head = Head::render(house.request.head.clone());
    let mut parent = Conversation::new(Arc::new(head), History::new(), MarkPoints::default());
    let written = Usage {
        uncached: 5,
        write_short: Some(LONG),
        read: Some(0),
        output: 3,
        write_long: None,
        reasoning: None,
    };
    turn(&mut parent, &lane, ("What is here?", written)).await;
    let item = |(index, item): (usize, &Item)| Item {
        entry: EntryId(index as i64),
        message: Arc::clone(&item.message),
    };
    let history = History::from_items(parent.history().iter().enumerate().map(item).collect());
    let other = HeadParts { system: "Another word. ".repeat(4_000), ..house.request.head.clone() };
    let mut child = parent.fork().rewritten(Arc::new(Head::render(other)), history);
    let (caught, _guard) = Caught::catching();
    turn(&mut child, &lane, ("And there?", written)).await;
    let warnings = caught.lines("WARN");
    let expected = "WARN fork.cache_break_detected in nowhere message=a fork's inherited part was not served by the cache: \
        system prompt differs from the request before: nothing was read verdict=\"diverged\" first_difference=\"system prompt\" \
        expected_read=0 read=0 hit_ratio=0.0";
    assert_eq!(warnings, [expected]);
}
