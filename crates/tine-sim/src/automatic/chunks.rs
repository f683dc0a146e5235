//! Caches of whole chunks: a chunk is known by everything up to its end, and a prompt is served as far as its chunks are
//! known. vLLM's blocks and Kimi's chunks are both this, with other numbers.
//!
//! Pure, like [`crate::cache`]. When there are more chunks than fit, the one not used for longest goes first, and within
//! one prompt the later one, so that shared heads survive.

use std::collections::{BTreeMap, HashMap};

use super::charge;
use super::tokens::{Token, of};
use crate::cache::{Cache, Charge, Digest, Prompt, Ttl};
use crate::limits::{ENTRIES_MAX, KIMI_CHUNK_TOKENS, LONG_TTL_MS, SHORT_TTL_MS, VLLM_BLOCK_TOKENS};

/// The numbers of one cache.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Chunking {
    /// Tokens of a chunk.
    chunk_tokens: usize,
    /// Whether the last token of a prompt is computed in any case.
    is_last_recomputed: bool,
    /// Chunks in all.
    chunks_max: usize,
}

/// Kimi's chunks: prompts, readable once a response has begun, for as long as the request asks. Identical writes at once
/// become one.
#[derive(Debug)]
pub(crate) struct KimiCache(ChunkCache);

/// vLLM's blocks: prompts and answers, readable as they are computed, until others need the room. A prompt takes no time
/// to compute here, so its blocks are there for whoever comes next.
#[derive(Debug)]
pub(crate) struct VllmCache(ChunkCache);

impl KimiCache {
    pub(crate) fn new() -> Self {
        Self(ChunkCache::new(Chunking {
            chunk_tokens: KIMI_CHUNK_TOKENS,
            is_last_recomputed: false,
            chunks_max: ENTRIES_MAX,
        }))
    }
}

impl VllmCache {
    /// A server whose memory holds so many tokens.
    pub(crate) fn new(tokens_max: usize) -> Self {
        Self(ChunkCache::new(Chunking {
            chunk_tokens: VLLM_BLOCK_TOKENS,
            is_last_recomputed: true,
            chunks_max: tokens_max / VLLM_BLOCK_TOKENS,
        }))
    }
}

impl Cache for KimiCache {
    fn lookup(&mut self, prompt: &Prompt, now_ms: u64) -> Charge {
        let tokens = of(&prompt.lines);
        charge(tokens.len(), self.0.lookup(&prompt.scope, &tokens, now_ms), now_ms)
    }

    fn begun(&mut self, prompt: &Prompt, charge: &Charge) {
        let ttl_ms = match prompt.implicit {
            Some(Ttl::Long) => LONG_TTL_MS,
            Some(Ttl::Short) | None => SHORT_TTL_MS,
        };
        self.0.publish(&prompt.scope, &of(&prompt.lines), charge.born_ms, ttl_ms);
    }
}

impl Cache for VllmCache {
    fn lookup(&mut self, prompt: &Prompt, now_ms: u64) -> Charge {
        let tokens = of(&prompt.lines);
        let hit = self.0.lookup(&prompt.scope, &tokens, now_ms);
        self.0.publish(&prompt.scope, &tokens, now_ms, u64::MAX);
        charge(tokens.len(), hit, now_ms)
    }

    fn begun(&mut self, _: &Prompt, _: &Charge) {}

    fn ended(&mut self, prompt: &Prompt, charge: &Charge, answer: &[String], _: u64) {
        let whole = [of(&prompt.lines), of(answer)].concat();
        self.0.publish(&prompt.scope, &whole, charge.born_ms, u64::MAX);
    }
}

#[derive(Debug, Clone, Copy)]
struct Chunk {
    turn: u64,
    dies_ms: u64,
    ttl_ms: u64,
}

/// The chunks of all prompts.
#[derive(Debug)]
struct ChunkCache {
    chunking: Chunking,
    chunks: HashMap<Digest, Chunk>,
    by_turn: BTreeMap<u64, Digest>,
    turn: u64,
}

impl ChunkCache {
    fn new(chunking: Chunking) -> Self {
        Self { chunking, chunks: HashMap::new(), by_turn: BTreeMap::new(), turn: 0 }
    }

    /// Tokens of the prompt that are served at `now_ms`; refreshes them.
    fn lookup(&mut self, root: &Digest, prompt: &[Token], now_ms: u64) -> usize {
        let usable = prompt.len().saturating_sub(usize::from(self.chunking.is_last_recomputed));
        let keys = self.keys(root, &prompt[..usable]);
        let is_live = |key: &Digest| self.chunks.get(key).is_some_and(|it| now_ms < it.dies_ms);
        let hit = keys.iter().take_while(|key| is_live(key)).count();
        for key in keys[..hit].iter().rev() {
            let ttl_ms = self.chunks.get(key).map_or(0, |chunk| chunk.ttl_ms);
            self.put(*key, now_ms, ttl_ms);
        }
        hit * self.chunking.chunk_tokens
    }

