//! Request bodies as chains of shared slices.

use std::ops::Range;

use bytes::Bytes;

/// A request's body: slices that share the memory of the history they came from, and their exact total length.
#[derive(Debug, Clone, Default)]
pub struct Body {
    slices: Vec<Bytes>,
    len: u64,
}

impl Body {
    pub(crate) fn push(&mut self, slice: Bytes) {
        if !slice.is_empty() {
            self.len += slice.len() as u64;
            self.slices.push(slice);
        }
    }

    /// Puts `new` in the place of `old`, which stands at `place` of the first slice. Does nothing where something else stands there.
    pub(crate) fn replace_in_first(&mut self, place: Range<usize>, old: &[u8], new: Bytes) {
        let Some(first) = self.slices.first().cloned() else { return };
        if first.get(place.clone()) != Some(old) {
            return;
        }
        let rest = self.slices.split_off(1);
        *self = Self::default();
        self.push(first.slice(..place.start));
        self.push(new);
        self.push(first.slice(place.end..));
        rest.into_iter().for_each(|slice| self.push(slice));
    }

    /// The slices, in order; none is empty.
    pub fn slices(&self) -> &[Bytes] {
        &self.slices
    }

    /// Total length in bytes: the `content-length` of the request.
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Whether there are no bytes.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bytes as one copy; for logs and tests.
    pub fn to_vec(&self) -> Vec<u8> {
        self.slices.concat()
    }
}
