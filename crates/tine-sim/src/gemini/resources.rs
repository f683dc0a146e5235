//! Cached contents: prompts that a client stores for a time and names in later requests, and what storing them costs.
//!
//! Pure: time comes in as milliseconds. A content whose time has come is gone with the next look at the store, and is
//! charged for exactly the time that it existed.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

use super::members;
use super::request::{Prompt, object};
use super::turns::{check_pairs, either};
use crate::cache::Digest;
use crate::limits::{CACHED_CONTENT_TTL_MS, tokens_of};
use crate::refusal::Refusal;
use crate::timestamp::{parse_rfc3339, parse_seconds, rfc3339};

/// Contents on one page of a list, unless the request says otherwise: the vendor's largest page.
const PAGE_MAX: usize = 1_000;

/// A stored prompt.
#[derive(Debug, Clone)]
pub(crate) struct Resource {
    scope: Digest,
    pub(super) prompt: Prompt,
    /// Without `models/`.
    model: String,
    display_name: Option<String>,
    /// Tokens of the whole content: what each request that uses it reads.
    pub(crate) tokens: u64,
    created_ms: u64,
    updated_ms: u64,
    expires_ms: u64,
}

/// A request to store a prompt, read and checked.
#[derive(Debug, Clone)]
pub(crate) struct NewContent {
    pub(crate) model: String,
    prompt: Prompt,
    display_name: Option<String>,
    expires_ms: u64,
}

/// All cached contents of one server.
#[derive(Debug, Default)]
pub(crate) struct CachedContents {
    contents: BTreeMap<String, Resource>,
    created: u64,
    /// Tokens times milliseconds of the contents that are gone.
    closed: u128,
}

/// When a body says that a content ends: by a lifetime or by a time.
fn expiry(fields: &Value, now_ms: u64) -> Result<Option<u64>, Refusal> {
    let ttl = either(fields, "ttl", "ttl");
    let time = either(fields, "expireTime", "expire_time");
    let expires_ms = match (ttl, time) {
        (None, None) => return Ok(None),
        (Some(_), Some(_)) => {
            return Err(Refusal::invalid("Only one of `ttl` and `expire_time` can be set."));
        }
        (Some(ttl), None) => {
            let ttl = ttl.as_str().and_then(parse_seconds);
            let ttl = ttl.filter(|ttl| *ttl > 0).ok_or_else(|| {
                Refusal::invalid(
                    "Invalid value at 'cached_content.ttl': expected seconds such as \"3600s\"",
                )
            })?;
            now_ms.saturating_add(ttl)
        }
        (None, Some(time)) => time.as_str().and_then(parse_rfc3339).ok_or_else(|| {
            Refusal::invalid("Invalid value at 'cached_content.expire_time': expected a UTC time")
        })?,
    };
    if expires_ms > now_ms {
        Ok(Some(expires_ms))
    } else {
        Err(Refusal::invalid("`expire_time` must be in the future."))
    }
}

impl NewContent {
    /// Reads the body of a create request.
    pub(crate) fn parse(body: &[u8], now_ms: u64) -> Result<Self, Refusal> {
        let fields = object(body)?;
        members::check(&fields, &members::CACHED_CONTENT)?;
        let fields = Value::Object(fields);
        let model = fields.get("model").and_then(Value::as_str).unwrap_or_default();
        let model = model.strip_prefix("models/").filter(|model| !model.is_empty());
        let model = model.ok_or_else(|| {
            Refusal::invalid(
                "* CreateCachedContentRequest.cached_content.model: expected `models/NAME`",
            )
        })?;
        let prompt = Prompt::parse(&fields)?;
        // A call may be left open here: the request that uses the content answers it.
        if let Some((last, before)) = prompt.contents.split_last() {
            check_pairs(if last.is_model { before } else { &prompt.contents })?;
        }
        let name = either(&fields, "displayName", "display_name").and_then(Value::as_str);
        Ok(Self {
            model: model.to_owned(),
            prompt,
            display_name: name.map(str::to_owned),
            expires_ms: expiry(&fields, now_ms)?
                .unwrap_or_else(|| now_ms.saturating_add(CACHED_CONTENT_TTL_MS)),
        })
    }
}

