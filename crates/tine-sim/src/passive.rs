//! MiniMax's cache: marked blocks as Anthropic has them, and, where a scenario turns it on, a passive cache for requests
//! without a mark. It serves whole blocks that an earlier unmarked request had, and asks no fee for keeping them.

use std::path::Path;

use crate::block_cache::BlockCache;
use crate::cache::{Cache, Charge, Prompt, PromptUsage, Ttl, link};

/// Both caches. Their entries do not mix.
#[derive(Debug)]
pub(crate) struct PassiveCache {
    is_passive: bool,
    blocks: BlockCache,
}

impl PassiveCache {
    /// `is_passive`: whether requests without a mark are cached.
    pub(crate) fn new(is_passive: bool) -> Self {
        Self { is_passive, blocks: BlockCache::new(false) }
    }
}

impl Cache for PassiveCache {
    fn lookup(&mut self, prompt: &Prompt, now_ms: u64) -> Charge {
        let is_marked = prompt.positions.iter().any(|position| position.mark.is_some());
        if is_marked || !self.is_passive {
            return self.blocks.lookup(prompt, now_ms);
        }
        let mut all = prompt.clone();
        all.scope = link(&[b"passive", &prompt.scope]);
        for position in &mut all.positions {
            position.mark = Some(Ttl::Short);
        }
        let charge = self.blocks.lookup(&all, now_ms);
        let read = charge.usage.read;
        let usage = PromptUsage { input: prompt.tokens() - read, read, ..PromptUsage::default() };
        Charge { usage, ..charge }
    }

    fn begun(&mut self, prompt: &Prompt, charge: &Charge) {
        self.blocks.begun(prompt, charge);
    }

    fn keep_in(&mut self, file: &Path) {
        self.blocks.keep_in(file);
    }
}
