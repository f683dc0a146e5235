//! One conversation: its history, its client, and what is checked of each request and reply.

use std::cell::RefCell;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use tine_history::History;
use tine_llm::{
    HttpClient, HttpLimits, HttpOptions, LlmClient, LlmError, Progress, RateGates, Request,
    RetryLimits, Secret,
};
use tine_model::{
    Block, BoundaryKind, CacheScheme, EntryId, Message, ModelSettings, RawJson, Role, Thinking,
};
use tine_wire::{
    Assembled, CallIds, Head, HeadParts, IdForm, Mark, MarkPoints, RequestOptions, ToolDeclaration,
    assemble, first_difference, framer,
};
use tokio_util::sync::CancellationToken;

use crate::foreign;
use crate::seen::Seen;
use crate::step::Step;

/// A request that was sent in this lineage.
struct Sent {
    /// Number of messages that must be inherited for a request to go on where this one ends.
    items: usize,
    body: Vec<u8>,
    /// Whether a parent sent it.
    inherited: bool,
}

pub(crate) struct Talk<'a> {
    head: Head,
    history: History,
    points: MarkPoints,
    client: HttpClient,
    sent: Vec<Sent>,
    seen: &'a RefCell<Seen>,
}

impl<'a> Talk<'a> {
    pub(crate) fn new(model: &str, base_url: &str, key: &str, seen: &'a RefCell<Seen>) -> Self {
        let model: tine_model::ModelRef = model.parse().unwrap();
        let retry = RetryLimits {
            backoff_first: Duration::from_micros(10),
            backoff_max: Duration::from_micros(20),
            ..RetryLimits::default()
        };
        let options = HttpOptions {
            model: model.clone(),
            base_url: base_url.to_owned(),
            key: Some(Secret::new(key)),
            limits: HttpLimits { retry, ..HttpLimits::default() },
        };
        let schema = r#"{"type":"object","properties":{"at":{"type":"string"}}}"#;
        let look = ToolDeclaration {
            name: "Look".into(),
            description: "Looks.".into(),
            schema: RawJson::parse(schema).unwrap(),
        };
        let thinking = Some(Thinking::Adaptive);
        let settings = ModelSettings { model, max_tokens: 1_000, thinking, effort: None };
        let parts = HeadParts::new(settings, "Be brief.".into(), vec![look]);
        let head = Head::render(HeadParts { cache_key: Some("lineage".into()), ..parts });
        let client = HttpClient::new(options, &RateGates::new()).unwrap();
        let (history, points) = (History::new(), MarkPoints::default());
        Self { head, history, points, client, sent: Vec::new(), seen }
    }

    /// Adds a message, with the ids that a conversation gives its calls.
    pub(crate) fn push(&mut self, message: Message) {
        let mut ids = CallIds::default();
        self.history.iter().for_each(|item| ids.note(&item.message));
        let format = self.head.format();
        let message = ids.place(&message, format, IdForm::default()).unwrap_or(message);
        self.history.push(EntryId(self.history.len() as i64 + 1), Arc::new(message));
    }

    pub(crate) async fn take(&mut self, step: &Step) -> Result<(), TestCaseError> {
        match step {
            Step::Say(text) => self.push(Message::user(*text)),
            Step::Answer { share, before, behind } => self.answer(*share, *before, *behind),
            Step::Ask => self.ask().await?,
            // The first message stays: a conversation begins with its user.
            Step::ForkAt(index) => self.fork(1 + index.index(self.history.len())),
            Step::Fork => self.fork(self.history.len()),
            Step::Foreign(kind) => {
                for message in foreign::messages(*kind) {
                    self.push(message);
                }
                if *kind >= 7 {
                    self.seen.borrow_mut().note("an import");
                }
            }
        }
        Ok(())
    }

    /// Goes on as a child that inherits the first `len` messages.
    fn fork(&mut self, len: usize) {
        let mut child = self.history.fork();
        child.rewind(len);
        let sent = self.points.sent.map(|sent| sent.min(child.len()));
        self.points = MarkPoints { sent, inherited: Some(child.len()) };
        self.sent.retain(|sent| sent.items <= child.len());
        self.sent.iter_mut().for_each(|sent| sent.inherited = true);
        self.history = child;
    }

    fn answer(&mut self, share: u16, before: bool, behind: bool) {
        let Some(last) = self.history.last().map(|item| Arc::clone(&item.message)) else { return };
        let calls = last.tool_calls().enumerate();
        let answered = calls.filter(|(index, _)| share >> (index % 16) & 1 == 1);
        let results = answered.map(|(index, call)| Block::result(call.clone(), "seen", index == 1));
        let text = |wanted: bool| wanted.then(|| Block::Text("by the way".into()));
        let blocks: Vec<Block> =
            text(before).into_iter().chain(results).chain(text(behind)).collect();
        if !blocks.is_empty() {
            self.push(Message::new(Role::User, blocks));
        }
    }

