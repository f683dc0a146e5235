//! What a request should read, and why not more.

use tine_model::BoundaryKind;

/// What is known of one place of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PlaceState {
    /// An entry is there and lives.
    Live,
    /// An entry was there; its life ended this long ago, in milliseconds.
    Expired {
        /// How long ago.
        ago_ms: i64,
    },
    /// A request that has not begun to be answered is writing it.
    InFlight,
    /// A slot holds it in which another request is computed.
    Busy,
    /// It was in a slot that holds another conversation now.
    Displaced,
    /// No request of ours wrote it.
    Unknown,
}

impl PlaceState {
    /// In a word or two, for reports and for the store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Live => "live",
            Self::Expired { .. } => "expired",
            Self::InFlight => "in flight",
            Self::Busy => "in a busy slot",
            Self::Displaced => "displaced",
            Self::Unknown => "none",
        }
    }
}

/// A place of a request up to which a cache may hold it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Place {
    /// What it closes.
    pub kind: BoundaryKind,
    /// Tokens of everything up to here.
    pub tokens: u64,
    /// Whether that is a count of the provider's and not an estimate.
    pub exact: bool,
    /// Bytes of everything up to here.
    pub bytes: u64,
    /// Whether an entry is there.
    pub state: PlaceState,
}

/// Why a request is not expected to read all of what it shares.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Missing {
    /// It is.
    Nothing,
    /// Nobody wrote it yet.
    NeverWritten,
    /// It was written, and its life is over.
    Expired {
        /// For how long, in milliseconds.
        ago_ms: i64,
    },
    /// A request that has not begun to be answered is writing it.
    InFlight,
    /// The slots that hold it were at work for other requests.
    SlotBusy,
    /// The slot that held it has gone to another conversation.
    Displaced,
    /// It is shorter than what the model's cache keeps.
    BelowMinimum,
    /// An entry lives where no lookup of this request finds it.
    OutOfReach,
}

/// What a request should read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expectation {
    /// When the request starts, in Unix milliseconds: its price goes by it.
    pub at_ms: i64,
    /// Tokens that should be read: at least so many where nothing is marked, exactly so many where blocks are.
    pub read: u64,
    /// Whether [`Self::read`] is a count of the provider's and not an estimate.
    pub exact: bool,
    /// Which place serves it.
    pub from: Option<BoundaryKind>,
    /// Tokens of the whole request, estimated.
    pub total: u64,
    /// Tokens of [`Self::prefix`] that nothing live covers.
    pub gap: u64,
    /// Tokens up to the fork point; without one, up to the anchor; without that, up to the tail.
    pub prefix: u64,
    /// Tokens up to the deepest shared place that somebody wrote or is writing, whether its entry lives or not.
    pub known: u64,
    /// Why the prefix is not covered.
    pub missing: Missing,
    /// The marked places; where nothing is marked, those that are not mere ends of messages. The one that serves is
    /// always there.
    pub places: Vec<Place>,
}

impl Expectation {
    /// The same request, when the provider holds its first `bytes` bytes under a name: it reads these tokens, whatever else
    /// may be live.
    pub fn held(mut self, tokens: u64, exact: bool, bytes: u64) -> Self {
        let at = self.places.partition_point(|other| other.bytes < bytes);
        let same = self.places.get(at).filter(|other| other.bytes == bytes).map(|other| other.kind);
        let kind = same.unwrap_or(BoundaryKind::ForkPoint);
        let place = Place { kind, tokens, exact, bytes, state: PlaceState::Live };
        self.places.splice(at..at + usize::from(same.is_some()), [place]);
        Self {
            read: tokens,
            exact,
            from: Some(kind),
            total: self.total.max(tokens),
            gap: 0,
            prefix: tokens,
            known: tokens,
            missing: Missing::Nothing,
            ..self
        }
    }
}
