//! Why a request waits although it is ready.

/// Why a request is not sent yet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HoldReason {
    /// The provider refused a request for its rate, or for want of capacity.
    Refused,
    /// The provider said with an earlier answer that nothing is left for the moment.
    UsedUp,
    /// After such a wait requests go in waves, and others are before this one.
    Wave,
    /// As many requests are under way as may be.
    InFlight,
}

impl HoldReason {
    /// The reason in words, as they follow "waiting: ".
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Refused => "the provider limits the rate",
            Self::UsedUp => "the rate limit is used up",
            Self::Wave => "after a rate limit requests go one after another",
            Self::InFlight => "too many requests are under way",
        }
    }
}