impl Resource {
    fn to_json(&self, name: &str) -> Value {
        let mut fields = Map::new();
        fields.insert("name".into(), json!(name));
        fields.insert("model".into(), json!(format!("models/{}", self.model)));
        if let Some(display_name) = &self.display_name {
            fields.insert("displayName".into(), json!(display_name));
        }
        fields.insert("createTime".into(), json!(rfc3339(self.created_ms)));
        fields.insert("updateTime".into(), json!(rfc3339(self.updated_ms)));
        fields.insert("expireTime".into(), json!(rfc3339(self.expires_ms)));
        fields.insert("usageMetadata".into(), json!({"totalTokenCount": self.tokens}));
        Value::Object(fields)
    }

    fn token_ms(&self, until_ms: u64) -> u128 {
        let end_ms = self.expires_ms.min(until_ms);
        u128::from(self.tokens) * u128::from(end_ms.saturating_sub(self.created_ms))
    }
}

/// The vendor does not tell a content that is not there from one of somebody else.
fn not_found() -> Refusal {
    Refusal::new(403, "CachedContent not found (or permission denied)")
}

impl CachedContents {
    /// Stores a prompt.
    pub(crate) fn create(
        &mut self,
        scope: Digest,
        new: NewContent,
        min_tokens: u64,
        now_ms: u64,
    ) -> Result<Value, Refusal> {
        let tokens = new.prompt.lines().iter().map(|line| tokens_of(line.len())).sum();
        if tokens < min_tokens {
            return Err(Refusal::invalid(format!(
                "Cached content is too small. total_token_count={tokens}, min_total_token_count={min_tokens}"
            )));
        }
        self.created += 1;
        let name = format!("cachedContents/sim-{:06}", self.created);
        let resource = Resource {
            scope,
            prompt: new.prompt,
            model: new.model,
            display_name: new.display_name,
            tokens,
            created_ms: now_ms,
            updated_ms: now_ms,
            expires_ms: new.expires_ms,
        };
        let body = resource.to_json(&name);
        self.contents.insert(name, resource);
        Ok(body)
    }

    fn find(&mut self, scope: &Digest, name: &str, now_ms: u64) -> Result<&mut Resource, Refusal> {
        self.expire(now_ms);
        let found = self.contents.get_mut(name).filter(|resource| resource.scope == *scope);
        found.ok_or_else(not_found)
    }

    /// One content, as the vendor shows it: never what it holds.
    pub(crate) fn show(
        &mut self,
        scope: &Digest,
        name: &str,
        now_ms: u64,
    ) -> Result<Value, Refusal> {
        self.find(scope, name, now_ms).map(|resource| resource.to_json(name))
    }

    /// The content that a request for `model` names.
    pub(crate) fn resolve(
        &mut self,
        scope: &Digest,
        name: &str,
        model: &str,
        now_ms: u64,
    ) -> Result<Resource, Refusal> {
        let resource = self.find(scope, name, now_ms)?;
        if resource.model == model {
            Ok(resource.clone())
        } else {
            Err(Refusal::invalid(format!(
                "Model used by GenerateContent request (models/{model}) and CachedContent (models/{}) has to be the same.",
                resource.model
            )))
        }
    }

    /// Gives a content another end; nothing else of it can be changed.
    pub(crate) fn patch(
        &mut self,
        scope: &Digest,
        name: &str,
        body: &[u8],
        now_ms: u64,
    ) -> Result<Value, Refusal> {
        let fields = object(body)?;
        let known = ["ttl", "expireTime", "expire_time", "name"];
        if let Some(other) = fields.keys().find(|key| !known.contains(&key.as_str())) {
            return Err(Refusal::invalid(format!(
                "Only `ttl` and `expireTime` of a cached content can be updated, not `{other}`."
            )));
        }
        let expires_ms = expiry(&Value::Object(fields), now_ms)?
            .ok_or_else(|| Refusal::invalid("Nothing to update: give `ttl` or `expireTime`."))?;
        let resource = self.find(scope, name, now_ms)?;
        (resource.expires_ms, resource.updated_ms) = (expires_ms, now_ms);
        Ok(resource.to_json(name))
    }

    /// Ends a content now.
    pub(crate) fn delete(
        &mut self,
        scope: &Digest,
        name: &str,
        now_ms: u64,
    ) -> Result<Value, Refusal> {
        let used = self.find(scope, name, now_ms)?.token_ms(now_ms);
        self.contents.remove(name);
        self.closed += used;
        Ok(json!({}))
    }

