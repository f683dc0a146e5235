//! A tree of token sequences: how much of a prompt was seen before, and which ends in it were saved. The ground of every
//! model that compares token by token.
//!
//! Pure, like [`crate::cache`]. Lifetimes and capacity are the caller's numbers; a part that was not used for a lifetime is
//! gone, and when there are more tokens than fit, the end that was not used for longest goes first.

use std::collections::{BTreeMap, HashMap};

use super::tokens::{Token, common};
use crate::cache::Digest;

/// Tokens that a hosted cache keeps in the simulator, four bytes each. Vendors name no limit.
pub(super) const HOSTED_TOKENS_MAX: usize = 64 * 1024 * 1024;

/// How long and how much a tree keeps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Keep {
    /// A part that was not used for so long is gone.
    pub(crate) ttl_ms: u64,
    /// Tokens in all.
    pub(crate) tokens_max: usize,
}

#[derive(Debug)]
struct Node {
    parent: Option<usize>,
    /// Tokens between the parent's end and this one's.
    edge: Vec<Token>,
    children: BTreeMap<Token, usize>,
    used_ms: u64,
    /// Order of uses within one millisecond.
    used_turn: u64,
    /// Last use of the unit that ends here, if one was saved.
    unit_ms: Option<u64>,
}

/// The sequences of any number of roots; roots share nothing.
#[derive(Debug)]
pub(crate) struct PrefixTree {
    keep: Keep,
    roots: HashMap<Digest, usize>,
    nodes: HashMap<usize, Node>,
    next: usize,
    turn: u64,
    tokens: usize,
}

/// Where a walk ended.
struct Walk {
    /// The last node that was entered, perhaps not to its end.
    node: usize,
    /// Tokens of it that were matched.
    in_edge: usize,
    /// Tokens that were matched in all.
    depth: usize,
}

impl PrefixTree {
    pub(crate) fn new(keep: Keep) -> Self {
        Self { keep, roots: HashMap::new(), nodes: HashMap::new(), next: 0, turn: 0, tokens: 0 }
    }

    /// Tokens of the longest live prefix that any sequence of this root shares.
    pub(crate) fn longest(&self, root: &Digest, tokens: &[Token], now_ms: u64) -> usize {
        self.walk(root, tokens, Some(now_ms)).map_or(0, |walk| walk.depth)
    }

    /// Tokens of the longest live unit that these tokens begin with.
    pub(crate) fn longest_unit(&self, root: &Digest, tokens: &[Token], now_ms: u64) -> usize {
        let Some(walk) = self.walk(root, tokens, Some(now_ms)) else { return 0 };
        let is_whole = walk.in_edge == self.nodes[&walk.node].edge.len();
        let mut depth = walk.depth;
        let mut at = Some(walk.node);
        let mut is_end = is_whole;
        while let Some(index) = at {
            let node = &self.nodes[&index];
            let is_live = |used: u64| now_ms < used.saturating_add(self.keep.ttl_ms);
            if is_end && node.unit_ms.is_some_and(is_live) {
                return depth;
            }
            depth -= if is_end { node.edge.len() } else { walk.in_edge };
            (at, is_end) = (node.parent, true);
        }
        0
    }

    /// Notes a use of a sequence; what is not there yet is added.
    pub(crate) fn insert(&mut self, root: &Digest, tokens: &[Token], now_ms: u64) {
        let end = self.end_of(root, tokens, now_ms);
        self.turn += 1;
        let mut at = Some(end);
        while let Some(node) = at.and_then(|index| self.nodes.get_mut(&index)) {
            node.used_ms = node.used_ms.max(now_ms);
            node.used_turn = self.turn;
            at = node.parent;
        }
        self.evict();
    }

    /// Saves the unit that ends where these tokens end.
    pub(crate) fn insert_unit(&mut self, root: &Digest, tokens: &[Token], now_ms: u64) {
        if tokens.is_empty() {
            return;
        }
        let end = self.end_of(root, tokens, now_ms);
        if let Some(node) = self.nodes.get_mut(&end) {
            node.unit_ms = Some(node.unit_ms.map_or(now_ms, |used| used.max(now_ms)));
        }
        self.insert(root, tokens, now_ms);
    }

