//! One request and its reply: waiting for the right to send, sending, judging what the cache served, and writing down what it
//! cost.

use tine_cache::BYTES_PER_TOKEN;
use tine_llm::{LlmError, Progress};
use tine_model::{CapReached, Message, Spent, StopReason, Usage, in_full};
use tine_wire::{Assembled, FailureKind, Partial, Reply};
use tokio_util::sync::CancellationToken;

use crate::cache::{CacheRecord, Watched};
use crate::compactor::in_window;
use crate::flight::Ticket;
use crate::journal::{Permit, RequestRecord};
use crate::resend::Resends;
use crate::run::{RunError, RunEvent, Turns};
use crate::slots::SlotUse;
use crate::stopping::stopping;
use crate::telemetry::{FirstAnswer, Traced, warn_of_a_drop};

/// A request that went out.
pub(crate) struct Sent {
    assembled: Assembled,
    started_ms: i64,
    /// Until it is judged.
    watched: Option<Watched>,
    /// Once it is judged.
    cache: Option<CacheRecord>,
    /// The size of the part of its reply that came, in bytes.
    reply_bytes: u64,
    /// False where it may never have left: it was held back, or a try had failed and the next one was waited for.
    is_out: bool,
}

/// Why a request has no reply of which the conversation could go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Cut {
    /// Somebody stopped it.
    Cancelled,
    /// It came to its end, and is no answer.
    NoAnswer,
    /// Its connection broke.
    Broken,
}

impl Cut {
    /// The word in the record of the request.
    fn as_str(self) -> &'static str {
        match self {
            Self::Cancelled => "cancelled",
            Self::NoAnswer => "no_answer",
            Self::Broken => "broken",
        }
    }
}

/// A request and what came back.
pub(crate) struct Exchanged {
    pub(crate) reply: Reply,
    pub(crate) sent: Sent,
}

