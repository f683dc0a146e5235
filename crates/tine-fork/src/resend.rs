//! Asking again for a reply that broke off: how often, and after which wait. The client itself sends a request again only while
//! nothing of its reply has come; what came is paid for, so whoever asks again accounts for it first.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;

use tine_llm::{BrokenCause, LlmClient, LlmError, TimeLimit};
use tine_wire::DecodeError;

/// Most times that a reply is asked for again because its connection broke. Where one in four breaks, one in a million breaks
/// so often in a row.
const CUT_MAX: u32 = 10;

/// Most times for causes that may be no accident, and cost a whole prompt each time: silence in the middle of a reply, bytes that
/// are no reply, and replies that are no answer.
const ODD_MAX: u32 = 2;

/// The waits double up to so many times the first one.
const WAIT_PARTS_MAX: u32 = 16;

/// How often one reply was asked for again.
#[derive(Debug)]
pub struct Resends {
    count: u32,
    odd: u32,
    /// What is left of the time for waits.
    left: Duration,
    /// The wait before the first time; it doubles.
    first: Duration,
}

impl Resends {
    /// None so far, for replies of this client. All waits together take at most its patience.
    pub fn new(llm: &dyn LlmClient) -> Self {
        Self { count: 0, odd: 0, left: llm.patience(), first: llm.backoff() }
    }

    /// How often so far.
    pub fn count(&self) -> u32 {
        self.count
    }

    /// The wait after which the request goes out again; `None` when this failure of a reply that had begun is final. The wait is
    /// from once to twice the nominal one, by `who` asks: siblings that were cut off at one moment do not come back at one moment.
    pub fn next(&mut self, failure: &LlmError, who: &str) -> Option<Duration> {
        let is_odd = match failure {
            LlmError::Broken { cause: BrokenCause::Ended | BrokenCause::Connection(_), .. } => {
                false
            }
            LlmError::Broken { cause: BrokenCause::Provider(_), .. } if failure.is_passing() => {
                false
            }
            LlmError::NoAnswer { reason, .. } if reason.is_passing() => true,
            LlmError::Timeout { limit: TimeLimit::Idle, .. }
            | LlmError::Protocol { source: DecodeError::Protocol { .. }, .. } => true,
            _ => return None,
        };
        self.odd += u32::from(is_odd);
        if self.count == CUT_MAX || self.odd > ODD_MAX {
            return None;
        }
        let parts = WAIT_PARTS_MAX.min(1 << self.count.min(16));
        let nominal = self.first.saturating_mul(parts);
        self.count += 1;
        let mut hasher = DefaultHasher::new();
        (who, self.count).hash(&mut hasher);
        let share = f64::from(hasher.finish() as u32) / f64::from(u32::MAX);
        let wait = nominal.mul_f64(1.0 + share);
        self.left = self.left.checked_sub(wait)?;
        Some(wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tine_llm::{BACKOFF_DEFAULT, PATIENCE_DEFAULT};
    use tine_model::Usage;
    use tine_wire::{Failure, FailureKind, NoAnswer, Partial};

    fn partial() -> Box<Partial> {
        Box::new(Partial { message: None, usage: Usage::default(), id: None })
    }

    fn cut() -> LlmError {
        LlmError::Broken { partial: partial(), cause: BrokenCause::Ended }
    }

    fn told(kind: FailureKind) -> LlmError {
        let message = String::new();
        let failure = Failure { status: None, kind, message, code: None, request_id: None };
        LlmError::Broken { partial: partial(), cause: BrokenCause::Provider(failure) }
    }

    fn resends(patience: Duration) -> Resends {
        Resends { count: 0, odd: 0, left: patience, first: BACKOFF_DEFAULT }
    }

    fn most(failure: &LlmError) -> usize {
        let mut resends = resends(PATIENCE_DEFAULT);
        std::iter::from_fn(|| resends.next(failure, "me")).count()
    }

    #[test]
    fn a_cut_is_forgiven_often_and_an_oddity_twice() {
        assert_eq!(most(&cut()), 10);
        assert_eq!(most(&told(FailureKind::Overloaded)), 10);
        assert_eq!(most(&told(FailureKind::InvalidRequest)), 0);
        assert_eq!(most(&told(FailureKind::SpendLimit)), 0);
        let (limit, allowed) = (TimeLimit::Idle, Duration::from_secs(1));
        assert_eq!(most(&LlmError::Timeout { limit, allowed, partial: partial() }), 2);
        let limit = TimeLimit::Whole;
        assert_eq!(most(&LlmError::Timeout { limit, allowed, partial: partial() }), 0);
        let (what, at) = (String::new(), String::new());
        let source = DecodeError::Protocol { what, at };
        assert_eq!(most(&LlmError::Protocol { partial: partial(), source }), 2);
        let no_answer = |reason| LlmError::NoAnswer { partial: partial(), reason };
        assert_eq!(most(&no_answer(NoAnswer::Failed("MALFORMED_FUNCTION_CALL".into()))), 2);
        assert_eq!(most(&no_answer(NoAnswer::Empty)), 2);
        assert_eq!(most(&no_answer(NoAnswer::UnknownEnd("eclipse".into()))), 0);
        let source = DecodeError::TooLarge { limit: 1 };
        assert_eq!(most(&LlmError::Protocol { partial: partial(), source }), 0);
        assert_eq!(most(&LlmError::Cancelled { partial: partial() }), 0);
    }

    #[test]
    fn patience_ends_it() {
        let mut resends = resends(Duration::from_secs(3));
        assert!((1..=2).contains(&std::iter::from_fn(|| resends.next(&cut(), "me")).count()));
    }

    #[test]
    fn waits_double_up_to_a_limit_and_differ_between_siblings() {
        let waits = |who| {
            let mut resends = resends(PATIENCE_DEFAULT);
            std::iter::from_fn(|| resends.next(&cut(), who)).collect::<Vec<_>>()
        };
        assert_eq!(waits("one"), waits("one"));
        assert_ne!(waits("one"), waits("two"));
        for (wait, nominal) in waits("one").into_iter().zip([500, 1000, 2000, 4000, 8000, 8000]) {
            let nominal = Duration::from_millis(nominal);
            assert!(nominal <= wait && wait <= 2 * nominal, "{wait:?}");
        }
    }
}