    /// The deepest node on the way; a dead part ends the way where a time is given.
    fn walk(&self, root: &Digest, tokens: &[Token], now_ms: Option<u64>) -> Option<Walk> {
        let mut walk = Walk { node: *self.roots.get(root)?, in_edge: 0, depth: 0 };
        loop {
            let rest = &tokens[walk.depth..];
            let child = rest.first().and_then(|next| self.nodes[&walk.node].children.get(next));
            let Some(child) = child else { return Some(walk) };
            let node = &self.nodes[child];
            let is_live = |now_ms: u64| now_ms < node.used_ms.saturating_add(self.keep.ttl_ms);
            if !now_ms.is_none_or(is_live) {
                return Some(walk);
            }
            let shared = common(&node.edge, rest);
            walk = Walk { node: *child, in_edge: shared, depth: walk.depth + shared };
            if shared < node.edge.len() {
                return Some(walk);
            }
        }
    }

    /// The node that ends where these tokens end, made where there is none.
    fn end_of(&mut self, root: &Digest, tokens: &[Token], now_ms: u64) -> usize {
        if !self.roots.contains_key(root) {
            let index = self.add(None, Vec::new(), now_ms);
            self.roots.insert(*root, index);
        }
        let Some(walk) = self.walk(root, tokens, None) else { return self.roots[root] };
        let at = if walk.in_edge == self.nodes[&walk.node].edge.len() {
            walk.node
        } else {
            self.split(walk.node, walk.in_edge)
        };
        match tokens.get(walk.depth..) {
            None | Some([]) => at,
            Some(rest) => {
                self.tokens += rest.len();
                self.add(Some(at), rest.to_vec(), now_ms)
            }
        }
    }

    fn add(&mut self, parent: Option<usize>, edge: Vec<Token>, now_ms: u64) -> usize {
        let index = self.next;
        self.next += 1;
        if let (Some(first), Some(parent)) =
            (edge.first(), parent.and_then(|parent| self.nodes.get_mut(&parent)))
        {
            parent.children.insert(*first, index);
        }
        let node = Node {
            parent,
            edge,
            children: BTreeMap::new(),
            used_ms: now_ms,
            used_turn: self.turn,
            unit_ms: None,
        };
        self.nodes.insert(index, node);
        index
    }

    /// Ends a node earlier; the rest of it becomes its child. Gives the earlier one.
    fn split(&mut self, index: usize, at: usize) -> usize {
        let Some(node) = self.nodes.get_mut(&index) else { return index };
        let head: Vec<Token> = node.edge.drain(..at).collect();
        let (parent, used_ms, used_turn) = (node.parent, node.used_ms, node.used_turn);
        let next = node.edge.first().copied();
        let earlier = self.add(parent, head, used_ms);
        if let Some(node) = self.nodes.get_mut(&index) {
            node.parent = Some(earlier);
        }
        if let (Some(node), Some(next)) = (self.nodes.get_mut(&earlier), next) {
            node.used_turn = used_turn;
            node.children.insert(next, index);
        }
        earlier
    }