    /// One page of a key's contents, in the order of their creation. `after` is the token that the page before gave.
    pub(crate) fn list(
        &mut self,
        scope: &Digest,
        page: Option<usize>,
        after: Option<&str>,
        now_ms: u64,
    ) -> Value {
        self.expire(now_ms);
        let page = page.unwrap_or(PAGE_MAX).clamp(1, PAGE_MAX);
        let mine = self.contents.iter().filter(|(name, resource)| {
            resource.scope == *scope && after.is_none_or(|after| name.as_str() > after)
        });
        let mut mine: Vec<_> = mine.take(page + 1).collect();
        let more = mine.len() > page;
        mine.truncate(page);
        let last = mine.last().map(|(name, _)| (*name).clone());
        let mut body = Map::new();
        if !mine.is_empty() {
            let items = mine.into_iter().map(|(name, resource)| resource.to_json(name));
            body.insert("cachedContents".into(), items.collect());
        }
        if let Some(last) = last.filter(|_| more) {
            body.insert("nextPageToken".into(), json!(last));
        }
        Value::Object(body)
    }

    /// Tokens times milliseconds of storage so far.
    pub(crate) fn storage_token_ms(&mut self, now_ms: u64) -> u128 {
        self.expire(now_ms);
        self.closed + self.contents.values().map(|it| it.token_ms(now_ms)).sum::<u128>()
    }

    fn expire(&mut self, now_ms: u64) {
        let closed = &mut self.closed;
        self.contents.retain(|_, resource| {
            let is_live = now_ms < resource.expires_ms;
            *closed += if is_live { 0 } else { resource.token_ms(now_ms) };
            is_live
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MINE: Digest = [1; 32];

    fn new(ttl: &str) -> NewContent {
        let text = "x".repeat(400);
        let body = json!({
            "model": "models/gemini-4-argon", "ttl": ttl, "displayName": "fork",
            "systemInstruction": {"parts": [{"text": "be brief"}]},
            "contents": [{"role": "user", "parts": [{"text": text}]}],
        });
        NewContent::parse(body.to_string().as_bytes(), 0).expect("a content")
    }

    #[test]
    fn a_content_costs_for_the_time_that_it_existed() {
        let mut store = CachedContents::default();
        let first = store.create(MINE, new("100s"), 1, 0).expect("created");
        let tokens = first["usageMetadata"]["totalTokenCount"].as_u64().expect("a count");
        store.create(MINE, new("10s"), 1, 0).expect("created");
        let name = first["name"].as_str().expect("a name");
        assert_eq!(store.storage_token_ms(4_000), u128::from(tokens) * 8_000);
        store.delete(&MINE, name, 20_000).expect("deleted");
        assert_eq!(store.storage_token_ms(90_000), u128::from(tokens) * 30_000);
        assert_eq!(store.show(&MINE, name, 90_000).map_err(|it| it.status), Err(403));
    }

    #[test]
    fn a_patched_content_lives_on_and_others_do_not_see_it() {
        let mut store = CachedContents::default();
        let made = store.create(MINE, new("10s"), 1, 0).expect("created");
        let name = made["name"].as_str().expect("a name");
        let patched = store.patch(&MINE, name, br#"{"ttl":"60s"}"#, 9_999).expect("patched");
        assert_eq!(patched["expireTime"], "1970-01-01T00:01:09.999Z");
        assert!(store.resolve(&MINE, name, "gemini-4-argon", 69_998).is_ok());
        assert_eq!(store.show(&[2; 32], name, 69_998).map_err(|it| it.status), Err(403));
        assert_eq!(store.show(&MINE, name, 69_999).map_err(|it| it.status), Err(403));
    }

    #[test]
    fn lists_come_in_pages() {
        let mut store = CachedContents::default();
        for _ in 0..3 {
            store.create(MINE, new("10s"), 1, 0).expect("created");
        }
        let first = store.list(&MINE, Some(2), None, 0);
        let token = first["nextPageToken"].as_str().expect("a token");
        let second = store.list(&MINE, Some(2), Some(token), 0);
        let count = |page: &Value| page["cachedContents"].as_array().map(Vec::len);
        assert_eq!((count(&first), count(&second)), (Some(2), Some(1)));
        assert!(second.get("nextPageToken").is_none());
        assert_eq!(store.list(&[2; 32], None, None, 0), json!({}));
    }
}
