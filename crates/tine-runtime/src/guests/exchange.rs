//! One request and its reply: judged by the ledger, and written down.

use std::sync::Arc;

use tine_fork::cache::{CacheLane, CacheRecord, Watched};
use tine_model::{
    AgentId, Boundary, ContextMode, EntryId, Message, Reach, RequestId, Role, Segment, Spent,
    Standing, StopReason, Usage,
};
use tine_store::{
    CacheRow, CreateAgent, Fence, ForkFrom, ForkRequest, GuestRow, Head as StoredHead, NewAgent,
    NewChild, NewEntry, RequestRow, StoreError,
};
use tine_wire::{Decoder, GuestMessage, GuestRequest, Head, Reply, decode_reply, identity};

use super::fork::packed;
use super::line::{Line, Said};
use super::place::Place;
use super::{ASIDES_MAX, GuestReply, GuestSent, Guests, HostSession};
use crate::budget::micro_usd;
use crate::cache::{CachePolicy, cache_row};
use crate::cache_note::CacheNote;
use crate::codec;
use crate::error::RuntimeError;
use crate::journal::stop_word;
use crate::stop_words;

/// Rounds in which another process may write to the same conversation at the same moment.
const ROUNDS_MAX: usize = 5;

/// A request that is under way.
pub(super) struct Under {
    asked: Asked,
    body_bytes: u64,
    watched: Watched,
    boundaries: Vec<Boundary>,
    difference: Option<Segment>,
    at: At,
}

/// The conversation that a request belongs to.
enum At {
    /// Found, not yet written.
    Found(Place),
    /// Written down: a guest, and the number of its messages that the request has.
    Written(AgentId, usize),
    /// None: a title, for instance. It is a cost of its session.
    Aside,
}

/// A request beside any conversation, until its session is known.
pub(super) struct Aside {
    asked: Asked,
    row: RequestRow,
    cache: CacheRecord,
    reply: Option<Message>,
}

/// The part of a request that is known before its place.
pub(super) struct Asked {
    request: GuestRequest,
    session: HostSession,
    way: Way,
    /// As it was sent, until it is kept.
    body: Vec<u8>,
    at_ms: i64,
}

/// The way of a request to its provider.
struct Way {
    account: String,
    upstream: String,
    gateway: Option<String>,
}

impl Under {
    pub(super) fn agent(&self) -> Option<AgentId> {
        match self.at {
            At::Written(agent, _) => Some(agent),
            At::Found(_) | At::Aside => None,
        }
    }
}

impl Guests {
    pub(super) async fn read(&mut self, sent: GuestSent) -> Result<Under, RuntimeError> {
        let GuestSent { provider, session, body, at_ms, .. } = sent;
        let way = Way { account: sent.account, upstream: sent.upstream, gateway: sent.gateway };
        let request = GuestRequest::read(provider, &body)
            .map_err(|source| RuntimeError::GuestRequest { source: Box::new(source) })?
            .with_headers(sent.headers);
        // Programs that name their conversations ask for titles and the like in requests of one question, which need no tools.
        let has_reply = |one: &GuestMessage| one.message.role() == Role::Assistant;
        let is_question = !request.messages.iter().any(has_reply);
        let is_aside = session.session.is_some() && !request.has_tools() && is_question;
        let (at, before) = match is_aside {
            true => (At::Aside, None),
            false => {
                let place = self.place(&session, &request).await?;
                let before = match place {
                    Place::Behind { agent, keep } | Place::Fork { agent, keep } => {
                        self.lines.get(&agent).map(|line| compared(line, keep, &request))
                    }
                    Place::Anew(_) => None,
                };
                (At::Found(place), before)
            }
        };
        let (anchor, difference) = before.unwrap_or((0, None));
        let boundaries = request.boundaries(anchor);
        let lane = self.lane(&request, &way.account).await?;
        let watched = lane.begin(&boundaries, None, at_ms);
        let body_bytes = body.len() as u64;
        let asked = Asked { request, session, way, body, at_ms };
        Ok(Under { asked, body_bytes, watched, boundaries, difference, at })
    }

    async fn lane(&self, request: &GuestRequest, account: &str) -> Result<CacheLane, RuntimeError> {
        let model = &request.head.settings.model;
        self.runtime.lane_of(model, account, CachePolicy::default()).await
    }