    /// Takes away ends until the rest fits.
    fn evict(&mut self) {
        while self.tokens > self.keep.tokens_max {
            let ends = self
                .nodes
                .iter()
                .filter(|(_, node)| node.children.is_empty() && node.parent.is_some());
            let oldest = ends.min_by_key(|(index, node)| (node.used_turn, **index));
            let Some(node) = oldest.map(|(index, _)| *index).and_then(|it| self.nodes.remove(&it))
            else {
                return;
            };
            self.tokens -= node.edge.len();
            if let (Some(first), Some(parent)) =
                (node.edge.first(), node.parent.and_then(|parent| self.nodes.get_mut(&parent)))
            {
                parent.children.remove(first);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ROOT: Digest = [0; 32];
    const KEEP: Keep = Keep { ttl_ms: 1_000, tokens_max: 100 };

    #[test]
    fn the_longest_prefix_is_found_inside_an_edge() {
        let mut tree = PrefixTree::new(KEEP);
        tree.insert(&ROOT, &[1, 2, 3, 4], 0);
        tree.insert(&ROOT, &[1, 2, 9], 0);
        assert_eq!(tree.longest(&ROOT, &[1, 2, 3, 7], 1), 3);
        assert_eq!(tree.longest(&ROOT, &[1, 2, 9, 9], 1), 3);
        assert_eq!(tree.longest(&ROOT, &[2], 1), 0);
        assert_eq!(tree.longest(&[1; 32], &[1, 2], 1), 0);
    }

    #[test]
    fn only_whole_units_are_found() {
        let mut tree = PrefixTree::new(KEEP);
        tree.insert_unit(&ROOT, &[1, 2, 3, 4], 0);
        assert_eq!(tree.longest_unit(&ROOT, &[1, 2, 3], 1), 0);
        assert_eq!(tree.longest_unit(&ROOT, &[1, 2, 3, 4, 5], 1), 4);
        tree.insert_unit(&ROOT, &[1, 2], 0);
        assert_eq!(tree.longest_unit(&ROOT, &[1, 2, 3, 9], 1), 2);
        assert_eq!(tree.longest_unit(&ROOT, &[1, 2, 3, 4], 1), 4);
    }

    #[test]
    fn an_unused_part_dies_and_a_used_head_lives_on() {
        let mut tree = PrefixTree::new(KEEP);
        tree.insert(&ROOT, &[1, 2, 3, 4], 0);
        tree.insert(&ROOT, &[1, 2], 900);
        assert_eq!(tree.longest(&ROOT, &[1, 2, 3, 4], 999), 4);
        assert_eq!(tree.longest(&ROOT, &[1, 2, 3, 4], 1_000), 2);
        assert_eq!(tree.longest(&ROOT, &[1, 2, 3, 4], 1_900), 0);
    }

    #[test]
    fn the_end_that_was_not_used_for_longest_goes_first() {
        let mut tree = PrefixTree::new(Keep { tokens_max: 6, ..KEEP });
        tree.insert(&ROOT, &[1, 2, 3, 4], 0);
        tree.insert(&ROOT, &[1, 2, 7, 8], 0);
        tree.insert(&ROOT, &[1, 2, 3, 4], 0);
        tree.insert(&ROOT, &[1, 2, 9], 0);
        assert_eq!(tree.longest(&ROOT, &[1, 2, 7, 8], 1), 2);
        assert_eq!(tree.longest(&ROOT, &[1, 2, 3, 4], 1), 4);
        assert_eq!(tree.longest(&ROOT, &[1, 2, 9], 1), 3);
    }

    proptest! {
        #[test]
        fn a_tree_finds_what_comparing_with_every_sequence_finds(
            sequences in proptest::collection::vec(proptest::collection::vec(0_u32..3, 0..8), 1..12),
            asked in proptest::collection::vec(0_u32..3, 0..8),
        ) {
            let mut tree = PrefixTree::new(Keep { tokens_max: usize::MAX, ..KEEP });
            for (index, sequence) in sequences.iter().enumerate() {
                match index % 2 {
                    0 => tree.insert(&ROOT, sequence, 0),
                    _ => tree.insert_unit(&ROOT, sequence, 0),
                }
            }
            let longest = sequences.iter().map(|seen| common(seen, &asked)).max();
            prop_assert_eq!(Some(tree.longest(&ROOT, &asked, 1)), longest);
            let units = sequences.iter().enumerate().filter(|(index, _)| index % 2 == 1);
            let unit = units.filter(|(_, unit)| asked.starts_with(unit)).map(|(_, unit)| unit.len());
            prop_assert_eq!(tree.longest_unit(&ROOT, &asked, 1), unit.max().unwrap_or(0));
        }
    }
}