    /// Makes the full chunks of a sequence readable. A chunk that is known keeps its longer life.
    fn publish(&mut self, root: &Digest, tokens: &[Token], now_ms: u64, ttl_ms: u64) {
        for key in self.keys(root, tokens).into_iter().rev() {
            self.put(key, now_ms, ttl_ms);
        }
        while self.chunks.len() > self.chunking.chunks_max {
            let Some((_, oldest)) = self.by_turn.pop_first() else { return };
            self.chunks.remove(&oldest);
        }
    }

    fn put(&mut self, key: Digest, now_ms: u64, ttl_ms: u64) {
        self.turn += 1;
        let known = self.chunks.get(&key).copied();
        if let Some(known) = known {
            self.by_turn.remove(&known.turn);
        }
        let ttl_ms = known.map_or(ttl_ms, |known| known.ttl_ms.max(ttl_ms));
        let dies_ms = now_ms.saturating_add(ttl_ms).max(known.map_or(0, |known| known.dies_ms));
        self.chunks.insert(key, Chunk { turn: self.turn, dies_ms, ttl_ms });
        self.by_turn.insert(self.turn, key);
    }

    fn keys(&self, root: &Digest, tokens: &[Token]) -> Vec<Digest> {
        let mut hasher = blake3::Hasher::new();
        hasher.update(root);
        tokens
            .chunks_exact(self.chunking.chunk_tokens)
            .map(|chunk| {
                for token in chunk {
                    hasher.update(&token.to_le_bytes());
                }
                *hasher.finalize().as_bytes()
            })
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const ROOT: Digest = [0; 32];
    const BLOCKS: Chunking =
        Chunking { chunk_tokens: 16, is_last_recomputed: true, chunks_max: 1_000 };

    fn check(chunking: Chunking, written: usize, asked: &[Token], served: usize) {
        let mut cache = ChunkCache::new(chunking);
        cache.publish(&ROOT, &vec![1; written], 0, u64::MAX);
        assert_eq!(cache.lookup(&ROOT, asked, 1), served, "{written} written");
    }

    #[test]
    fn whole_blocks_are_served_and_the_last_token_never() {
        check(BLOCKS, 1_024, &[1; 1_024], 1_008);
        check(BLOCKS, 1_024, &[1; 1_025], 1_024);
        check(BLOCKS, 1_023, &[1; 1_025], 1_008);
        check(BLOCKS, 15, &[1; 100], 0);
        let mut differs = [1; 100];
        differs[40] = 2;
        check(BLOCKS, 100, &differs, 32);
        let chunks = Chunking { chunk_tokens: 256, is_last_recomputed: false, ..BLOCKS };
        check(chunks, 1_024, &[1; 1_024], 1_024);
        check(chunks, 1_023, &[1; 1_024], 768);
    }

    #[test]
    fn a_full_cache_loses_tails_before_the_shared_head() {
        let mut cache = ChunkCache::new(Chunking { chunks_max: 4, ..BLOCKS });
        let prompt = |branch: Token| [vec![1; 32], vec![branch; 32]].concat();
        cache.publish(&ROOT, &prompt(2), 0, u64::MAX);
        cache.publish(&ROOT, &prompt(3), 0, u64::MAX);
        assert_eq!(cache.lookup(&ROOT, &prompt(2), 1), 32);
        assert_eq!(cache.lookup(&ROOT, &prompt(3), 1), 48);
    }

    #[test]
    fn a_read_refreshes_and_the_longer_life_wins() {
        let mut cache = ChunkCache::new(BLOCKS);
        cache.publish(&ROOT, &[1; 32], 0, 100);
        assert_eq!(cache.lookup(&ROOT, &[1; 32], 99), 16);
        assert_eq!(cache.lookup(&ROOT, &[1; 32], 198), 16);
        assert_eq!(cache.lookup(&ROOT, &[1; 32], 298), 0);
        cache.publish(&ROOT, &[1; 32], 300, 1_000);
        cache.publish(&ROOT, &[1; 32], 301, 100);
        assert_eq!(cache.lookup(&ROOT, &[1; 32], 1_300), 16);
    }

    #[test]
    fn identical_writes_become_one() {
        let mut cache = ChunkCache::new(BLOCKS);
        assert_eq!(cache.lookup(&ROOT, &[1; 33], 0), 0);
        assert_eq!(cache.lookup(&ROOT, &[1; 33], 0), 0);
        cache.publish(&ROOT, &[1; 33], 0, u64::MAX);
        cache.publish(&ROOT, &[1; 33], 0, u64::MAX);
        assert_eq!((cache.chunks.len(), cache.by_turn.len()), (2, 2));
    }
}
