//! The two profiles: how much of results and arguments is kept, and how much of everything.

use tine_cache::BYTES_PER_TOKEN;

/// Tokens of a digest with fixed limits, by [`BYTES_PER_TOKEN`].
const FIXED_TOKENS_MAX: u64 = 100_000;

/// Characters of one tool result with fixed limits.
const FIXED_RESULT_CHARS: usize = 1_500;

/// Characters of a call's arguments with fixed limits.
const FIXED_PREVIEW_CHARS: usize = 200;

/// Characters of a digest with graduated limits.
const GRADUATED_CHARS_MAX: usize = 200_000;

/// So many of the newest results (and calls) are the first tier, and so many before them the second.
const NEWEST: usize = 5;
const RECENT: usize = 10;

/// Characters of a result in the second and in the third tier; the first is whole.
const RECENT_RESULT_CHARS: usize = 3_000;
const OLD_RESULT_CHARS: usize = 500;

/// Characters of a call's arguments in the three tiers.
const GRADUATED_PREVIEW_CHARS: [usize; 3] = [500, 200, 100];

/// How a digest shortens a conversation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum DigestProfile {
    /// The same limits for all: results of 1,500 characters, arguments of 200, 100,000 tokens in all.
    Fixed,
    /// The older, the shorter: the newest 5 results whole, 10 more of 3,000 characters, the rest of 500; 200,000 characters in
    /// all. Of what commands print, and of failures, the end is kept too.
    Graduated,
}

impl DigestProfile {
    /// Every profile.
    pub const ALL: [Self; 2] = [Self::Fixed, Self::Graduated];

    /// The word used on the command line.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Fixed => "fixed",
            Self::Graduated => "graduated",
        }
    }

    /// Reads the word.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|profile| profile.as_str() == name)
    }

    /// The most that a digest may be: bytes of a fixed one, whose limit counts tokens, characters of a graduated one.
    pub(super) fn budget(self) -> usize {
        match self {
            Self::Fixed => (FIXED_TOKENS_MAX * BYTES_PER_TOKEN) as usize,
            Self::Graduated => GRADUATED_CHARS_MAX,
        }
    }

    /// What is never dropped, out of `room`: three fifths, which is 120,000 characters of a graduated digest.
    pub(super) fn floor(self, room: usize) -> usize {
        room / 5 * 3
    }

    /// What a text takes of the budget.
    pub(super) fn cost(self, text: &str) -> usize {
        match self {
            Self::Fixed => text.len(),
            Self::Graduated => text.chars().count(),
        }
    }

    /// Where the longest beginning of `text` ends, in bytes, that takes no more than `cost`.
    pub(super) fn beginning(self, text: &str, cost: usize) -> usize {
        match self {
            Self::Fixed => text.floor_char_boundary(cost),
            Self::Graduated => at_char(text, cost),
        }
    }

    /// Characters kept of a result; `None` for all. `rank` counts from the newest, which is 0.
    pub(super) fn result_chars(self, rank: usize) -> Option<usize> {
        match (self, tier(rank)) {
            (Self::Fixed, _) => Some(FIXED_RESULT_CHARS),
            (Self::Graduated, Tier::Newest) => None,
            (Self::Graduated, Tier::Recent) => Some(RECENT_RESULT_CHARS),
            (Self::Graduated, Tier::Old) => Some(OLD_RESULT_CHARS),
        }
    }

    /// Characters kept of a call's arguments, by the call's rank.
    pub(super) fn preview_chars(self, rank: usize) -> usize {
        match self {
            Self::Fixed => FIXED_PREVIEW_CHARS,
            Self::Graduated => GRADUATED_PREVIEW_CHARS[tier(rank) as usize],
        }
    }

    /// The line that stands for what is not shown of a result.
    pub(super) fn cut_note(self, all: usize, shown: usize) -> String {
        match self {
            Self::Fixed => format!("[Tool result truncated - original {all} chars]"),
            Self::Graduated => format!("[{} of {all} characters left out]", all - shown),
        }
    }

    /// Whether the end of some results is kept too.
    pub(super) fn keeps_ends(self) -> bool {
        match self {
            Self::Fixed => false,
            Self::Graduated => true,
        }
    }
}

#[derive(Clone, Copy)]
enum Tier {
    Newest,
    Recent,
    Old,
}

fn tier(rank: usize) -> Tier {
    if rank < NEWEST {
        Tier::Newest
    } else if rank < NEWEST + RECENT {
        Tier::Recent
    } else {
        Tier::Old
    }
}

/// Where character number `index` begins, in bytes; the end of a shorter text.
pub(super) fn at_char(text: &str, index: usize) -> usize {
    text.char_indices().nth(index).map_or(text.len(), |(at, _)| at)
}