impl Turns<'_> {
    /// One request and its reply; `None` when it was cancelled, or a budget ends the run. A reply that breaks off, or that is no
    /// answer, is asked for again: nothing has been done with it, and what came of it is accounted for.
    pub(crate) async fn exchange(
        &mut self,
        cancel: &CancellationToken,
    ) -> Result<Option<Exchanged>, RunError> {
        let mut resends = Resends::new(self.run.llm);
        loop {
            let mut begun = false;
            self.speak_as_known().await?;
            let error = match self.try_exchange(&mut begun, cancel).await {
                Err(RunError::Llm(error)) => error,
                result => return result,
            };
            if self.may_send_whole(&error) {
                continue;
            }
            if self.leave_out_refused(&error).await? {
                continue;
            }
            // An empty reply is one too.
            let begun = begun || matches!(error, LlmError::NoAnswer { .. });
            let wait = if begun { resends.next(&error, self.run.agent) } else { None };
            let Some(wait) = wait else { return Err(error.into()) };
            let attempt = resends.count();
            tracing::info!(attempt, ?wait, cause = %error, "asking again for a reply that gave nothing");
            let cause = in_full(&error);
            self.run.observer.on_event(RunEvent::Retry { attempt, wait, cause });
            if cancel.run_until_cancelled(tokio::time::sleep(wait)).await.is_none() {
                return Ok(None);
            }
        }
    }

    /// Whether a request that was refused is to be sent again in full: what it left out was held by the provider, and may be
    /// gone.
    fn may_send_whole(&mut self, error: &LlmError) -> bool {
        let refused = match error {
            LlmError::Refused { failure, .. } => matches!(
                failure.kind,
                FailureKind::Permission | FailureKind::NotFound | FailureKind::InvalidRequest
            ),
            _ => false,
        };
        let again = refused && self.run.conversation.held().is_some();
        if again {
            self.run.conversation.let_go();
            tracing::info!(%error, "a request goes out again without what the provider held of it");
        }
        again
    }

    /// `begun` becomes true with the first part of the reply.
    async fn try_exchange(
        &mut self,
        begun: &mut bool,
        cancel: &CancellationToken,
    ) -> Result<Option<Exchanged>, RunError> {
        let lane = self.run.cache.clone();
        let diagnosed = lane.as_ref().is_some_and(|lane| lane.facts.diagnoses);
        let (request, assembled) = self.run.conversation.request(diagnosed);
        let mut ticket = self.take_off(&assembled, cancel).await;
        let slot = self.enter_slot(&assembled, cancel).await;
        // Behind that wait and not before it: what is reserved is kept from others, and whoever is waited for may be one of them.
        if !self.may_spend(&assembled, cancel).await? {
            return Ok(None);
        }
        let started_ms = self.run.journal.now_ms();
        let held = self.run.conversation.held();
        let mut watched =
            lane.map(|lane| lane.begin_in(slot, &assembled.boundaries, held, started_ms));
        let observer = self.run.observer;
        observer.on_event(RunEvent::Request { turn: self.report.turns + 1 });
        let traced = Traced::chat();
        let (mut reply_bytes, mut is_out) = (0, true);
        let mut on_progress = |progress: Progress<'_>| match progress {
            Progress::Event(event) => {
                reply_bytes += event.reply_bytes() as u64;
                // A sign of life is not the beginning of the reply: the cache entry may not exist yet.
                if event.is_of_the_reply() {
                    *begun = true;
                    watched.iter_mut().for_each(Watched::begun);
                    ticket.iter_mut().for_each(Ticket::begun);
                }
                observer.on_event(RunEvent::Stream(event.clone()));
            }
            Progress::Retry { attempt, wait, cause } => {
                is_out = false;
                observer.on_event(RunEvent::Retry { attempt, wait, cause: in_full(cause) });
            }
            Progress::Begun { after } => {
                watched.iter_mut().for_each(|w| w.began_after(after));
                traced.chat_began(after);
            }
            Progress::Held { wait, reason } => {
                is_out = false;
                observer.on_event(RunEvent::Held { wait, reason });
            }
        };
        let sending = self.run.llm.send(&request, &mut on_progress, cancel);
        let result = match traced.around(stopping(sending, cancel)).await {
            Some(result) => result,
            // What it had received by then is lost with it.
            None => {
                let partial = Partial { message: None, usage: Usage::default(), id: None };
                Err(LlmError::Cancelled { partial: Box::new(partial) })
            }
        };
        traced.chat_ended(&result);
        let result = result
            .and_then(LlmError::answered)
            .and_then(|reply| in_window(self.run.compactor, reply));
        let mut sent = Sent { assembled, started_ms, watched, cache: None, reply_bytes, is_out };
        let reply = match result {
            Ok(reply) => reply,
            Err(LlmError::Cancelled { partial }) => {
                self.keep_cancelled(*partial, sent).await?;
                return Ok(None);
            }
            Err(error) => return Err(self.keep_broken(error, sent).await?),
        };
        sent.watched.iter_mut().for_each(Watched::begun);
        ticket.iter_mut().for_each(Ticket::ended);
        let slot = sent.watched.as_mut().and_then(Watched::take_slot);
        self.slot.keep(slot, reply.stop == StopReason::ToolUse);
        self.judge(&mut sent, &reply.usage);
        if let Some(cache) = &mut sent.cache {
            cache.diagnosis.clone_from(&reply.diagnosis);
            cache.dropped.clone_from(&reply.dropped);
        }
        self.warn_of_the_cache(&sent, &reply.usage);
        self.run.conversation.answered(&sent.assembled, reply.id.clone());
        self.report.turns += 1;
        self.count(Spent { started_ms: sent.started_ms, usage: reply.usage });
        Ok(Some(Exchanged { reply, sent }))
    }

    /// Waits for the slot that holds what the request begins with.
    async fn enter_slot(
        &mut self,
        assembled: &Assembled,
        cancel: &CancellationToken,
    ) -> Option<SlotUse> {
        let lane = self.run.cache.as_ref()?;
        let observer = self.run.observer;
        let on_wait = || observer.on_event(RunEvent::Waiting);
        self.slot.enter(lane, &assembled.boundaries, &on_wait, cancel).await
    }

    /// Asks for the right to spend what the request may cost; `false` when there is none, or the run is cancelled.
    async fn may_spend(
        &mut self,
        assembled: &Assembled,
        cancel: &CancellationToken,
    ) -> Result<bool, RunError> {
        let observer = self.run.observer;
        let on_pause = |reached: CapReached| observer.on_event(RunEvent::Paused(reached));
        match self.run.journal.reserve(assembled.body.len(), &on_pause, cancel).await? {
            Permit::Granted => Ok(true),
            Permit::Cancelled => Ok(false),
            Permit::Refused(reached) => {
                self.report.reached = Some(reached);
                Ok(false)
            }
        }
    }

    /// Waits for the right to send: in the flight of its siblings, or behind whoever is writing the same prefix.
    async fn take_off(
        &mut self,
        assembled: &Assembled,
        cancel: &CancellationToken,
    ) -> Option<Ticket> {
        let (lane, now_ms) = (self.run.cache.as_ref(), self.run.journal.now_ms());
        match (self.run.seat.take(), lane) {
            (None, None) => None,
            // What is held is there: nobody has to write it.
            (None, Some(_)) if self.run.conversation.held().is_some() => None,
            // Whoever has slots is waited for by them.
            (None, Some(lane)) if lane.facts.slots.is_some() => None,
            (None, Some(lane)) => {
                let observer = self.run.observer;
                let on_wait = || observer.on_event(RunEvent::Waiting);
                lane.join(&assembled.boundaries, now_ms, &on_wait, cancel).await
            }
            (Some(seat), lane) => {
                if !seat.is_free() {
                    self.run.observer.on_event(RunEvent::Waiting);
                }
                let ticket = seat.enter(cancel).await;
                if let Some(lane) = lane {
                    let now_ms = self.run.journal.now_ms();
                    lane.announce(&ticket, &assembled.boundaries, now_ms, cancel).await;
                }
                Some(ticket)
            }
        }
    }

    /// Compares what the cache served with what it should have.
    fn judge(&self, sent: &mut Sent, usage: &Usage) {
        let Some(watched) = sent.watched.take() else { return };
        let conversation = &self.run.conversation;
        let is_due = watched.fell_short(usage) || conversation.has_parted(&sent.assembled);
        let difference = if is_due { conversation.difference(&sent.assembled) } else { None };
        sent.cache = Some(watched.answered(usage, difference, &sent.assembled.boundaries));
    }

    /// The first answer of a fork is held against its promise, every later one against the one before.
    fn warn_of_the_cache(&self, sent: &Sent, usage: &Usage) {
        let conversation = &self.run.conversation;
        if let (Some(cache), Some(lane)) = (&sent.cache, &self.run.cache)
            && conversation.is_fresh_fork()
        {
            let was_sent = conversation.sent().is_some();
            let min_tokens = lane.facts.min_tokens;
            FirstAnswer { cache, usage, was_sent, min_tokens }.warn_of_a_break();
        }
        if let Some(before) = self.report.requests.last() {
            warn_of_a_drop(&before.usage, usage, sent.cache.as_ref());
        }
    }

    pub(crate) fn count(&mut self, spent: Spent) {
        self.report.usage += spent.usage;
        self.report.requests.push(spent);
    }

    /// Notes what a request cost, once its reply is kept.
    pub(crate) async fn record(
        &self,
        (id, model): (Option<String>, Option<String>),
        (usage, stop): (Usage, StopReason),
        sent: Sent,
    ) -> Result<(), RunError> {
        let record = RequestRecord {
            reply: id,
            model,
            usage,
            stop,
            items: sent.assembled.items,
            body_bytes: sent.assembled.body.len(),
            started_ms: sent.started_ms,
            cache: sent.cache,
        };
        self.run.journal.request_answered(&record).await?;
        self.run.observer.on_event(RunEvent::Answered(Box::new(record)));
        Ok(())
    }

    /// A request that the provider had begun to answer is recorded, with what it had billed by then as far as it said so, and one that
    /// was out without an answer, too. What was generated before a cut is known at the end of a reply alone: it counts by its length.
    async fn record_partial(
        &mut self,
        partial: &Partial,
        cut: Cut,
        mut sent: Sent,
    ) -> Result<(), RunError> {
        let mut usage = partial.usage;
        let is_reported = usage != Usage::default();
        let is_known = is_reported || partial.id.is_some() || partial.message.is_some();
        if !(is_known || (cut == Cut::Cancelled && sent.is_out)) {
            return Ok(());
        }
        if is_reported {
            if cut != Cut::NoAnswer {
                usage.output = usage.output.max(sent.reply_bytes.div_ceil(BYTES_PER_TOKEN));
            }
            self.judge(&mut sent, &usage);
            self.count(Spent { started_ms: sent.started_ms, usage });
        }
        let what = (usage, StopReason::Other(cut.as_str().to_owned()));
        self.record((partial.id.clone(), None), what, sent).await
    }

    /// What the user saw before stopping a reply stays part of the conversation: the next prompt may refer to it.
    async fn keep_cancelled(&mut self, partial: Partial, sent: Sent) -> Result<(), RunError> {
        self.record_partial(&partial, Cut::Cancelled, sent).await?;
        self.run.journal.release().await?;
        if let Some(message) = partial.message {
            self.keep(message).await?;
        }
        Ok(())
    }

    /// Keeps what arrived of a reply that broke, or that is no answer, beside the conversation, so that the request can be sent
    /// again.
    async fn keep_broken(&mut self, error: LlmError, sent: Sent) -> Result<RunError, RunError> {
        let (cut, what) = match &error {
            LlmError::NoAnswer { reason, .. } => {
                (Cut::NoAnswer, format!("A reply that is no answer ({reason}):"))
            }
            _ => (Cut::Broken, "Part of a reply that broke off:".to_owned()),
        };
        if let Some(partial) = error.partial() {
            self.record_partial(partial, cut, sent).await?;
            let text = partial.message.as_ref().map(Message::text).unwrap_or_default();
            if !text.is_empty() {
                self.run.journal.notice(&format!("{what}\n{text}")).await?;
            }
        }
        self.run.journal.release().await?;
        Ok(error.into())
    }
}