    /// Writes the messages of a request down that are not there yet.
    pub(super) async fn write_request(&mut self, under: &mut Under) -> Result<(), RuntimeError> {
        under.watched.begun();
        let At::Found(place) = under.at else { return Ok(()) };
        let all = under.asked.request.messages.len();
        let agent = self.write_at(&under.asked, place).await?;
        let (scope, entries) = (under.watched.scope(), under.watched.begun_entries());
        let cache: Vec<_> = entries.iter().map(|entry| cache_row(scope, entry)).collect();
        self.keep_request(agent, std::mem::take(&mut under.asked.body), &cache).await?;
        under.at = At::Written(agent, all);
        // They are in the log; what follows needs them no more.
        under.asked.request.messages.clear();
        self.settle_asides(&under.asked.session, agent).await?;
        self.forget();
        Ok(())
    }

    /// Keeps a request for forks of the guest, in whatever process, with the cache entries that they can read from here on.
    async fn keep_request(
        &self,
        agent: AgentId,
        body: Vec<u8>,
        cache: &[CacheRow],
    ) -> Result<(), RuntimeError> {
        Ok(self.runtime.store().keep_guest_request(agent, packed(&body), cache).await?)
    }

    async fn write_at(&mut self, asked: &Asked, place: Place) -> Result<AgentId, RuntimeError> {
        let messages: Vec<Message> =
            asked.request.messages.iter().map(|one| one.message.clone()).collect();
        match place {
            Place::Behind { agent, keep } => self.write_rest(asked, (agent, keep), &messages).await,
            Place::Fork { agent, keep } => {
                self.write_fork(asked, (agent, keep), &messages[keep..]).await
            }
            Place::Anew(above) => self.write_anew(asked, above, &messages).await,
        }
    }

    /// Writes the reply down, and what the request cost.
    pub(super) async fn write_reply(
        &mut self,
        under: Under,
        reply: GuestReply,
    ) -> Result<(), RuntimeError> {
        let Under { asked, body_bytes, watched, boundaries, difference, at } = under;
        let model = &asked.request.head.settings.model;
        let Replied { message, usage, id, stop } = read_reply(model.format(), &reply);
        let message = message.filter(|_| reply.is_complete);
        let agent = match (&at, &message) {
            (At::Written(agent, all), Some(message)) => {
                let said = std::slice::from_ref(message);
                Some(self.write_said(&asked, (*agent, *all), said).await?)
            }
            (At::Written(agent, _), None) => Some(*agent),
            (At::Found(_) | At::Aside, _) => None,
        };
        let cache = watched.answered(&usage, difference, &boundaries);
        let usage = (usage != Usage::default()).then_some(usage);
        let stop = stop.as_ref().map(|stop| stop_word(stop).to_owned());
        let model = model.to_string();
        let cost = |usage| {
            let spent = Spent { started_ms: asked.at_ms, usage };
            micro_usd(&self.runtime.ports().facts, &model, &spent)
        };
        let row = RequestRow {
            id: RequestId::from_random(self.runtime.ports().ids.random()),
            // Of one beside a conversation it is set once that is known.
            agent: agent.unwrap_or(AgentId::from_random([0; 16])),
            started_ms: asked.at_ms,
            micro_usd: usage.and_then(cost),
            model,
            usage,
            stop,
            prompt_bytes: Some(body_bytes),
            reply: id,
            verdict: Some(cache.judgement.verdict.as_str().to_owned()),
            note: Some(CacheNote::of(&cache).to_text()),
        };
        match agent {
            Some(_) => self.record(row, &cache).await,
            None => self.record_aside(Aside { asked, row, cache, reply: message }).await,
        }
    }

    async fn record(&self, row: RequestRow, cache: &CacheRecord) -> Result<(), RuntimeError> {
        let rows: Vec<_> =
            cache.entries.iter().map(|entry| cache_row(cache.scope, entry)).collect();
        self.runtime.store().record_request(row, &rows).await?;
        Ok(())
    }

    /// Counts a request beside a conversation to the guest of its session that was used last.
    async fn record_aside(&mut self, aside: Aside) -> Result<(), RuntimeError> {
        match self.of_session(&aside.asked.session).await?.first() {
            Some(agent) => self.record(beside(*agent, aside.row), &aside.cache).await,
            None => {
                self.asides.push(aside);
                let surplus = self.asides.len().saturating_sub(ASIDES_MAX);
                for aside in self.asides.drain(..surplus).collect::<Vec<_>>() {
                    self.write_aside(aside).await?;
                }
                Ok(())
            }
        }
    }