    /// Asks the model, once the user has the last word; open calls are closed by placeholders.
    pub(crate) async fn ask(&mut self) -> Result<(), TestCaseError> {
        let says = |block: &Block| match block {
            Block::Text(text) => !text.trim().is_empty(),
            Block::ToolResult { .. } => true,
            _ => false,
        };
        let has_word = self.history.last().is_some_and(|last| {
            last.message.role() == Role::User && last.message.blocks().iter().any(says)
        });
        if !has_word && !self.history.has_open_calls() {
            self.push(Message::user("go on"));
        }
        self.seen.borrow_mut().history(&self.history, self.points.inherited);
        let options = RequestOptions::at(self.points);
        let assembled = assemble(&self.head, &mut self.history, &options);
        let request = Request::new(self.head.format(), &assembled);
        let body = request.body.to_vec();
        let shown = String::from_utf8_lossy(&body).into_owned();
        self.check_marks(&assembled, &shown)?;
        self.check_append_only(&body, &shown)?;

        let mut nobody = |_: Progress<'_>| {};
        let cancel = CancellationToken::new();
        let message = match self.client.send(&request, &mut nobody, &cancel).await {
            Ok(reply) => {
                prop_assert!(reply.dropped.is_empty(), "{:?}\n{}", reply.dropped, shown);
                prop_assert!(reply.usage.prompt() > 0, "{:?}\n{}", reply.usage, shown);
                Some(reply.message)
            }
            // The scenario cuts some answers; what came is kept, as when a person cancels.
            Err(LlmError::Broken { partial, .. }) if shown.contains("cut ") => {
                self.seen.borrow_mut().note("a reply that broke off");
                partial.message
            }
            Err(error) => return Err(TestCaseError::fail(format!("{error:?}\n{shown}"))),
        };
        self.points.sent = Some(assembled.items);
        // Open calls are closed for good only when a reply stands behind them.
        let open = usize::from(self.history.has_open_calls());
        if open == 0 || message.is_some() {
            self.sent.push(Sent { items: assembled.items + open, body, inherited: false });
        }
        if let Some(message) = message {
            self.push(message);
        }
        Ok(())
    }

    /// What was sent before is the beginning of what is sent now.
    fn check_append_only(&self, body: &[u8], shown: &str) -> Result<(), TestCaseError> {
        let mut seen = self.seen.borrow_mut();
        for sent in self.sent.iter().filter(|sent| sent.items <= self.history.len()) {
            let difference = first_difference(self.head.format(), &sent.body, body);
            let before = String::from_utf8_lossy(&sent.body);
            prop_assert_eq!(difference, None, "before: {}\nnow: {}", before, shown);
            seen.note(match sent.inherited {
                true => "an append-only child",
                false => "an append-only next request",
            });
        }
        Ok(())
    }

    /// The tail and the fork point are marked, and no more than four places.
    fn check_marks(&mut self, assembled: &Assembled, shown: &str) -> Result<(), TestCaseError> {
        let marks =
            shown.matches("\"cache_control\"").count() + shown.matches("_breakpoint\"").count();
        let scheme = self.head.scheme();
        if scheme == CacheScheme::Automatic {
            prop_assert_eq!(marks, 0, "{}", shown);
            return Ok(());
        }
        prop_assert_eq!(marks, assembled.marks.len() + 1, "the head and {:?}", assembled.marks);
        prop_assert!(marks <= 4, "{} marks: {}", marks, shown);
        let tail = assembled.boundary(BoundaryKind::Tail);
        prop_assert!(tail.is_some_and(|tail| tail.mark.is_some()), "{}", shown);

        let layout = self.history.layout(framer(self.head.format()));
        let slots = |item: usize| layout.frame(item).1.slots.iter().map(|slot| slot.block);
        let last_of = |items: usize| {
            let last = |item: usize| Some(Mark { item, block: slots(item).next_back()? });
            (0..items).rev().find_map(last)
        };
        let last = last_of(assembled.items);
        prop_assert_eq!(assembled.marks.last().copied(), last, "the tail: {}", shown);
        let Some(inherited) = self.points.inherited else { return Ok(()) };
        if self.points.sent.is_some_and(|sent| sent > inherited) {
            return Ok(());
        }
        let placeholders = match inherited < assembled.items {
            true => layout.frame(inherited).1.placeholders,
            false => 0,
        };
        let fork_point = match placeholders.checked_sub(1) {
            Some(block) => Some(Mark { item: inherited, block }),
            None => last_of(inherited),
        };
        let marked = fork_point.is_none_or(|place| assembled.marks.contains(&place));
        prop_assert!(marked, "{:?} not in {:?}: {}", fork_point, assembled.marks, shown);
        Ok(())
    }
}
