//! A chain of slices as an HTTP body of exactly known length.
//!
//! It never joins what is large: the slices of a shared history go to the socket from the memory they are in.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use http_body::{Frame, SizeHint};

/// Neighbouring slices are copied into one chunk up to this size: a tail of many small messages would otherwise become
/// as many TLS records. Four full records of 16 KiB.
const CHUNK_BYTES_MAX: usize = 64 * 1024;

/// The body of one try.
#[derive(Debug)]
pub(crate) struct ChainBody {
    slices: VecDeque<Bytes>,
    remaining: u64,
}

impl ChainBody {
    pub(crate) fn new(slices: &[Bytes]) -> Self {
        let remaining = slices.iter().map(|slice| slice.len() as u64).sum();
        Self { slices: slices.iter().cloned().collect(), remaining }
    }

    /// The next chunk: one slice as it is, or several small neighbours joined.
    fn next_chunk(&mut self) -> Option<Bytes> {
        let first = self.slices.pop_front()?;
        let mut len = first.len();
        let joined = self.slices.iter().take_while(|slice| {
            len += slice.len();
            len <= CHUNK_BYTES_MAX
        });
        let joined = joined.count();
        if joined == 0 {
            return Some(first);
        }
        let mut chunk = BytesMut::with_capacity(CHUNK_BYTES_MAX.min(self.remaining as usize));
        chunk.extend_from_slice(&first);
        for slice in self.slices.drain(..joined) {
            chunk.extend_from_slice(&slice);
        }
        Some(chunk.freeze())
    }
}

impl http_body::Body for ChainBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let chunk = self.next_chunk();
        self.remaining -= chunk.as_ref().map_or(0, |chunk| chunk.len() as u64);
        Poll::Ready(chunk.map(|chunk| Ok(Frame::data(chunk))))
    }

    fn is_end_stream(&self) -> bool {
        self.slices.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.remaining)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body::Body as _;
    use proptest::prelude::*;
    use std::task::Waker;

    fn chunks(slices: &[Bytes]) -> Vec<Bytes> {
        let mut body = ChainBody::new(slices);
        let mut context = Context::from_waker(Waker::noop());
        let mut chunks = Vec::new();
        let mut left = body.size_hint().exact();
        while let Poll::Ready(Some(Ok(frame))) = Pin::new(&mut body).poll_frame(&mut context) {
            let chunk = frame.into_data().expect("only data is sent");
            left = left.map(|left| left - chunk.len() as u64);
            assert_eq!(body.size_hint().exact(), left);
            chunks.push(chunk);
        }
        assert!(body.is_end_stream());
        chunks
    }

    #[test]
    fn large_slices_are_not_copied() {
        let large = Bytes::from(vec![b'x'; CHUNK_BYTES_MAX]);
        let small = Bytes::from_static(b"y");
        let chunks = chunks(&[small.clone(), large.clone(), small.clone(), small]);
        let lens: Vec<usize> = chunks.iter().map(Bytes::len).collect();
        assert_eq!(lens, [1, CHUNK_BYTES_MAX, 2]);
        assert_eq!(chunks[1].as_ptr(), large.as_ptr());
    }

    proptest! {
        #[test]
        fn chunks_are_the_same_bytes_in_few_pieces(lens in prop::collection::vec(1usize..40_000, 0..30)) {
            let slices: Vec<Bytes> =
                lens.iter().enumerate().map(|(i, len)| vec![i as u8; *len].into()).collect();
            let chunks = chunks(&slices);
            prop_assert_eq!(chunks.concat(), slices.concat());
            prop_assert!(chunks.iter().all(|chunk| chunk.len() <= CHUNK_BYTES_MAX));
            prop_assert!(chunks.windows(2).all(|pair| pair[0].len() + pair[1].len() > CHUNK_BYTES_MAX));
        }
    }
}