    /// A session is known now: what came beside it before is its cost.
    async fn settle_asides(
        &mut self,
        session: &HostSession,
        agent: AgentId,
    ) -> Result<(), RuntimeError> {
        let is_of = |aside: &mut Aside| aside.asked.session.is_of(session);
        let settled: Vec<Aside> = self.asides.extract_if(.., is_of).collect();
        for Aside { row, cache, .. } in settled {
            self.record(beside(agent, row), &cache).await?;
        }
        Ok(())
    }

    /// Writes a request down as a conversation of one question: no other has come of it.
    pub(super) async fn write_aside(&mut self, aside: Aside) -> Result<(), RuntimeError> {
        let Aside { mut asked, row, cache, reply } = aside;
        let place = self.place(&asked.session, &asked.request).await?;
        let agent = self.write_at(&asked, place).await?;
        self.keep_request(agent, std::mem::take(&mut asked.body), &[]).await?;
        if let Some(reply) = reply {
            let all = asked.request.messages.len();
            self.write_said(&asked, (agent, all), &[reply]).await?;
        }
        self.record(RequestRow { agent, ..row }, &cache).await
    }

    /// Writes the messages of a request down that a guest does not have.
    async fn write_rest(
        &mut self,
        asked: &Asked,
        (agent, mut keep): (AgentId, usize),
        messages: &[Message],
    ) -> Result<AgentId, RuntimeError> {
        for _ in 0..ROUNDS_MAX {
            if let Some(agent) = self.write_behind(asked, (agent, keep), &messages[keep..]).await? {
                return Ok(agent);
            }
            // Another process has gone on with it, perhaps with these very messages.
            let Some(line) = self.line(agent).await? else { break };
            keep = line.shared(&asked.request.messages);
        }
        self.write_anew(asked, None, messages).await
    }

    /// Writes a reply down behind the request that it answers.
    async fn write_said(
        &mut self,
        asked: &Asked,
        (agent, keep): (AgentId, usize),
        messages: &[Message],
    ) -> Result<AgentId, RuntimeError> {
        for _ in 0..ROUNDS_MAX {
            if let Some(agent) = self.write_behind(asked, (agent, keep), messages).await? {
                return Ok(agent);
            }
            if self.line(agent).await?.is_none_or(|line| line.messages.len() < keep) {
                break;
            }
        }
        self.write_anew(asked, None, messages).await
    }

