//! Request bodies that are passed on as they come, or of which the gateway has read the beginning.

use std::collections::VecDeque;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::{Bytes, BytesMut};
use http_body::{Body, Frame, SizeHint};
use http_body_util::BodyExt;
use hyper::body::Incoming;

/// A request's body: what was read of it, then what comes.
#[derive(Default)]
pub(crate) struct Ahead {
    read: VecDeque<Frame<Bytes>>,
    rest: Option<Incoming>,
}

impl Ahead {
    /// A body of which nothing was read.
    pub(crate) fn none(body: Incoming) -> Self {
        Self { read: VecDeque::new(), rest: Some(body) }
    }

    /// Reads a body whole and returns its bytes beside it. `None` if it has more than `bytes_max`, which is noticed before it is read
    /// where its length is announced.
    pub(crate) async fn whole(
        mut body: Incoming,
        bytes_max: usize,
    ) -> hyper::Result<(Self, Option<Bytes>)> {
        let fits = |length: u64| usize::try_from(length).is_ok_and(|len| len <= bytes_max);
        if !fits(body.size_hint().lower()) {
            return Ok((Self::none(body), None));
        }
        let mut bytes = BytesMut::new();
        let mut trailers = None;
        while let Some(frame) = body.frame().await {
            match frame?.into_data() {
                Ok(data) => bytes.extend_from_slice(&data),
                Err(other) => trailers = Some(other),
            }
            if bytes.len() > bytes_max {
                let read = VecDeque::from([Frame::data(bytes.freeze())]);
                return Ok((Self { read, rest: Some(body) }, None));
            }
        }
        let bytes = bytes.freeze();
        let data = (!bytes.is_empty()).then(|| Frame::data(bytes.clone()));
        let read = data.into_iter().chain(trailers).collect();
        Ok((Self { read, rest: None }, Some(bytes)))
    }
}

impl Body for Ahead {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<hyper::Result<Frame<Bytes>>>> {
        if let Some(frame) = self.read.pop_front() {
            return Poll::Ready(Some(Ok(frame)));
        }
        match &mut self.rest {
            Some(rest) => Pin::new(rest).poll_frame(context),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.read.is_empty() && self.rest.as_ref().is_none_or(Body::is_end_stream)
    }

    /// Nothing is said of a body that was read: a length that the host did not announce is not announced here.
    fn size_hint(&self) -> SizeHint {
        match &self.rest {
            Some(rest) if self.read.is_empty() => rest.size_hint(),
            _ => SizeHint::default(),
        }
    }
}
