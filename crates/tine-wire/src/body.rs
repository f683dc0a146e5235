//! Request bodies as chains of shared slices.

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