    /// Writes messages behind the first `keep` ones of a guest. Where it has gone on otherwise since, they begin a fork of it. `None` where
    /// it is not as it was known; it is read anew then.
    async fn write_behind(
        &mut self,
        asked: &Asked,
        (agent, keep): (AgentId, usize),
        messages: &[Message],
    ) -> Result<Option<AgentId>, RuntimeError> {
        let lease = match self.runtime.acquire_once_free(agent).await {
            Err(error) if is_gone(&error) => {
                self.lines.remove(&agent);
                return Ok(None);
            }
            lease => lease?,
        };
        let written = self.write_held(asked, (agent, keep), messages, lease.fence).await;
        self.runtime.give_back(&lease).await?;
        match written {
            Ok(Written::Here) => Ok(Some(agent)),
            Ok(Written::Fork) => Ok(Some(self.write_fork(asked, (agent, keep), messages).await?)),
            Ok(Written::Stale) => {
                self.lines.remove(&agent);
                Ok(None)
            }
            Err(error) if is_gone(&error) => {
                self.lines.remove(&agent);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }

    async fn write_held(
        &mut self,
        asked: &Asked,
        (agent, keep): (AgentId, usize),
        messages: &[Message],
        fence: Fence,
    ) -> Result<Written, RuntimeError> {
        let store = Arc::clone(self.runtime.store());
        let now_ms = self.runtime.now_ms();
        let Some(line) = self.line(agent).await?.cloned() else { return Ok(Written::Stale) };
        if line.messages.len() < keep || !store.own_entries(agent, line.last).await?.is_empty() {
            return Ok(Written::Stale);
        }
        let rest = &line.messages[keep..];
        if messages.is_empty() && !rest.is_empty() {
            // Asked once more; the reply will be another one, or none.
            return Ok(Written::Here);
        }
        // The program sends its reply back in other words: these are the ones that count.
        let is_reworded = rest.len() == 1
            && rest[0].is_reply
            && messages.len() > 1
            && messages[0].role() == Role::Assistant;
        if !rest.is_empty() && !is_reworded {
            return Ok(Written::Fork);
        }
        let mut rows: Vec<NewEntry> = Vec::new();
        if is_reworded {
            let kept = keep.checked_sub(1).map(|last| line.messages[last].entry);
            rows.push(codec::rewind_row(kept, now_ms));
        }
        rows.extend(messages.iter().map(|message| codec::message_row(message, now_ms)));
        if !rows.is_empty() {
            let ids = store.append(agent, fence, &rows).await?;
            let own = &ids[usize::from(is_reworded)..];
            if let Some(line) = self.lines.get_mut(&agent) {
                line.messages.truncate(keep);
                line.extend(agent, own, messages);
            }
        }
        self.change_head(asked, agent, fence).await?;
        self.note(asked, agent).await?;
        Ok(Written::Here)
    }

    /// The head of the last request is the one that counts.
    async fn change_head(
        &mut self,
        asked: &Asked,
        agent: AgentId,
        fence: Fence,
    ) -> Result<(), RuntimeError> {
        let Some(line) = self.lines.get_mut(&agent) else { return Ok(()) };
        let headers = asked.request.headers();
        if asked.request.first_difference(&line.settings).is_none() && line.headers == headers {
            return Ok(());
        }
        line.settings = asked.request.settings().to_vec();
        line.headers = headers.to_vec();
        self.runtime.store().change_head(agent, fence, stored_head(&asked.request)).await?;
        Ok(())
    }

    async fn write_fork(
        &mut self,
        asked: &Asked,
        (parent, keep): (AgentId, usize),
        messages: &[Message],
    ) -> Result<AgentId, RuntimeError> {
        let shared = match self.line(parent).await? {
            Some(line) => line.messages[..keep.min(line.messages.len())].to_vec(),
            None => return self.write_anew(asked, None, messages).await,
        };
        // Whoever has said the last of them is the parent, so that siblings stand side by side.
        let (parent, from) = match shared.last() {
            Some(last) => (last.agent, ForkFrom::Entry(last.entry)),
            None => (parent, ForkFrom::Nothing),
        };
        self.child(asked, (parent, from, ContextMode::Full), shared, messages).await
    }

    /// A guest that has none of its messages from another one.
    async fn write_anew(
        &mut self,
        asked: &Asked,
        above: Option<(AgentId, ContextMode)>,
        messages: &[Message],
    ) -> Result<AgentId, RuntimeError> {
        if let Some((parent, context)) = above {
            let from = (parent, ForkFrom::Nothing, context);
            return self.child(asked, from, Vec::new(), messages).await;
        }
        let agent = self.new_guest(asked, ContextMode::Full);
        let (id, now_ms) = (agent.id, self.runtime.now_ms());
        let entries = rows(messages, now_ms);
        let ids = self.runtime.store().create_agent(CreateAgent { agent, entries, now_ms }).await?;
        let mut line = Line::new(asked, Vec::new());
        line.extend(id, &ids, messages);
        self.lines.insert(id, line);
        self.note(asked, id).await?;
        Ok(id)
    }

    async fn child(
        &mut self,
        asked: &Asked,
        (parent, from, context): (AgentId, ForkFrom, ContextMode),
        shared: Vec<Said>,
        messages: &[Message],
    ) -> Result<AgentId, RuntimeError> {
        let agent = self.new_guest(asked, context);
        let (id, now_ms) = (agent.id, self.runtime.now_ms());
        let entries = rows(messages, now_ms);
        let child = NewChild { agent, task: None, entries, worktree: None, by_person: false };
        let request = ForkRequest {
            parent,
            from,
            parent_fence: None,
            children: vec![child],
            owner: None,
            now_ms,
        };
        let forked = self.runtime.store().fork(request).await?;
        if let (Some(line), Some(event)) =
            (self.lines.get_mut(&parent), forked.first().and_then(|forked| forked.parent_event))
        {
            line.last = Some(event);
        }
        let own = self.runtime.store().own_entries(id, None).await?;
        let ids: Vec<EntryId> = own.iter().map(|row| row.id).collect();
        let mut line = Line::new(asked, shared);
        line.extend(id, &ids[ids.len().saturating_sub(messages.len())..], messages);
        line.last = ids.last().copied();
        self.lines.insert(id, line);
        self.note(asked, id).await?;
        Ok(id)
    }

    fn new_guest(&self, asked: &Asked, context: ContextMode) -> NewAgent {
        NewAgent {
            id: self.runtime.new_id(),
            name: None,
            standing: Standing::Guest,
            context,
            settings: asked.request.head.settings.clone(),
            head: stored_head(&asked.request),
            directory: self.directory.to_string_lossy().into_owned(),
            // What forks of it may touch, unless a person widens it: the files are the other program's.
            reach: Reach::read_only(),
            depth: 0,
        }
    }

    async fn note(&mut self, asked: &Asked, agent: AgentId) -> Result<(), RuntimeError> {
        let Some(line) = self.lines.get_mut(&agent) else { return Ok(()) };
        line.used_ms = asked.at_ms;
        let HostSession { host, session, .. } = asked.session.clone();
        let first = line.messages.first().map_or([0; 32], |said| said.identity);
        let Way { account, upstream, gateway } = &asked.way;
        let row = GuestRow {
            agent,
            host,
            session,
            first,
            upstream: upstream.clone(),
            account: account.clone(),
            gateway: gateway.clone(),
            used_ms: asked.at_ms,
        };
        Ok(self.runtime.store().note_guest(row).await?)
    }
}

/// The end of an attempt to write.
enum Written {
    /// It is written.
    Here,
    /// The guest has gone on otherwise.
    Fork,
    /// The guest is not as it was known.
    Stale,
}

impl Line {
    fn new(asked: &Asked, messages: Vec<Said>) -> Self {
        let settings = asked.request.settings().to_vec();
        let headers = asked.request.headers().to_vec();
        Self { messages, last: None, settings, headers, used_ms: asked.at_ms }
    }

    fn extend(&mut self, agent: AgentId, ids: &[EntryId], messages: &[Message]) {
        let said = ids.iter().zip(messages).map(|(entry, message)| Said {
            agent,
            entry: *entry,
            identity: identity(message),
            is_reply: message.role() == Role::Assistant,
        });
        self.messages.extend(said);
        self.last = ids.last().copied().or(self.last);
    }
}

/// A request that is a cost of a guest, and none of its conversation.
fn beside(agent: AgentId, row: RequestRow) -> RequestRow {
    RequestRow { agent, stop: Some(stop_words::ASIDE.to_owned()), ..row }
}

/// Returns true where somebody has killed or removed an agent meanwhile.
fn is_gone(error: &RuntimeError) -> bool {
    matches!(error, RuntimeError::Store(StoreError::Dead { .. } | StoreError::NotFound { .. }))
}

fn rows(messages: &[Message], now_ms: i64) -> Vec<NewEntry> {
    messages.iter().map(|message| codec::message_row(message, now_ms)).collect()
}

fn stored_head(request: &GuestRequest) -> StoredHead {
    let head = Head::render(request.head.clone());
    StoredHead { hash: head.hash(), body: Some(head.to_stored()) }
}

/// The number of a request's messages up to which its conversation's last request could have been served to it, and the first part in
/// which it differs from that one, where it only goes on otherwise.
fn compared(line: &Line, keep: usize, request: &GuestRequest) -> (usize, Option<Segment>) {
    if let Some(segment) = request.first_difference(&line.settings) {
        return (line.sent().min(request.messages.len()), Some(segment));
    }
    // Whoever goes back to an earlier message sends fewer; whoever sends more has changed what was said.
    let is_changed = keep < line.sent() && request.messages.len() > line.messages.len();
    match is_changed {
        true => {
            let kind = match request.messages[keep].message.role() {
                Role::User => "user message",
                Role::Assistant => "reply",
                Role::System => "system text",
            };
            let kind = kind.to_owned();
            (line.sent(), Some(Segment::Block { message: keep, block: 0, kind }))
        }
        false => (keep.min(line.sent()), None),
    }
}

/// A reply, as far as it could be read.
struct Replied {
    message: Option<Message>,
    usage: Usage,
    id: Option<String>,
    stop: Option<StopReason>,
}

fn read_reply(format: tine_model::WireFormat, reply: &GuestReply) -> Replied {
    let whole = |reply: Reply| {
        let is_said = !reply.message.blocks().is_empty();
        let (message, stop) = (is_said.then_some(reply.message), Some(reply.stop));
        Replied { message, usage: reply.usage, id: reply.id, stop }
    };
    if !reply.is_stream {
        let read = decode_reply(format, &reply.body);
        return read.map_or(
            Replied { message: None, usage: Usage::default(), id: None, stop: None },
            whole,
        );
    }
    let mut decoder = Decoder::new(format);
    // An error comes again at the end.
    drop(decoder.push(&reply.body));
    match decoder.finish() {
        Ok(reply) => whole(reply),
        Err(_) => {
            let partial = decoder.partial();
            Replied { message: None, usage: partial.usage, id: partial.id, stop: None }
        }
    }
}
